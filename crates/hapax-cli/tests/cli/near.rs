//! Collections of fingerprints: built, extended, searched and described.

use crate::folder::{ARTICLE, Folder, stderr};
use serde_json::Value;

/// Fingerprints around a few centres, so that there are matches.
pub(crate) fn neighbours(count: u64, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let centres: Vec<u64> =
        (0..count / 8 + 1).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    (0..count)
        .map(|_| {
            let centre = centres[(next() % centres.len() as u64) as usize];
            (0..next() % 6).fold(centre, |bits, _| bits ^ (1 << (next() % 64)))
        })
        .collect()
}

fn hexadecimal(fingerprints: &[u64]) -> String {
    fingerprints.iter().map(|bits| format!("{bits:016x}\n")).collect()
}

/// Query line, stored line, distance: by comparing all.
fn expected(stored: &[u64], queries: &[u64], within: u32) -> Vec<(usize, usize, u32)> {
    let mut all = Vec::new();
    for (q, query) in queries.iter().enumerate() {
        for (s, bits) in stored.iter().enumerate() {
            let distance = (query ^ bits).count_ones();
            if distance <= within {
                all.push((q + 1, s + 1, distance));
            }
        }
    }
    all.sort_by_key(|&(q, s, distance)| (q, distance, s));
    all
}

fn lines(output: &str) -> Vec<(usize, usize, u32)> {
    let number = |text: &str| text.parse::<usize>().unwrap();
    let line = |line: &str| {
        let [query, found, distance] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        (number(query), number(found), number(distance) as u32)
    };
    output.lines().map(line).collect()
}

#[test]
fn finding_loaded_and_streamed_agrees_with_a_linear_scan() {
    // Enough of both for tables to be built, and too few for that.
    for (count, asked, engine) in [(20_000, 5_000, "table"), (300, 50, "loaded and scanned")] {
        let (stored, queries) = (neighbours(count, 1), neighbours(asked, 2));
        let folder = Folder::new();
        folder.write("stored.txt", hexadecimal(&stored)).write("asked.txt", hexadecimal(&queries));
        folder.output(&["near", "build", "stored.txt", "--out", "a.hpx"]);
        for within in ["0", "3", "6"] {
            let find = ["near", "find", "asked.txt", "--index", "a.hpx", "--within", within];
            let right = expected(&stored, &queries, within.parse().unwrap());
            assert!(!right.is_empty());
            for (mode, how) in [("load", engine), ("stream", "streamed"), ("auto", "")] {
                let find = [&find[..], &["--mode", mode]].concat();
                let assert = folder.hapax(&find).assert().code(0);
                assert_eq!(lines(&crate::folder::stdout(&assert)), right);
                // With distance 0, an array is as fast as any table.
                let printed = stderr(&assert);
                assert!(within == "0" || printed.contains(how), "{printed}");
                let one = folder.output(&[&find[..], &["--threads", "1"]].concat());
                assert!(one == folder.output(&[&find[..], &["--threads", "7"]].concat()));
            }
        }
    }
}

#[test]
fn the_mode_predicted_to_be_fastest_is_used_and_explained() {
    let folder = Folder::new();
    for (stored, asked, mode) in [(100, 20_000, "load"), (200_000, 50, "stream")] {
        folder.write("stored.txt", hexadecimal(&neighbours(stored, 1)));
        folder.write("asked.txt", hexadecimal(&neighbours(asked, 2)));
        folder.output(&["near", "build", "stored.txt", "--out", "a.hpx", "--force"]);
        let find = ["near", "find", "asked.txt", "--index", "a.hpx", "-v"];
        let assert = folder.hapax(&find).assert().code(0);
        let lines = crate::folder::stdout(&assert);
        let summary = stderr(&assert);
        assert!(
            summary.contains(&format!("mode {mode}: streaming is predicted to take ")),
            "{summary}"
        );
        assert!(
            summary.contains(if mode == "load" { "; loaded" } else { "; streamed" }),
            "{summary}"
        );

        let json = folder.hapax(&[&find[..], &["--json"]].concat()).assert().code(0);
        let explained = stderr(&json);
        let explained = explained.lines().find(|line| line.starts_with('{')).unwrap();
        let explained: Value = serde_json::from_str(explained).unwrap();
        assert_eq!(explained["mode"], mode);
        let seconds = ["load_seconds", "stream_seconds"].map(|f| explained[f].as_f64().unwrap());
        assert_eq!(seconds[0] > seconds[1], mode == "stream");

        let other = if mode == "load" { "stream" } else { "load" };
        let forced = folder.hapax(&[&find[..], &["--mode", other]].concat()).assert().code(0);
        assert_eq!(crate::folder::stdout(&forced), lines);
        assert!(stderr(&forced).contains(&format!("mode {other}: --mode says so; ")));
    }
}

