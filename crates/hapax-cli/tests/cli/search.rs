//! `hapax search`: an index that is built, queried, changed and described.

use crate::folder::{ARTICLE, Folder, stderr, stdout};
use serde_json::Value;

const HARBOUR: &str = "The city council voted on Tuesday to restore the old harbour crane, which has \
    stood unused for many years and is thought to be the last of its kind on this coast.";
const BAKERY: &str = "The bakery behind the station sells warm bread from five in the morning, and \
    on market days the queue for a loaf of rye reaches far around the corner of the street.";

/// Two copies of a text, a third text, one in Chinese and one in Japanese.
fn corpus(folder: &Folder) {
    let page = |url: &str, title: &str, text: &str, score: f64| {
        let html =
            format!("<html><head><title>{title}</title></head><body><p>{text}</p></body></html>");
        serde_json::json!({ "url": url, "html": html, "score": score }).to_string() + "\n"
    };
    let chinese =
        "关系数据库管理系统用表来组织数据,并用结构化查询语言来查询和修改这些数据。".repeat(2);
    let japanese = "日本の図書館では、だれでも無料で本を借りて読むことができます。".repeat(2);
    let lines = [
        page("http://copy.test/crane", "Crane", HARBOUR, 0.1),
        page("http://news.test/crane", "Crane", HARBOUR, 0.9),
        page("http://news.test/bread", "Bread", BAKERY, 0.5),
        page("http://cjk.test/zh", "数据库", &chinese, 0.5),
        page("http://cjk.test/ja", "図書館", &japanese, 0.5),
    ];
    folder.write("corpus.jsonl", lines.concat());
}

fn built() -> Folder {
    let folder = Folder::new();
    corpus(&folder);
    folder.output(&["search", "build", "corpus.jsonl", "--out", "index"]);
    folder
}

fn asked(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["search", "query", "--index", "index", "--json"], arguments].concat();
    serde_json::from_str(&folder.output(&all)).unwrap()
}

fn urls(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["url"].as_str().unwrap()).collect()
}

