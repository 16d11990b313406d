//! Saves the index in `index.segment`, a cache next to the store.
//!
//! It is used only if it belongs to the store's last commit and every checksum is correct. It is written when a
//! repository is closed, and appears by renaming.
//!
//! ```text
//!   0   8  HPXLIVE2
//!   8   8  commit it belongs to
//!   16  8  XXH3 of the bytes before
//!   24     a segment, with checksums of its own
//! ```

use crate::disk::{self, Disk};
use crate::settings::Settings;
use crate::tables::Counters;
use hapax::fingerprint::{MaxDistance, RecipeId};
use hapax::index::HammingIndex;
use hapax::index::live::{LiveIndex, LiveOptions};
use hapax::index::segment::{Encoding, Removed, Segment, SegmentEngine, SegmentView};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const FILE: &str = "index.segment";
const MAGIC: &[u8; 8] = b"HPXLIVE2";
const HEADER: usize = 24;
/// The engine of large segments.
pub(crate) const ENGINE: SegmentEngine = SegmentEngine::Tables(4);
const SCANNED: usize = 8192;

pub(crate) fn options(within: MaxDistance) -> LiveOptions {
    LiveOptions::within(within).engine(ENGINE).scan_up_to(SCANNED)
}

pub(crate) fn engine_for(entries: usize) -> SegmentEngine {
    if entries <= SCANNED { SegmentEngine::Scan } else { ENGINE }
}

/// The index of the last commit, or why it must be rebuilt.
pub(crate) fn load(
    disk: &dyn Disk,
    folder: &Path,
    settings: &Settings,
    counters: &Counters,
) -> Result<LiveIndex, String> {
    let (within, recipe) = (settings.policy.within, &settings.recipe);
    let file = folder.join(FILE);
    let named = |what: &dyn std::fmt::Display| format!("{}: {what}", file.display());
    let bytes = disk::read(disk, &file).map_err(|error| named(&error))?;
    let (Some(header), Some(body)) = (bytes.get(..HEADER), bytes.get(HEADER..)) else {
        return Err(named(&"it is cut short"));
    };
    let word = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if &header[..8] != MAGIC || word(16) != xxh3_64(&header[..16]) {
        return Err(named(&"it is not an index, or damaged"));
    }
    if word(8) != counters.commits {
        return Err(named(&"it is not of the last commit"));
    }
    let view = SegmentView::open(body).map_err(|error| named(&error))?;
    view.must_be(recipe).map_err(|error| named(&error))?;
    let entries = view.len();
    let segment =
        Segment::load(&view, engine_for(entries), within).map_err(|error| named(&error))?;
    let removed = Removed::none(entries);
    LiveIndex::from_segments(options(within), [(segment, removed)]).map_err(|error| named(&error))
}

/// Writes the current index, which must be that of this commit.
pub(crate) fn save(
    disk: &dyn Disk,
    folder: &Path,
    index: &LiveIndex,
    recipe: &RecipeId,
    counters: &Counters,
) -> Result<(), String> {
    index.freeze().map_err(|error| error.to_string())?;
    if let Some(task) = index.merge_of_all() {
        let merged = task.run().map_err(|error| error.to_string())?;
        index.commit(merged).map_err(|error| error.to_string())?;
    }
    let snapshot = index.snapshot();
    let empty;
    let segment = match snapshot.segments().next() {
        Some((segment, _)) => &**segment,
        None => {
            let built = Segment::build(Vec::new(), SegmentEngine::Scan, index.snapshot().widest());
            empty = built.map_err(|error| error.to_string())?;
            &empty
        }
    };
    let body = segment.to_bytes(recipe, Encoding::Plain).map_err(|error| error.to_string())?;
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&counters.commits.to_le_bytes());
    header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
    let file = folder.join(FILE);
    let written = disk::replace(disk, &file, &[&header, &body]);
    written.map_err(|error| format!("{}: {error}", file.display()))
}
