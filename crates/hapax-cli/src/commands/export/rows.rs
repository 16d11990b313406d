//! The two relations, row by row, from one commit of a repository.

use crate::failure::Failure;
use crate::repositories::answers::{percent, place};
use crate::repositories::local::failure;
use hapax::group::live::PageRecord;
use hapax_server::wire::verdict_name;
use hapax_store::{Decision, Market, PageInfo, Reader};
use serde::Serialize;

/// Pages that are read together.
const PIECE: usize = 5000;

/// A page: its hash and address, and what is known of it.
#[derive(Debug, Serialize)]
pub(super) struct PageRow {
    /// Of its text, equal for equal texts; null without content.
    pub(super) hash: Option<String>,
    pub(super) url: String,
    pub(super) fingerprint: Option<String>,
    pub(super) words: u32,
    pub(super) score: Option<f64>,
    /// Seconds since 1970.
    pub(super) fetched: Option<u64>,
    pub(super) changed: Option<u64>,
    pub(super) canonical: Option<String>,
    /// `content`, `empty`, `redirect`, `cycle`, `awaited`.
    pub(super) status: &'static str,
    /// The number of its group, which says nothing but who shares it.
    pub(super) group_id: Option<u32>,
    /// `kept`, `related` (stays as well) or `removed`.
    pub(super) fate: &'static str,
}

/// A page that may go.
#[derive(Debug, Serialize)]
pub(super) struct DuplicateRow {
    pub(super) page: String,
    pub(super) duplicate_of: String,
    /// How much of the text is shared; null for a page that redirects.
    pub(super) percentage: Option<f64>,
    /// `exact`, `near` or `redirect`.
    pub(super) kind: &'static str,
    pub(super) distance: Option<u8>,
    pub(super) rule: Option<&'static str>,
    pub(super) reason: Option<String>,
}

/// Takes rows, in order.
pub(super) trait Sink {
    fn page(&mut self, row: PageRow) -> Result<(), Failure>;
    fn duplicate(&mut self, row: DuplicateRow) -> Result<(), Failure>;
    fn finish(self: Box<Self>) -> Result<(), Failure>;
}

/// How many rows there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) pages: u64,
    pub(super) duplicates: u64,
}

/// Everything a reader sees.
///
/// # Errors
///
/// The repository cannot be read, or the sink refuses.
pub(super) fn pour(
    reader: &Reader,
    market: Option<&Market>,
    sink: &mut dyn Sink,
) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut after: Option<String> = None;
    loop {
        let piece = reader.pages(after.as_deref(), PIECE, market).map_err(failure)?;
        let Some((last, _)) = piece.last() else { return Ok(counts) };
        after = Some(last.url.clone());
        for (page, decision) in piece {
            counts.pages += 1;
            if let Some(row) = duplicate_row(&page, &decision) {
                counts.duplicates += 1;
                sink.duplicate(row)?;
            }
            sink.page(page_row(page, &decision))?;
        }
    }
}

fn page_row(page: PageInfo, decision: &Decision) -> PageRow {
    let verdict = &decision.verdict;
    let seen = matches!(
        page.place,
        PageRecord::Content { .. } | PageRecord::Bare { why: hapax::group::live::Bare::Empty, .. }
    );
    PageRow {
        hash: seen.then(|| page.content.to_string()),
        fingerprint: page.contents.as_ref().map(|contents| contents.fingerprint.to_string()),
        words: page.words,
        score: page.score,
        fetched: page.fetched,
        changed: page.changed,
        status: place(&page.place),
        group_id: verdict.group.map(|group| group.0),
        fate: match (verdict.is_winner, verdict.removable()) {
            (true, _) => "kept",
            (false, true) => "removed",
            (false, false) => "related",
        },
        url: page.url,
        canonical: page.canonical,
    }
}

fn duplicate_row(page: &PageInfo, decision: &Decision) -> Option<DuplicateRow> {
    let verdict = &decision.verdict;
    if !verdict.removable() {
        return None;
    }
    Some(DuplicateRow {
        page: page.url.clone(),
        duplicate_of: decision.winner_url.clone()?,
        percentage: verdict.likeness.map(|likeness| percent(likeness.similarity)),
        kind: verdict_name(verdict.kind, None),
        distance: verdict.likeness.map(|likeness| likeness.distance),
        rule: verdict.reason.as_ref().map(|reason| reason.rule),
        reason: verdict.reason.as_ref().map(|reason| reason.text.clone()),
    })
}