#[test]
fn results_show_the_passage_that_was_found() {
    let folder = Folder::new();
    let filler = "Nothing of interest happened on this quiet day. ".repeat(60);
    let text = format!("{filler}{HARBOUR} {filler}");
    folder.write("a.jsonl", format!("{}\n", serde_json::json!({ "id": "a", "text": text })));
    folder.output(&["search", "build", "a.jsonl", "--out", "index"]);
    let answer = asked(&folder, &["crane", "harbour"]);
    let hit = &answer["hits"][0];
    assert!(hit["start"].as_str().unwrap().len() <= 300, "{hit}");
    let passage: Vec<char> = hit["snippet"]["text"].as_str().unwrap().chars().collect();
    let at = |number: &Value| usize::try_from(number.as_u64().unwrap()).unwrap();
    let marks = hit["snippet"]["marks"].as_array().unwrap().iter();
    let marked: Vec<String> =
        marks.map(|mark| passage[at(&mark[0])..at(&mark[1])].iter().collect()).collect();
    assert_eq!(marked, ["harbour", "crane"]);
    let shown = folder.output(&["search", "query", "--index", "index", "crane", "harbour"]);
    assert!(shown.contains("restore the old harbour crane, which has"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn pages_of_every_script_are_found() {
    let folder = built();
    assert_eq!(urls(&asked(&folder, &["warm", "bread"])), ["http://news.test/bread"]);
    assert_eq!(urls(&asked(&folder, &["数据库"])), ["http://cjk.test/zh"]);
    assert_eq!(urls(&asked(&folder, &["図書館"])), ["http://cjk.test/ja"]);
    assert_eq!(urls(&asked(&folder, &["the -harbour"])), ["http://news.test/bread"]);
    let none = asked(&folder, &["!!!"]);
    assert_eq!((none["results"].as_u64(), urls(&none).len()), (Some(0), 0));
    let shown = folder.output(&["search", "query", "--index", "index", "bread"]);
    assert!(shown.contains("Bread") && shown.contains("http://news.test/bread"), "{shown}");
}

#[test]
fn copies_are_folded_under_the_one_with_the_higher_score() {
    let folder = built();
    assert_eq!(urls(&asked(&folder, &["harbour"])).len(), 2);
    let folded = asked(&folder, &["harbour", "--collapse"]);
    assert_eq!(urls(&folded), ["http://news.test/crane"]);
    let copy = &folded["hits"][0]["copies"][0];
    assert_eq!(copy["url"], "http://copy.test/crane");
    assert!(copy["reason"].as_str().unwrap().starts_with("score"), "{copy}");
    assert_eq!((&folded["results"], &folded["folded"]), (&Value::from(2), &Value::from(1)));

    folder.write("scores.tsv", "http://copy.test/crane\t5\nhttp://news.test/crane\t1\n");
    let other = asked(&folder, &["harbour", "--collapse", "--scores", "scores.tsv"]);
    assert_eq!(urls(&other), ["http://copy.test/crane"]);
    folder.write("strict.toml", "[[by-results]]\nto = 9\nremove = false\n");
    let strict = asked(&folder, &["harbour", "--policy", "strict.toml"]);
    assert_eq!(urls(&strict).len(), 2, "few results: nothing is folded");
    folder.write("ranked.toml", "[[by-rank]]\nfrom = 11\nremove = false\n");
    let popular = asked(&folder, &["harbour", "--policy", "ranked.toml", "--rank", "3"]);
    assert_eq!(urls(&popular).len(), 1);
    let rare = asked(&folder, &["harbour", "--policy", "ranked.toml"]);
    assert_eq!(urls(&rare).len(), 2, "a query that is not in the log is as rare as can be");
}

#[test]
fn documents_are_added_replaced_removed_and_restored() {
    let folder = built();
    folder.write(
        "more.jsonl",
        r#"{"url":"http://news.test/bread","text":"Closed until further notice."}
{"url":"http://new.test/","text":"A crane for the new harbour."}
"#,
    );
    folder.output(&["search", "add", "more.jsonl", "--index", "index"]);
    assert!(urls(&asked(&folder, &["rye"])).is_empty());
    assert_eq!(urls(&asked(&folder, &["harbour"])).len(), 3);
    for command in ["remove", "restore"] {
        let change = ["search", command, "--index", "index", "http://new.test/", "nosuch", "nor"];
        let printed = folder.refusal(1, &change);
        assert!(printed.contains("no document has the name nosuch, nor 1 other name"), "{printed}");
    }
    assert_eq!(urls(&asked(&folder, &["harbour"])).len(), 3, "all change or none does");
    folder.output(&["search", "remove", "--index", "index", "http://new.test/"]);
    folder.output(&["search", "remove", "--index", "index", "http://new.test/"]);
    assert_eq!(urls(&asked(&folder, &["harbour"])).len(), 2);
    folder.write("names", "http://news.test/crane\n");
    folder.output(&["search", "remove", "--index", "index", "--names", "names", "--mark"]);
    assert_eq!(urls(&asked(&folder, &["harbour"])).len(), 2);
    assert_eq!(urls(&asked(&folder, &["harbour", "--hide-marked"])).len(), 1);
    let info = || -> Value {
        serde_json::from_str(&folder.output(&["search", "info", "--index", "index", "--json"]))
            .unwrap()
    };
    let counts =
        |info: &Value| ["documents", "removed", "marked"].map(|name| info[name].as_u64().unwrap());
    assert_eq!(counts(&info()), [5, 1, 1]);
    folder.output(&["search", "restore", "--index", "index", "--all"]);
    assert_eq!(counts(&info()), [6, 0, 1]);
    folder.output(&["search", "remove", "--index", "index", "http://new.test/"]);
    folder.output(&["search", "compact", "--index", "index"]);
    assert_eq!(counts(&info()), [5, 0, 1]);
    assert!(info()["recipe"].as_str().unwrap().starts_with("web-"));
}

#[test]
fn impossible_requests_are_refused_and_leave_no_files() {
    let folder = built();
    let refused = |code, arguments: &[&str]| folder.refusal(code, arguments);
    assert!(refused(1, &["search", "build", "corpus.jsonl", "--out", "index"]).contains("exists"));
    assert!(
        refused(1, &["search", "query", "--index", "nowhere", "x"]).contains("not a search index")
    );
    let other = ["search", "add", "corpus.jsonl", "--index", "index", "--recipe", "stream-words"];
    assert!(refused(1, &other).contains("was built with recipe"));
    folder.write("bad.jsonl", "{\"url\":\"http://a.test/\",\"text\":\"fine\"}\n{\"url\":\n");
    assert!(refused(1, &["search", "build", "bad.jsonl", "--out", "other"]).contains("--skip-bad"));
    folder.write("scores.tsv", "http://a.test/ 5\n");
    let scores = ["search", "query", "--index", "index", "x", "--scores", "scores.tsv"];
    assert!(refused(1, &scores).contains("line 1"));
    folder.write("policy.toml", "within = 99\n");
    let policy = ["search", "query", "--index", "index", "x", "--policy", "policy.toml"];
    assert!(refused(1, &policy).contains("within"));
    refused(2, &["search", "remove", "--index", "index"]);
    let mut left = folder.names();
    left.retain(|name| {
        !["corpus.jsonl", "index", "bad.jsonl", "scores.tsv", "policy.toml"]
            .contains(&name.as_str())
    });
    assert!(left.is_empty(), "{left:?}");
    folder.output(&["search", "build", "bad.jsonl", "--out", "other", "--skip-bad"]);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = built();
    folder.output(&["search", "build", "corpus.jsonl", "--out", "one", "--threads", "1"]);
    let question = |index: &str| {
        folder.output(&["search", "query", "--index", index, "the harbour 数据", "--json"])
    };
    assert_eq!(question("index"), question("one"));
}

#[test]
fn an_index_with_a_truncated_or_missing_file_is_refused_with_advice() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    folder.output(&["search", "build", "a.html", "--out", "whole", "--quiet"]);
    let names = std::fs::read_dir(folder.path("whole")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    let mut refused = 0;
    for cut in &names {
        for gone in [false, true] {
            let spoilt = format!("{cut}-{gone}");
            for name in &names {
                let whole = folder.read(&format!("whole/{name}"));
                let kept = if name == cut { &whole[..whole.len() / 2] } else { &whole[..] };
                if name != cut || !gone {
                    folder.write(&format!("{spoilt}/{name}"), kept);
                }
            }
            let asked = ["search", "query", "--index", &spoilt, "harbour", "crane"];
            let said = folder.hapax(&asked).assert();
            match said.get_output().status.code() {
                // Some queries do not need every file.
                Some(0) => assert!(stdout(&said).contains("a.html"), "{spoilt}"),
                Some(1) => {
                    let why = stderr(&said);
                    assert!(why.contains("build") && why.contains(&spoilt), "{spoilt}: {why}");
                    refused += 1;
                }
                code => panic!("{spoilt}: {code:?} {}", stderr(&said)),
            }
        }
    }
    assert!(refused > 8, "{refused}");
}
