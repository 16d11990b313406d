//! Chooses the blocks of a page that are its main content. Linear in the text; decides by lengths and counts,
//! never by words. If too little remains, tries less strict choices, and finally the whole body.
//!
//! Sources: Kohlschütter, Fankhauser, Nejdl, "Boilerplate detection using shallow text features", 2010, for
//! step 2; Pasternack and Roth, "Extracting article text from the web with maximum subsequence segmentation",
//! 2009, for step 3.
//
// 1. **Drop marked blocks.** Everything in `<nav>`, `<header>`, `<footer>`, `<aside>`, a role of
//    that kind or a hidden element. A class or id that only hints at these counts, too,
//    unless its container holds most of the page's running text. A container marked as the
//    article or the main part, with a good share of the running text, bounds the rest.
// 2. **Classify each block by itself and its neighbours**: number of words and link density of
//    the block, the one before and the one after, by the decision tree of Kohlschütter et al.
//    A single line of links does not interrupt running text, and inside a schema.org
//    `articleBody` everything except links is content.
// 3. **Keep one stretch.** Content counts for a stretch, boilerplate against it; the best
//    stretch of blocks is kept, which drops running text far away (comments, signatures).
// 4. If too little remains, try less strict choices, and finally the whole body.

use super::blocks::{Block, Blocks};
use super::marks::Mark;

/// The parameters of the decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Minimum number of words of running text.
    running_words: u32,
    /// Maximum link density of running text.
    max_link_density: f32,
    /// A block with more links is still text if this many of its words are not links.
    busy_words: f32,
    max_busy_density: f32,
    /// This many blocks of links inside running text do not interrupt it.
    skipped_links: u32,
    /// A hint is ignored if its container holds more than this share of the running text.
    max_hinted_share: f32,
    /// The same for elements and roles, which are more reliable.
    max_aside_share: f32,
    /// An article or main element bounds the content if it holds at least this share of it.
    min_bounded_share: f32,
    /// Cost of a boilerplate block for its stretch, and of each of its words.
    boilerplate_cost: f32,
    boilerplate_word_cost: f32,
    /// Cost of a dropped block.
    dropped_cost: f32,
    /// Fewer words than this, and less than this share of the page, are too little.
    min_words: u32,
    min_share: f32,
}

pub(super) const TUNING: Tuning = Tuning {
    running_words: 10,
    max_link_density: 0.333,
    busy_words: 12.0,
    max_busy_density: 0.7,
    skipped_links: 1,
    max_hinted_share: 0.6,
    max_aside_share: 0.8,
    min_bounded_share: 0.4,
    boilerplate_cost: 5.0,
    boilerplate_word_cost: 0.5,
    dropped_cost: 4.0,
    min_words: 25,
    min_share: 0.02,
};

/// A block with its counts and classification.
#[derive(Clone, Copy, Debug)]
struct Classified {
    words: u32,
    link_density: f32,
    candidate: bool,
    content: bool,
}

impl Classified {
    /// Whether it is more than links: few of its words are links, or many are not.
    fn is_readable(&self, tuning: &Tuning) -> bool {
        self.link_density <= tuning.max_link_density
            || (self.link_density <= tuning.max_busy_density
                && self.words as f32 * (1.0 - self.link_density) >= tuning.busy_words)
    }
}

/// Reduces folded `text` to its main content. The result is folded and may end with a space.
pub(super) fn keep_main_content(blocks: &Blocks, text: &mut Vec<u8>, tuning: &Tuning) {
    let mut classified: Vec<Classified> = blocks
        .blocks
        .iter()
        .map(|block| {
            let shown = text[block.start..block.end].trim_ascii_end();
            Classified {
                words: count_words(shown),
                link_density: block.link_bytes as f32 / shown.len().max(1) as f32,
                candidate: true,
                content: false,
            }
        })
        .collect();
    let bound = drop_marked(blocks, &mut classified, tuning);
    classify(&mut classified, tuning);
    if bound == Some(Mark::ArticleBody) {
        for classified in &mut classified {
            classified.content |= classified.candidate && classified.link_density <= 0.555_556;
        }
    }
    let kept = best_stretch(&classified, tuning);

    let words = |keep: &dyn Fn(usize, &Classified) -> bool| -> u32 {
        classified.iter().enumerate().filter(|(i, j)| keep(*i, j)).map(|(_, j)| j.words).sum()
    };
    let total = words(&|_, _| true);
    let enough =
        |found: u32| found >= tuning.min_words && found as f32 >= tuning.min_share * total as f32;
    let in_stretch =
        |index: usize, _: &Classified| kept.contains(&index) && belongs(&classified, index);
    let readable =
        |_: usize, classified: &Classified| classified.candidate && classified.is_readable(tuning);
    if enough(words(&in_stretch)) {
        compact(text, &blocks.blocks, |index| in_stretch(index, &classified[index]));
    } else if enough(words(&readable)) {
        compact(text, &blocks.blocks, |index| readable(index, &classified[index]));
    }
}

/// Counts words separated by spaces; two characters of a script without spaces count as one.
fn count_words(text: &[u8]) -> u32 {
    let spaces = text.iter().filter(|&&byte| byte == b' ').count();
    let unspaced = text.iter().filter(|&&byte| (0xe3..=0xed).contains(&byte)).count();
    let words = usize::from(!text.is_empty()) + spaces + unspaced / 2;
    u32::try_from(words).unwrap_or(u32::MAX)
}

