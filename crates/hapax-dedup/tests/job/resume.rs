//! A job that is interrupted at any time, several times, and resumed gives the bytes of an undisturbed one.
//!
//! Covers every format and compression, one and several files, and numbers of threads; the moments are drawn
//! from a seed that is printed. `HAPAX_SEED` sets another one, `HAPAX_MOMENTS` the number of moments.

use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use hapax_corpus::Format;
use hapax_dedup::{Error, Options, Stage, Watch, dedup};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::folder::{Folder, options, quoted, words};

/// Documents of a corpus, and bytes in each that are not read: a compressed file is split into
/// batches only beyond a megabyte.
const DOCUMENTS: usize = 240;
const BALLAST: usize = 10_000;

/// Counts progress calls and stops at the given one.
#[derive(Default)]
struct Until {
    stop_at: Option<usize>,
    seen: usize,
    resumed: u64,
}

impl Watch for Until {
    fn progress(&mut self, _documents: u64, _input_bytes: u64) {
        self.seen += 1;
    }
    fn resumed(&mut self, documents: u64) {
        self.resumed = documents;
    }
    fn stopped(&self) -> bool {
        self.stop_at.is_some_and(|at| self.seen >= at)
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|it| it.parse().unwrap())
}

/// Text that does not compress well.
fn ballast(document: usize) -> String {
    let mut random = Random(document as u64 + 1);
    (0..BALLAST).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Every third document is a near-duplicate of another.
fn text(document: usize) -> String {
    format!("{}end {}", words(60, document % (DOCUMENTS * 2 / 3)), document / 7)
}

fn address(document: usize) -> String {
    format!("https://host{}.test/{document}", document % 5)
}

fn json_lines(documents: std::ops::Range<usize>) -> Vec<u8> {
    let line = |n| {
        let (url, text) = (quoted(&address(n)), quoted(&text(n)));
        format!("{{\"url\": {url}, \"text\": {text}, \"extra\": \"{}\"}}\n", ballast(n))
    };
    documents.map(line).collect::<String>().into_bytes()
}

fn records(documents: std::ops::Range<usize>) -> Vec<u8> {
    let mut all = Vec::new();
    for n in documents {
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<title>{n}</title><!--{}--><p>{}",
            ballast(n),
            text(n)
        );
        all.extend_from_slice(
            format!(
                "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {}\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n\
                 Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
                address(n),
                block.len()
            )
            .as_bytes(),
        );
    }
    all
}

/// ARC, the predecessor of WARC: a line about each record, and what the server sent.
fn arc_records(documents: std::ops::Range<usize>) -> Vec<u8> {
    let about = "1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n";
    let mut all =
        format!("filedesc://test.arc 0.0.0.0 20200203040506 text/plain {}\n{about}\n", about.len());
    for n in documents {
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<title>{n}</title><!--{}--><p>{}",
            ballast(n),
            text(n)
        );
        all.push_str(&format!(
            "{} 192.0.2.1 20200203040506 text/html {}\n{block}\n",
            address(n),
            block.len()
        ));
    }
    all.into_bytes()
}

fn rows(documents: std::ops::Range<usize>) -> Vec<u8> {
    let column = |of: fn(usize) -> String| -> Arc<StringArray> {
        Arc::new(documents.clone().map(|n| Some(of(n))).collect())
    };
    let columns = [("url", column(address) as _), ("text", column(text) as _)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

type Pack = fn(&[u8]) -> Vec<u8>;

const PACKINGS: [(&str, Pack); 5] = [
    ("", |bytes| bytes.to_vec()),
    (".gz", |bytes| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }),
    (".zst", |bytes| zstd::encode_all(bytes, 1).unwrap()),
    (".bz2", |bytes| {
        let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }),
    (".xz", |bytes| {
        let options = lzma_rust2::XzOptions::with_preset(0);
        let mut packer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }),
];

/// A corpus in one file or several.
struct Corpus {
    name: String,
    input: String,
    format: Option<Format>,
}

fn pieces(files: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..files).map(move |n| DOCUMENTS * n / files..DOCUMENTS * (n + 1) / files)
}

fn packed(
    folder: &Folder,
    files: usize,
    ending: &str,
    make: fn(std::ops::Range<usize>) -> Vec<u8>,
    packings: &[(&str, Pack)],
) -> Vec<Corpus> {
    let plain: Vec<Vec<u8>> = pieces(files).map(make).collect();
    packings
        .iter()
        .map(|(packing, pack)| {
            let name = format!("{files}{ending}{packing}");
            for (n, bytes) in plain.iter().enumerate() {
                folder.write(&format!("{name}/{n}{ending}{packing}"), pack(bytes));
            }
            Corpus { input: folder.path(&name).display().to_string(), name, format: None }
        })
        .collect()
}

