//! Texts, queries and query logs.
//!
//! A text has the same words with and without positions, composed and decomposed spellings fold alike, and every word
//! of a query is found in the page that it was taken from.

use crate::{Target, choice, chosen};
use hapax::text::normalize::Normalizer;
use hapax::text::{Joined, Segmenter, Unspaced};
use hapax_search::log::read::{Columns, Layout, ReadLog, read};
use hapax_search::log::{Log, Noise};
use hapax_search::query::{MOST_WORDS, ParsedQuery};
use hapax_search::words::{LONGEST_WORD, Words};
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::collections::BTreeSet;

/// Texts into words.
pub const SEGMENT: Target = Target {
    name: "segment",
    about: "words with places are the words without, two spellings of a text fold alike",
    run: segment,
    seeds: segment_seeds,
    pieces: UNICODE,
    rounds: 36_000,
};

/// Queries as typed by users.
pub const QUERY: Target = Target {
    name: "query",
    about: "a parsed query is bounded, and its words are among those of the same text as a page",
    run: query,
    seeds: query_seeds,
    pieces: &["\"", "+", "-", "site:", "lang:", " ", "数据库", "ｶﾞ", "\u{300}", "日本"],
    rounds: 80_000,
};

/// Logs of queries.
pub const LOG: Target = Target {
    name: "log",
    about: "any log is read or refused, and never counts more queries than it has lines",
    run: log,
    seeds: log_seeds,
    pieces: &["query", "count", "user", "time", "\t", ",", "\"", "\"\"", "\r\n", "{\"q\":", "1e9"],
    rounds: 300_000,
};

const UNICODE: &[&str] = &[
    "a",
    "'",
    ".",
    "_",
    "3.14",
    "can't",
    "\u{300}",
    "\u{345}",
    "\u{200d}",
    "\u{ad}",
    "\u{fdfa}",
    "ﬁ",
    "ß",
    "İ",
    "ς",
    "中",
    "文",
    "の",
    "カ",
    "ｶﾞ",
    "한",
    "ᄀ",
    "ᅡ",
    "ไทย",
    "ພາສາ",
    "ខ្មែរ",
    "မြန်မာ",
    "א\"ב",
    "🇩🇪",
    "👨\u{200d}👩",
    "\u{1f3fb}",
    "１２",
    "Ⅷ",
    "\u{feff}",
    "\u{2028}",
    "\u{0}",
    "\u{10ffff}",
];

const UNSPACED: [Unspaced; 3] = [Unspaced::Characters, Unspaced::Bigrams, Unspaced::Dictionary];

/// The first byte chooses the segmentation; the rest is a text.
pub fn segment(data: &[u8]) {
    let (first, bytes) = choice(data);
    let text = String::from_utf8_lossy(bytes);
    let joined = if first & 4 == 0 { Joined::Whole } else { Joined::Parts };
    let mut by = Segmenter::new(UNSPACED[first % 3]).taking_joined(joined);
    let mut words: Vec<String> = Vec::new();
    by.words(&text, |word| words.push(word.to_owned()));
    let mut all = 0;
    for word in &words {
        assert!(!word.is_empty() && !word.contains(char::is_whitespace), "{word:?}");
        all += word.len();
    }
    // One character folds into at most eighteen bytes; pairs repeat each.
    assert!(all <= 2 * 18 * text.len().max(1), "{all} bytes of words from {}", text.len());
    let placed = by.placed_words(&text);
    assert!(placed.iter().map(|placed| &placed.word).eq(&words), "places change words: {text:?}");
    for pair in placed.windows(2) {
        assert!(pair[0].place.start <= pair[1].place.start, "{text:?}");
    }
    for placed in &placed {
        assert!(!placed.place.is_empty() && text.get(placed.place.clone()).is_some());
    }
    let mut normalizer = Normalizer::default();
    let mut folded = |text: &str| {
        let mut out = String::new();
        normalizer.fold_into(text, &mut out);
        out
    };
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
    assert_eq!(
        folded(&text),
        folded(&decomposed),
        "two spellings of one text fold apart: {text:?}"
    );
}

fn segment_seeds() -> Vec<Vec<u8>> {
    chosen(
        8,
        &[
            "The quick (\"brown\") fox can't jump 32.3 feet, right? snake_case a.b.c",
            "日本語のテキスト 数据库系统 カタカナ ｶﾞｷﾞ",
            "ภาษาไทยไม่มีช่องว่าง ພາສາລາວ ភាសាខ្មែរ",
            "Straße ﬁne İstanbul ΌΣΟΣ Å ẛ̣ ﷺ",
            "👨‍👩‍👧 🇩🇪🇫🇷 한국어 עברית ע\"ב",
        ],
    )
}

/// A query, and the same text as a page.
pub fn query(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut words = Words::default();
    let parsed = ParsedQuery::parse(&text, &mut words);
    assert_eq!(parsed, ParsedQuery::parse(&text, &mut words), "buffers leave a trace");
    let lists = [&parsed.required, &parsed.excluded];
    assert!(parsed.words.len() <= MOST_WORDS);
    assert!(parsed.sites.len() <= MOST_WORDS && parsed.languages.len() <= MOST_WORDS);
    for list in lists.into_iter().flatten() {
        assert!(list.len() <= MOST_WORDS && !list.is_empty());
    }
    assert!(lists.iter().all(|list| list.len() <= MOST_WORDS));
    let distinct: BTreeSet<&String> = parsed.words.iter().collect();
    assert_eq!(distinct.len(), parsed.words.len(), "each word once");
    let mut page = BTreeSet::new();
    let mut last = 0;
    words.of_page(&text, |at, word| {
        assert!(at >= last && word.len() <= LONGEST_WORD);
        last = at;
        page.insert(word.to_owned());
    });
    for piece in text.split_whitespace() {
        for word in words.of_query(piece) {
            assert!(page.contains(&word), "{word:?} of {piece:?} is not found in {text:?}");
        }
    }
}

fn query_seeds() -> Vec<Vec<u8>> {
    [
        "cheap flights",
        "+\"cheap flights\" -hotel site:example.org lang:de-AT c++",
        "数据库 系统 site: \"unended",
        "日本 -\"東京 タワー\" ｶﾞ",
        "\"\" + - -- +- \u{300}a",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// The first byte chooses the layout; the rest is a log.
pub fn log(data: &[u8]) {
    let (first, bytes) = choice(data);
    let layout =
        [Layout::Detect, Layout::Lines, Layout::Tsv, Layout::Csv, Layout::Jsonl][first % 5];
    let how = ReadLog { layout, columns: Columns::default(), skip_bad: first & 8 != 0 };
    let Ok((rows, bad)) = read(bytes, &how) else { return };
    let lines = bytes.split(|&byte| byte == b'\n').count();
    assert!(rows.len() + bad as usize <= lines);
    let counted = Log::of(rows.clone(), &Noise::default());
    let again = Log::of(rows.into_iter().rev().collect(), &Noise::default());
    assert!(counted.queries.len() <= lines);
    assert_eq!(counted.queries.len(), again.queries.len(), "the order of rows counts");
}

fn log_seeds() -> Vec<Vec<u8>> {
    chosen(
        10,
        &[
            "tea\ngreen tea\ntea\n",
            "query\tcount\nuser\t3\ntea\t9\n",
            "q,user,time\n\"a \"\"b\"\" c\",u1,2020-01-02 03:04:05\ntea,u2,1580700000\n",
            "{\"query\":\"tea\",\"count\":3}\n{\"q\":\"x\",\"user\":1}\n",
            "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n1\ttea\t2006-03-01 00:00:01\t\t\n",
        ],
    )
}
