//! A corpus cleaned by several processes gives the result of one process, byte for byte.

use std::num::NonZero;
use std::path::Path;

use hapax::fingerprint::MaxDistance;
use hapax_corpus::write::create;
use hapax_corpus::{ReadOptions, Shard, Source};
use hapax_dedup::shards::{Applied, Applying, apply, dedup_signatures, fingerprint};
use hapax_dedup::{Confirm, Error, Frames, KeptFormat, Options};
use hapax_synth::{SiteCopy, SitePage, TemplatedSite};

use crate::folder::{Folder, html_jsonl, jsonl, options, words};

/// Number of files of a corpus, and of shards made of them.
const FILES: usize = 20;
const SHARDS: u32 = 16;
const TABLES: [&str; 4] = ["groups.parquet", "removed.parquet", "kept.signatures", "summary.json"];

/// Sites with frames, and copies of their pages in other files.
fn pages() -> Vec<SitePage> {
    let mut pages = Vec::new();
    for number in 0..3 {
        let site = TemplatedSite::new(number, &format!("shop{number}.test"), 80, 60);
        pages.extend((0..50).map(|page| site.page(page)));
        pages.extend((0..20).map(|page| site.copy(page, SiteCopy::Date)));
        pages.extend((20..30).map(|page| site.copy(page, SiteCopy::Session)));
    }
    // Separates copies from their originals.
    let count = pages.len();
    (0..count).map(|at| pages[at * 7 % count].clone()).collect()
}

fn in_files(mut write: impl FnMut(usize, &[SitePage])) {
    let pages = pages();
    for file in 0..FILES {
        write(file, &pages[pages.len() * file / FILES..pages.len() * (file + 1) / FILES]);
    }
}

fn lines(pages: &[SitePage]) -> String {
    // A blank line is a passed-over record.
    html_jsonl(pages.iter().map(|page| (&*page.url, &*page.html))) + "\n"
}