/// Step 1: excludes blocks in marked containers.
fn drop_marked(blocks: &Blocks, classified: &mut [Classified], tuning: &Tuning) -> Option<Mark> {
    let containers = &blocks.containers;
    let is_running = |classified: &Classified| {
        classified.words >= tuning.running_words && classified.is_readable(tuning)
    };
    let running_inside = |classified: &[Classified]| -> (Vec<u32>, u32) {
        let mut inside = vec![0u32; containers.len()];
        let mut total = 0u32;
        for (block, classified) in blocks.blocks.iter().zip(classified) {
            if classified.candidate && is_running(classified) {
                total = total.saturating_add(classified.words);
                if let Some(container) = block.container {
                    inside[container as usize] += classified.words;
                }
            }
        }
        for index in (0..containers.len()).rev() {
            if let Some(parent) = containers[index].parent {
                inside[parent as usize] = inside[parent as usize].saturating_add(inside[index]);
            }
        }
        (inside, total)
    };

    let mut dropped = vec![false; containers.len()];
    for marks in [[Mark::Decoration, Mark::Aside].as_slice(), &[Mark::Hint]] {
        let (inside, total) = running_inside(classified);
        for (index, container) in containers.iter().enumerate() {
            let max_share = match container.mark {
                Mark::Hint => tuning.max_hinted_share,
                _ => tuning.max_aside_share,
            };
            let outer = container.parent.is_some_and(|parent| dropped[parent as usize]);
            let own =
                marks.contains(&container.mark) && inside[index] as f32 <= max_share * total as f32;
            dropped[index] |= outer || own;
        }
        for (block, classified) in blocks.blocks.iter().zip(classified.iter_mut()) {
            classified.candidate &=
                !block.container.is_some_and(|container| dropped[container as usize]);
        }
    }

    // The best container marked as content bounds the rest.
    let (inside, total) = running_inside(classified);
    for mark in [Mark::ArticleBody, Mark::Article, Mark::Main] {
        let best = (0..containers.len())
            .filter(|&index| containers[index].mark == mark)
            .max_by_key(|&index| (inside[index], std::cmp::Reverse(index)));
        let Some(best) = best else { continue };
        if inside[best] == 0 || (inside[best] as f32) < tuning.min_bounded_share * total as f32 {
            continue;
        }
        let mut within = vec![false; containers.len()];
        for (index, container) in containers.iter().enumerate() {
            within[index] =
                index == best || container.parent.is_some_and(|parent| within[parent as usize]);
        }
        for (block, classified) in blocks.blocks.iter().zip(classified.iter_mut()) {
            classified.candidate &=
                block.container.is_some_and(|container| within[container as usize]);
        }
        return Some(mark);
    }
    None
}

/// Step 2: the decision tree over number of words and link density.
fn classify(classified: &mut [Classified], tuning: &Tuning) {
    let candidates: Vec<usize> =
        (0..classified.len()).filter(|&index| classified[index].candidate).collect();
    let outside = Classified { words: 0, link_density: 0.0, candidate: false, content: false };
    // The last block that is more than links, and the number of link blocks since.
    let (mut text_before, mut links_since) = (outside, 0);
    for (place, &index) in candidates.iter().enumerate() {
        let this = classified[index];
        let before = place.checked_sub(1).map_or(outside, |place| classified[candidates[place]]);
        let before = if links_since <= tuning.skipped_links { text_before } else { before };
        let mut after = candidates[place + 1..].iter().map(|&index| classified[index]);
        let after = after.next().unwrap_or(outside);
        classified[index].content = this.is_readable(tuning)
            && if before.link_density <= 0.555_556 {
                this.words > 16 || after.words > 15 || before.words > 4
            } else {
                this.words > 40 || after.words > 17
            };
        if this.link_density <= 0.555_556 {
            (text_before, links_since) = (this, 0);
        } else {
            links_since += 1;
        }
    }
}

/// Step 3: the stretch of blocks in which content outweighs boilerplate most.
fn best_stretch(classified: &[Classified], tuning: &Tuning) -> std::ops::Range<usize> {
    let (mut best, mut best_sum) = (0..0, 0.0);
    let (mut start, mut sum) = (0, 0.0f32);
    for (index, classified) in classified.iter().enumerate() {
        sum += if classified.content {
            classified.words as f32
        } else if classified.candidate {
            -(tuning.boilerplate_cost + tuning.boilerplate_word_cost * classified.words as f32)
        } else {
            -tuning.dropped_cost
        };
        if sum <= 0.0 {
            (start, sum) = (index + 1, 0.0);
        } else if sum > best_sum {
            (best, best_sum) = (start..index + 1, sum);
        }
    }
    best
}

/// Whether a block of the stretch is kept: content, or a short line between content.
fn belongs(classified: &[Classified], index: usize) -> bool {
    let content = |index: Option<usize>| {
        index.and_then(|index| classified.get(index)).is_some_and(|classified| classified.content)
    };
    content(Some(index))
        || (classified[index].candidate
            && classified[index].link_density <= 0.555_556
            && content(index.checked_sub(1))
            && content(index.checked_add(1)))
}

/// Keeps the blocks for which `keep` is true, separated by spaces.
fn compact(text: &mut Vec<u8>, blocks: &[Block], keep: impl Fn(usize) -> bool) {
    let mut written = 0;
    for (index, block) in blocks.iter().enumerate() {
        if keep(index) {
            text.copy_within(block.start..block.end, written);
            written += block.end - block.start;
            if text[written - 1] != b' ' && written < text.len() {
                text[written] = b' ';
                written += 1;
            }
        }
    }
    text.truncate(written);
}
