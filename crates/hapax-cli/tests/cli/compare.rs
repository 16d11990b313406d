//! Comparisons of two pages on the terminal, as JSON and as a web page.

use crate::folder::{ARTICLE, Folder, stderr, stdout};
use serde_json::Value;

/// The article with one changed word and an additional paragraph.
fn edited() -> String {
    ARTICLE
        .replace("Tuesday", "Friday")
        .replace("</body>", "<p>Work on it will begin in the coming spring.</p></body>")
}

fn pair() -> Folder {
    let folder = Folder::new();
    folder.write("old.html", ARTICLE).write("new.html", edited());
    folder
}

#[test]
fn the_terminal_shows_numbers_bits_and_both_texts() {
    let output = pair().output(&["compare", "old.html", "new.html"]);
    for part in [
        "A  ",
        "“Cranes”",
        "of 64 bits differ",
        "estimated Jaccard similarity",
        "containment",
        "cosine",
        "weakness in A",
        "Work on it will begin",
    ] {
        assert!(output.contains(part), "{part} in {output}");
    }
    let changed = output.lines().find(|line| line.contains("Tuesday")).unwrap();
    assert!(changed.contains(" ≠ ") && changed.contains("Friday"), "{changed}");
    assert!(!output.contains('\u{1b}'));
}

#[test]
fn lines_fit_the_terminal() {
    let folder = pair();
    for columns in [40usize, 72, 120] {
        let assert = folder
            .hapax(&["compare", "old.html", "new.html"])
            .env("COLUMNS", columns.to_string())
            .assert()
            .code(0);
        let output = stdout(&assert);
        let texts = output.lines().skip_while(|line| !line.contains('│'));
        for line in texts {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn long_shared_passages_are_abbreviated_unless_full_is_given() {
    let folder = Folder::new();
    let shared: String = (0..200).map(|i| format!("common{i} ")).collect();
    folder.write("a.txt", format!("first {shared}")).write("b.txt", format!("second {shared}"));
    let short = folder.output(&["compare", "a.txt", "b.txt"]);
    assert!(short.contains(" … ") && !short.contains("common100"), "{short}");
    let full = folder.output(&["compare", "--full", "a.txt", "b.txt"]);
    assert!(full.contains("common100"));
}

#[test]
fn colour_is_used_only_when_wanted() {
    let folder = pair();
    let asked = folder.output(&["compare", "--color", "always", "old.html", "new.html"]);
    assert!(asked.contains("\u{1b}[31mTuesday\u{1b}[0m"), "{asked}");
    assert!(asked.contains("\u{1b}[32mFriday\u{1b}[0m"), "{asked}");
    let piped = folder.output(&["compare", "old.html", "new.html"]);
    assert!(!piped.contains('\u{1b}'));
}

#[test]
fn a_page_cannot_send_control_characters_to_the_terminal() {
    let folder = Folder::new();
    folder.write("a.txt", "words \u{1b}[2J and \u{1b}]0;title\u{7} more words of a text");
    folder.write("b.txt", "quite other things are written here, nothing of the above");
    let output = folder.output(&["compare", "a.txt", "b.txt"]);
    assert!(!output.contains('\u{1b}') && !output.contains('\u{7}'));
}

#[test]
fn json_has_the_numbers_the_texts_and_their_passages() {
    let output = pair().output(&["compare", "--json", "old.html", "new.html"]);
    let c: Value = serde_json::from_str(&output).unwrap();
    let distance = c["distance"].as_u64().unwrap();
    assert_eq!(c["differing_bits"].as_array().unwrap().len() as u64, distance);
    assert_eq!(c["same_text"], false);
    for number in ["jaccard", "containment", "cosine"] {
        let value = c["exact"][number].as_f64().unwrap();
        assert!(0.0 < value && value < 1.0, "{number} {value}");
    }
    assert!(c["standard_error"].as_f64().unwrap() > 0.0);
    assert_eq!(c["left"]["id"], "old.html");
    assert_eq!(c["left"]["title"], "Cranes");
    let text = c["left"]["text"].as_str().unwrap();
    let alone: Vec<&str> = c["left"]["passages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p["shared"] == false)
        .map(|p| {
            let place = |edge: &str| usize::try_from(p[edge].as_u64().unwrap()).unwrap();
            &text[place("start")..place("end")]
        })
        .collect();
    assert_eq!(alone, ["Tuesday"]);
}

#[test]
fn equal_texts_are_reported_as_equal() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("<p>", "<p><img src=x>"));
    let output = folder.output(&["compare", "a.html", "b.html"]);
    assert!(output.contains("exactly the same text"), "{output}");
    assert!(output.contains("100.0 %  0 of 64 bits differ"), "{output}");
}

#[test]
fn a_page_without_words_can_be_compared() {
    let folder = Folder::new();
    folder.write("a.html", "").write("b.html", ARTICLE);
    let output = folder.output(&["compare", "a.html", "b.html", "--html", "c.html"]);
    assert!(output.contains("A has no words to compare."), "{output}");
    let json = folder.output(&["compare", "--json", "a.html", "b.html"]);
    let c: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&c["distance"], &c["similarity"]), (&Value::Null, &Value::Null));
    let neither = folder.output(&["compare", "a.html", "a.html"]);
    assert!(neither.contains("Neither page has any words"), "{neither}");
}

