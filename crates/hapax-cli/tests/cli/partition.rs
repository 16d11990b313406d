//! Pages mapped to machines: learned, routed, evaluated.

use crate::folder::{Folder, stderr, stdout};
use serde_json::Value;

/// English pages of many lengths; every fifth is a copy of the page two before it with one changed
/// word.
fn pages(count: u64) -> String {
    const WORDS: [&str; 24] = [
        "the", "of", "and", "with", "they", "which", "would", "from", "have", "this", "were",
        "their", "harbour", "storm", "boat", "island", "letter", "winter", "captain", "signal",
        "rocks", "tide", "ledger", "window",
    ];
    let mut state = 7u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    };
    let mut out = String::new();
    let mut pages: Vec<Vec<String>> = Vec::new();
    for page in 0..count {
        let words = if page % 5 == 4 {
            let mut copy = pages[pages.len() - 2].clone();
            let at = (next() % copy.len() as u64) as usize;
            copy[at] = format!("changed{page}");
            copy
        } else {
            // Short pages are more frequent.
            let length = 30 + next() % 40 * (next() % 40) / 2;
            let word = |_| {
                let dice = next();
                match dice % 3 {
                    0 => format!("word{}", dice / 3 % 5000),
                    _ => WORDS[(dice / 3 % 24) as usize].to_owned(),
                }
            };
            (0..length).map(word).collect()
        };
        let text = words.join(" ");
        pages.push(words);
        out.push_str(&format!("{{\"id\":\"p{page}\",\"text\":\"{text}\"}}\n"));
    }
    out
}

fn collection(count: u64) -> Folder {
    let folder = Folder::new();
    folder.write("pages.jsonl", pages(count));
    folder
}

const LEARN: [&str; 7] =
    ["partition", "learn", "pages.jsonl", "--machines", "8", "--out", "mapping.toml"];

#[test]
fn a_learned_mapping_describes_itself() {
    let folder = collection(400);
    let printed = stderr(&folder.hapax(&LEARN).assert().code(0));
    assert!(printed.contains("mapping.toml: 8 machines from 400 pages"), "{printed}");
    assert!(printed.contains("languages: en 400") && printed.contains("rho "), "{printed}");
    let text = String::from_utf8(folder.read("mapping.toml")).unwrap();
    for line in ["format = \"hapax-partition\"", "version = 1", "machines = 8", "dimensions = 3"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert!(text.contains("not for distances of fingerprints"));
    // The same for any number of threads.
    folder.output(&[&LEARN[..6], &["again.toml", "--threads", "1", "--quiet"]].concat());
    assert!(folder.read("again.toml") == folder.read("mapping.toml"));
}

#[test]
fn copies_are_sent_to_the_machine_of_their_original() {
    let folder = collection(400);
    folder.output(&LEARN);
    let route = ["partition", "route", "pages.jsonl", "--mapping", "mapping.toml"];
    let lines = folder.output(&route);
    assert_eq!(lines.lines().count(), 400);
    let first: Vec<&str> = lines.lines().next().unwrap().split('\t').collect();
    assert_eq!((first.len(), first[0], first[1]), (6, "p0", "en"));
    let json = folder.output(&[&route[..], &["--json"]].concat());
    let routes: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut homes = std::collections::BTreeSet::new();
    for page in &routes {
        let machines = page["machines"].as_array().unwrap();
        assert!(machines.contains(&page["machine"]));
        assert!(page["cells"].as_array().unwrap().contains(&page["cell"]));
        assert_eq!(page["lengths"].as_array().unwrap().len(), 3);
        homes.insert(page["machine"].as_u64().unwrap());
    }
    assert!(homes.len() > 4 && homes.iter().all(|&machine| machine < 8), "{homes:?}");
    for copy in (4..400).step_by(5) {
        let visited = routes[copy]["machines"].as_array().unwrap();
        assert!(visited.contains(&routes[copy - 2]["machine"]), "p{copy}");
    }
}

#[test]
fn mappings_are_evaluated_in_a_table_as_json_and_on_a_page() {
    let folder = collection(600);
    let evaluate =
        ["partition", "evaluate", "pages.jsonl", "--machines", "2,8", "--dimensions", "1,3"];
    let assert =
        folder.hapax(&[&evaluate[..], &["--html", "report.html"]].concat()).assert().code(0);
    let table = stdout(&assert);
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..4], ["N", "machines", "imbalance", "avoided"]);
    let tried: Vec<(&str, &str)> = rows[1..].iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(tried, [("1", "2"), ("1", "8"), ("3", "2"), ("3", "8")]);
    assert!(stderr(&assert).contains("learnt from 300 pages"), "{}", stderr(&assert));
    let page = String::from_utf8(folder.read("report.html")).unwrap();
    assert_eq!(page.matches("<figure>").count(), 5);
    assert!(page.contains(">3D<") && !page.contains("http://") && !page.contains("<script"));

    let json: Value =
        serde_json::from_str(&folder.output(&[&evaluate[..], &["--json"]].concat())).unwrap();
    let trials = json["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    assert!(json["pairs"].as_u64().unwrap() > 0);
    for trial in trials {
        let number = |name: &str| trial[name].as_f64().unwrap();
        assert!(number("imbalance") >= 1.0 && (0.0..=1.0).contains(&number("avoided")));
        assert!((0.0..=0.2).contains(&number("lost")), "{trial}");
    }
}

