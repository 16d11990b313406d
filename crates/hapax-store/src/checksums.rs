//! The checksums of a store's file, before the store below believes it.
//!
//! redb writes a checksum of every page and looks at it only after a crash. It trusts its own tables,
//! which pages are free among them, and panics when that is wrong, once more while it unwinds, which
//! ends the process. So those tables, small ones, are verified here whenever a file is opened.
//!
//! Says nothing of files that were not closed (redb verifies these itself) and of other versions.
//! Source: redb 4.4, `docs/design.md`, "File format", version 3.

use std::io;

use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Two commits, of which one counts, and what is said about the file as a whole.
pub(crate) const HEADER: usize = 320;
/// In the byte behind the magic number: which slot is valid, and whether the file was not closed.
const SECOND_SLOT: u8 = 1;
const NOT_CLOSED: u8 = 2;
const SLOTS: usize = 64;
const SLOT: usize = 128;
const VERSION: u8 = 3;
/// In a slot: whether there is a tree of tables, and its root, with checksum and length.
const CONTENT: (usize, usize) = (1, 8);
const OWN: (usize, usize) = (2, 40);
const ROOT: usize = 32;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// A table of one value for a key.
const NORMAL: u8 = 3;

/// What is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// The store's own.
    Own,
    /// What was put into it, which takes as long as reading it.
    Content,
}

/// Reads so many bytes at a place of the file.
pub(crate) type Read<'r> = &'r dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// Are these tables as they were written? Also if nothing can be said.
pub(crate) fn are_right(read: Read<'_>, len: u64, tables: Tables) -> io::Result<bool> {
    let Some(file) = File::open(read, len)? else { return Ok(true) };
    let right = file.tables(tables)?;
    // Another process may have opened and changed it meanwhile; it is refused for that, later.
    Ok(right || File::open(read, len)?.is_none_or(|now| now.header != file.header))
}

/// Makes the header of a closed file that of one that was not closed and has no tables of its own: redb
/// then makes them anew, from the others.
pub(crate) fn drop_own_tables(header: &mut [u8; HEADER]) {
    let at = slot(header[MAGIC.len()]);
    header[MAGIC.len()] |= NOT_CLOSED;
    let slot = &mut header[at..at + SLOT];
    slot[OWN.0] = 0;
    slot[OWN.1..OWN.1 + ROOT].fill(0);
    let checksum = xxh3_128(&slot[..SLOT - 16]);
    slot[SLOT - 16..].copy_from_slice(&checksum.to_le_bytes());
}

/// Where the commit is that counts.
fn slot(state: u8) -> usize {
    SLOTS + if state & SECOND_SLOT == 0 { 0 } else { SLOT }
}

/// A file that was closed.
struct File<'r> {
    read: Read<'r>,
    len: u64,
    header: [u8; HEADER],
}

/// Where a tree begins, with the checksum of that page.
#[derive(Clone, Copy)]
struct Root {
    page: u64,
    checksum: u128,
}

/// Lengths of keys and values, where all have the same.
#[derive(Clone, Copy)]
struct Widths {
    key: Option<usize>,
    value: Option<usize>,
}

