//! Writes corpora and reads them back.

use std::path::Path;

use hapax_corpus::write::{self, Kept};
use hapax_corpus::{Document, Fact, Original, ReadOptions, Source};

use crate::make::{Folder, bzip2, hidden_files, read_all, read_well, response, warc, words};
use crate::tables::table;

/// Copies every second document of `input` into `output`.
fn every_second(input: &str, output: &Path) {
    let source = Source::open(&[input], ReadOptions::default()).unwrap();
    let mut writer = write::create(output, Some(&source)).unwrap();
    let mut kept = 0;
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document.unwrap();
            if document.place.number % 2 == 1 {
                writer.write(&document).unwrap();
                kept += 1;
            }
        }
    }
    assert!(!output.exists(), "nothing appears before it is complete");
    assert_eq!(writer.finish().unwrap().documents, kept);
}

#[test]
fn jsonl_lines_are_written_unchanged() {
    let folder = Folder::new();
    let odd = "{ \"text\": \"a\", \"extra\": [1.50, {\"x\":null}] , \"id\":1}";
    let input = folder.file("in.jsonl", format!("{odd}\r\n{{\"text\":\"b\"}}\n{odd}"));
    for name in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst"] {
        let output = folder.path(name);
        every_second(&input, &output);
        let all = read_well(output.to_str().unwrap());
        let lines: Vec<&str> = all
            .documents
            .iter()
            .map(|it| match &it.original {
                Original::Json(line) => &**line,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(lines, [odd, odd], "{name}");
    }
}

#[test]
fn parquet_keeps_its_columns_and_pairs() {
    let folder = Folder::new();
    let input = table(&folder.path("in.parquet"), 35);
    let output = folder.path("out.parquet");
    every_second(&input, &output);
    let all = read_well(output.to_str().unwrap());
    let before = read_well(&input);
    let expected: Vec<&str> = before.ids().into_iter().step_by(2).collect();
    assert_eq!(all.ids(), expected);
    assert_eq!(all.documents[17].field("host"), before.documents[34].field("host"));
    let file = std::fs::File::open(&output).unwrap();
    let reader =
        parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let names: Vec<&str> =
        reader.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["id", "url", "text", "score", "host", "fetched_at"]);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(
        pairs.iter().any(|pair| pair.key == "origin" && pair.value.as_deref() == Some("a test"))
    );
}

