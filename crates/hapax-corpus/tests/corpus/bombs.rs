//! Inputs that unpack, or continue, without end.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use hapax_corpus::{Format, Limits, ReadOptions, Reason, Source};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::make::{Folder, failure, gzip, read, response, warc, zstd};

fn limited(limits: Limits) -> ReadOptions {
    ReadOptions { limits, ..ReadOptions::default() }
}

fn limited_skipping(limits: Limits) -> ReadOptions {
    ReadOptions { limits, skip_bad: true, ..ReadOptions::default() }
}

#[test]
fn a_long_line_is_refused_or_passed_and_the_lines_keep_their_numbers() {
    let folder = Folder::new();
    let long = format!("{{\"id\":\"long\",\"text\":\"{}\"}}", "x".repeat(3 << 20));
    let text =
        format!("{{\"id\":\"a\",\"text\":\"a\"}}\n{long}\n{{\"id\":\"b\",\"text\":\"b\"}}\n{{\n");
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let path = folder.file("x.jsonl", bytes);
        let limits = || Limits { line: 1 << 20, batch: 64 << 10, ..Limits::default() };
        let error = failure(&path, limited(limits()));
        assert!(
            error.contains("line 2") && error.contains("of more than 1048576 bytes"),
            "{error}"
        );
        let all = read(&path, limited_skipping(limits())).unwrap();
        assert_eq!(all.ids(), ["a", "b"]);
        assert_eq!(all.documents[1].place.number, 3);
        assert!(all.bad[1].contains("line 4, column 1"), "{:?}", all.bad);
    }
}

#[test]
fn a_long_record_is_passed_without_being_held() {
    let folder = Folder::new();
    let zeros = vec![b'0'; 5 << 20];
    let records = [
        response("http://a.test/0", "zero"),
        warc("resource", "http://a.test/1", "", &zeros),
        response("http://a.test/2", "two"),
    ];
    let per_record: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for bytes in [records.concat(), per_record, zstd(&records.concat())] {
        let path = folder.file("x.warc", bytes);
        let limits = || Limits { record: 1 << 20, ..Limits::default() };
        let error = failure(&path, limited(limits()));
        assert!(
            error.contains("of more than 1048576 bytes") && error.contains("1048576"),
            "{error}"
        );
        let all = read(&path, limited_skipping(limits())).unwrap();
        assert_eq!(all.ids(), ["http://a.test/0", "http://a.test/2"]);
        assert_eq!(all.bad.len(), 1);
    }
}

#[test]
fn a_record_that_claims_more_than_there_is_takes_no_other_with_it() {
    let folder = Folder::new();
    for claim in ["18446744073709551615", "300000000"] {
        let long =
            format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {claim}\r\n\r\nx\r\n\r\n");
        let records = [
            response("http://a.test/0", "zero"),
            long.into_bytes(),
            response("http://a.test/2", "two"),
            response("http://a.test/3", "three"),
        ];
        let per_record: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
        for bytes in [records.concat(), per_record] {
            let path = folder.file("x.warc", bytes);
            let all = read(&path, limited_skipping(Limits::default())).unwrap();
            assert_eq!(all.ids(), ["http://a.test/0", "http://a.test/2", "http://a.test/3"]);
            assert_eq!(all.bad.len(), 1, "{:?}", all.bad);
        }
    }
}

#[test]
fn a_record_inside_a_long_record_is_part_of_it() {
    let folder = Folder::new();
    let mut block = vec![b'0'; 2 << 20];
    block.extend_from_slice(b"\r\n\r\n");
    block.extend_from_slice(&response("http://victim.test/", "forged"));
    let records =
        [warc("resource", "http://a.test/1", "", &block), response("http://a.test/2", "two")];
    let per_record: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for bytes in [records.concat(), per_record, zstd(&records.concat())] {
        let path = folder.file("x.warc", bytes);
        let limits = Limits { record: 1 << 20, ..Limits::default() };
        assert_eq!(read(&path, limited_skipping(limits)).unwrap().ids(), ["http://a.test/2"]);
    }
}

#[test]
fn blank_lines_that_follow_each_other_are_one_entry() {
    let folder = Folder::new();
    let text = format!(
        "{{\"id\":\"a\",\"text\":\"a\"}}\n{}{{\"id\":\"b\",\"text\":\"b\"}}\n\n",
        "\n \r\n".repeat(500)
    );
    let all = read(&folder.file("x.jsonl", text), limited(Limits::default())).unwrap();
    assert_eq!(all.passed, [Reason::Blank, Reason::Blank]);
    assert_eq!(all.documents[1].place.number, 1002);
}

#[test]
fn a_header_without_end_is_refused() {
    let folder = Folder::new();
    let endless = format!("WARC/1.0\r\n{}", "X-More: and more\r\n".repeat(200_000));
    let error = failure(&folder.file("x.warc", endless), ReadOptions::default());
    assert!(error.contains("a header of more than"), "{error}");
}

#[test]
fn a_body_that_unpacks_too_far_is_refused_and_the_next_is_read() {
    let folder = Folder::new();
    let mut block = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    block.extend_from_slice(&gzip(&vec![b' '; 8 << 20]));
    let records =
        [warc("response", "http://a.test/bomb", "", &block), response("http://a.test/1", "one")];
    let path = folder.file("x.warc", records.concat());
    let limits = || Limits { body: 1 << 20, ..Limits::default() };
    assert!(failure(&path, limited(limits())).contains("of more than 1048576 bytes"));
    let all = read(&path, limited_skipping(limits())).unwrap();
    assert_eq!(all.ids(), ["http://a.test/1"]);
}