impl<'r> File<'r> {
    fn open(read: Read<'r>, len: u64) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        if len < HEADER as u64 {
            return Ok(None);
        }
        read(0, &mut header)?;
        let file = Self { read, len, header };
        let closed = file.header.starts_with(MAGIC) && file.state() & NOT_CLOSED == 0;
        let (said, checksum) = file.slot().split_at(SLOT - 16);
        // A slot that is damaged itself is found out by redb.
        let known = said[0] == VERSION && xxh3_128(said).to_le_bytes() == checksum;
        Ok((closed && known).then_some(file))
    }

    fn state(&self) -> u8 {
        self.header[MAGIC.len()]
    }

    fn slot(&self) -> &[u8] {
        let at = slot(self.state());
        &self.header[at..at + SLOT]
    }

    fn tables(&self, tables: Tables) -> io::Result<bool> {
        let (there, at) = match tables {
            Tables::Content => CONTENT,
            Tables::Own => OWN,
        };
        let slot = self.slot();
        if slot[there] == 0 {
            return Ok(true);
        }
        let Some(root) = Root::at(slot, at) else { return Ok(false) };
        let mut found = Vec::new();
        let widths = Widths { key: None, value: None };
        if !self.tree(root, widths, &mut |definition| found.push(Table::read(definition)))? {
            return Ok(false);
        }
        for table in found {
            let right = match table {
                None => false,
                Some(Table { root: None, .. }) => true,
                Some(Table { root: Some(root), widths }) => self.tree(root, widths, &mut |_| {})?,
            };
            if !right {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Verifies every page of a tree, and shows the values in its leaves.
    fn tree(&self, root: Root, widths: Widths, see: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let mut left = vec![root];
        // A tree has no more pages than its file.
        let mut most = self.len / u64::from(self.word(12)).max(1) + 1;
        while let Some(next) = left.pop() {
            let Some(page) = self.page(next.page)? else { return Ok(false) };
            let fewer = most.checked_sub(1);
            let node = match page.first() {
                Some(&LEAF) => Node::leaf(&page, widths, see),
                Some(&BRANCH) => Node::branch(&page, widths),
                _ => None,
            };
            let (Some(node), Some(fewer)) = (node, fewer) else { return Ok(false) };
            if page.get(..node.end).map(xxh3_128) != Some(next.checksum) {
                return Ok(false);
            }
            most = fewer;
            left.extend(node.children);
        }
        Ok(true)
    }

    fn word(&self, at: usize) -> u32 {
        word(&self.header, at).unwrap_or(0)
    }

    /// A page by its number: 20 bits of place, 20 of region, and 5 on top for its size.
    fn page(&self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let [size, header_pages, data_pages] = [12, 16, 20].map(|at| u64::from(self.word(at)));
        let order = number >> 59;
        let (index, region) = (number & (0xf_ffff >> order), number >> 20 & 0xf_ffff);
        let Some(length) = size.checked_shl(order as u32) else { return Ok(None) };
        let start = (size * (1 + region * (header_pages + data_pages) + header_pages))
            .saturating_add(index.saturating_mul(length));
        if length > self.len || start > self.len - length {
            return Ok(None);
        }
        let mut page = vec![0; length as usize];
        (self.read)(start, &mut page)?;
        Ok(Some(page))
    }
}

/// A page, and where what it says ends.
struct Node {
    children: Vec<Root>,
    end: usize,
}

impl Node {
    fn leaf(page: &[u8], widths: Widths, see: &mut dyn FnMut(&[u8])) -> Option<Self> {
        let pairs = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
        let listed = |width: Option<usize>| if width.is_none() { 4 * pairs } else { 0 };
        let keys = 4 + listed(widths.key) + listed(widths.value);
        let last = pairs.checked_sub(1)?;
        let values = match widths.key {
            Some(width) => keys.checked_add(width.checked_mul(pairs)?)?,
            None => word(page, 4 + 4 * last)? as usize,
        };
        let end_of = |pair: usize| match widths.value {
            Some(width) => values.checked_add(width.checked_mul(pair + 1)?),
            None => Some(word(page, 4 + listed(widths.key) + 4 * pair)? as usize),
        };
        let mut start = values;
        for pair in 0..pairs {
            let end = end_of(pair)?;
            see(page.get(start..end)?);
            start = end;
        }
        Some(Self { children: Vec::new(), end: start })
    }

    fn branch(page: &[u8], widths: Widths) -> Option<Self> {
        let keys = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
        let children = keys + 1;
        let child = |n: usize| {
            let checksum = u128::from_le_bytes(*page.get(8 + 16 * n..)?.first_chunk()?);
            let number = page.get(8 + 16 * children + 8 * n..)?.first_chunk()?;
            Some(Root { page: u64::from_le_bytes(*number), checksum })
        };
        let behind = 8 + 24 * children;
        let end = match widths.key {
            Some(width) => behind.checked_add(width.checked_mul(keys)?)?,
            None => word(page, behind + 4 * keys.checked_sub(1)?)? as usize,
        };
        Some(Self { children: (0..children).map(child).collect::<Option<_>>()?, end })
    }
}

struct Table {
    root: Option<Root>,
    widths: Widths,
}

impl Table {
    /// A definition: kind, length, root, and the widths of keys and values, each behind a byte that
    /// says whether there is one.
    fn read(definition: &[u8]) -> Option<Self> {
        if *definition.first()? != NORMAL {
            return None;
        }
        let width = |at: usize| -> Option<Option<usize>> {
            Some((*definition.get(at)? != 0).then_some(word(definition, at + 1)? as usize))
        };
        let root = Root::at(definition, 10)?;
        Some(Self {
            root: (*definition.get(9)? != 0).then_some(root),
            widths: Widths { key: width(42)?, value: width(47)? },
        })
    }
}

impl Root {
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let page = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        let checksum = u128::from_le_bytes(*bytes.get(at + 8..)?.first_chunk()?);
        Some(Self { page, checksum })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