fn corpora(folder: &Folder, files: usize) -> Vec<Corpus> {
    let mut all = packed(folder, files, ".jsonl", json_lines, &PACKINGS);
    all.extend(packed(folder, files, ".warc", records, &PACKINGS));
    // Read by the same code as WARC, so one compression is enough.
    all.extend(packed(folder, files, ".arc", arc_records, &PACKINGS[..2]));
    let mut add = |kind: &str, format| {
        let input = folder.path(&format!("{files}-{kind}")).display().to_string();
        all.push(Corpus { name: format!("{files} {kind}"), input, format });
    };
    for (n, piece) in pieces(files).enumerate() {
        let lines: String = piece.clone().map(|n| format!("{}\n", text(n))).collect();
        folder.write(&format!("{files}-lines/{n}.txt"), lines);
        for document in piece.clone() {
            folder.write(&format!("{files}-pages/{n}/{document:03}.html"), text(document));
        }
        folder.write(&format!("{files}-rows/{n}.parquet"), rows(piece));
    }
    add("lines", Some(Format::Lines));
    add("pages", None);
    add("rows", None);
    all
}

/// Every output except `run.json`, by name.
fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name != "run.json")
        .collect();
    files.sort();
    files
}

#[test]
fn interrupted_at_any_time_every_format_ends_in_the_same_bytes() {
    let seed = from_environment("HAPAX_SEED").unwrap_or(20);
    let moments = from_environment("HAPAX_MOMENTS").unwrap_or(1);
    println!("HAPAX_SEED={seed} HAPAX_MOMENTS={moments}");
    let mut random = Random(seed | 1);
    let folder = Folder::new();
    let (mut interrupted, mut resumed) = (0, 0);
    for files in [1, 3] {
        for corpus in corpora(&folder, files) {
            for threads in [1, 2, 16] {
                let inputs = [corpus.input.clone()];
                let options = options(|options| {
                    options.read.limits.batch = 1 << 14;
                    options.read.format = corpus.format;
                    options.threads = NonZero::new(threads).unwrap();
                });
                let whole = folder.path(&format!("whole-{}-{threads}", corpus.name));
                let mut count = Until::default();
                dedup(&inputs, &whole, &options, &mut count).unwrap();
                assert!(count.seen > 4, "{}: {} steps", corpus.name, count.seen);
                let expected = results(&whole);
                for moment in 0..moments {
                    let out = folder.path(&format!("out-{}-{threads}-{moment}", corpus.name));
                    let what =
                        format!("{}, {threads} threads, moment {moment}, seed {seed}", corpus.name);
                    for _ in 0..2 {
                        let stop_at = Some(1 + random.below(count.seen));
                        let mut until = Until { stop_at, ..Until::default() };
                        let stopped = dedup(&inputs, &out, &options, &mut until);
                        assert!(matches!(stopped, Err(Error::Stopped)), "{what}: {stopped:?}");
                        interrupted += 1;
                        resumed += u64::from(until.resumed > 0);
                    }
                    let mut until = Until::default();
                    dedup(&inputs, &out, &options, &mut until)
                        .unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert!(until.resumed > 0, "{what}");
                    let found = results(&out);
                    for ((name, found), (other, expected)) in found.iter().zip(&expected) {
                        assert_eq!(name, other, "{what}");
                        assert!(found == expected, "{name}, {what}");
                    }
                    assert_eq!(found.len(), expected.len(), "{what}");
                    std::fs::remove_dir_all(out).unwrap();
                }
            }
        }
    }
    println!(
        "interrupted {interrupted} times; {resumed} of these went on from an earlier interruption"
    );
}

/// A job that stopped after some batches.
fn stopped(folder: &Folder, input: &str, change: impl FnOnce(&mut Options)) -> PathBuf {
    let out = folder.path("out");
    let mut until = Until { stop_at: Some(3), ..Until::default() };
    let options = options(|options| {
        options.read.limits.batch = 1 << 14;
        change(options);
    });
    let error = dedup(&[input.to_owned()], &out, &options, &mut until).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    out
}