#[test]
fn invalid_arguments_are_refused_before_pages_are_read() {
    let folder = collection(10);
    for (more, said) in [
        (["--machines", "0"], "0 machines are out of range"),
        (["--dimensions", "9"], "9 dimensions are out of range"),
        (["--rho", "0.5"], "an enlarging factor of 0.5"),
        (["--tau", "0"], "a similarity of 0 is out of range"),
    ] {
        let base = ["partition", "learn", "missing.jsonl", "--out", "m.toml"];
        let machines: &[&str] = if more[0] == "--machines" { &[] } else { &["--machines", "4"] };
        let error = folder.refusal(2, &[&base[..], machines, &more[..]].concat());
        assert!(error.contains(said), "{error}");
    }
    let error = folder.refusal(2, &["partition", "evaluate", "pages.jsonl", "--machines", "0"]);
    assert!(error.contains("0 machines"), "{error}");
    assert_eq!(folder.names(), ["pages.jsonl"]);
}

#[test]
fn errors_name_bad_mappings_and_other_recipes() {
    let folder = collection(120);
    folder.output(&LEARN);
    let route = |mapping: &str, recipe: &str| {
        let words = ["partition", "route", "pages.jsonl", "--mapping", mapping, "--recipe", recipe];
        folder.refusal(1, &words)
    };
    assert!(route("missing.toml", "web-2").contains("cannot read missing.toml"));
    assert!(route("pages.jsonl", "web-2").contains("pages.jsonl"));
    let text = String::from_utf8(folder.read("mapping.toml")).unwrap();
    folder.write("later.toml", text.replace("version = 1", "version = 2"));
    assert!(route("later.toml", "web-2").contains("version 2 is newer than 1"));
    folder.write("half.toml", &text[..text.len() / 2]);
    assert!(route("half.toml", "web-2").contains("half.toml"));
    let error = route("mapping.toml", "khan-words");
    assert!(error.contains("was learnt with the words of web-2"), "{error}");
}

#[test]
fn a_sample_without_words_is_an_error() {
    let folder = Folder::new();
    folder.write("empty.jsonl", "{\"id\":\"a\",\"text\":\"\"}\n");
    let learn = ["partition", "learn", "empty.jsonl", "--machines", "2", "--out", "m.toml"];
    let error = folder.refusal(1, &learn);
    assert!(error.contains("too few pages with words"), "{error}");
    assert_eq!(folder.names(), ["empty.jsonl"]);
}