/// Pages, requests, and redirects between files.
fn archive(file: usize, pages: &[SitePage]) -> String {
    let record = |kind: &str, url: &str, block: &str| {
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let mut all = String::new();
    for page in pages {
        all += &record("request", &page.url, "GET / HTTP/1.1\r\n\r\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        all += &record("response", &page.url, &format!("{head}{}", page.html));
    }
    let (here, next) = (format!("http://r.test/{file}"), format!("http://r.test/{}", file + 1));
    let to = if file + 1 < FILES { &next } else { &pages[0].url };
    let moved = |to: &str| format!("HTTP/1.1 301 Moved\r\nLocation: {to}\r\n\r\n");
    all += &record("response", &here, &moved(to));
    all + &record("response", &format!("{here}/lost"), &moved("http://r.test/nowhere"))
}

/// The corpus in several formats: name and folder.
fn corpora(folder: &Folder) -> Vec<(&'static str, String)> {
    let path = |name: &str| folder.path(name).display().to_string();
    for kind in ["parquet", "warc-gz"] {
        std::fs::create_dir(folder.path(kind)).unwrap();
    }
    let convert = |from: &str, to: &str| {
        let source = Source::open(&[from], ReadOptions::default()).unwrap();
        let mut writer = create(Path::new(to), None).unwrap();
        for mut batch in source.batches() {
            batch.documents().for_each(|document| writer.write(&document.unwrap()).unwrap());
        }
        writer.finish().unwrap();
    };
    in_files(|file, pages| {
        let lines = folder.write(&format!("jsonl/{file:02}.jsonl"), lines(pages));
        convert(&lines, &path(&format!("parquet/{file:02}.parquet")));
        let archive = folder.write(&format!("warc/{file:02}.warc"), archive(file, pages));
        convert(&archive, &path(&format!("warc-gz/{file:02}.warc.gz")));
        for (at, page) in pages.iter().enumerate() {
            folder.write(&format!("pages/{file:02}/{at:02}.html"), &page.html);
        }
    });
    ["jsonl", "parquet", "warc", "warc-gz", "pages"].map(|kind| (kind, path(kind))).to_vec()
}

fn shard(number: u32, of: u32) -> Shard {
    Shard::new(number, of).unwrap()
}

fn applying(change: impl FnOnce(&mut Applying)) -> Applying {
    let mut applying = Applying {
        read: ReadOptions::default(),
        shard: None,
        threads: NonZero::new(2).unwrap(),
        format: None,
        shard_size: None,
    };
    change(&mut applying);
    applying
}

/// Fingerprints shards in the given order.
fn fingerprint_all(
    folder: &Folder,
    input: &str,
    to: &str,
    order: impl Iterator<Item = u32>,
    options: &Options,
) -> u64 {
    let inputs = [input.to_owned()];
    let one = |number| {
        let made = fingerprint(&inputs, shard(number, SHARDS), &folder.path(to), options, &mut ());
        made.unwrap().documents
    };
    order.map(one).sum()
}

fn apply_one(
    folder: &Folder,
    decided: &str,
    input: &str,
    number: u32,
    change: impl FnOnce(&mut Applying),
) -> Result<(Applied, String), Error> {
    let out = format!("{decided}-kept/{number:02}");
    let applying = applying(|it| {
        it.shard = Some(shard(number, SHARDS));
        change(it);
    });
    let (decided, to) = (folder.path(decided), folder.path(&out));
    Ok((apply(&decided, &[input.to_owned()], &to, &applying, &mut ())?, out))
}

#[test]
fn sixteen_processes_in_any_order_write_what_one_writes_in_every_format() {
    let folder = Folder::new();
    for (kind, input) in corpora(&folder) {
        let (one, signatures) = (format!("{kind}-one"), format!("{kind}-signatures"));
        let whole = folder.dedup(&[&input], &one, |_| {}).unwrap().summary;
        assert!(whole.removed() > 50 && whole.framed_hosts > 1 || kind == "pages", "{whole:?}");
        let backwards = (0..SHARDS).rev();
        let documents = fingerprint_all(&folder, &input, &signatures, backwards, &options(|_| {}));
        assert_eq!(documents, whole.documents);
        let decided = format!("{kind}-decided");
        let (from, to) = (folder.path(&signatures), folder.path(&decided));
        dedup_signatures(&from, &to, &options(|_| {}), &mut ()).unwrap();
        for name in TABLES {
            let [one, many] = [&one, &decided].map(|it| folder.read(&format!("{it}/{name}")));
            assert!(one == many, "{name} of {kind}");
        }
        let kept_name = whole.settings.kept.clone();
        let mut kept = vec![Vec::new(); SHARDS as usize];
        let mut total = 0;
        for number in (0..SHARDS).map(|at| at * 5 % SHARDS) {
            let (applied, out) = apply_one(&folder, &decided, &input, number, |_| {}).unwrap();
            assert_eq!(applied.documents, applied.kept + applied.exact + applied.near);
            total += applied.kept;
            kept[number as usize] = match kind {
                "parquet" => rows_of(&folder, &format!("{out}/{kept_name}")),
                _ => folder.read(&format!("{out}/{kept_name}")),
            };
        }
        assert_eq!(total, whole.kept);
        let whole = match kind {
            "parquet" => rows_of(&folder, &format!("{one}/{kept_name}")),
            _ => folder.read(&format!("{one}/{kept_name}")),
        };
        assert!(kept.concat() == whole, "kept documents of {kind}");
    }
}

/// Rows instead of bytes, because Parquet files cannot be concatenated.
fn rows_of(folder: &Folder, name: &str) -> Vec<u8> {
    let rows = folder.path(name);
    let source = Source::open(&[rows], ReadOptions::default()).unwrap();
    let mut all = Vec::new();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let document = document.unwrap();
            all.extend_from_slice(document.url.unwrap().as_bytes());
            all.extend_from_slice(document.body.content.as_bytes());
        }
    }
    all
}

#[test]
fn kept_documents_of_a_shard_come_in_the_format_and_sizes_asked_for() {
    let folder = Folder::new();
    in_files(|file, pages| drop(folder.write(&format!("in/{file:02}.jsonl"), lines(pages))));
    let input = folder.path("in").display().to_string();
    fingerprint_all(&folder, &input, "signatures", 0..SHARDS, &options(|_| {}));
    let (from, to) = (folder.path("signatures"), folder.path("decided"));
    dedup_signatures(&from, &to, &options(|_| {}), &mut ()).unwrap();
    let (applied, out) = apply_one(&folder, "decided", &input, 3, |it| {
        it.format = Some(KeptFormat::WarcGzip);
        it.shard_size = NonZero::new(1);
    })
    .unwrap();
    assert_eq!(folder.names(&out)[0], "kept-00000.warc.gz");
    assert_eq!(applied.files.len(), folder.names(&out).len());
    // Several shards in one file, and all at once.
    let all = applying(|_| {});
    let done = apply(&to, std::slice::from_ref(&input), &folder.path("all"), &all, &mut ());
    assert_eq!(done.unwrap().documents, pages().len() as u64);
    let file = folder.path("in/07.jsonl").display().to_string();
    apply(&to, &[file], &folder.path("one"), &all, &mut ()).unwrap();
}

