//! Pages that hide another page's text do not remove it; copies with look-alike letters are removed.
//!
//! Each attack is tried on every victim, against Hapax and against a reader that takes the words of the markup
//! as written: an attack that works only there is prevented by comparing the visible text.

use std::collections::BTreeSet;

use hapax_synth::{DISGUISES, HIDING, hiding};

use crate::folder::{Folder, quoted};

const VICTIMS: usize = 6;
/// Words between two disguised words of a copy.
const EACH: usize = 40;

/// A text with letters that have look-alikes.
fn text(words: usize, seed: usize) -> String {
    let letters = ["a", "c", "e", "o", "p", "v", "n", "t", "s", "r"];
    let word = |i: usize| -> String {
        let mut number = (i * 7919 + seed * 104_729) % 99_991 + 100_000;
        let mut word = String::from("o");
        while number > 0 {
            word.push_str(letters[number % 10]);
            number /= 10;
        }
        word + " "
    };
    (0..words).map(word).collect()
}

/// Similarity of two pages by all words between tags.
fn as_written(a: &str, b: &str) -> f64 {
    let shingles = |html: &str| -> BTreeSet<Vec<String>> {
        let mut plain = String::new();
        for piece in html.split('<') {
            let (tag, text) = piece.split_once('>').unwrap_or(("", piece));
            plain += if tag.starts_with("style") { "" } else { text };
            plain.push(' ');
        }
        let words: Vec<String> = plain.split_whitespace().map(str::to_owned).collect();
        words.windows(5).map(<[String]>::to_vec).collect()
    };
    let (a, b) = (shingles(a), shingles(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// How many attackers' pages match their victim, for Hapax and by words as written. Attackers have
/// domains of their own and were seen first.
fn tried(attack: impl Fn(&str, usize) -> String) -> (usize, usize) {
    let folder = Folder::new();
    let mut lines = String::new();
    let mut written = 0;
    for i in 0..VICTIMS {
        let victim = text(257, i);
        let (page, attacker) = (format!("<p>{victim}</p>"), attack(&victim, i));
        written += usize::from(as_written(&page, &attacker) >= 0.84);
        for (who, fetched, html) in [("victim", 2000, page), ("attacker", 1000, attacker)] {
            let url = quoted(&format!("https://{who}{i}.test/"));
            let html = quoted(&html);
            lines += &format!(
                "{{\"id\": {url}, \"url\": {url}, \"fetched\": {fetched}, \"html\": {html}}}\n"
            );
        }
    }
    let input = folder.write("pages.jsonl", lines);
    folder.dedup(&[&input], "out", |_| {}).unwrap();
    let rows = folder.table("out/groups.parquet");
    let gone = |i: &usize| rows[&format!("https://victim{i}.test/")].outcome != "kept";
    ((0..VICTIMS).filter(gone).count(), written)
}

#[test]
fn a_page_that_hides_its_victim_s_text_removes_nothing() {
    for way in HIDING {
        let attack = |victim: &str, i: usize| hiding(way, &text(40, 100 + i), victim);
        assert_eq!(tried(attack), (0, VICTIMS), "{}", way.0);
    }
    // Visible text counts wherever it is.
    let shown = ("shown", "<div>", "</div>");
    let copy = |victim: &str, i: usize| hiding(shown, &text(3, 100 + i), victim);
    assert_eq!(tried(copy), (VICTIMS, VICTIMS));
}

#[test]
fn a_copy_whose_words_only_look_the_same_is_a_copy() {
    for (name, disguise) in DISGUISES {
        for each in [EACH, 4, 1] {
            let attack = |victim: &str, _| format!("<p>{}</p>", disguise.of(victim, each));
            let (found, written) = tried(attack);
            assert_eq!(found, VICTIMS, "{name}, every {each}");
            assert!(each == EACH || written == 0, "{name}, every {each}: {written} as written");
        }
    }
}
