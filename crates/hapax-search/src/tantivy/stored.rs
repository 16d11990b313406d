//! Checks stored pages (`.store`), whose lengths Tantivy trusts.
//!
//! [`check`] reads the structure of the file before Tantivy does: footer, index of blocks, and the claimed
//! length of each compressed block. Blocks must be consecutive and hold the segment's documents, so forged
//! claims cannot ask for more memory than the file can fill. [`texts`] parses a document: Tantivy's own parser
//! allocates what a text claims, and recurses into nested lists. Does not check the contents of compressed
//! blocks before they are read.

use std::path::Path;

use tantivy::Directory;
use tantivy::index::SegmentComponent;
use tantivy::schema::Field;

use super::cursor::Bytes;
use super::error::Error;

/// At the end: version, start of the block index, compression of blocks, and padding.
const FOOTER: usize = 28;
const VERSION: u32 = 2;
const LZ4: u8 = 1;
/// Maximum size of an uncompressed block. Tantivy compresses 16 kB, or one page if it is longer.
const MOST_BLOCK: usize = 512 << 20;
/// Maximum expansion of LZ4.
const MOST_UNPACKED: usize = 255;
/// The type code of a text in a document.
const TEXT: u8 = 0;

/// Refuses an index with an inconsistent file of this kind.
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
    // Each layer has a length of at least a byte.
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

/// Only the last layer refers to blocks. It consists of runs: number of blocks, first document,
/// first byte, then documents and bytes of each.
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

/// The texts of a field in an encoded document; `None` if the encoding is invalid.
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