#[test]
fn more_shards_than_files_leave_some_empty() {
    let folder = Folder::new();
    for name in ["a.parquet", "b.parquet"] {
        let lines = folder.write("lines.jsonl", lines(&pages()[..9]).replace("http", name));
        let source = Source::open(&[&lines], ReadOptions::default()).unwrap();
        let mut writer = create(&folder.path(name), None).unwrap();
        for mut batch in source.batches() {
            batch.documents().for_each(|document| writer.write(&document.unwrap()).unwrap());
        }
        writer.finish().unwrap();
    }
    let input = folder.path("*.parquet").display().to_string();
    assert_eq!(fingerprint_all(&folder, &input, "s", 0..SHARDS, &options(|_| {})), 18);
    let done =
        dedup_signatures(&folder.path("s"), &folder.path("d"), &options(|_| {}), &mut ()).unwrap();
    assert_eq!(done.summary.exact, 9);
    let (applied, _) = apply_one(&folder, "d", &input, 0, |_| {}).unwrap();
    assert_eq!((applied.documents, applied.kept), (0, 0));
}

#[test]
fn a_crawl_in_shards_is_compared_with_an_earlier_one() {
    let folder = Folder::new();
    in_files(|file, pages| drop(folder.write(&format!("in/{file:02}.jsonl"), lines(pages))));
    let input = folder.path("in").display().to_string();
    let first = folder.path("in/03.jsonl").display().to_string();
    folder.dedup(&[&first], "first", |_| {}).unwrap();
    let against = options(|it| it.against = vec![folder.path("first")]);
    let one = folder.dedup(&[&input], "one", |it| it.against = against.against.clone()).unwrap();
    assert!(one.summary.known > 5);
    fingerprint_all(&folder, &input, "s", 0..SHARDS, &against);
    dedup_signatures(&folder.path("s"), &folder.path("d"), &against, &mut ()).unwrap();
    for name in TABLES {
        assert!(folder.read(&format!("one/{name}")) == folder.read(&format!("d/{name}")), "{name}");
    }
    // Signatures made under another key cannot be compared.
    fingerprint_all(&folder, &input, "other", 0..SHARDS, &options(|it| it.key = None));
    let error = dedup_signatures(&folder.path("other"), &folder.path("e"), &against, &mut ());
    assert!(error.unwrap_err().to_string().contains("without the earlier runs"));
}

#[test]
fn shards_without_a_key_share_a_random_one() {
    let folder = Folder::new();
    in_files(|file, pages| drop(folder.write(&format!("in/{file:02}.jsonl"), lines(pages))));
    let input = folder.path("in").display().to_string();
    let keyless = options(|it| it.key = None);
    let groups = ["s", "t"].map(|to| {
        fingerprint_all(&folder, &input, to, 0..SHARDS, &keyless);
        let out = format!("{to}-decided");
        dedup_signatures(&folder.path(to), &folder.path(&out), &keyless, &mut ()).unwrap();
        folder.read(&format!("{out}/groups.parquet"))
    });
    assert!(groups[0] == groups[1], "the key changes no verdict");
    assert_ne!(folder.read("s/key"), folder.read("t/key"));
    // A shard with another key does not fit.
    std::fs::remove_file(folder.path("t/key")).unwrap();
    fingerprint_all(&folder, &input, "t", 0..1, &keyless);
    let error = dedup_signatures(&folder.path("t"), &folder.path("x"), &keyless, &mut ());
    assert!(error.unwrap_err().to_string().contains("another key"));
}

/// 400 words, `first` of them of one text and the rest of another.
fn mixed(first: usize) -> String {
    let (one, other) = (words(400, 1), words(400, 2));
    let words: Vec<&str> = one.split(' ').take(first).chain(other.split(' ')).take(400).collect();
    words.join(" ")
}