#[test]
fn a_file_that_unpacks_without_end_is_given_up() {
    let folder = Folder::new();
    let bytes = zstd(&vec![b'\n'; 40 << 20]);
    assert!(bytes.len() < 10_000, "it is a bomb");
    let path = folder.file("x.txt.zst", bytes);
    let options = |skip_bad| ReadOptions {
        format: Some(Format::Lines),
        limits: Limits { unpacked: 4 << 20, ..Limits::default() },
        skip_bad,
        ..ReadOptions::default()
    };
    assert!(failure(&path, options(false)).contains("unpacks to more than 4194304 bytes"));
    let all = read(&path, options(true)).unwrap();
    assert_eq!(all.bad.len(), 1);
    assert!(all.passed.len() < 100, "{}", all.passed.len());
}

#[test]
fn a_document_file_has_a_limit_too() {
    let folder = Folder::new();
    let path = folder.file("x.html.gz", gzip(&vec![b'x'; 2 << 20]));
    let error = failure(&path, limited(Limits { record: 1 << 20, ..Limits::default() }));
    assert!(error.contains("of more than 1048576 bytes"), "{error}");
}

/// A table with one column, `text`, as written by a program that does not use Arrow.
fn table(path: &Path, column: ArrayRef, compression: Compression, dictionary: bool) {
    let rows = RecordBatch::try_from_iter([("text", column)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

fn texts(folder: &Folder, values: Vec<&str>, compression: Compression) -> String {
    let path = folder.path("x.parquet");
    table(&path, Arc::new(StringArray::from(values)), compression, false);
    path.to_str().unwrap().to_owned()
}

/// Replaces the unpacked size claimed by the first page by another number of the same length.
fn claim(path: &str, real: u32, claimed: u32) {
    let varint = |value: u32| {
        let mut value = value << 1;
        let mut bytes = Vec::new();
        while value > 127 {
            bytes.push((value & 127) as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let (real, claimed) = (varint(real), varint(claimed));
    assert_eq!(real.len(), claimed.len());
    let mut file = std::fs::read(path).unwrap();
    let place = file.windows(real.len()).position(|bytes| bytes == real).unwrap();
    file[place..place + real.len()].copy_from_slice(&claimed);
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_page_of_a_table_that_unpacks_too_far_is_refused_before_it_is_unpacked() {
    let folder = Folder::new();
    let text = "word ".repeat(2 << 20);
    let limits = || Limits { record: 1 << 20, ..Limits::default() };
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let path = texts(&folder, vec![&text], compression);
        let error = failure(&path, limited(limits()));
        assert!(error.contains("a page of more than 4194304 bytes"), "{error}");
        assert_eq!(read(&path, limited_skipping(limits())).unwrap().bad.len(), 1);
        // Read normally if this size is allowed.
        assert_eq!(read(&path, ReadOptions::default()).unwrap().documents.len(), 1);
    }
}

#[test]
fn a_page_of_a_table_that_unpacks_further_than_it_says_is_refused() {
    let folder = Folder::new();
    let text = "word ".repeat(2 << 20);
    let length = text.len() as u32 + 4;
    let limits = || Limits { record: 1 << 20, ..Limits::default() };
    // The library unpacks it completely, whatever the claim.
    let path = texts(&folder, vec![&text], Compression::GZIP(GzipLevel::default()));
    claim(&path, length, 2 << 20);
    let error = failure(&path, limited(limits()));
    assert!(error.contains("a page of more than 4194304 bytes"), "{error}");
}

#[test]
fn a_page_of_a_table_cannot_claim_what_its_bytes_cannot_hold() {
    let folder = Folder::new();
    let text = "no two words of this are alike, or nearly so";
    for compression in [Compression::SNAPPY, Compression::LZ4_RAW, Compression::LZ4] {
        let path = texts(&folder, vec![text; 200], compression);
        claim(&path, 200 * (text.len() as u32 + 4), 1_000_000);
        let error = failure(&path, ReadOptions::default());
        assert!(error.contains("more than its bytes can hold"), "{error}");
    }
}

/// Copied for every row, the value would take more than two gigabytes.
#[test]
fn rows_that_share_one_long_value_are_decoded_a_few_at_a_time() {
    let folder = Folder::new();
    let text = "word ".repeat(150_000);
    let shared: DictionaryArray<Int32Type> = std::iter::repeat_n(text.as_str(), 3000).collect();
    let path = folder.path("x.parquet");
    table(&path, Arc::new(shared), Compression::SNAPPY, true);
    let options = limited(Limits { record: 4 << 20, ..Limits::default() });
    let source = Source::open(&[path.to_str().unwrap()], options).unwrap();
    let mut rows = 0;
    for mut batch in source.batches() {
        for document in batch.documents() {
            assert_eq!(document.unwrap().body.content.as_bytes().len(), text.len());
            rows += 1;
        }
    }
    assert_eq!(rows, 3000);
}

#[test]
fn a_table_whose_schema_is_nested_without_end_is_refused() {
    let folder = Folder::new();
    // The version, then a list of 100,000 elements called x that each contain the next.
    let mut footer = vec![0x15, 2, 0x19, 0xfc, 0xa0, 0x8d, 0x06];
    (0..100_000).for_each(|_| footer.extend([0x48, 1, b'x', 0x15, 2, 0]));
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    let path = folder.file("x.parquet", file);
    let error = failure(&path, limited(Limits::default()));
    assert!(error.contains("nested more than 64 deep"), "{error}");
    assert_eq!(read(&path, limited_skipping(Limits::default())).unwrap().bad.len(), 1);
    let error = hapax_corpus::rows_at_a_time(&File::open(&path).unwrap(), 10).unwrap_err();
    assert!(error.to_string().contains("nested more than 64 deep"), "{error}");
}