#[test]
fn all_copies_of_a_popular_page_are_found_in_both_modes() {
    let folder = Folder::new();
    let copies: String = (0..100).map(|at| format!("00000000000000ff  copy{at}\n")).collect();
    folder.write("stored.txt", copies).write("asked.txt", "255  a\n254  b\n255  c\n");
    folder.output(&["near", "build", "stored.txt", "--out", "a.hpx"]);
    let find = ["near", "find", "asked.txt", "--index", "a.hpx", "--mode"];
    let loaded = folder.output(&[&find[..], &["load"]].concat());
    assert_eq!(loaded.lines().count(), 300);
    assert!(loaded.ends_with("c\tcopy98\t0\nc\tcopy99\t0\n"));
    assert_eq!(loaded, folder.output(&[&find[..], &["stream"]].concat()));
    let json = |mode| folder.output(&[&find[..], &[mode, "--json"]].concat());
    assert_eq!(json("load"), json("stream"));
}

#[test]
fn the_first_match_is_one_of_all_and_exists_if_any_does() {
    let (stored, queries) = (neighbours(20_000, 1), neighbours(2_000, 2));
    let folder = Folder::new();
    folder.write("stored.txt", hexadecimal(&stored)).write("asked.txt", hexadecimal(&queries));
    folder.output(&["near", "build", "stored.txt", "--out", "a.hpx"]);
    let find = ["near", "find", "asked.txt", "--index", "a.hpx", "--first", "--within", "3"];
    let output = folder.output(&find);
    let first = lines(&output);
    let all = expected(&stored, &queries, 3);
    assert!(first.iter().all(|found| all.contains(found)));
    let mut answered: Vec<usize> = all.iter().map(|found| found.0).collect();
    answered.dedup();
    assert_eq!(first.iter().map(|found| found.0).collect::<Vec<_>>(), answered);
    assert!(output == folder.output(&[&find[..], &["--threads", "1"]].concat()));
}

#[test]
fn binary_text_and_decimal_give_the_same_index() {
    let stored = neighbours(500, 3);
    let folder = Folder::new();
    let bytes: Vec<u8> = stored.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let decimal: String = stored.iter().map(|bits| format!("0x{bits:x}\n")).collect();
    folder.write("a.txt", hexadecimal(&stored)).write("a.bin", bytes).write("a.dec", decimal);
    folder.output(&["near", "build", "a.txt", "--out", "text.hpx"]);
    folder.output(&["near", "build", "a.bin", "--binary", "--out", "binary.hpx"]);
    folder.output(&["near", "build", "a.dec", "--out", "decimal.hpx"]);
    assert!(folder.read("text.hpx") == folder.read("binary.hpx"));
    assert!(folder.read("text.hpx") == folder.read("decimal.hpx"));
    let text = folder.output(&["near", "find", "a.txt", "--index", "text.hpx"]);
    assert_eq!(text, folder.output(&["near", "find", "a.bin", "--binary", "--index", "text.hpx"]));
}