#[test]
fn a_run_that_cannot_resume_says_why_and_restart_begins_anew() {
    let folder = Folder::new();
    let lines = json_lines(0..40);
    let input = folder.write("pages.jsonl", &lines);
    let other = folder.write("other.jsonl", json_lines(40..60));
    let small = |options: &mut Options| options.read.limits.batch = 1 << 14;
    let refusal = |inputs: &[&str], change: &dyn Fn(&mut Options)| {
        let error = folder.dedup(inputs, "out", |options| {
            small(options);
            change(options);
        });
        let error = error.unwrap_err();
        assert!(matches!(error, Error::CannotResume { .. }), "{error}");
        assert!(error.to_string().ends_with("or start over"), "{error}");
        assert!(
            folder.path("out/.hapax-work/signatures").is_file(),
            "what was read is still there"
        );
        error.to_string()
    };
    stopped(&folder, &input, |_| {});
    let error = refusal(&[&input, &other], &|_| {});
    assert!(
        error.contains("it read 1 files") && error.contains("now there are 2 files"),
        "{error}"
    );
    let error = refusal(&[&other], &|_| {});
    assert!(
        error.contains("pages.jsonl, and now there is") && error.contains("other.jsonl"),
        "{error}"
    );
    let error = refusal(&[&input], &|options| options.scope = "host".parse().unwrap());
    assert!(error.contains("begun with scope none, and this job has host"), "{error}");
    let error = refusal(&[&input], &|options| options.read.skip_bad = true);
    assert!(error.contains("damaged records"), "{error}");
    folder.write("pages.jsonl", [&lines[..], b"\n"].concat());
    let error = refusal(&[&input], &|_| {});
    assert!(
        error.contains(&format!("had {} bytes then and has {} now", lines.len(), lines.len() + 1)),
        "{error}"
    );
    let restarted = folder.dedup(&[&input], "out", |options| {
        small(options);
        options.restart = true;
    });
    assert_eq!(restarted.unwrap().summary.documents, 40);
}

#[test]
fn a_file_that_is_not_a_checkpoint_is_not_overwritten() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", json_lines(0..4));
    folder.write(
        "out/.hapax-work/signatures",
        "a file of another program, in whose place nothing may be written",
    );
    let error = folder.dedup(&[&input], "out", |_| {}).unwrap_err().to_string();
    assert!(error.contains("not a file of signatures") && error.contains("start over"), "{error}");
    folder.dedup(&[&input], "out", |options| options.restart = true).unwrap();
}

#[test]
fn a_checkpoint_with_other_batch_boundaries_is_refused() {
    let folder = Folder::new();
    let lines = json_lines(0..40);
    let input = folder.write("pages.jsonl", &lines);
    let written = std::fs::metadata(&input).unwrap().modified().unwrap();
    stopped(&folder, &input, |_| {});
    // Same size, time and ends, other lines: only the batch boundaries differ.
    let moved = [0..5, 20..35, 5..20, 35..40].map(json_lines);
    let mut moved = moved.concat();
    moved.resize(lines.len(), b'\n');
    folder.write("pages.jsonl", moved);
    std::fs::File::options().write(true).open(&input).unwrap().set_modified(written).unwrap();
    let error =
        folder.dedup(&[&input], "out", |options| options.read.limits.batch = 1 << 14).unwrap_err();
    // Whichever comes first: a batch that ends elsewhere, or one with other bytes.
    assert!(error.to_string().contains("the run was interrupted"), "{error}");
}

/// The file with `find` replaced by as many other bytes, size and time kept.
fn replace_within(path: &str, find: &str, by: &str) {
    assert_eq!(find.len(), by.len());
    let written = std::fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(find.len()).rposition(|it| it == find.as_bytes()).unwrap();
    bytes[at..at + by.len()].copy_from_slice(by.as_bytes());
    std::fs::write(path, bytes).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
}

