//! What is kept of pages to be shown (`.store`), where Tantivy believes every length.
//!
//! [`check`] reads the frame of the file before Tantivy does: footer, index of blocks, and the length
//! that each packed block claims. Blocks must follow one another and hold the segment's documents, so
//! nothing that is made up asks for more memory than the file can fill. [`texts`] takes a document
//! apart: Tantivy's own reader reserves what a text claims to need, and follows lists into lists.
//!
//! Does not look into packed blocks; what they hold is found out, or not, when it is shown.

use std::path::Path;

use tantivy::Directory;
use tantivy::index::SegmentComponent;
use tantivy::schema::Field;

use super::cursor::Bytes;
use super::error::Error;

/// At the end: version, where the index of blocks begins, how blocks are packed, and room.
const FOOTER: usize = 28;
const VERSION: u32 = 2;
const LZ4: u8 = 1;
/// Of an unpacked block. Tantivy packs 16 kB, or a page if that alone is longer.
const MOST_BLOCK: usize = 512 << 20;
/// LZ4 never unpacks a byte to more.
const MOST_UNPACKED: usize = 255;
/// A text, among the values of a document.
const TEXT: u8 = 0;

/// Refuses an index with a file of this kind that contradicts itself.
pub(super) fn check(folder: &Path, index: &tantivy::Index) -> Result<(), Error> {
    let failed = |source| Error::tantivy(folder, source);
    for segment in index.searchable_segment_metas().map_err(failed)? {
        let path = segment.relative_path(SegmentComponent::Store);
        let file = index.directory().open_read(&path).map_err(|error| failed(error.into()))?;
        let bytes = file.read_bytes().map_err(|error| Error::unreadable(&path, error))?;
        if let Err(what) = check_file(&bytes, segment.max_doc()) {
            return Err(Error::Damaged { path: folder.join(path), what: what.to_owned() });
        }
    }
    Ok(())
}

fn check_file(file: &[u8], documents: u32) -> Result<(), &'static str> {
    let cut = "it is cut off";
    let (rest, footer) = file.split_last_chunk::<FOOTER>().ok_or(cut)?;
    let mut footer = Bytes(footer);
    if footer.u32() != Some(VERSION) {
        return Err("it is of another version");
    }
    let blocks = footer.u64().and_then(|end| usize::try_from(end).ok()).ok_or(cut)?;
    if footer.u8() != Some(LZ4) {
        return Err("it is packed in another way");
    }
    let (blocks, index) = rest.split_at_checked(blocks).ok_or("its blocks end behind its end")?;
    let made_up = "its index of blocks is made up";
    let mut index = Bytes(index);
    let layers = index.number().ok_or(made_up)?;
    // Each layer has a length, of a byte or more.
    if layers > index.0.len() as u64 {
        return Err(made_up);
    }
    let mut ends = Vec::new();
    for _ in 0..layers {
        let end = index.number().and_then(|end| usize::try_from(end).ok()).ok_or(made_up)?;
        if ends.last().is_some_and(|last| *last > end) {
            return Err(made_up);
        }
        ends.push(end);
    }
    let layer = match ends[..] {
        [] => &[],
        [end] => index.0.get(..end).ok_or(made_up)?,
        [.., start, end] => index.0.get(start..end).ok_or(made_up)?,
    };
    check_blocks(blocks, Bytes(layer), documents)
}

/// Of the layers only the last leads to blocks. It consists of runs: how many blocks, the first
/// document, the first byte, and then documents and bytes of each.
fn check_blocks(blocks: &[u8], mut layer: Bytes<'_>, documents: u32) -> Result<(), &'static str> {
    let made_up = "its index of blocks is made up";
    let (mut document, mut at) = (0u64, 0usize);
    while !layer.0.is_empty() {
        let count = layer.number().ok_or(made_up)?;
        if count == 0 || layer.number() != Some(document) || layer.number() != Some(at as u64) {
            return Err(made_up);
        }
        for _ in 0..count {
            document += layer.number().filter(|it| *it <= u64::from(documents)).ok_or(made_up)?;
            let length = layer.number().and_then(|it| usize::try_from(it).ok()).ok_or(made_up)?;
            let block = at.checked_add(length).and_then(|end| blocks.get(at..end));
            let mut block = Bytes(block.ok_or("a block ends behind its end")?);
            let unpacked = block.u32().ok_or("a block is cut off")? as usize;
            if unpacked > (block.0.len().saturating_mul(MOST_UNPACKED)).min(MOST_BLOCK) {
                return Err("a block claims to be longer than it can be");
            }
            at += length;
        }
    }
    match document == u64::from(documents) && at == blocks.len() {
        true => Ok(()),
        false => Err("its blocks hold other documents than the segment"),
    }
}

/// The texts of a field, from the bytes of a document; `None` if that is not what they are.
pub(super) fn texts(document: &[u8], field: Field) -> Option<Vec<&str>> {
    let mut bytes = Bytes(document);
    let values = bytes.number()?;
    let mut texts = Vec::new();
    for _ in 0..values {
        let (of, kind) = (bytes.u32()?, bytes.u8()?);
        if kind != TEXT {
            return None;
        }
        let length = usize::try_from(bytes.number()?).ok()?;
        let text = std::str::from_utf8(bytes.take(length)?).ok()?;
        if of == field.field_id() {
            texts.push(text);
        }
    }
    bytes.0.is_empty().then_some(texts)
}
