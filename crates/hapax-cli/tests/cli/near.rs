//! An index of fingerprints, built, searched and described.

use crate::folder::{ARTICLE, Folder, stderr};
use serde_json::Value;

/// Fingerprints gathered around a few centres, so that there is something to find.
fn neighbours(count: u64, seed: u64) -> Vec<u64> {
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

/// Query line, stored line, distance: by the obvious loop.
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
fn building_and_finding_equals_a_loop_over_everything() {
    // So many of both that tables are built; and so few that they are not.
    for (count, asked, engine) in [(20_000, 5_000, "built "), (300, 50, "searched the file")] {
        let (stored, queries) = (neighbours(count, 1), neighbours(asked, 2));
        let folder = Folder::new();
        folder.write("stored.txt", hexadecimal(&stored)).write("asked.txt", hexadecimal(&queries));
        folder.output(&["near", "build", "stored.txt", "--out", "a.seg"]);
        for within in ["0", "3", "6"] {
            let find = ["near", "find", "asked.txt", "--index", "a.seg", "--within", within];
            let assert = folder.hapax(&find).assert().code(0);
            let right = expected(&stored, &queries, within.parse().unwrap());
            assert!(!right.is_empty());
            assert_eq!(lines(&crate::folder::stdout(&assert)), right);
            // The same words are found in the file as soon as in any table.
            let told = stderr(&assert);
            assert!(within == "0" || told.contains(engine), "{told}");
            let one = folder.output(&[&find[..], &["--threads", "1"]].concat());
            assert!(one == folder.output(&[&find[..], &["--threads", "7"]].concat()));
        }
    }
}

#[test]
fn the_first_match_is_one_of_all_and_there_whenever_one_is() {
    let (stored, queries) = (neighbours(20_000, 1), neighbours(2_000, 2));
    let folder = Folder::new();
    folder.write("stored.txt", hexadecimal(&stored)).write("asked.txt", hexadecimal(&queries));
    folder.output(&["near", "build", "stored.txt", "--out", "a.seg", "--compressed"]);
    let find = ["near", "find", "asked.txt", "--index", "a.seg", "--first"];
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
fn binary_text_and_decimal_are_the_same_index() {
    let stored = neighbours(500, 3);
    let folder = Folder::new();
    let bytes: Vec<u8> = stored.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let decimal: String = stored.iter().map(|bits| format!("0x{bits:x}\n")).collect();
    folder.write("a.txt", hexadecimal(&stored)).write("a.bin", bytes).write("a.dec", decimal);
    folder.output(&["near", "build", "a.txt", "--out", "text.seg"]);
    folder.output(&["near", "build", "a.bin", "--binary", "--out", "binary.seg"]);
    folder.output(&["near", "build", "a.dec", "--out", "decimal.seg"]);
    assert!(folder.read("text.seg") == folder.read("binary.seg"));
    assert!(folder.read("text.seg") == folder.read("decimal.seg"));
    let text = folder.output(&["near", "find", "a.txt", "--index", "text.seg"]);
    assert_eq!(text, folder.output(&["near", "find", "a.bin", "--binary", "--index", "text.seg"]));
}

#[test]
fn a_column_of_numbers_is_the_id() {
    let folder = Folder::new();
    folder.write("a.txt", "00000000000000ff 40000000000\n0x1ff\t7\n").write("q.txt", "255 me\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.seg"]);
    assert_eq!(folder.names(), ["a.seg", "a.txt", "q.txt"]);
    let found = folder.output(&["near", "find", "q.txt", "--index", "a.seg"]);
    assert_eq!(found, "me\t40000000000\t0\nme\t7\t1\n");
}

#[test]
fn pages_are_found_by_their_paths() {
    let folder = Folder::new();
    folder.write("site/a.html", ARTICLE).write("site/b.html", ARTICLE.replace("old", "ancient"));
    folder.write("site/empty.html", "").write("new.html", ARTICLE);
    for (json, file) in [(&[][..], "site.txt"), (&["--json"], "site.jsonl")] {
        folder.output(&[&["fingerprint", "site", "--out", file], json].concat());
        let built = folder.hapax(&["near", "build", file, "--out", "site.seg"]).assert().code(0);
        assert!(stderr(&built).contains("2 fingerprints"), "{}", stderr(&built));
        assert!(stderr(&built).contains("1 without one left out"), "{}", stderr(&built));
        let asked = folder.output(&[&["fingerprint", "new.html"], json].concat());
        let find = ["near", "find", "-", "--index", "site.seg", "--within", "0"];
        let found = folder.hapax(&find).write_stdin(asked).assert().code(0);
        assert_eq!(crate::folder::stdout(&found), "new.html\tsite/a.html\t0\n");
    }
    let info: Value =
        serde_json::from_str(&folder.output(&["near", "info", "site.seg", "--json"])).unwrap();
    assert_eq!((&info["fingerprints"], &info["names"]), (&2.into(), &2.into()));
    assert!(info["recipe"].as_str().unwrap().starts_with("web-1:"));
    assert!(folder.output(&["near", "info", "site.seg"]).contains("recipe        web-1:"));
}

#[test]
fn json_lists_every_query_with_its_matches() {
    let folder = Folder::new();
    folder.write("a.txt", "0x1  one\n0x3  a\tb\n").write("q.txt", "1\n18446744073709551615\n");
    folder.output(&["near", "build", "a.txt", "--out", "a.seg"]);
    let find = ["near", "find", "q.txt", "--index", "a.seg", "--within", "1"];
    let output = folder.output(&[&find[..], &["--json"]].concat());
    let records: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let matches = serde_json::json!([
        { "id": 0, "name": "one", "distance": 0 },
        { "id": 1, "name": "a\tb", "distance": 1 },
    ]);
    assert_eq!(records[0]["matches"], matches);
    assert_eq!(records[1]["query"], "2");
    assert_eq!(records[1]["matches"], serde_json::json!([]));
    assert_eq!(folder.output(&find), "1\tone\t0\n1\ta\\tb\t1\n");
}

#[test]
fn an_index_without_names_removes_the_names_of_the_one_before() {
    let folder = Folder::new();
    folder.write("named.txt", "1  one\n").write("bare.txt", "1\n");
    folder.output(&["near", "build", "named.txt", "--out", "a.seg"]);
    assert!(folder.names().contains(&"a.seg.names".to_owned()));
    folder.output(&["near", "build", "bare.txt", "--out", "a.seg"]);
    assert!(!folder.names().contains(&"a.seg.names".to_owned()));
    assert_eq!(folder.output(&["near", "find", "bare.txt", "--index", "a.seg"]), "1\t1\t0\n");
}

#[test]
fn an_empty_index_finds_nothing() {
    let folder = Folder::new();
    folder.write("none.txt", "").write("q.txt", "1\n");
    folder.output(&["near", "build", "none.txt", "--out", "a.seg"]);
    assert_eq!(folder.output(&["near", "find", "q.txt", "--index", "a.seg"]), "");
    assert_eq!(folder.output(&["near", "find", "none.txt", "--index", "a.seg"]), "");
}

#[test]
fn recipes_are_not_mixed() {
    let line = |recipe: &str| {
        format!("{{\"fingerprint\":\"0x1\",\"id\":\"p\",\"recipe\":\"{recipe}\"}}\n")
    };
    let (one, two) = ("web-1:00000000000000aa", "web-1:00000000000000bb");
    let folder = Folder::new();
    folder.write("one.jsonl", line(one)).write("two.jsonl", line(two)).write("bare.txt", "1\n");
    folder.write("both.jsonl", line(one) + &line(two));
    let told = folder.refusal(1, &["near", "build", "both.jsonl", "--out", "x.seg"]);
    assert!(
        told.contains("both.jsonl: line 2") && told.contains(one) && told.contains(two),
        "{told}"
    );
    assert!(!folder.names().contains(&"x.seg".to_owned()));
    folder.output(&["near", "build", "one.jsonl", "--out", "a.seg"]);
    let told = folder.refusal(1, &["near", "find", "two.jsonl", "--index", "a.seg"]);
    assert!(told.contains(one) && told.contains(two), "{told}");
    assert_eq!(folder.output(&["near", "find", "bare.txt", "--index", "a.seg"]), "1\tp\t0\n");
}

#[test]
fn bad_fingerprints_are_named_and_nothing_is_written() {
    let folder = Folder::new();
    folder.write("text.txt", "1\nhello world\n").write("odd.bin", [0; 12]);
    folder.write("half.txt", "1  one\n2\n").write("twice.txt", "1 7\n2 7\n");
    for (arguments, told) in [
        (&["text.txt"][..], "text.txt: line 2: `hello` is no fingerprint"),
        (&["odd.bin", "--binary"], "odd.bin: 12 bytes are no whole number of fingerprints"),
        (&["half.txt"], "line 2 has no name"),
        (&["twice.txt"], "twice.txt: id 7 comes with more than one fingerprint"),
        (&["gone.txt"], "cannot read gone.txt"),
    ] {
        let refusal =
            folder.refusal(1, &[&["near", "build", "--out", "a.seg"], arguments].concat());
        assert!(refusal.contains(told), "{refusal}");
    }
    assert_eq!(folder.names(), ["half.txt", "odd.bin", "text.txt", "twice.txt"]);
    let told = folder.refusal(2, &["near", "build", "text.txt", "--out", "a", "--within", "65"]);
    assert!(told.contains("a distance is 0 to 64 bits"), "{told}");
    folder.refusal(2, &["near", "build", "text.txt"]);
    folder.refusal(2, &["near", "find", "text.txt"]);
    folder.refusal(2, &["near"]);
}

#[test]
fn damaged_foreign_and_newer_files_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "1  one\n2  two\n").write("foreign", "not an index at all");
    folder.output(&["near", "build", "a.txt", "--out", "a.seg"]);
    let (index, names) = (folder.read("a.seg"), folder.read("a.seg.names"));
    let refusal = |index: &[u8], names: &[u8]| {
        folder.write("b.seg", index).write("b.seg.names", names);
        let told = folder.refusal(1, &["near", "info", "b.seg"]);
        assert_eq!(told, folder.refusal(1, &["near", "find", "a.txt", "--index", "b.seg"]));
        told
    };
    let changed = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x40;
        bytes
    };
    assert!(refusal(b"not an index", &names).contains("b.seg: not a segment"));
    assert!(refusal(&index[..index.len() - 9], &names).contains("b.seg: "));
    assert!(refusal(&changed(&index, 100), &names).contains("fails its checksum"));
    assert!(refusal(&changed(&index, 8), &names).contains("newer than"));
    assert!(refusal(&index, &changed(&names, 8)).contains("b.seg.names: format 65 is newer"));
    assert!(refusal(&index, &changed(&names, 60)).contains("names fail their checksum"));
    assert!(refusal(&index, &names[..names.len() - 1]).contains("it is cut"));
    assert!(refusal(&index, b"shopping list").contains("b.seg.names: not a file of names"));
    assert!(refusal(&names, &names).contains("give the index itself"));
    folder.write("c.txt", "3  three\n");
    folder.output(&["near", "build", "c.txt", "--out", "c.seg"]);
    assert!(refusal(&folder.read("c.seg"), &names).contains("belong to another index"));
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
fn with_a_recall_weak_bits_find_the_share_asked_for_and_say_so() {
    let (stored, pages) = (neighbours(60_000, 4), edited(4_000));
    let all: Vec<u64> = stored.iter().copied().chain(pages.iter().map(|p| p.copy)).collect();
    let queries: Vec<u64> = pages.iter().map(|p| p.fingerprint).collect();
    let line = |page: &Edited| {
        format!("{{\"fingerprint\":\"{:016x}\",\"sums\":{:?}}}\n", page.fingerprint, page.sums)
    };
    let folder = Folder::new();
    folder.write("stored.txt", hexadecimal(&all)).write("bare.txt", hexadecimal(&queries));
    folder.write("asked.jsonl", pages.iter().map(line).collect::<String>());
    let built = ["near", "build", "stored.txt", "--out", "a.seg", "--recall", "0.9"];
    folder.hapax(&built).assert().code(0);
    // Tables do not fit, and a sorted array takes longer within so many bits.
    let find = ["near", "find", "asked.jsonl", "--index", "a.seg", "--within", "6"];
    let find = [&find[..], &["--memory", "700kB", "--recall", "0.9"]].concat();
    let assert = folder.hapax(&find).assert().code(0);
    let told = stderr(&assert);
    assert!(told.contains("weak bits for recall 0.9, calibrated on "), "{told}");
    assert!(told.contains(" and measured 0.9"), "{told}");
    let right = expected(&all, &queries, 6);
    let found = lines(&crate::folder::stdout(&assert));
    assert!(found.iter().all(|m| right.binary_search_by_key(&key(m), key).is_ok()));
    let share = found.len() as f64 / right.len() as f64;
    assert!((0.86..1.0).contains(&share), "{share}");
    for threads in ["1", "5"] {
        let again = folder.output(&[&find[..], &["--threads", threads]].concat());
        assert_eq!(lines(&again), found);
    }

    let json = folder.output(&[&find[..], &["--json", "--first"]].concat());
    let records: Vec<Value> = json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(records.iter().all(|record| record["recall"] == 0.9));
    let matched = records.iter().filter(|record| record["matches"] != serde_json::json!([]));
    assert!(matched.count() as f64 > 0.86 * records.len() as f64);

    // Without sums the answer is exact, and says how it could be quicker.
    let bare: Vec<&str> =
        find.iter().map(|&a| if a == "asked.jsonl" { "bare.txt" } else { a }).collect();
    let assert = folder.hapax(&bare).assert().code(0);
    assert_eq!(lines(&crate::folder::stdout(&assert)), right);
    let told = stderr(&assert);
    assert!(told.contains("finds every match; weak bits need queries with sums"), "{told}");
}

