//! Finds pages by what they say, within their scope, however many pages share their fingerprint.
//!
//! Every page with content has a row under its scope and content hash, so equal texts always find each other. A
//! page in whose neighbourhood the index has more entries than are compared (*dense*) also has rows under bands
//! of its sketch: two sketches that differ in 8 % of their bits share one of `BANDS` bands in 992 of 1,000
//! cases. All rows follow from the page records, so copies and repairs derive them.

use crate::codec;
use crate::error::Outcome;
use crate::page::PageData;
use crate::tables;
use hapax::fingerprint::{ContentHash, Fingerprint, Sketch};
use hapax::group::ScopeKey;
use hapax::group::live::PageId;
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Scope, content hash or hash of a band, and page; big-endian, so that pages are in order.
pub(crate) type Key = [u8; 28];

pub(crate) const CONTENTS: TableDefinition<'_, &Key, ()> = TableDefinition::new("contents");

/// Bands of a sketch, of 16 bits each.
pub(crate) const BANDS: usize = 16;
const BAND_BYTES: usize = 2;

/// The fingerprint under which the index has a page. Pages of other scopes are as far away as
/// unrelated ones; without scopes, it is the page's own.
pub(crate) const fn in_scope(fingerprint: Fingerprint, scope: ScopeKey) -> Fingerprint {
    Fingerprint::from_bits(fingerprint.to_bits() ^ scope.0)
}

fn key(scope: ScopeKey, hash: [u8; 16], page: PageId) -> Key {
    let mut key = [0; 28];
    key[..8].copy_from_slice(&scope.0.to_be_bytes());
    key[8..24].copy_from_slice(&hash);
    key[24..].copy_from_slice(&page.0.to_be_bytes());
    key
}

/// The hashes of the bands of a sketch.
pub(crate) fn bands(sketch: &Sketch) -> [[u8; 16]; BANDS] {
    let bytes = sketch.to_bytes();
    std::array::from_fn(|band| {
        let bits = &bytes[BAND_BYTES * band..][..BAND_BYTES];
        // A seed of its own, so that a band never passes for a content hash.
        xxh3_128_with_seed(bits, 1 + band as u64).to_be_bytes()
    })
}

/// The rows of a page.
pub(crate) fn keys(page: PageId, data: &PageData) -> Vec<Key> {
    let Some(comparable) = &data.comparable else { return Vec::new() };
    let mut keys = vec![key(data.scope, data.content.to_bytes(), page)];
    if data.dense {
        keys.extend(bands(&comparable.sketch).map(|band| key(data.scope, band, page)));
    }
    keys
}

/// Replaces the rows of a page.
pub(crate) fn replace(
    table: &mut Table<'_, &'static Key, ()>,
    was: &[Key],
    is: &[Key],
) -> Outcome<()> {
    if was == is {
        return Ok(());
    }
    for key in was {
        table.remove(key)?;
    }
    for key in is {
        table.insert(key, ())?;
    }
    Ok(())
}

/// The first `limit` pages with this content, by number.
pub(crate) fn equal(
    table: &impl ReadableTable<&'static Key, ()>,
    scope: ScopeKey,
    content: &ContentHash,
    limit: usize,
) -> Outcome<Vec<PageId>> {
    under(table, scope, content.to_bytes(), limit)
}

/// The first `limit` pages under a content hash or a band, by number.
pub(crate) fn under(
    table: &impl ReadableTable<&'static Key, ()>,
    scope: ScopeKey,
    hash: [u8; 16],
    limit: usize,
) -> Outcome<Vec<PageId>> {
    let [first, last] = [0, u32::MAX].map(|page| key(scope, hash, PageId(page)));
    let mut pages = Vec::new();
    for row in table.range::<&Key>(&first..=&last)?.take(limit) {
        let (key, _) = row?;
        let [.., a, b, c, d] = *key.value();
        pages.push(PageId(u32::from_be_bytes([a, b, c, d])));
    }
    Ok(pages)
}

/// Derives all rows from the page records. Returns the number of rows that were missing or wrong.
pub(crate) fn rebuild(writing: &WriteTransaction) -> Outcome<u64> {
    let mut table = writing.open_table(CONTENTS)?;
    let pages = writing.open_table(tables::PAGES)?;
    let mut differ = 0;
    table.retain(|key, ()| {
        let [.., a, b, c, d] = *key;
        let page = PageId(u32::from_be_bytes([a, b, c, d]));
        let row = pages.get(page.0).ok().flatten();
        let data = row.and_then(|row| codec::read_page(page, row.value()).ok());
        let right = data.is_some_and(|data| keys(page, &data).contains(key));
        differ += u64::from(!right);
        right
    })?;
    for row in pages.iter()? {
        let (id, bytes) = row?;
        let page = PageId(id.value());
        // An unreadable record is reported by the check, and repaired.
        let Ok(data) = codec::read_page(page, bytes.value()) else { continue };
        for key in keys(page, &data) {
            differ += u64::from(table.insert(&key, ())?.is_none());
        }
    }
    Ok(differ)
}