#[test]
fn a_second_column_is_always_the_name() {
    let folder = Folder::new();
    folder.write("a.txt", "00000000000000ff 40000000000\n0x1ff\t7\n0x3ff\n");
    folder.write("q.txt", "255 me\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.hpx"]);
    assert_eq!(folder.names(), ["a.hpx", "a.txt", "q.txt"]);
    let found = folder.output(&["near", "find", "q.txt", "--index", "a.hpx"]);
    // The third has no name, and is identified by its position.
    assert_eq!(found, "me\t40000000000\t0\nme\t7\t1\nme\t3\t2\n");
}

#[test]
fn pages_are_found_by_their_paths() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE).write("site/b.html", ARTICLE.replace("old", "ancient"));
    folder.write("site/empty.html", "").write("new.html", ARTICLE);
    for (json, file) in [
        (&[][..], "site.txt"),
        (&[], "site.csv"),
        (&[], "site.parquet"),
        (&["--json"][..], "site.jsonl"),
    ] {
        folder.output(&[&["fingerprint", "site", "--out", file], json].concat());
        let built =
            folder.hapax(&["near", "build", file, "--out", "site.hpx", "--force"]).assert().code(0);
        assert!(stderr(&built).contains("2 fingerprints"), "{}", stderr(&built));
        assert!(stderr(&built).contains("1 without a fingerprint left out"), "{}", stderr(&built));
        assert_eq!(stderr(&built).contains("warning: site.txt does not state"), file == "site.txt");
        let asked = folder.output(&[&["fingerprint", "new.html"], json].concat());
        let find = ["near", "find", "-", "--index", "site.hpx", "--within", "0"];
        let found = folder.hapax(&find).write_stdin(asked).assert().code(0);
        assert_eq!(crate::folder::stdout(&found), "new.html\tsite/a.html\t0\n");
    }
    let info: Value =
        serde_json::from_str(&folder.output(&["near", "info", "site.hpx", "--json"])).unwrap();
    assert_eq!((&info["fingerprints"], &info["names"]), (&2.into(), &2.into()));
    assert!(info["recipe"].as_str().unwrap().starts_with("web-2:"));
    assert!(folder.output(&["near", "info", "site.hpx"]).contains("recipe        web-2:"));
}

#[test]
fn json_lists_every_query_with_its_matches() {
    let folder = Folder::new();
    folder.write("a.txt", "0x1  one\n0x3  a\tb\n").write("q.txt", "1\n18446744073709551615\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.hpx"]);
    let find = ["near", "find", "q.txt", "--index", "a.hpx", "--within", "1"];
    let output = folder.output(&[&find[..], &["--json"]].concat());
    let records: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let matches = serde_json::json!([
        { "id": 1, "name": "one", "distance": 0 },
        { "id": 2, "name": "a\tb", "distance": 1 },
    ]);
    assert_eq!(records[0]["matches"], matches);
    assert_eq!(records[1]["query"], "2");
    assert_eq!(records[1]["matches"], serde_json::json!([]));
    assert_eq!(folder.output(&find), "1\tone\t0\n1\ta\\tb\t1\n");
}

#[test]
fn an_empty_index_finds_nothing() {
    let folder = Folder::new();
    folder.write("none.txt", "").write("q.txt", "1\n");
    folder.output(&["near", "build", "none.txt", "--out", "a.hpx"]);
    assert_eq!(folder.output(&["near", "find", "q.txt", "--index", "a.hpx"]), "");
    assert_eq!(folder.output(&["near", "find", "none.txt", "--index", "a.hpx"]), "");
}