#[test]
fn standard_input_can_be_one_of_the_two() {
    let folder = pair();
    let named = folder.output(&["compare", "old.html", "new.html"]);
    let piped = folder.hapax(&["compare", "old.html", "-"]).write_stdin(edited()).assert().code(0);
    let numbers = |text: &str| {
        text.lines().filter(|l| l.starts_with("jaccard")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&stdout(&piped)), numbers(&named));
    assert!(!numbers(&named).is_empty());
}

#[test]
fn the_web_page_is_complete_and_fetches_nothing() {
    let folder = pair();
    folder.output(&["compare", "old.html", "new.html", "--html", "c.html"]);
    let page = String::from_utf8(folder.read("c.html")).unwrap();
    for part in [
        "<!DOCTYPE html>",
        "default-src 'none'",
        "<svg ",
        "prefers-color-scheme: dark",
        "<span class=\"only-a\">Tuesday</span>",
        "<span class=\"only-b\">Friday</span>",
        "</html>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_web_page_escapes_the_contents_of_the_pages() {
    let folder = Folder::new();
    let hostile = "<title></title><script>alert(1)</script><p>x";
    let text = "</div><script>alert(2)</script> \"quoted\" 'text' & <img src=x onerror=alert(3)>";
    let as_text = text.replace('&', "&amp;").replace('<', "&lt;");
    let title = "&lt;/title&gt;&lt;script&gt;alert(4)&lt;/script&gt;";
    folder.write("a.html", format!("<title>{title}</title><p>{as_text} one two three four five"));
    folder.write("b.html", format!("{hostile} {as_text} one two three four five six"));
    folder.write("<b>&.html", ARTICLE);
    folder.output(&["compare", "a.html", "b.html", "--html", "c.html"]);
    folder.output(&["compare", "a.html", "<b>&.html", "--html", "d.html"]);
    for name in ["c.html", "d.html"] {
        let page = String::from_utf8(folder.read(name)).unwrap();
        assert!(page.contains("&lt;script&gt;alert(2)"), "{name}");
        assert!(page.contains("&lt;/title&gt;&lt;script&gt;alert(4)"), "{name}");
        assert_eq!(page.matches("<script").count(), 1, "only our own in {name}");
        assert_eq!(page.matches("<img").count(), 0, "{name}");
        assert!(!page.contains("<b>&.html"));
    }
}

#[test]
fn a_folder_or_a_missing_page_is_refused() {
    let folder = pair();
    folder.write("site/a.html", ARTICLE);
    let printed = folder.refusal(1, &["compare", "old.html", "site"]);
    assert!(printed.contains("site is a folder"), "{printed}");
    let printed = folder.refusal(1, &["compare", "gone.html", "old.html", "--html", "c.html"]);
    assert!(printed.contains("cannot read gone.html"), "{printed}");
    assert!(!folder.names().contains(&"c.html".to_owned()));
}

#[test]
fn chinese_pages_are_shown_side_by_side() {
    let folder = Folder::new();
    let text = "港口的老起重机将在明年春天得到修复，市议会星期二投票通过了这项决定。";
    folder.write("a.html", format!("<meta charset=utf-8><p>{text}<p>第一版"));
    folder.write("b.html", format!("<meta charset=utf-8><p>{text}<p>第二版"));
    let assert = folder.hapax(&["compare", "a.html", "b.html"]).assert().code(0);
    assert!(stdout(&assert).contains("起重机"), "{}", stdout(&assert));
    assert_eq!(stderr(&assert), "");
}
