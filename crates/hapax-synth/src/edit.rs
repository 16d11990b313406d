//! How a copy differs from its original, and the resulting similarity.
//!
//! Shares by group: exact 25 (with `Refreshed`), template 10, light 35 (with `ParagraphMoved`), heavy 15, block 10
//! (with `Advertisement`), cut 5. [`Truth::expected_jaccard5`](crate::Truth::expected_jaccard5) is about the content
//! alone, without frame and noise.
//!
//! | kind | default share | what happens | amount |
//! |---|---|---|---|
//! | `Exact` | 20 % | the same HTML under another URL | 0 |
//! | `Refreshed` | 5 % | date and counter changed | 0 |
//! | `OtherTemplate` | 10 % | same content in another site's frame | 0 |
//! | `LightEdit` | 32 % | words substituted, inserted, deleted in equal parts | rate, 0.05 to 3 %, log-uniform |
//! | `HeavyEdit` | 15 % | the same | rate, 3 to 15 % |
//! | `ParagraphMoved` | 3 % | a passage is moved | its share, 10 to 30 % |
//! | `Advertisement` | 3 % | a shared advertisement of 15 to 60 words inserted | its length over the text's |
//! | `BlockInserted` | 4 % | a passage inserted | its share, 10 to 40 % |
//! | `BlockDeleted` | 3 % | a passage deleted | its share, 10 to 40 % |
//! | `Truncated` | 5 % | the end is cut off | share kept, 30 to 70 % |

use crate::language::Language;
use crate::rng::Rng;
use crate::stable_math::{log_uniform, pow};
use crate::words::{Token, Words};

/// How a copy was made from its original. The amount of an edit is 0 unless stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EditKind {
    /// Copy 0, unchanged.
    #[default]
    Original,
    /// The same HTML under another URL.
    Exact,
    /// Only date and counter differ.
    Refreshed,
    /// The same content in the frame of another host.
    OtherTemplate,
    /// Few words changed. Amount: the rate, 0.0005 to 0.03.
    LightEdit,
    /// Many words changed. Amount: the rate, 0.03 to 0.15.
    HeavyEdit,
    /// A passage moved to another place. Amount: its share of the text, 0.1 to 0.3.
    ParagraphMoved,
    /// An advertisement of 15 to 60 words inserted. Amount: its length over the text's.
    Advertisement,
    /// A passage inserted. Amount: its length over the text's, 0.1 to 0.4.
    BlockInserted,
    /// A passage deleted. Amount: its share of the text, 0.1 to 0.4.
    BlockDeleted,
    /// The end cut off. Amount: the share that is kept, 0.3 to 0.7.
    Truncated,
}

impl EditKind {
    /// Every kind a copy can have, in the order of [`EditMix`].
    pub const COPIES: [Self; 10] = [
        Self::Exact,
        Self::Refreshed,
        Self::OtherTemplate,
        Self::LightEdit,
        Self::HeavyEdit,
        Self::ParagraphMoved,
        Self::Advertisement,
        Self::BlockInserted,
        Self::BlockDeleted,
        Self::Truncated,
    ];

    /// A name for tables: lower case, with hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Exact => "exact",
            Self::Refreshed => "refreshed",
            Self::OtherTemplate => "other-template",
            Self::LightEdit => "light-edit",
            Self::HeavyEdit => "heavy-edit",
            Self::ParagraphMoved => "paragraph-moved",
            Self::Advertisement => "advertisement",
            Self::BlockInserted => "block-inserted",
            Self::BlockDeleted => "block-deleted",
            Self::Truncated => "truncated",
        }
    }
}

/// Relative frequencies of the kinds of copies; the sum must be above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the weight of the kind it is named after")]
pub struct EditMix {
    pub exact: u32,
    pub refreshed: u32,
    pub other_template: u32,
    pub light_edit: u32,
    pub heavy_edit: u32,
    pub paragraph_moved: u32,
    pub advertisement: u32,
    pub block_inserted: u32,
    pub block_deleted: u32,
    pub truncated: u32,
}

impl EditMix {
    /// All weights zero, for struct updates: `EditMix { exact: 1, ..EditMix::NONE }`.
    pub const NONE: Self = Self {
        exact: 0,
        refreshed: 0,
        other_template: 0,
        light_edit: 0,
        heavy_edit: 0,
        paragraph_moved: 0,
        advertisement: 0,
        block_inserted: 0,
        block_deleted: 0,
        truncated: 0,
    };

    pub(crate) const fn weights(&self) -> [u32; 10] {
        [
            self.exact,
            self.refreshed,
            self.other_template,
            self.light_edit,
            self.heavy_edit,
            self.paragraph_moved,
            self.advertisement,
            self.block_inserted,
            self.block_deleted,
            self.truncated,
        ]
    }
}

/// In percent: exact 20, refreshed 5, other template 10, light 32, heavy 15, paragraph moved 3,
/// advertisement 3, block inserted 4, block deleted 3, truncated 5.
impl Default for EditMix {
    fn default() -> Self {
        Self {
            exact: 20,
            refreshed: 5,
            other_template: 10,
            light_edit: 32,
            heavy_edit: 15,
            paragraph_moved: 3,
            advertisement: 3,
            block_inserted: 4,
            block_deleted: 3,
            truncated: 5,
        }
    }
}

