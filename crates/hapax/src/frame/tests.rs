//! Pieces, frames and own texts, compared with slow reference implementations.

use super::words::{letters_and_others, word_at};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn hashes(text: &str) -> BTreeSet<u32> {
    let mut out = Vec::new();
    pieces(text, &mut out);
    out.iter().map(|piece| piece.hash).collect()
}

fn own(text: &str) -> OwnText {
    let mut out = Vec::new();
    pieces(text, &mut out);
    OwnText::of(out)
}

fn text(range: Range<u32>) -> String {
    range.map(|number| spelled(number * 7919 + 3) + " ").collect()
}

fn spelled(mut number: u32) -> String {
    let mut word = String::new();
    while number > 0 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    word
}

proptest! {
    #[test]
    fn a_sample_has_the_least_hashes(hashes in prop::collection::vec(0u32..1 << 17, 0..60), many in 0u32..70_000) {
        let all = || hashes.iter().copied().chain((0..many).map(|it| it * 7));
        let own = OwnText::of(all().map(|hash| Piece { hash, words: 1 }));
        let whole: BTreeSet<u32> = all().collect();
        let mut sorted: Vec<u16> = all().map(|hash| hash as u16).collect();
        sorted.sort_unstable();
        sorted.dedup();
        if let Some(few) = own.few() {
            prop_assert_eq!(few.collect::<BTreeSet<u32>>(), whole);
        } else {
            prop_assert!(whole.len() > FEW);
            prop_assert_eq!(usize::from(own.pieces), sorted.len().min(usize::from(WIDE - 1)));
            sorted.truncate(SAMPLE);
            prop_assert_eq!(own.sampled().collect::<Vec<u16>>(), sorted);
        }
    }

    #[test]
    fn own_texts_of_few_and_many_pieces_are_compared_by_lower_halves(
        a in prop::collection::btree_set(0u32..60, 0..=FEW), b in prop::collection::btree_set(0u32..60, FEW + 1..SAMPLE),
    ) {
        let of = |set: &BTreeSet<u32>| OwnText::of(set.iter().map(|&hash| Piece { hash, words: 1 }));
        let expected = (!a.is_empty()).then(|| a.intersection(&b).count() as f32 / a.len() as f32);
        prop_assert_eq!(of(&a).shared(&of(&b)), expected);
        prop_assert_eq!(of(&b).shared(&of(&a)), expected);
    }
}

#[test]
fn few_pieces_are_compared_by_all_bits_of_their_hashes() {
    let of = |hashes: [u32; 4]| {
        let words = hashes.map(|hash| Piece { hash, words: 1 });
        OwnText::of(words.into_iter().chain([Piece { hash: 0, words: 0 }]))
    };
    let (one, other) = (of([1, 2, 0x3_4749, 4]), of([1, 2, 0x5_4749, 6]));
    assert_eq!(one.shared(&other), Some(0.5));
    assert!(one.differs_from(&other) && !one.differs_from(&one));
}

#[test]
fn an_own_text_survives_encoding() {
    for words in [0, 3, 40, 4000] {
        let own = own(&(text(0..words) + " on 2024-05-06 for 12.50"));
        assert_eq!(OwnText::from_bytes(&own.to_bytes()), own);
    }
    let any = OwnText::from_bytes(&[0xff; OwnText::BYTES]);
    assert!(!any.differs_from(&any));
}

#[test]
fn numbers_dates_and_session_ids_are_in_no_piece_of_words() {
    let text = |date: &str| format!("Printed on {date} for you, price 12.99 EUR");
    let with_words = |text: &str| {
        let mut out = Vec::new();
        pieces(text, &mut out);
        out.into_iter().filter(|it| it.words > 0).map(|it| it.hash).collect::<BTreeSet<u32>>()
    };
    assert_eq!(with_words(&text("2026-11-16 a8f3e")), with_words(&text("3.4.1999")));
    assert_eq!(with_words("2026年11月16日 是"), with_words("1999年2月3日 是"));
    assert_eq!((with_words("٣ ۵ ３ 7"), hashes("12.99 14:01").len()), (BTreeSet::new(), 2));
    assert_ne!(with_words("brass kettle 1"), with_words("copper kettle 1"));
}

#[test]
fn a_repeated_piece_has_another_hash() {
    assert_eq!(hashes("茶").len(), 1);
    let located = located_pieces("Kettle").len();
    assert_eq!((located, hashes("").len()), (1, 0));
    let twice = "tea house opens late today, ".repeat(2);
    assert!(hashes(&twice).len() > hashes(&twice[..twice.len() / 2]).len());
}

#[test]
fn few_pages_have_no_frame_and_large_hosts_need_a_share() {
    let least = [7, 8, 10, 16, 40, 400, 1024, 10_000].map(least_pages);
    let expected = [None, Some(4), Some(5), Some(8), Some(8), Some(8), Some(20), Some(200)];
    assert_eq!(least, expected);
}

#[test]
fn where_own_texts_alone_decide_two_pages_of_a_small_host_make_a_frame() {
    let least = [1, 2, 3, 11, 12, 40, 400, 1024].map(least_pages_alone);
    let expected = [None, Some(2), Some(2), Some(2), Some(3), Some(8), Some(8), Some(20)];
    assert_eq!(least, expected);
}