#[test]
fn a_text_that_changed_under_an_interrupted_job_is_noticed() {
    let word = |document: usize| text(document).split(' ').next().unwrap().to_owned();
    for (name, bytes) in [
        ("pages.jsonl", json_lines(0..40)),
        ("pages.warc", records(0..40)),
        ("pages.arc", arc_records(0..40)),
    ] {
        let folder = Folder::new();
        let input = folder.write(name, bytes);
        stopped(&folder, &input, |_| {});
        // In the first batch, which was read.
        replace_within(
            &input,
            &format!("{} ", word(0)),
            &format!("{} ", "z".repeat(word(0).len())),
        );
        let small = |options: &mut Options| options.read.limits.batch = 1 << 14;
        let error = folder.dedup(&[&input], "out", small).unwrap_err();
        assert!(matches!(error, Error::CannotResume { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(name) && error.contains("written to since"), "{error}");
        folder
            .dedup(&[&input], "out", |options| (small(options), options.restart = true).0)
            .unwrap();
    }
}

#[test]
fn a_text_replaced_between_the_two_readings_is_noticed_in_every_format() {
    /// Replaces a file by another one when the decision is made.
    struct Meanwhile(String, Vec<u8>);
    impl Watch for Meanwhile {
        fn stage(&mut self, stage: Stage) {
            if stage == Stage::Writing {
                std::fs::write(&self.0, &self.1).unwrap();
            }
        }
    }
    // The same addresses and numbers of lines, other texts.
    type Make = fn(fn(usize) -> String) -> Vec<u8>;
    let html: Make = |text| format!("<p>{}", text(3)).into_bytes();
    let text_lines: Make = |text| (0..9).map(|n| text(n) + "\n").collect::<String>().into_bytes();
    let json: Make = |text| {
        let line =
            |n| format!("{{\"url\": {}, \"text\": {}}}\n", quoted(&address(n)), quoted(&text(n)));
        (0..9).map(line).collect::<String>().into_bytes()
    };
    let table: Make = |text| {
        let column = |of: &dyn Fn(usize) -> String| -> Arc<StringArray> {
            Arc::new((0..9).map(|n| Some(of(n))).collect())
        };
        let columns = [("url", column(&address) as _), ("text", column(&text) as _)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    };
    for (name, make) in
        [("p.jsonl", json), ("p.parquet", table), ("in/p.html", html), ("p.txt", text_lines)]
    {
        let folder = Folder::new();
        let file = folder.write(name, make(text));
        let input = name.split('/').next().map(|it| folder.path(it).display().to_string());
        let (inputs, out) = ([input.unwrap()], folder.path("out"));
        let mut other = Meanwhile(file, make(|n| words(60, 5_000 + n)));
        let error = dedup(&inputs, &out, &options(|_| {}), &mut other).unwrap_err();
        assert!(matches!(&error, Error::Changed { path } if path.ends_with(name)), "{error}");
        assert!(!out.exists(), "{name}");
        dedup(&inputs, &out, &options(|_| {}), &mut ()).unwrap();
    }
}

#[test]
fn an_interrupted_job_goes_on_with_its_random_key() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", json_lines(0..40));
    let out = stopped(&folder, &input, |options| options.key = None);
    let key = |file: &Path| {
        let bytes = std::fs::read(file).unwrap();
        let header = String::from_utf8_lossy(&bytes[..1000.min(bytes.len())]).into_owned();
        header.split("\"key\":\"").nth(1).unwrap()[..64].to_owned()
    };
    let before = key(&out.join(".hapax-work/signatures"));
    let mut until = Until::default();
    let keyless = options(|options| (options.key = None, options.read.limits.batch = 1 << 14).0);
    dedup(&[input], &out, &keyless, &mut until).unwrap();
    assert!(until.resumed > 0);
    assert_eq!(key(&out.join("kept.signatures")), before);
}

#[test]
fn results_that_the_caller_refuses_do_not_appear_and_the_job_can_be_resumed() {
    #[derive(Default)]
    struct Refuses(u64);
    impl Watch for Refuses {
        fn made(&mut self) -> bool {
            false
        }
        fn resumed(&mut self, documents: u64) {
            self.0 = documents;
        }
    }
    let folder = Folder::new();
    let inputs = [folder.write("pages.jsonl", json_lines(0..40))];
    let out = folder.path("out");
    for resumed in [0, 40] {
        let mut refuses = Refuses::default();
        let error = dedup(&inputs, &out, &options(|_| {}), &mut refuses).unwrap_err();
        assert!(matches!(error, Error::Stopped), "{error}");
        assert_eq!((refuses.0, folder.names("out")), (resumed, vec![".hapax-work".to_owned()]));
    }
    assert_eq!(dedup(&inputs, &out, &options(|_| {}), &mut ()).unwrap().summary.documents, 40);
}

#[test]
fn a_job_whose_input_changes_while_it_works_starts_anew() {
    /// Replaces the lines when the second reading begins.
    struct Meanwhile(String);
    impl Watch for Meanwhile {
        fn stage(&mut self, stage: Stage) {
            if stage == Stage::Writing {
                std::fs::write(&self.0, json_lines(5..9)).unwrap();
            }
        }
    }
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", json_lines(0..4));
    let inputs = [input.clone()];
    let out = folder.path("out");
    let error = dedup(&inputs, &out, &options(|_| {}), &mut Meanwhile(input)).unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    assert_eq!(dedup(&inputs, &out, &options(|_| {}), &mut ()).unwrap().summary.documents, 4);
}