#[test]
fn recipes_are_not_mixed() {
    let line = |recipe: &str| {
        format!("{{\"fingerprint\":\"0x1\",\"id\":\"p\",\"recipe\":\"{recipe}\"}}\n")
    };
    let (one, two) = ("web-2:00000000000000aa", "web-2:00000000000000bb");
    let folder = Folder::new();
    folder.write("one.jsonl", line(one)).write("two.jsonl", line(two)).write("bare.txt", "1\n");
    folder.write("both.jsonl", line(one) + &line(two));
    let printed = folder.refusal(1, &["near", "build", "both.jsonl", "--out", "x.hpx"]);
    assert!(
        printed.contains("both.jsonl: line 2") && printed.contains(one) && printed.contains(two),
        "{printed}"
    );
    assert!(!folder.names().contains(&"x.hpx".to_owned()));
    folder.output(&["near", "build", "one.jsonl", "--out", "a.hpx"]);
    let printed = folder.refusal(1, &["near", "find", "two.jsonl", "--index", "a.hpx"]);
    assert!(printed.contains(one) && printed.contains(two), "{printed}");
    // If one side states no recipe, a warning says so.
    folder.output(&["near", "build", "bare.txt", "--out", "bare.hpx", "-q"]);
    for (queries, index, unlabelled) in
        [("bare.txt", "a.hpx", "bare.txt"), ("one.jsonl", "bare.hpx", "bare.hpx")]
    {
        let found = folder.hapax(&["near", "find", queries, "--index", index]).assert().code(0);
        let printed = stderr(&found);
        assert!(printed.contains(&format!("warning: {unlabelled} does not state")), "{printed}");
        assert_eq!(crate::folder::stdout(&found).lines().count(), 1);
        let quiet = folder.hapax(&["near", "find", queries, "--index", index, "-q"]).assert();
        assert_eq!(stderr(&quiet.code(0)), "");
    }
    let printed = folder.refusal(1, &["near", "add", "two.jsonl", "--index", "a.hpx"]);
    assert!(printed.contains(one) && printed.contains(two), "{printed}");
    let found = folder.hapax(&["near", "find", "one.jsonl", "--index", "a.hpx"]).assert().code(0);
    assert!(!stderr(&found).contains("warning"), "{}", stderr(&found));
}

#[test]
fn bad_fingerprints_are_named_and_nothing_is_written() {
    let folder = Folder::new();
    folder.write("text.txt", "1\nhello world\n").write("odd.bin", [0; 12]);
    for (arguments, printed) in [
        (&["text.txt"][..], "text.txt: line 2: `hello` is not a fingerprint"),
        (&["odd.bin", "--binary"], "odd.bin: file length 12 is not a multiple of 8"),
        (&["odd.bin"], "odd.bin: it is neither text nor"),
        (&["."], "it is a folder: hapax fingerprint"),
        (&["gone.txt"], "cannot read gone.txt"),
    ] {
        let refusal =
            folder.refusal(1, &[&["near", "build", "--out", "a.hpx"], arguments].concat());
        assert!(refusal.contains(printed), "{refusal}");
    }
    assert_eq!(folder.names(), ["odd.bin", "text.txt"]);
    let printed =
        folder.refusal(2, &["near", "find", "text.txt", "--index", "a", "--within", "65"]);
    assert!(printed.contains("a distance is 0 to 64 bits"), "{printed}");
    folder.refusal(2, &["near", "build", "text.txt"]);
    folder.refusal(2, &["near", "find", "text.txt"]);
    folder.refusal(2, &["near"]);
}

#[test]
fn damaged_foreign_and_newer_files_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "1  one\n2  two\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.hpx"]);
    let index = folder.read("a.hpx");
    let refusal = |index: &[u8]| {
        folder.write("b.hpx", index);
        let printed = folder.refusal(1, &["near", "info", "b.hpx"]);
        for mode in ["load", "stream"] {
            let find = ["near", "find", "a.txt", "--index", "b.hpx", "-q", "--mode", mode];
            assert!(folder.refusal(1, &find).contains("b.hpx"));
        }
        printed
    };
    let changed = |at: usize| {
        let mut bytes = index.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    assert!(refusal(b"not an index").contains("b.hpx is not a .hpx file"));
    assert!(refusal(&index[..index.len() - 9]).contains("b.hpx is cut at byte"));
    assert!(refusal(&changed(30)).contains("fails its checksum"));
    assert!(refusal(&changed(8)).contains("newer than"));
    // A folder, a pipe or a device is never replaced by a file.
    let printed = folder.refusal(1, &["near", "build", "a.txt", "--out", "/dev/null"]);
    assert!(printed.contains("cannot write /dev/null"), "{printed}");
    assert!(!std::path::Path::new("/dev/.null.partial").exists());
}