#[test]
fn an_own_text_is_the_page_without_the_pieces_of_its_frame() {
    let (menu, article) = (text(0..200), text(1000..1200));
    let frame = hashes(&menu);
    let own = own_text(&format!("{menu}{article}"), |hash| frame.contains(&hash)).unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let extra = words(&own).difference(&words(&article)).count();
    assert!(words(&article).is_subset(&words(&own)) && extra < 16, "{extra}");
    assert_eq!(own_text(&menu, |hash| frame.contains(&hash)), None);
    let little = format!("{}{}", text(0..3000), text(5000..5060));
    let frame = hashes(&text(0..3000));
    assert_eq!(own_text(&little, |hash| frame.contains(&hash)), None, "one word in 50");
}

#[test]
fn own_texts_differ_if_both_are_long_enough_and_share_little() {
    let (brass, copper) = (own("brass kettle 4711"), own("copper pot with lid 4712"));
    assert!(brass.differs_from(&copper) && !brass.differs_from(&brass));
    assert!(!brass.differs_from(&own("17.50 3")), "nothing of its own");
    assert!(!own("brass kettle").differs_from(&own("copper pot")), "no number");
    // Long texts are compared by a sample only.
    let article = text(0..2000);
    let longer = article.clone() + &text(5000..5200);
    assert!(!own(&article).differs_from(&own(&longer)));
    assert!(own(&article).differs_from(&own(&text(3000..5000))));
    assert!(own(&article).words() >= 1900);
}

#[test]
fn similar_own_texts_share_a_bucket() {
    let (brass, copper) = (own("brass kettle 4711"), own("copper pot with lid 4712"));
    let meetings =
        |a: &OwnText, b: &OwnText| (0..40).filter(|it| a.bucket(*it) == b.bucket(*it)).count();
    assert_eq!((meetings(&brass, &brass), own("brass kettle").bucket(3)), (40, 0));
    assert!(meetings(&brass, &copper) < 3);
}

proptest! {
    #[test]
    fn pieces_cover_every_word_in_order_and_both_ways_agree(
        words in prop::collection::vec("[a-e]{1,3}|[0-9]{1,2}|茶|é|,|ж", 0..80),
    ) {
        let text = words.join(" ");
        let located = located_pieces(&text);
        prop_assert!(located.windows(2).all(|two| two[0].0.end <= two[1].0.start));
        let set: BTreeSet<u32> = located.iter().map(|it| it.1).collect();
        let mut all = Vec::new();
        pieces(&text, &mut all);
        let mut cut = vec![all.first().copied().unwrap_or(Piece { hash: 7, words: 7 })];
        PieceCutter::default().pieces(&text, &mut cut);
        prop_assert_eq!(&cut, &all);
        prop_assert!(all.iter().all(|it| it.words == 0 || set.contains(&it.hash)));
        let covered: usize = located.iter().map(|(place, _)| {
            text[place.clone()].split(' ').filter(|it| *it != "," && !it.contains(|c: char| c.is_ascii_digit())).count()
        }).sum();
        let expected = words.iter().filter(|it| *it != "," && !it.contains(|c: char| c.is_ascii_digit())).count();
        prop_assert_eq!(covered, expected);
    }

    #[test]
    fn words_are_found_in_blocks_as_one_by_one(text in "([a-zA-Z@`{\\[/:é茶 .0-9]|[a-z]{1,40}|[ -~]{0,40}| ){0,60}") {
        let (mut slow, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let (end, next, is_number) = word_at(text.as_bytes(), at, at);
            if at < end {
                slow.push((at, end, is_number));
            }
            at = next;
        }
        prop_assert_eq!(Words::of(&text).collect::<Vec<_>>(), slow);
        let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
        pieces(&text, &mut one_by_one);
        PieceCutter::default().pieces(&text, &mut at_once);
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn bytes_are_classified_as_one_by_one(block: [u8; 32], ascii: [bool; 32]) {
        let block = std::array::from_fn(|at| block[at] & if ascii[at] { 0x7f } else { 0xff });
        let (letters, others) = letters_and_others(&block);
        for (at, byte) in block.iter().enumerate() {
            prop_assert_eq!(letters >> at & 1 == 1, byte.is_ascii_alphabetic());
            prop_assert_eq!(others >> at & 1 == 1, byte.is_ascii_digit() || !byte.is_ascii());
        }
    }

    #[test]
    fn occurrences_are_counted_however_hashes_collide(hashes in prop::collection::vec(0u32..90, 0..300), shift in 0u32..20) {
        let mut counted = BTreeMap::new();
        let mut occurrences = Occurrences::of_at_most(hashes.len());
        for hash in hashes {
            let times: &mut u32 = counted.entry(hash).or_default();
            prop_assert_eq!(occurrences.add(hash << shift), (*times).min(OCCURRENCES));
            *times += 1;
        }
    }

    #[test]
    fn short_own_texts_are_compared_exactly(
        a in prop::collection::btree_set(0u32..40, 0..15), b in prop::collection::btree_set(0u32..40, 0..15),
    ) {
        let of = |set: &BTreeSet<u32>| OwnText::of(set.iter().map(|&hash| Piece { hash, words: 1 }));
        let least = a.len().min(b.len());
        let expected = (least > 0).then(|| a.intersection(&b).count() as f32 / least as f32);
        prop_assert_eq!(of(&a).shared(&of(&b)), expected);
    }
}
