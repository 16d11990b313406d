//! The two relations, row by row, from one commit of a repository.

use crate::failure::Failure;
use crate::repositories::local::failure;
use hapax_client::moment;
use hapax_client::wire::{Page, Verdict};
use hapax_store::{Market, PageInfo, Reader};
use serde::Serialize;

/// Pages that are read together.
const PIECE: usize = 5000;

/// A page: the columns are fields of the wire types, but `group_id`, because `group` is a word of SQL.
#[derive(Debug, Serialize)]
pub(super) struct PageRow {
    pub(super) content: Option<String>,
    pub(super) url: String,
    pub(super) fingerprint: Option<String>,
    pub(super) words: u32,
    pub(super) score: Option<f64>,
    #[serde(serialize_with = "moment::shown_if_known")]
    pub(super) fetched: Option<u64>,
    #[serde(serialize_with = "moment::shown_if_known")]
    pub(super) changed: Option<u64>,
    pub(super) canonical: Option<String>,
    pub(super) state: String,
    pub(super) group_id: Option<u32>,
    pub(super) is_winner: bool,
    pub(super) removable: bool,
}

/// A page that may go.
#[derive(Debug, Serialize)]
pub(super) struct DuplicateRow {
    pub(super) url: String,
    pub(super) winner: String,
    /// `exact`, `near` or `redirect`.
    pub(super) verdict: String,
    /// Null for a page that redirects.
    pub(super) similarity: Option<f32>,
    pub(super) distance: Option<u8>,
    pub(super) rule: Option<String>,
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
            let verdict = Verdict::known(page.url.clone(), &decision);
            sink.page(page_row(page, &verdict))?;
            if verdict.removable {
                counts.duplicates += 1;
                sink.duplicate(duplicate_row(verdict))?;
            }
        }
    }
}

fn page_row(info: PageInfo, verdict: &Verdict) -> PageRow {
    let page = Page::new(info, verdict.group);
    PageRow {
        content: page.content,
        url: page.url,
        fingerprint: page.fingerprint,
        words: page.words,
        score: page.score,
        fetched: page.fetched,
        changed: page.changed,
        canonical: page.canonical,
        state: page.state,
        group_id: page.group,
        is_winner: verdict.is_winner,
        removable: verdict.removable,
    }
}

fn duplicate_row(verdict: Verdict) -> DuplicateRow {
    let (rule, reason) = verdict.reason.map(|reason| (reason.rule, reason.text)).unzip();
    DuplicateRow {
        url: verdict.url,
        winner: verdict.winner,
        verdict: verdict.verdict,
        similarity: verdict.alike.map(|alike| alike.similarity),
        distance: verdict.alike.map(|alike| alike.distance),
        rule,
        reason,
    }
}