#[test]
fn warc_members_are_copied_byte_for_byte() {
    let folder = Folder::new();
    let records: Vec<Vec<u8>> =
        (0..9).map(|n| response(&format!("http://a.test/{n}"), &words(n, 90))).collect();
    // Compression levels and headers that this program would not produce.
    let strange = |bytes: &[u8]| {
        let mut encoder = flate2::GzBuilder::new()
            .filename("x")
            .mtime(77)
            .write(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let kept = |pack: &dyn Fn(&[u8]) -> Vec<u8>| -> (Vec<u8>, Vec<u8>) {
        let all = records.iter().flat_map(|it| pack(it)).collect();
        (all, records.iter().step_by(2).flat_map(|it| pack(it)).collect())
    };
    let (gz, gz_kept) = kept(&strange);
    let (zst, zst_kept) = kept(&|bytes| zstd::bulk::compress(bytes, 9).unwrap());
    let plain_kept = records.iter().step_by(2).flatten().copied().collect();
    let cases = [
        ("in.warc.gz", gz, "out.warc.gz", gz_kept),
        ("in.warc.zst", zst, "out.warc.zst", zst_kept),
        ("in.warc", records.concat(), "out.warc", plain_kept),
    ];
    for (input, bytes, output, expected) in cases {
        let output = folder.path(output);
        every_second(&folder.file(input, bytes), &output);
        assert!(std::fs::read(output).unwrap() == expected, "{input}");
    }
    // With another compression, the records are still the same.
    let output = folder.path("again.warc.gz");
    every_second(&folder.file("in.warc.bz2", bzip2(&records.concat())), &output);
    let all = read_well(output.to_str().unwrap());
    let unpacked: Vec<u8> = all
        .documents
        .iter()
        .flat_map(|it| match &it.original {
            Original::Warc(record) => {
                assert!(record.packed.is_some(), "one member a record");
                [&record.bytes, &b"\r\n\r\n"[..]].concat()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(unpacked == records.iter().step_by(2).flatten().copied().collect::<Vec<u8>>());
}

#[test]
fn removed_records_become_revisits_that_are_read_as_facts() {
    let folder = Folder::new();
    let more = "WARC-Payload-Digest: sha1:ABC\r\nContent-Type: application/http\r\n";
    let block = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n<p>same</p>";
    let records = [
        response("http://a.test/kept", "same"),
        warc("response", "http://a.test/exact", more, block),
        response("http://a.test/near", "almost\r\n"),
    ];
    let source =
        Source::open(&[folder.file("in.warc", records.concat())], ReadOptions::default()).unwrap();
    let all = read_all(&source).unwrap();
    let output = folder.path("out.warc.gz");
    let mut writer = write::create(&output, Some(&source)).unwrap();
    writer.write(&all.documents[0]).unwrap();
    for (removed, exact) in [(&all.documents[1], true), (&all.documents[2], false)] {
        let kept = Kept {
            url: "http://a.test/kept",
            fetched: all.documents[0].fetched,
            record_id: Some("urn:uuid:kept"),
            exact,
        };
        writer.write_removed(removed, &kept).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!((written.documents, written.removed), (1, 2));
    let again = read_well(output.to_str().unwrap());
    assert_eq!(again.ids(), ["http://a.test/kept"]);
    let pairs: Vec<_> = again.facts.iter().map(Fact::addresses).collect();
    let expected = ["exact", "near"].map(|it| format!("http://a.test/{it}"));
    assert_eq!(pairs, expected.each_ref().map(|it| (it.as_str(), "http://a.test/kept")));

    let mut text = String::new();
    let file = std::fs::File::open(&output).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
    assert!(text.contains("revisit/identical-payload-digest\r\n"));
    assert!(text.contains("WARC-Refers-To: <urn:uuid:kept>\r\n"));
    assert!(text.contains("WARC-Refers-To-Date: 2020-02-03T04:05:06Z\r\n"));
    assert!(text.contains("WARC-Payload-Digest: sha1:ABC\r\n"));
    assert!(text.contains("near-duplicate\r\n"));
    assert!(text.contains("\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\n\r\n\r\n\r\n"));
    assert!(!text.contains("almost"));
}

/// Documents of every kind of input, without their originals.
fn mixed(folder: &Folder) -> Vec<Document<'static>> {
    let latin = warc(
        "resource",
        "http://a.test/latin",
        "Content-Type: text/html; charset=iso-8859-1\r\n",
        b"<p>caf\xe9",
    );
    let picture = warc("resource", "http://a.test/p", "Content-Type: image/png\r\n", b"\x89PNG");
    folder.file("in/a.warc", [latin, picture].concat());
    folder.file("in/b.txt", "line\nb");
    let arc = "filedesc://x 0.0.0.0 20080619093439 text/plain 0\n\n\
               http://a.test/arc 1.2.3.4 20080509190241 text/html 22\nHTTP/1.0 200 OK\r\n\r\n<p>\n";
    folder.file("in/c.arc", arc);
    read_well(folder.path("in").to_str().unwrap()).documents
}

#[test]
fn any_document_can_go_into_any_format() {
    let folder = Folder::new();
    let documents = mixed(&folder);
    assert_eq!(documents.len(), 4);
    for name in ["out.jsonl.zst", "out.parquet", "out.warc.gz"] {
        let path = folder.path(name);
        let mut writer = write::create(&path, None).unwrap();
        for document in &documents {
            writer.write(document).unwrap();
        }
        writer.finish().unwrap();
        let again = read_well(path.to_str().unwrap());
        // A picture has no text, so text formats store it but do not read it back as a document.
        let bodies = again.bodies();
        let expected = if name.contains("warc") { 4 } else { 3 };
        assert_eq!(bodies.len(), expected, "{name}: {:?}", again.bad);
        assert!(bodies.iter().any(|it| it == "line\nb"), "{name}");
        if !name.contains("warc") {
            assert_eq!(bodies[0], "<p>café", "{name}");
        }
        let arc = again.documents.iter().find(|it| it.url.as_deref() == Some("http://a.test/arc"));
        assert_eq!(arc.unwrap().fetched, documents[3].fetched, "{name}");
    }
}

#[test]
fn the_same_documents_give_the_same_bytes() {
    let folder = Folder::new();
    let documents = mixed(&folder);
    for name in ["out.jsonl.gz", "out.parquet", "out.warc.zst"] {
        let path = folder.path(name);
        let bytes: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                let mut writer = write::create(&path, None).unwrap();
                for document in &documents {
                    writer.write(document).unwrap();
                }
                writer.finish().unwrap();
                std::fs::read(&path).unwrap()
            })
            .collect();
        assert!(bytes[0] == bytes[1], "{name}");
    }
}

#[test]
fn an_unfinished_file_leaves_the_old_one_and_no_temporary_file() {
    let folder = Folder::new();
    let documents = mixed(&folder);
    for name in ["out.jsonl", "out.parquet", "out.warc.gz"] {
        let path = folder.path(name);
        std::fs::write(&path, "previous").unwrap();
        let mut writer = write::create(&path, None).unwrap();
        writer.write(&documents[0]).unwrap();
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), b"previous");
    }
    assert_eq!(hidden_files(Path::new(&folder.root())), 0);
}

#[test]
fn an_empty_corpus_is_a_legal_file() {
    let folder = Folder::new();
    for name in ["out.jsonl", "out.parquet", "out.warc.gz"] {
        let path = folder.path(name);
        write::create(&path, None).unwrap().finish().unwrap();
        assert!(read_well(path.to_str().unwrap()).bodies().concat().is_empty(), "{name}");
    }
}

#[test]
fn rows_of_another_schema_and_unknown_names_are_refused() {
    let folder = Folder::new();
    let rows = read_well(&table(&folder.path("in.parquet"), 2)).documents;
    let others = mixed(&folder);
    let mut writer = write::create(&folder.path("out.parquet"), None).unwrap();
    writer.write(&rows[0]).unwrap();
    let error = writer.write(&others[0]).unwrap_err().to_string();
    assert!(error.contains("out.parquet") && error.contains("different columns"), "{error}");
    let unknown = write::create(&folder.path("out.docx"), None).err().unwrap().to_string();
    assert!(unknown.contains(".jsonl"), "{unknown}");
}

#[test]
fn nothing_in_a_document_can_add_a_header_line() {
    let folder = Folder::new();
    let line = r#"{"url":"http://a.test/\r\nWARC-Type: evil","text":"x"}"#;
    let input = read_well(&folder.file("in.jsonl", line));
    let path = folder.path("out.warc");
    let mut writer = write::create(&path, None).unwrap();
    writer.write(&input.documents[0]).unwrap();
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("http://a.test/%0D%0AWARC-Type: evil\r\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_link_under_the_hidden_name_is_not_followed() {
    let folder = Folder::new();
    let input = folder.file("in.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    folder.file("precious", "mine");
    std::os::unix::fs::symlink(folder.path("precious"), folder.path(".out.jsonl.partial")).unwrap();
    every_second(&input, &folder.path("out.jsonl"));
    assert_eq!(std::fs::read_to_string(folder.path("precious")).unwrap(), "mine");
    assert!(folder.path("out.jsonl").symlink_metadata().unwrap().is_file());
}