#[test]
fn a_test_set_is_compared_with_all_documents_of_a_training_set() {
    let folder = Folder::new();
    // A chain: the second matches both others, which do not match each other.
    let texts = [400, 378, 356].map(mixed);
    let wide = |it: &mut Options| it.policy.within = MaxDistance::new(16).unwrap();
    let other = words(200, 3);
    let train = [("kept", texts[0].as_str()), ("copy", &texts[1]), ("other", &other)];
    let train = folder.write("train.jsonl", jsonl(train.map(|(id, text)| (id.to_owned(), text))));
    let test = [("question".to_owned(), texts[2].as_str()), ("new".to_owned(), &words(200, 4))];
    let test = folder.write("test.jsonl", jsonl(test));
    let first = folder.dedup(&[&train], "clean", |it| {
        it.keep = "first".parse().unwrap();
        wide(it);
    });
    assert_eq!(first.unwrap().summary.near, 1);
    // Documents removed from the training set are compared only if their signatures are given.
    let found = |against: &str, out: &str| {
        let against = vec![folder.path(against)];
        let set = |it: &mut Options| {
            it.against = against;
            wide(it);
        };
        folder.dedup(&[&test], out, set).unwrap();
        let removed = folder.table(&format!("{out}/removed.parquet"));
        removed.into_iter().map(|(id, row)| (id, row.winner)).collect::<Vec<_>>()
    };
    assert_eq!(found("clean", "against-kept"), []);
    let both = [train.clone()];
    for number in 0..2 {
        let to = folder.path("train");
        if number == 1 {
            let missing = options(|it| it.against = vec![folder.path("train")]);
            let error = hapax_dedup::Earlier::load(&missing.against, &missing).unwrap_err();
            assert!(error.to_string().contains("it has 1 of 2 shards"), "{error}");
        }
        fingerprint(&both, shard(number, 2), &to, &options(|_| {}), &mut ()).unwrap();
    }
    let pair = ("question".to_owned(), "copy".to_owned());
    assert_eq!(found("train", "against-all"), [pair]);
    let none = options(|it| it.against = vec![folder.path("")]);
    let error = hapax_dedup::Earlier::load(&none.against, &none).unwrap_err();
    assert!(error.to_string().contains("neither kept.signatures nor"), "{error}");
}

#[test]
fn a_decision_needs_all_shards_made_in_one_way() {
    let folder = Folder::new();
    in_files(|file, pages| drop(folder.write(&format!("in/{file:02}.jsonl"), lines(pages))));
    let input = folder.path("in").display().to_string();
    let plain = options(|_| {});
    let decide = |options: &Options| {
        dedup_signatures(&folder.path("s"), &folder.path("d"), options, &mut ())
            .unwrap_err()
            .to_string()
    };
    fingerprint_all(&folder, &input, "s", 0..SHARDS - 1, &plain);
    let missing = decide(&plain);
    assert!(missing.contains("the shards 0 to 14 of 16"), "{missing}");
    std::fs::remove_file(folder.path("s/00004-of-00016.signatures")).unwrap();
    let missing = decide(&plain);
    assert!(missing.contains("it is shard 5/16, and shard 4/16 should come next"), "{missing}");
    let other = options(|it| it.frames = Frames::Off);
    fingerprint_all(&folder, &input, "s", [4, 15].into_iter(), &other);
    let mixed = decide(&plain);
    assert!(mixed.contains("00004-of-00016") && mixed.contains("in another way"), "{mixed}");
    fingerprint_all(&folder, &input, "s", [4].into_iter(), &plain);
    folder.write("in/99.jsonl", "{\"id\": \"new\", \"text\": \"new\"}\n");
    fingerprint_all(&folder, &input, "s", [15].into_iter(), &plain);
    let grown = decide(&plain);
    assert!(grown.contains("20 files") && grown.contains("21 files"), "{grown}");
    let exact = decide(&options(|it| it.confirm = Confirm::Exact));
    assert!(exact.contains("signatures alone"), "{exact}");
    assert!(!folder.path("d").exists(), "nothing is left of what failed");
}

#[test]
fn documents_without_a_verdict_are_refused() {
    let folder = Folder::new();
    in_files(|file, pages| drop(folder.write(&format!("in/{file:02}.jsonl"), lines(pages))));
    let input = folder.path("in").display().to_string();
    folder.dedup(&[&input], "decided", |_| {}).unwrap();
    let refused = |inputs: &[&str]| {
        let inputs: Vec<String> = inputs.iter().map(|it| (*it).to_owned()).collect();
        let out = folder.path("refused");
        let error = apply(&folder.path("decided"), &inputs, &out, &applying(|_| {}), &mut ());
        assert!(!out.exists(), "nothing is left of what failed");
        error.unwrap_err().to_string()
    };
    let elsewhere = folder.write("other/00.jsonl", folder.read("in/00.jsonl"));
    let error = refused(&[&elsewhere]);
    assert!(error.contains("other/00.jsonl, record 1") && error.contains("this file"), "{error}");
    let first = folder.path("in/00.jsonl").display().to_string();
    let text = String::from_utf8(folder.read("in/00.jsonl")).unwrap();
    folder.write("in/00.jsonl", text.replacen("http", "hhhh", 1));
    let error = refused(&[&first]);
    assert!(error.contains("another document there"), "{error}");
    folder.write("in/00.jsonl", format!("\n{text}"));
    assert!(refused(&[&first]).contains("there; the file has changed"));
    let (shorter, _) = text.trim_end().rsplit_once('\n').unwrap();
    folder.write("in/00.jsonl", shorter);
    assert!(refused(&[&first]).contains("has changed"));
    folder.write("decided/groups.parquet", "PAR1 and nothing more");
    assert!(refused(&[&first]).contains("groups.parquet"));
}