/// The order in which matches are listed.
fn key(m: &(usize, usize, u32)) -> (usize, u32, usize) {
    (m.0, m.2, m.1)
}

#[test]
fn a_recall_or_sums_that_cannot_be_meant_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n").write("short.jsonl", "{\"fingerprint\":1,\"sums\":[1]}\n");
    folder.write("other.jsonl", format!("{{\"fingerprint\":1,\"sums\":{:?}}}\n", [3; 64]));
    folder.output(&["near", "build", "a.txt", "--out", "a.seg"]);
    for share in ["0", "1.01", "-1", "nan", "much"] {
        let share = format!("--recall={share}");
        for command in [&["find", "a.txt", "--index", "a.seg"], &["build", "a.txt", "--out", "b"]] {
            let told = folder.refusal(2, &[&["near"], &command[..], &[&share]].concat());
            assert!(told.contains("above 0 and"), "{told}");
        }
    }
    for (queries, told) in
        [("short.jsonl", "`sums` are 1 numbers"), ("other.jsonl", "`sums` are not those of")]
    {
        let find = ["near", "find", queries, "--index", "a.seg", "--recall", "0.9"];
        let refusal = folder.refusal(1, &find);
        assert!(refusal.contains(&format!("{queries}: line 1: {told}")), "{refusal}");
    }
    assert!(folder.refusal(2, &["fingerprint", "a.txt", "--sums"]).contains("--json"));
}

#[test]
fn pages_with_sums_are_found_by_pages_with_sums() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("old", "ancient"));
    folder.output(&["fingerprint", "a.html", "--json", "--out", "a.jsonl"]);
    folder.output(&["fingerprint", "b.html", "--json", "--sums", "--out", "b.jsonl"]);
    folder.output(&["near", "build", "a.jsonl", "--out", "a.seg"]);
    let record: Value = serde_json::from_slice(&folder.read("b.jsonl")).unwrap();
    assert_eq!(record["sums"].as_array().unwrap().len(), 64);
    let find = ["near", "find", "b.jsonl", "--index", "a.seg", "--within", "16"];
    let exact = folder.output(&find);
    assert!(exact.starts_with("b.html\ta.html\t"), "{exact}");
    assert_eq!(folder.output(&[&find[..], &["--recall", "0.95"]].concat()), exact);
}
