//! The same pages in every input format, and the outputs written from them.

use std::collections::BTreeMap;

use hapax_corpus::write::create;
use hapax_corpus::{ReadOptions, Source};
use hapax_dedup::{KeptFormat, Layout};

use crate::folder::{Folder, quoted, sample};

/// The sample as JSONL, with addresses that sort like the paths.
fn as_jsonl(folder: &Folder) -> String {
    let source = Source::open(&[sample().display().to_string()], ReadOptions::default()).unwrap();
    let path = folder.path("pages.jsonl");
    let mut writer = create(&path, None).unwrap();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let mut document = document.unwrap();
            let relative = document.id.strip_prefix(sample().to_str().unwrap()).unwrap();
            let url = format!("https://docs.test{}", relative.replace('\\', "/"));
            document.url = Some(url.clone().into());
            document.id = url.into();
            writer.write(&document).unwrap();
        }
    }
    writer.finish().unwrap();
    path.display().to_string()
}

fn convert(folder: &Folder, from: &str, name: &str) -> String {
    let source = Source::open(&[from], ReadOptions::default()).unwrap();
    let path = folder.path(name);
    let mut writer = create(&path, None).unwrap();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let mut document = document.unwrap();
            document.original = hapax_corpus::Original::Nothing;
            writer.write(&document).unwrap();
        }
    }
    writer.finish().unwrap();
    path.display().to_string()
}

/// Every document's winner and outcome, by the part of the name below the sample's folder.
fn decisions(folder: &Folder, out: &str) -> BTreeMap<String, (String, String)> {
    let short = |name: &str| {
        let name = name.strip_prefix("https://docs.test/").unwrap_or(name);
        name.rsplit_once("examples/docs/").map_or(name, |(_, rest)| rest).to_owned()
    };
    let rows = folder.table(&format!("{out}/groups.parquet"));
    rows.into_iter().map(|(id, row)| (short(&id), (short(&row.winner), row.outcome))).collect()
}

#[test]
fn every_format_gives_the_same_decisions() {
    let folder = Folder::new();
    let lines = as_jsonl(&folder);
    let inputs = [
        ("folder", sample().display().to_string(), "kept.jsonl"),
        ("jsonl", lines.clone(), "kept.jsonl"),
        ("jsonl-packed", convert(&folder, &lines, "pages.jsonl.zst"), "kept.jsonl.zst"),
        ("parquet", convert(&folder, &lines, "pages.parquet"), "kept.parquet"),
        ("warc", convert(&folder, &lines, "pages.warc"), "kept.warc"),
        ("warc-packed", convert(&folder, &lines, "pages.warc.gz"), "kept.warc.gz"),
    ];
    let mut first: Option<BTreeMap<String, (String, String)>> = None;
    for (out, input, kept) in &inputs {
        folder.dedup(&[input], out, |_| {}).unwrap();
        assert!(folder.names(out).contains(&(*kept).to_owned()), "{:?}", folder.names(out));
        let decisions = decisions(&folder, out);
        assert_eq!(decisions.len(), 165);
        let expected = first.get_or_insert_with(|| decisions.clone());
        for (document, decision) in &*expected {
            assert_eq!(decisions.get(document), Some(decision), "{document} in {out}");
        }
    }
}

#[test]
fn what_was_kept_has_no_duplicates_left() {
    let folder = Folder::new();
    let lines = as_jsonl(&folder);
    for format in KeptFormat::ALL {
        let (once, twice) =
            (format!("once-{}", format.ending()), format!("twice-{}", format.ending()));
        let set = |options: &mut hapax_dedup::Options| options.format = Some(format);
        let first = folder.dedup(&[&lines], &once, set).unwrap().summary;
        let kept = folder.path(&once).join(format!("kept.{}", format.ending()));
        let second = folder.dedup(&[kept.to_str().unwrap()], &twice, |_| {}).unwrap().summary;
        assert_eq!(second.documents, first.kept, "{format:?}");
        assert_eq!(second.removed(), 0, "{format:?}");
    }
}

#[test]
fn every_format_has_the_same_bytes_for_any_number_of_threads() {
    let folder = Folder::new();
    let lines = as_jsonl(&folder);
    for format in KeptFormat::ALL {
        let [one, others @ ..] = [1, 2, 7].map(|threads: usize| {
            let out = format!("{threads}-{}", format.ending());
            let set = |options: &mut hapax_dedup::Options| {
                options.format = Some(format);
                options.threads = threads.try_into().unwrap();
            };
            folder.dedup(&[&lines], &out, set).unwrap();
            let kept = format!("kept.{}", format.ending());
            [kept.as_str(), "groups.parquet", "removed.parquet"]
                .map(|name| folder.read(&format!("{out}/{name}")))
        });
        assert!(one.iter().all(|file| !file.is_empty()));
        assert!(others.iter().all(|other| *other == one), "{format:?}");
    }
}

#[test]
fn kept_documents_in_several_files_are_those_of_one() {
    let folder = Folder::new();
    let lines = as_jsonl(&folder);
    let set = |options: &mut hapax_dedup::Options, format, threads: usize| {
        options.format = Some(format);
        options.threads = threads.try_into().unwrap();
    };
    for format in [KeptFormat::Jsonl, KeptFormat::WarcGzip] {
        let ending = format.ending();
        folder.dedup(&[&lines], &format!("one-{ending}"), |it| set(it, format, 2)).unwrap();
        let whole = folder.read(&format!("one-{ending}/kept.{ending}"));
        for threads in [1, 3] {
            let out = format!("several-{ending}-{threads}");
            let finished = folder.dedup(&[&lines], &out, |options| {
                set(options, format, threads);
                options.layout = Layout::Size(std::num::NonZero::new(1000).unwrap());
            });
            assert_eq!(finished.unwrap().summary.settings.kept, format!("kept-*.{ending}"));
            let names = folder.names(&out);
            let shards: Vec<&String> = names.iter().filter(|it| it.starts_with("kept-")).collect();
            assert!(shards.len() > 1, "{names:?}");
            let shards = shards.iter().flat_map(|name| folder.read(&format!("{out}/{name}")));
            assert!(shards.collect::<Vec<u8>>() == whole, "{out}");
        }
    }
}