/// Draws the amount of an edit on a text of `words` words.
pub(crate) fn draw_amount(kind: EditKind, words: u32, rng: &mut Rng) -> f64 {
    match kind {
        EditKind::Original | EditKind::Exact | EditKind::Refreshed | EditKind::OtherTemplate => 0.0,
        EditKind::LightEdit => log_uniform(rng, 0.0005, 0.03),
        EditKind::HeavyEdit => 0.03 + 0.12 * rng.unit(),
        EditKind::ParagraphMoved => 0.1 + 0.2 * rng.unit(),
        EditKind::Advertisement => rng.between(15, 60) as f64 / f64::from(words),
        EditKind::BlockInserted | EditKind::BlockDeleted => 0.1 + 0.3 * rng.unit(),
        EditKind::Truncated => 0.3 + 0.4 * rng.unit(),
    }
}

/// Edits `text`, which is about `topic`; overwrites `scratch`.
pub(crate) fn apply(
    (kind, amount): (EditKind, f64),
    words: &Words,
    topic: u64,
    rng: &mut Rng,
    text: &mut Vec<Token>,
    scratch: &mut Vec<Token>,
) {
    let length = text.len();
    let share = ((amount * length as f64 + 0.5) as usize).max(1);
    match kind {
        EditKind::Original | EditKind::Exact | EditKind::Refreshed | EditKind::OtherTemplate => {}
        EditKind::LightEdit | EditKind::HeavyEdit => {
            change_words(amount, words, topic, rng, text, scratch);
        }
        EditKind::ParagraphMoved => {
            let share = share.min(length);
            let from = rng.below((length - share + 1) as u64) as usize;
            scratch.clear();
            scratch.extend(text.drain(from..from + share));
            mark_paragraph(text, from);
            mark_paragraph(scratch, 0);
            let to = rng.below(text.len() as u64 + 1) as usize;
            mark_paragraph(text, to);
            text.splice(to..to, scratch.iter().copied());
        }
        EditKind::Advertisement => {
            scratch.clear();
            words.advertise(share, rng, scratch);
            insert(text, rng, scratch);
        }
        EditKind::BlockInserted => {
            scratch.clear();
            words.compose(topic, share, rng, scratch);
            insert(text, rng, scratch);
        }
        EditKind::BlockDeleted => {
            let share = share.min(length.saturating_sub(1));
            let from = rng.below((length - share + 1) as u64) as usize;
            text.drain(from..from + share);
        }
        EditKind::Truncated => text.truncate(share),
    }
    // The text starts with a paragraph, whatever became its first word.
    mark_paragraph(text, 0);
}

/// Substitutes, deletes or inserts before each word with probability `rate`.
pub(crate) fn change_words(
    rate: f64,
    words: &Words,
    topic: u64,
    rng: &mut Rng,
    text: &mut Vec<Token>,
    scratch: &mut Vec<Token>,
) {
    scratch.clear();
    for &token in text.iter() {
        if !rng.chance(rate) {
            scratch.push(token);
            continue;
        }
        match rng.below(3) {
            0 => scratch.push(token.replaced(words.topical(topic, rng))),
            1 => {
                scratch.push(Token::new(words.topical(topic, rng), 0));
                scratch.push(token);
            }
            _ => {}
        }
    }
    // A page keeps at least one word.
    if scratch.is_empty() {
        scratch.extend(text.first());
    }
    std::mem::swap(text, scratch);
}

/// The expected jaccard5 of a copy's content with its original's; `None` if unknown.
pub(crate) fn expected_jaccard5(
    kind: EditKind,
    amount: f64,
    words: u32,
    language: Language,
) -> Option<f64> {
    let unchanged = matches!(
        kind,
        EditKind::Original | EditKind::Exact | EditKind::Refreshed | EditKind::OtherTemplate
    );
    // Equal contents have similarity 1 in every language.
    let per_word = if unchanged { 1.0 } else { language.tokens_per_word()? };
    let length = f64::from(words) * per_word;
    let (shingles, share) = (length - 4.0, amount * length);
    // A seam breaks the shingles that span it.
    let seam = 4.0;
    let (common, all) = match kind {
        EditKind::Original | EditKind::Exact | EditKind::Refreshed | EditKind::OtherTemplate => {
            (1.0, 1.0)
        }
        EditKind::LightEdit | EditKind::HeavyEdit => {
            // Five tokens touch 1 + 4/c words of c tokens each.
            let kept = pow(1.0 - amount, 1.0 + 4.0 / per_word);
            (kept, 2.0 - kept)
        }
        EditKind::ParagraphMoved => (shingles - 3.0 * seam, shingles + 3.0 * seam),
        EditKind::Advertisement | EditKind::BlockInserted => (shingles - seam, shingles + share),
        EditKind::BlockDeleted => (shingles - share - seam, shingles + seam),
        EditKind::Truncated => (share - seam, shingles),
    };
    Some((common / all).clamp(0.0, 1.0))
}

fn insert(text: &mut Vec<Token>, rng: &mut Rng, block: &[Token]) {
    let to = rng.below(text.len() as u64 + 1) as usize;
    mark_paragraph(text, to);
    text.splice(to..to, block.iter().copied());
}

fn mark_paragraph(text: &mut [Token], index: usize) {
    if let Some(token) = text.get_mut(index) {
        *token = token.with(Token::PARAGRAPH | Token::SENTENCE);
    }
}
