//! Checks the list of columns of a segment (`.fast`), whose counts Tantivy trusts.
//!
//! [`check`] reads the end of the file before Tantivy does: the number of documents, the ranges of columns, and
//! the versions of text dictionaries. A forged count, or a dictionary of a former version, would make Tantivy
//! allocate all memory. Does not check the columns themselves.

use std::ops::Range;
use std::path::Path;

use tantivy::Directory;
use tantivy::index::SegmentComponent;

use super::cursor::Bytes;
use super::error::Error;

/// At the end: length of the list, documents, version and magic.
const FOOTER: usize = 20;
const VERSION: u32 = 2;
/// At the end of a dictionary: end of its blocks, number of terms, version.
const DICTIONARY_FOOTER: usize = 20;
const DICTIONARY_VERSION: u32 = 3;
/// Kinds of columns with a dictionary.
const WITH_DICTIONARY: [u8; 2] = [3, 4];
/// Two lengths follow as numbers instead of being in one byte.
const LONG: u8 = 1;

/// Refuses an index with an inconsistent file of this kind.
pub(super) fn check(folder: &Path, index: &tantivy::Index) -> Result<(), Error> {
    let failed = |source| Error::tantivy(folder, source);
    for segment in index.searchable_segment_metas().map_err(failed)? {
        let path = segment.relative_path(SegmentComponent::FastFields);
        let file = index.directory().open_read(&path).map_err(|error| failed(error.into()))?;
        let bytes = file.read_bytes().map_err(|error| Error::unreadable(&path, error))?;
        if check_file(&bytes, segment.max_doc()).is_none() {
            let what = "its list of columns is made up".to_owned();
            return Err(Error::Damaged { path: folder.join(path), what });
        }
    }
    Ok(())
}

fn check_file(file: &[u8], documents: u32) -> Option<()> {
    let (rest, footer) = file.split_last_chunk::<FOOTER>()?;
    let mut footer = Bytes(footer);
    let length = usize::try_from(footer.u64()?).ok()?;
    if footer.u32()? != documents || footer.u32()? != VERSION {
        return None;
    }
    let (columns, list) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
    for (place, kind) in listed(list)? {
        let column = columns.get(place)?;
        if WITH_DICTIONARY.contains(&kind) {
            let (body, length) = column.split_last_chunk()?;
            blocks(body.get(..u32::from_le_bytes(*length) as usize)?)?;
        }
    }
    Some(())
}

fn blocks(dictionary: &[u8]) -> Option<&[u8]> {
    let (rest, footer) = dictionary.split_last_chunk::<DICTIONARY_FOOTER>()?;
    let mut footer = Bytes(footer);
    let (end, _, version) = (footer.u64()?, footer.u64()?, footer.u32()?);
    if version != DICTIONARY_VERSION {
        return None;
    }
    rest.get(..usize::try_from(end).ok()?)
}

/// The range of each column, and its kind, which is the last byte of its key. In a block, ranges
/// come first: the number of boundaries, the first one and the differences; then the keys, each as
/// the length of the prefix shared with the previous one, and the rest.
fn listed(list: &[u8]) -> Option<Vec<(Range<usize>, u8)>> {
    let mut blocks = Bytes(blocks(list)?);
    let mut found = Vec::new();
    while !blocks.0.is_empty() {
        let length = usize::try_from(blocks.u32()?).ok()?;
        // An empty block is the end.
        let Some(length) = length.checked_sub(1).filter(|it| *it > 0) else { break };
        let packed = blocks.u8()?;
        let mut block = Bytes(blocks.take(length)?);
        let borders = block.leb128()?;
        if packed != 0 || borders > length as u64 {
            return None;
        }
        let mut places = Vec::new();
        let mut start = if borders == 0 { 0 } else { block.leb128()? };
        for _ in 1..borders {
            let end = start.checked_add(block.leb128()?)?;
            places.push(usize::try_from(start).ok()?..usize::try_from(end).ok()?);
            start = end;
        }
        let mut key = Vec::new();
        for place in places {
            let (shared, new) = match block.u8()? {
                LONG => (block.leb128()?, block.leb128()?),
                both => (u64::from(both & 15), u64::from(both >> 4)),
            };
            let shared = usize::try_from(shared).ok().filter(|it| *it <= key.len())?;
            key.truncate(shared);
            key.extend_from_slice(block.take(usize::try_from(new).ok()?)?);
            found.push((place, *key.last()?));
        }
    }
    Some(found)
}