#[test]
fn a_file_per_input_file_holds_its_kept_documents() {
    let folder = Folder::new();
    let text = |id: usize| (0..60).map(|at| format!("w{id}x{at} ")).collect::<String>();
    let line = |id: usize, text: &str| format!("{{\"id\":\"{id}\",\"text\":{}}}\n", quoted(text));
    // The second file has only copies, the third is empty; the others have several batches.
    let many = |from: usize| (from..from + 3000).map(|id| line(id, &text(id))).collect::<String>();
    let files = [many(0), line(9000, &text(1)), String::new(), many(10_000)];
    let mut inputs = Vec::new();
    for (number, content) in files.iter().enumerate() {
        inputs.push(folder.write(&format!("in-{number}.jsonl"), content.as_bytes()));
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    for format in [KeptFormat::Jsonl, KeptFormat::JsonlZstd, KeptFormat::Parquet] {
        let ending = format.ending();
        let mut first = None;
        for threads in [1, 2, 5] {
            let out = format!("as-input-{ending}-{threads}");
            let finished = folder.dedup(&inputs, &out, |options| {
                options.format = Some(format);
                options.layout = Layout::AsInput;
                options.threads = threads.try_into().unwrap();
            });
            assert_eq!(finished.unwrap().summary.settings.kept, format!("kept-*.{ending}"));
            let read = |number| folder.read(&format!("{out}/kept-0000{number}.{ending}"));
            let made: Vec<Vec<u8>> = (0..4).map(read).collect();
            if format == KeptFormat::Jsonl {
                assert_eq!([0, 3].map(|at| made[at] == files[at].as_bytes()), [true; 2]);
                assert!(made[1].is_empty() && made[2].is_empty());
            }
            assert!(first.get_or_insert(made.clone()) == &made, "{out}");
        }
    }
}

#[test]
fn lines_of_jsonl_go_out_as_they_came() {
    let folder = Folder::new();
    let text = crate::folder::words(40, 1);
    let lines = [
        format!("{{ \"id\": 1,  \"extra\": [1, 2], \"text\": {} }}", quoted(&text)),
        format!("{{\"id\": 2, \"text\": {}}}", quoted(&text)),
        "{\"id\": 3, \"text\": \"\"}".to_owned(),
    ];
    let input = folder.write("pages.jsonl", lines.join("\n"));
    let summary = folder.dedup(&[&input], "out", |_| {}).unwrap().summary;
    assert_eq!((summary.kept, summary.exact, summary.empty), (2, 1, 1));
    let kept = String::from_utf8(folder.read("out/kept.jsonl")).unwrap();
    assert_eq!(kept, format!("{}\n{}\n", lines[0], lines[2]));
}

#[test]
fn rules_decide_which_copy_is_kept_and_are_reported() {
    let folder = Folder::new();
    let text = crate::folder::words(40, 1);
    let line = |url: &str, score: f64| {
        format!("{{\"url\": \"{url}\", \"score\": {score}, \"text\": {}}}\n", quoted(&text))
    };
    let lines = [
        line("http://a.test/", 1.0),
        line("https://long.test/page", 1.0),
        line("http://b.test/", 3.0),
    ];
    let input = folder.write("pages.jsonl", lines.concat());
    for (keep, winner, reason) in [
        ("score, https", "http://b.test/", "higher score (3 > 1)"),
        ("https", "https://long.test/page", "https over http"),
        ("shortest-url", "http://a.test/", "equal by every rule, and its URL is first in order"),
    ] {
        folder
            .dedup(&[&input], winner.trim_end_matches('/').rsplit('/').next().unwrap(), |options| {
                options.keep = keep.parse().unwrap();
            })
            .unwrap();
        let out = winner.trim_end_matches('/').rsplit('/').next().unwrap();
        let groups = folder.table(&format!("{out}/groups.parquet"));
        assert!(groups.values().all(|row| row.winner == winner), "{keep}: {groups:?}");
        let reasons: Vec<_> = groups.values().filter_map(|row| row.reason.as_deref()).collect();
        assert!(reasons.contains(&reason), "{keep}: {reasons:?}");
    }
}

#[test]
fn pages_of_different_scopes_are_not_compared() {
    let folder = Folder::new();
    let text = crate::folder::words(40, 1);
    let line = |url: &str, lang: &str| {
        format!("{{\"url\": \"{url}\", \"lang\": \"{lang}\", \"text\": {}}}\n", quoted(&text))
    };
    let lines = [
        line("http://a.test/1", "en"),
        line("http://a.test/2", "de"),
        line("http://www.a.test/3", "en-GB"),
        line("http://b.test/4", "en"),
    ];
    let input = folder.write("pages.jsonl", lines.concat());
    for (scope, kept) in
        [("none", 1), ("host", 3), ("domain", 2), ("language", 2), ("field:lang", 3)]
    {
        let out = scope.replace(':', "-");
        let set = |options: &mut hapax_dedup::Options| options.scope = scope.parse().unwrap();
        let summary = folder.dedup(&[&input], &out, set).unwrap().summary;
        assert_eq!(summary.kept, kept, "{scope}");
    }
}