#[test]
fn a_collection_that_is_read_must_not_be_written() {
    let folder = Folder::new();
    folder.write("a.txt", "1  one\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.hpx"]);
    let printed = folder.refusal(2, &["near", "add", "a.hpx", "--index", "a.hpx"]);
    assert!(printed.contains("same file"), "{printed}");
}

/// A document's fingerprint and sums, and the fingerprint of an edited copy within six bits.
struct Edited {
    fingerprint: u64,
    sums: [i64; 64],
    copy: u64,
}

fn edited(count: usize) -> Vec<Edited> {
    let mut state = 9u64;
    let mut unit = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
    let cut = |sums: &[i64; 64]| (0..64).fold(0, |f, j| f | u64::from(sums[j] > 0) << j);
    let mut all = Vec::new();
    while all.len() < count {
        let sums: [i64; 64] = std::array::from_fn(|_| (normal() * 1e4) as i64);
        let copy = sums.map(|sum| sum + (normal() * 800.0) as i64);
        let (fingerprint, copy) = (cut(&sums), cut(&copy));
        if (fingerprint ^ copy).count_ones() <= 6 {
            all.push(Edited { fingerprint, sums, copy });
        }
    }
    all
}

#[test]
fn weak_bits_reach_the_requested_recall_and_report_it() {
    let (stored, pages) = (neighbours(60_000, 4), edited(4_000));
    let all: Vec<u64> = stored.iter().copied().chain(pages.iter().map(|p| p.copy)).collect();
    let queries: Vec<u64> = pages.iter().map(|p| p.fingerprint).collect();
    let line = |page: &Edited| {
        format!("{{\"fingerprint\":\"{:016x}\",\"sums\":{:?}}}\n", page.fingerprint, page.sums)
    };
    let folder = Folder::new();
    folder.write("stored.txt", hexadecimal(&all)).write("bare.txt", hexadecimal(&queries));
    folder.write("asked.jsonl", pages.iter().map(line).collect::<String>());
    folder.output(&["near", "build", "stored.txt", "--out", "a.hpx"]);
    // An exact index does not fit.
    let find = ["near", "find", "asked.jsonl", "--index", "a.hpx", "--within", "6"];
    let find = [&find[..], &["--mode", "load", "--memory", "700kB", "--recall", "0.9"]].concat();
    let assert = folder.hapax(&find).assert().code(0);
    let printed = stderr(&assert);
    assert!(printed.contains("weak bits for recall 0.9, calibrated on "), "{printed}");
    assert!(printed.contains(" and measured 0.9"), "{printed}");
    let right = expected(&all, &queries, 6);
    let found = lines(&crate::folder::stdout(&assert));
    assert!(found.iter().all(|m| right.binary_search_by_key(&key(m), key).is_ok()));
    let share = found.len() as f64 / right.len() as f64;
    assert!((0.88..1.0).contains(&share), "{share}");
    for threads in ["1", "5"] {
        let again = folder.output(&[&find[..], &["--threads", threads]].concat());
        assert_eq!(lines(&again), found);
    }

    let json = folder.output(&[&find[..], &["--json", "--first"]].concat());
    let records: Vec<Value> = json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(records.iter().all(|record| (0.9..1.0).contains(&record["recall"].as_f64().unwrap())));
    let matched = records.iter().filter(|record| record["matches"] != serde_json::json!([]));
    assert!(matched.count() as f64 > 0.86 * records.len() as f64);

    // Without sums the answer is exact, and the message says how to be faster.
    let bare: Vec<&str> =
        find.iter().map(|&a| if a == "asked.jsonl" { "bare.txt" } else { a }).collect();
    let assert = folder.hapax(&bare).assert().code(0);
    assert_eq!(lines(&crate::folder::stdout(&assert)), right);
    let printed = stderr(&assert);
    assert!(printed.contains("finds every match; weak bits need queries with sums"), "{printed}");
}

