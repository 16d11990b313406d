//! A repository used from the shell: pages in, verdicts, groups, events and tables out.

use crate::folder::{ARTICLE, Folder, stdout};
use serde_json::Value;

const TIME: [&str; 2] = ["--fetched", "2026-03-01"];

fn other(text: &str) -> String {
    let words = "The ferry across the bay stopped at noon because the captain had seen fog over the \
        northern lights, and nobody aboard had brought anything to read but a timetable.";
    format!("<html><body><p>{words} {text}</p></body></html>")
}

/// Two copies of an article, a near copy, an unrelated page, a redirect.
fn filled() -> Folder {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("near.html", ARTICLE.replace("Tuesday", "Monday"));
    folder.write("other.html", other("Nobody minded."));
    let add = |url: &str, file: &str, more: &[&str]| {
        folder.output(&[&["page", "add", "seen", url, file], &TIME[..], more].concat())
    };
    let first = add("https://example.org/cranes/", "a.html", &["--create"]);
    assert_eq!(first, "https://example.org/cranes/  new; nothing near is known\n");
    let copy = add("https://example.org/cranes/print", "a.html", &[]);
    assert!(copy.contains("exact duplicate of https://example.org/cranes/ (100 %, 0 bits)"));
    assert!(copy.contains("; first-domain: the kept page was recorded first"), "{copy}");
    add("https://example.org/ferry", "other.html", &[]);
    folder.output(&[
        "page",
        "redirect",
        "seen",
        "http://example.org/c",
        "https://example.org/cranes/",
    ]);
    folder
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    serde_json::from_str(&folder.output(&[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn a_page_is_checked_without_being_recorded() {
    let folder = filled();
    let url = "https://mirror.example/cranes/";
    let asked = json(&folder, &["page", "check", "seen", url, "a.html"]);
    assert_eq!((&asked["verdict"], &asked["removable"]), (&"exact".into(), &true.into()));
    assert_eq!(asked["winner"], "https://example.org/cranes/");
    let error = folder.refusal(1, &["page", "show", "seen", url]);
    assert!(error.contains("repository seen does not know https://mirror.example/cranes/"));
    let piped = folder.hapax(&["page", "check", "seen", url]).write_stdin(ARTICLE).assert().code(0);
    assert!(stdout(&piped).contains("exact duplicate of"), "{}", stdout(&piped));
}

#[test]
fn page_details_are_shown_as_text_and_as_json() {
    let folder = filled();
    let shown = folder.output(&["page", "show", "seen", "https://example.org/cranes/print"]);
    assert!(shown.contains("status       exact duplicate of https://example.org/cranes/\n"));
    assert!(shown.contains("fetched      2026-03-01T00:00:00Z\n"), "{shown}");
    let page = json(&folder, &["page", "show", "seen", "https://example.org/cranes/print"]);
    let similarity = &page["status"]["alike"]["similarity"];
    assert_eq!((similarity, &page["fetched"]), (&1.0.into(), &"2026-03-01T00:00:00Z".into()));
    let moved = json(&folder, &["page", "show", "seen", "http://example.org/c"]);
    assert_eq!((&moved["state"], &moved["content"]), (&"redirect".into(), &Value::Null));
}

#[test]
fn scores_redirects_and_deletions_change_the_groups() {
    let folder = filled();
    let print = "https://example.org/cranes/print";
    let scored = json(&folder, &["page", "score", "seen", print, "2.5"]);
    assert_eq!(scored["is_winner"], true);
    let group = json(&folder, &["group", "show", "seen", "http://example.org/c"]);
    assert_eq!((&group["winner"], &group["members"]), (&print.into(), &2.into()));
    let rows = group["rows"].as_array().unwrap();
    let winners: Vec<&Value> = rows.iter().filter(|row| row["is_winner"] == true).collect();
    assert_eq!((rows.len(), winners.len(), &winners[0]["url"]), (3, 1, &print.into()));
    let gone = json(&folder, &["page", "forget", "seen", print, "https://nowhere.example/"]);
    assert_eq!((&gone["pages"], gone["unknown"].as_array().unwrap().len()), (&1.into(), 1));
    let error = folder.refusal(1, &["page", "forget", "seen", print]);
    assert!(error.contains("does not know"), "{error}");
    let expired = json(&folder, &["page", "expire", "seen", "--before", "2026-03-02"]);
    assert_eq!(expired["pages"], 2);
}

#[test]
fn groups_are_listed_and_evaluated_under_other_rules() {
    let folder = filled();
    let listed = folder.output(&["group", "list", "seen"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[1].ends_with("https://example.org/cranes/"), "{listed}");
    assert_eq!(folder.output(&["group", "list", "seen", "--least", "1"]).lines().count(), 3);
    let set = ["group", "rules", "seen", "--market", "print", "--set", "shortest, longest"];
    assert_eq!(folder.output(&set), "market print  shortest, longest\n");
    folder.output(&[
        "group",
        "rules",
        "seen",
        "--market",
        "odd",
        "--set",
        "avoid-host:example.org",
    ]);
    let rules = json(&folder, &["group", "rules", "seen", "--market", "odd", "--drop"]);
    assert_eq!(rules["markets"].as_object().unwrap().len(), 1);
    let show = ["group", "show", "seen", "https://example.org/cranes/", "--market", "print"];
    assert_eq!(json(&folder, &show)["winner"], "https://example.org/cranes/");
    let error = folder.refusal(1, &["group", "list", "seen", "--market", "odd"]);
    assert!(error.contains("has no market `odd`; it has print"), "{error}");
    for more in [&[][..], &["--drop"]] {
        let words = [&["group", "rules", "seen", "--market", "odd"], more].concat();
        let error = folder.refusal(1, &words);
        assert!(error.contains("no market `odd`; it has print"), "{error}");
    }
    let error = folder.refusal(2, &["group", "rules", "seen", "--set", "prettiest"]);
    assert!(error.contains("no winner rule is called `prettiest`"), "{error}");
    folder.output(&["group", "rules", "seen", "--set", "prefer-host:b|a, score"]);
    assert_eq!(json(&folder, &["inspect", "seen"])["rules"], "prefer-host:b|a, score");
}

#[test]
fn events_are_printed_in_order_from_any_number() {
    let folder = filled();
    let all = folder.output(&["events", "seen"]);
    let first = all.lines().next().unwrap();
    assert!(first.starts_with("     1  2"), "{all}");
    assert!(first.ends_with("Z  https://example.org/cranes/ joined group 0"), "{all}");
    let some = folder.output(&["events", "seen", "--after", "1", "--limit", "2", "--json"]);
    let events: Vec<Value> = some.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.iter().map(|e| e["sequence"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 3]);
    let limited = ["events", "seen", "--follow", "--every", "0.01", "--limit", "3"];
    assert_eq!(folder.output(&limited).lines().count(), 3);
}

#[test]
fn a_follower_prints_new_events() {
    let folder = filled();
    let before = folder.output(&["events", "seen"]).lines().count();
    let more = (before + 1).to_string();
    let mut follower = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"))
        .current_dir(folder.path("."))
        .args(["events", "seen", "--follow", "--every", "0.05", "--limit", &more])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The follower locks the repository from time to time, so the command retries.
    let forget = ["page", "forget", "seen", "https://example.org/ferry"];
    while folder.hapax(&forget).assert().get_output().status.code() != Some(0) {}
    let printed = follower.wait_with_output_text();
    assert_eq!(printed.lines().count(), before + 1);
    assert!(printed.lines().last().unwrap().contains("https://example.org/ferry"), "{printed}");
}

trait OutputText {
    fn wait_with_output_text(&mut self) -> String;
}

impl OutputText for std::process::Child {
    fn wait_with_output_text(&mut self) -> String {
        use std::io::Read;
        let mut text = String::new();
        self.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.wait().unwrap().success());
        text
    }
}

#[test]
fn a_corpus_is_recorded_alike_with_any_number_of_threads() {
    let folder = Folder::new();
    let line = |n: u32, text: &str| {
        let html = other(text).replace('"', "'");
        format!("{{\"url\":\"http://a/{n}\",\"html\":\"{html}\",\"fetched\":{}}}\n", 1000 + n)
    };
    let same = "Nobody minded.";
    let corpus: String = (0..40).map(|n| line(n, if n % 2 == 0 { same } else { "x" })).collect();
    folder.write("pages.jsonl", &corpus).write("bad.jsonl", format!("{corpus}{{\n"));
    let from = |store: &str, file: &str, more: &[&str]| {
        folder.hapax(&[&["page", "add", store, "--create", "--from", file], more].concat()).assert()
    };
    let printed = from("one", "pages.jsonl", &["--threads", "1"]).code(0);
    let printed = String::from_utf8(printed.get_output().stderr.clone()).unwrap();
    assert!(printed.starts_with("40 pages recorded: 2 new, 38 exact; "), "{printed}");
    from("two", "pages.jsonl", &["--threads", "2", "--quiet"]).code(0);
    for store in ["one", "two"] {
        folder.output(&["export", store, "--format", "jsonl", "--out", &format!("{store}.out")]);
    }
    assert_eq!(folder.read("one.out/pages.jsonl"), folder.read("two.out/pages.jsonl"));
    assert_eq!(folder.read("one.out/duplicates.jsonl"), folder.read("two.out/duplicates.jsonl"));
    // Pages before the damage are recorded.
    from("bad", "bad.jsonl", &[]).code(1);
    assert_eq!(json(&folder, &["inspect", "bad"])["pages"], 40);
    from("bad", "bad.jsonl", &["--skip-bad"]).code(0);
    let lines = from("two", "pages.jsonl", &["--json"]).code(0);
    assert_eq!(stdout(&lines).lines().count(), 40);
    let again = from("two", "pages.jsonl", &[]).code(0);
    let said = String::from_utf8(again.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("40 pages recorded: 40 exact; "), "{said}");
    let single = "{\"url\": \"https://example.org/alone\", \"text\": \"one page by itself\"}\n";
    folder.write("single.jsonl", single);
    for (changed, kind) in [("", "new"), ("", "unchanged"), (" and more", "changed")] {
        folder.write("single.jsonl", single.replace("itself", &format!("itself{changed}")));
        let said = from("alone", "single.jsonl", &[]).code(0);
        let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
        assert!(said.starts_with(&format!("1 page recorded: 1 {kind}; ")), "{said}");
    }
}

#[test]
fn a_corpus_can_be_cleaned_into_a_repository() {
    let folder = filled();
    folder.hapax(&["dedup", "a.html", "near.html", "--into", "seen", "--quiet"]).assert().code(0);
    let page = json(&folder, &["page", "show", "seen", "a.html"]);
    let page = &page["status"];
    assert_eq!((&page["verdict"], &page["removable"]), (&"exact".into(), &true.into()));
    let both =
        ["dedup", "a.html", "other.html", "--into", "new", "--out", "clean", "--within", "3"];
    folder.hapax(&both).assert().code(0);
    assert!(folder.path("clean/report.html").exists());
    let made = json(&folder, &["inspect", "new"]);
    assert_eq!((&made["pages"], &made["within"]), (&2.into(), &3.into()));
    folder.refusal(2, &["dedup", "a.html", "--into", "seen", "--dry-run"]);
}

#[test]
fn settings_that_differ_from_the_repository_are_refused_with_both_values() {
    let folder = filled();
    let add = ["page", "add", "seen", "https://example.org/x", "a.html", "--create"];
    let into = ["dedup", "a.html", "--into", "seen", "--out", "clean"];
    for (flag, other, own, said) in [
        ("--within", "3", "6", "made with distance 6, not 3"),
        ("--min-similarity", "0.5", "0.84", "made with least similarity 0.84, not 0.5"),
        ("--scope", "host", "none", "made with scope none, not host"),
        (
            "--keep",
            "longest",
            "score, first-domain, https, canonical, static, shortest-url",
            "`hapax group rules STORE --set RULES` changes",
        ),
    ] {
        for command in [&add[..], &into[..]] {
            let refused = folder.refusal(1, &[command, &[flag, other]].concat());
            assert!(refused.contains(said) && refused.contains("leave that out"), "{refused}");
        }
        assert!(!folder.path("clean").exists(), "refused before the work");
        folder.output(&[&add[..], &[flag, own]].concat());
    }
}

#[test]
fn a_repository_that_dedup_makes_has_the_settings_that_the_next_run_asks_for() {
    let folder = filled();
    for (flag, value) in
        [("--frames", "off"), ("--frames", "on"), ("--keep", "longest"), ("--scope", "host")]
    {
        let store = format!("made{flag}-{value}");
        for _ in 0..2 {
            folder.output(&["dedup", "a.html", "--into", &store, flag, value, "-q"]);
        }
    }
    let made = json(&folder, &["inspect", "made--frames-off"]);
    assert_eq!(made["frames"], "off", "{made}");
}

#[test]
fn a_known_page_is_reported_as_unchanged_or_changed_and_the_nearest_is_named() {
    let folder = filled();
    let ferry = "https://example.org/ferry";
    let check = |file: &str| folder.output(&["page", "check", "seen", ferry, file]);
    assert_eq!(
        check("other.html"),
        format!("{ferry}  known and unchanged; nothing near is known\n")
    );
    let more =
        "A long story about somebody else follows here, with many words that were never there.";
    folder.write("third.html", other(more));
    assert!(check("third.html").starts_with(&format!("{ferry}  known, with new content; nothing")));
    let asked =
        json(&folder, &["page", "check", "seen", "https://example.org/third", "third.html"]);
    assert_eq!((&asked["verdict"], &asked["seen"]), (&"new".into(), &"first".into()), "{asked}");
    assert_eq!(asked["nearest"]["url"], ferry);
    let similarity = asked["nearest"]["similarity"].as_f64().unwrap();
    assert!((0.2..0.84).contains(&similarity), "{similarity}");
    let known = json(&folder, &["page", "show", "seen", ferry]);
    let known = &known["status"];
    assert_eq!((&known["verdict"], &known["seen"]), (&"unique".into(), &Value::Null));
    let refused = folder.refusal(2, &["page", "check", "seen", "--from", "other.html"]);
    assert!(refused.contains("hapax page add --from"), "{refused}");
}

#[test]
fn a_page_cannot_redirect_to_itself() {
    let folder = filled();
    let url = "https://example.org/ferry";
    let refused = folder.refusal(1, &["page", "redirect", "seen", url, url]);
    assert!(refused.contains("cannot redirect to itself"), "{refused}");
    let events = json_lines(&folder, &["events", "seen"]);
    assert!(events.iter().all(|event| event["change"] != "redirected" || event["url"] != url));
    assert!(events.iter().all(|event| event["at"].as_str().is_some_and(|at| at.ends_with('Z'))));
}

fn json_lines(folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    let lines = folder.output(&[arguments, &["--json"]].concat());
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn sqlite_parquet_and_jsonl_have_the_same_content() {
    let folder = filled();
    for (format, out) in [("jsonl", "lines"), ("parquet", "tables"), ("sqlite", "seen.db")] {
        let export = ["export", "seen", "--format", format, "--out", out];
        folder.hapax(&export).assert().code(0).stderr(format!("4 pages, 2 duplicates in {out}\n"));
        let error = folder.refusal(1, &export);
        assert!(error.contains(&format!("{out} is there already")), "{error}");
    }
    let lines = String::from_utf8(folder.read("lines/duplicates.jsonl")).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let moved = (&rows[0]["url"], &rows[0]["verdict"], &rows[0]["similarity"]);
    assert_eq!(moved, (&"http://example.org/c".into(), &"redirect".into(), &Value::Null));
    assert_eq!(rows[1]["winner"], "https://example.org/cranes/");
    assert_eq!(rows[1]["similarity"], 1.0);

    let db = rusqlite::Connection::open(folder.path("seen.db")).unwrap();
    let mut asked = db.prepare("SELECT url, winner, similarity FROM duplicates").unwrap();
    let printed: Vec<(String, String, Option<f64>)> = asked
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let same = rows.iter().map(|row| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (text("url"), text("winner"), row["similarity"].as_f64())
    });
    assert_eq!(printed, same.collect::<Vec<_>>());
    let lines = String::from_utf8(folder.read("lines/pages.jsonl")).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut asked = db.prepare("SELECT url, state, fetched FROM pages").unwrap();
    let printed: Vec<(String, String, Option<String>)> = asked
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let same = rows.iter().map(|row| {
        let needed = |name: &str| text(&row[name]).unwrap();
        (needed("url"), needed("state"), text(&row["fetched"]))
    });
    assert_eq!(printed, same.collect::<Vec<_>>());
    assert_eq!(printed[1].2.as_deref(), Some("2026-03-01T00:00:00Z"));

    // The program itself can read Parquet, as a corpus of texts.
    let tables = folder.read("tables/pages.parquet");
    assert_eq!((&tables[..4], &tables[tables.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let names = folder.names();
    assert!(names.iter().all(|name| !name.starts_with(".hapax")), "{names:?}");
}

#[test]
fn a_snapshot_is_a_repository() {
    let folder = filled();
    folder.hapax(&["export", "seen", "--snapshot", "copy", "--quiet"]).assert().code(0).stderr("");
    let error = folder.refusal(1, &["export", "seen", "--snapshot", "copy"]);
    assert!(error.contains("copy is a repository already"), "{error}");
    let events = folder.output(&["events", "seen"]);
    assert_eq!(folder.output(&["events", "copy"]), events);
    let check = folder.output(&["inspect", "copy", "--check"]);
    assert!(check.ends_with("checked: sound\n"), "{check}");
}

#[test]
fn a_damaged_repository_is_reported_and_repaired() {
    let folder = filled();
    folder.write("seen/index.segment", "no index");
    let shown = folder.hapax(&["inspect", "seen"]).assert().code(0);
    let note = String::from_utf8(shown.get_output().stderr.clone()).unwrap();
    assert!(note.contains("index.segment") && note.contains("built from the records"), "{note}");
    folder.write("seen/index.segment", "no index");
    let mended = folder.output(&["inspect", "seen", "--repair"]);
    assert!(mended.starts_with("mended:\n  the index was built again: "), "{mended}");
    assert_eq!(json(&folder, &["inspect", "seen", "--repair"])["mended"], 0);
    assert_eq!(json(&folder, &["inspect", "seen", "--check"])["clean"], true);
    folder.write("seen/pages.redb", "no store");
    let error = folder.refusal(1, &["inspect", "seen", "--check"]);
    assert!(error.contains("pages.redb is not a Hapax repository"), "{error}");
}

#[test]
fn errors_name_the_store_and_give_advice() {
    let folder = filled();
    let error = folder.refusal(1, &["page", "show", "none", "http://a"]);
    assert!(error.contains("none/pages.redb") && error.contains("--create"), "{error}");
    let error = folder
        .refusal(1, &["page", "add", "seen", "http://a", "a.html", "--recipe", "stream-words"]);
    assert!(error.contains("web-2") && error.contains("stream-words"), "{error}");
    let error = folder.refusal(1, &["page", "add", "seen", "http://a", "missing.html"]);
    assert!(error.contains("missing.html"), "{error}");
    for arguments in [
        &["page", "add", "seen"][..],
        &["page", "add", "seen", "http://a", "a.html", "--within", "3"],
        &["page", "add", "seen", "http://a", "--from", "a.html"],
        &["page", "expire", "seen", "--before", "yesterday"],
        &["export", "seen"],
        &["export", "seen", "--format", "csv", "--out", "x"],
        &["inspect", "seen", "--forget-unreadable"],
        &["events", "seen", "--every", "2"],
    ] {
        folder.refusal(2, arguments);
    }
}

#[test]
fn an_invalid_server_address_is_refused() {
    let folder = filled();
    for server in ["--server=seen", "--server=notaurl"] {
        let error = folder.refusal(2, &["group", "list", server]);
        assert!(error.contains("begins with http:// or https://"), "{error}");
    }
    let error =
        folder.refusal(2, &["export", "http://127.0.0.1:1", "--format", "jsonl", "--out", "x"]);
    assert!(error.contains("works on a folder"), "{error}");
}

#[test]
fn a_number_below_zero_is_reported_to_be_out_of_range() {
    let folder = filled();
    for words in [
        ["dedup", "a.html", "--dry-run", "--threads", "-1"],
        ["dedup", "a.html", "--dry-run", "--within", "-1"],
        ["group", "list", "seen", "--limit", "-1"],
    ] {
        let error = folder.refusal(2, &words);
        assert!(error.contains("invalid value '-1'"), "{error}");
    }
}

#[test]
fn a_file_instead_of_a_folder_and_a_truncated_store_are_reported_once_with_advice() {
    let folder = filled();
    let error = folder.refusal(1, &["group", "list", "a.html"]);
    assert!(error.contains("a repository is a folder, and this is a file"), "{error}");
    assert!(!error.contains("os error"), "{error}");
    let store = folder.read("seen/pages.redb");
    folder.write("seen/pages.redb", &store[..store.len() / 3]);
    let error = folder.refusal(1, &["inspect", "seen", "--repair"]);
    assert!(error.contains("restore a snapshot"), "{error}");
    assert!(!error.contains("hapax inspect"), "{error}");
    for how in [&["inspect", "seen"][..], &["inspect", "seen", "--check"]] {
        assert!(folder.refusal(1, how).contains("`hapax inspect --repair`"));
    }
}

#[test]
fn an_empty_pipe_leaves_a_known_page_unchanged() {
    let folder = filled();
    let url = "https://example.org/cranes/";
    let before = folder.output(&["page", "show", "seen", url]);
    for file in [&[][..], &["-"]] {
        let arguments = [&["page", "add", "seen", url], file].concat();
        let refused = folder.hapax(&arguments).write_stdin("").assert().code(1);
        let printed = crate::folder::stderr(&refused);
        assert!(printed.contains("nothing was read from standard input"), "{printed}");
        assert!(printed.contains("https://example.org/cranes/ stays as it was"), "{printed}");
    }
    folder.hapax(&["page", "check", "seen", url]).write_stdin("").assert().code(1);
    assert_eq!(folder.output(&["page", "show", "seen", url]), before);
    let new = ["page", "add", "new", url, "--create"];
    folder.hapax(&new).write_stdin("").assert().code(1);
    assert!(!folder.path("new").exists());
    // An empty file is deliberate.
    folder.write("empty.html", "");
    assert!(folder.output(&["page", "add", "seen", url, "empty.html"]).contains("empty"));
}

#[test]
fn a_file_instead_of_the_address_is_refused() {
    let folder = filled();
    for command in ["add", "check"] {
        let printed = folder.refusal(2, &["page", command, "seen", "a.html"]);
        assert!(printed.contains("the order is STORE URL FILE"), "{printed}");
    }
}