/// Sort key of printed matches.
fn key(m: &(usize, usize, u32)) -> (usize, u32, usize) {
    (m.0, m.2, m.1)
}

#[test]
fn an_invalid_recall_or_invalid_sums_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n").write("short.jsonl", "{\"fingerprint\":1,\"sums\":[1]}\n");
    folder.write("other.jsonl", format!("{{\"fingerprint\":1,\"sums\":{:?}}}\n", [3; 64]));
    folder.output(&["near", "build", "a.txt", "--out", "a.hpx"]);
    for share in ["0", "1.01", "-1", "nan", "much"] {
        let share = format!("--recall={share}");
        let printed = folder.refusal(2, &["near", "find", "a.txt", "--index", "a.hpx", &share]);
        assert!(printed.contains("above 0 and"), "{printed}");
    }
    for (queries, printed) in
        [("short.jsonl", "`sums` are 1 numbers"), ("other.jsonl", "`sums` are not those of")]
    {
        let find = ["near", "find", queries, "--index", "a.hpx", "--recall", "0.9"];
        let refusal = folder.refusal(1, &find);
        assert!(refusal.contains(&format!("{queries}: line 1: {printed}")), "{refusal}");
    }
    assert!(folder.refusal(2, &["fingerprint", "a.txt", "--sums"]).contains("--json"));
}

#[test]
fn pages_with_sums_are_found_by_pages_with_sums() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("old", "ancient"));
    folder.output(&["fingerprint", "a.html", "--json", "--out", "a.jsonl"]);
    folder.output(&["fingerprint", "b.html", "--json", "--sums", "--out", "b.jsonl"]);
    folder.output(&["near", "build", "a.jsonl", "--out", "a.hpx"]);
    let record: Value = serde_json::from_slice(&folder.read("b.jsonl")).unwrap();
    assert_eq!(record["sums"].as_array().unwrap().len(), 64);
    let find = ["near", "find", "b.jsonl", "--index", "a.hpx", "--within", "16"];
    let exact = folder.output(&find);
    assert!(exact.starts_with("b.html\ta.html\t"), "{exact}");
    assert_eq!(folder.output(&[&find[..], &["--recall", "0.95"]].concat()), exact);
}

#[test]
fn a_sample_too_small_to_measure_recall_is_answered_exactly() {
    let pages = edited(150);
    let stored: Vec<u64> =
        neighbours(60_000, 4).into_iter().chain(pages.iter().map(|page| page.copy)).collect();
    let line = |page: &Edited| {
        format!("{{\"fingerprint\":\"{:016x}\",\"sums\":{:?}}}\n", page.fingerprint, page.sums)
    };
    let folder = Folder::new();
    folder.write("stored.txt", hexadecimal(&stored));
    folder.write("asked.jsonl", pages.iter().map(line).collect::<String>());
    folder.output(&["near", "build", "stored.txt", "--out", "a.hpx"]);
    let find = ["near", "find", "asked.jsonl", "--index", "a.hpx", "--mode", "load"];
    let find = [&find[..], &["--within", "6", "--memory", "700kB", "--recall", "0.95"]].concat();
    let assert = folder.hapax(&find).assert().code(0);
    let queries: Vec<u64> = pages.iter().map(|page| page.fingerprint).collect();
    assert_eq!(lines(&crate::folder::stdout(&assert)), expected(&stored, &queries, 6));
    let printed = stderr(&assert);
    assert!(printed.contains("which finds every match"), "{printed}");
    let json = folder.output(&[&find[..], &["--json"]].concat());
    assert!(json.lines().all(|line| line.contains("\"recall\":1.0")));
}
