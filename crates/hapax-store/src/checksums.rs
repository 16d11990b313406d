//! Verifies the checksums of a store's file before redb relies on it.
//!
//! redb writes a checksum of every page into its parent page, but checks it only after a crash. It trusts its
//! own tables, such as the list of free pages, and panics if they are wrong, again while unwinding, which
//! aborts the process. So its own tables, which are small, are verified here on every opening; all others
//! unless it is known that nothing has changed (see [`crate::blocks`]). [`Image::rows`] reads what is left of a
//! damaged file.
//!
//! Supports this version of redb's format only. Source: redb 4.4, `docs/design.md`, "File format", version 3.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Two commit slots, of which one is current, and data about the file as a whole.
pub(crate) const HEADER: usize = 320;
/// Flags after the magic number: which slot is current, and whether the file was not closed.
const SECOND_SLOT: u8 = 1;
const NOT_CLOSED: u8 = 2;
const SLOTS: usize = 64;
const SLOT: usize = 128;
const VERSION: u8 = 3;
/// In a slot: whether there is a tree of tables, and its root with checksum and length.
const CONTENT: (usize, usize) = (1, 8);
const OWN: (usize, usize) = (2, 40);
/// In a slot: the commit number.
const COMMIT: usize = 104;
const ROOT: usize = 32;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// A table with one value per key.
const NORMAL: u8 = 3;
/// The table that lists all tables.
const LIST: Widths = Widths { key: None, value: None };

/// Where a repository counts its commits.
const COUNTERS: &str = "counters";
const COMMITS: &[u8] = b"commits";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// redb's own tables.
    Own,
    /// The repository's tables; verifying them takes as long as reading them.
    Content,
}

/// Reads bytes at an offset of the file.
pub(crate) type Read<'r> = &'r dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// A row of a table, as bytes.
pub(crate) struct Row<'p> {
    pub(crate) key: &'p [u8],
    pub(crate) value: &'p [u8],
    /// Whether its page has a correct checksum.
    pub(crate) sound: bool,
}

pub(crate) struct Commit {
    tables: Vec<Table>,
    /// Number of damaged or missing pages of its list of tables.
    bad_pages: u64,
}

/// How much of a table could be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// Number of rows it should have; `None` if that is lost.
    pub(crate) rows: Option<u64>,
    /// Number of damaged or missing pages.
    pub(crate) bad_pages: u64,
}

/// Changes the header of a closed file to that of an unclosed one without redb's own tables, so
/// that redb rebuilds them from the others.
pub(crate) fn drop_own_tables(header: &mut [u8; HEADER]) {
    let at = slot(header[MAGIC.len()]);
    header[MAGIC.len()] |= NOT_CLOSED;
    let slot = &mut header[at..at + SLOT];
    slot[OWN.0] = 0;
    slot[OWN.1..OWN.1 + ROOT].fill(0);
    let checksum = xxh3_128(&slot[..SLOT - 16]);
    slot[SLOT - 16..].copy_from_slice(&checksum.to_le_bytes());
}

/// Offset of the current commit slot.
fn slot(state: u8) -> usize {
    SLOTS + if state & SECOND_SLOT == 0 { 0 } else { SLOT }
}

/// A file of the store, read without redb.
pub(crate) struct Image<'r> {
    read: Read<'r>,
    len: u64,
    pub(crate) header: [u8; HEADER],
}

/// The root page of a tree, with its checksum.
#[derive(Clone, Copy)]
struct Root {
    page: u64,
    checksum: u128,
}

/// Lengths of keys and values, if they are fixed.
#[derive(Clone, Copy)]
struct Widths {
    key: Option<usize>,
    value: Option<usize>,
}

impl<'r> Image<'r> {
    /// `None` for a file of another format or version.
    pub(crate) fn open(read: Read<'r>, len: u64) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        if len < HEADER as u64 {
            return Ok(None);
        }
        read(0, &mut header)?;
        let image = Self { read, len, header };
        let ours = image.header.starts_with(MAGIC) && image.slot()[0] == VERSION;
        Ok(ours.then_some(image))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.header[MAGIC.len()] & NOT_CLOSED == 0
    }

    /// The names of tables with damaged pages.
    pub(crate) fn damage(&self, tables: Tables) -> io::Result<Vec<String>> {
        if self.is_closed() && !self.is_last_commit() {
            return Ok(vec!["its header".into()]);
        }
        let (list, bad_pages) = self.list(self.slot(), tables)?;
        let mut damaged = Vec::new();
        if bad_pages > 0 {
            damaged.push("its list of tables".to_owned());
        }
        for table in list {
            if let Some(root) = table.root
                && self.tree(root, table.widths, &mut |_| {})? > 0
            {
                damaged.push(format!("its table `{}`", table.name));
            }
        }
        Ok(damaged)
    }

    /// The readable commits, latest first: the last one, the previous one and, if these are
    /// damaged, older ones whose pages were not reused.
    pub(crate) fn commits(&self) -> io::Result<Vec<Commit>> {
        let mut slots = [self.slot_at(SLOTS), self.slot_at(SLOTS + SLOT)];
        slots.sort_by_key(|slot| std::cmp::Reverse((is_sound(slot), commit_of(slot))));
        let mut commits = Vec::new();
        for slot in slots {
            let (tables, bad_pages) = self.list(slot, Tables::Content)?;
            commits.push(Commit { tables, bad_pages });
        }
        if commits[0].bad_pages > 0 {
            let mut older = Vec::new();
            let [size, in_region] = [12, 20].map(|at| u64::from(self.word(at)).max(1));
            for at in 0..self.len / size {
                let page = self.page(((at / in_region) << 20) | (at % in_region))?;
                let tables = page.and_then(|page| read_list(&page)).unwrap_or_default();
                let counted = self.commits_of(&tables)?;
                older.extend(counted.map(|counted| (counted, Commit { tables, bad_pages: 0 })));
            }
            older.sort_by_key(|(counted, _)| std::cmp::Reverse(*counted));
            commits.extend(older.into_iter().map(|(_, commit)| commit));
        }
        Ok(commits)
    }

    /// Passes the readable rows of a table to `see`: those of the first commit and, while pages are
    /// damaged, of the next.
    pub(crate) fn rows(
        &self,
        commits: &[Commit],
        name: &str,
        see: &mut dyn FnMut(&Row<'_>),
    ) -> io::Result<Extent> {
        let mut extent = Extent::default();
        for commit in commits {
            let table = commit.tables.iter().find(|table| table.name == name);
            let bad = match table {
                None => commit.bad_pages,
                Some(Table { root: None, .. }) => 0,
                Some(&Table { root: Some(root), widths, .. }) => self.tree(root, widths, see)?,
            };
            extent.rows = extent.rows.or(table.map(|table| table.rows));
            extent.bad_pages += bad;
            if bad == 0 {
                break;
            }
        }
        Ok(extent)
    }

    /// The commit count in a list of tables, if they are those of a repository.
    fn commits_of(&self, list: &[Table]) -> io::Result<Option<u64>> {
        let table = list.iter().find(|table| table.name == COUNTERS);
        let Some(&Table { root: Some(root), widths, .. }) = table else { return Ok(None) };
        let mut counted = None;
        self.tree(root, widths, &mut |row| {
            if row.sound && row.key == COMMITS {
                counted = row.value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            }
        })?;
        Ok(counted)
    }

    fn slot_at(&self, at: usize) -> &[u8] {
        &self.header[at..at + SLOT]
    }

    fn slot(&self) -> &[u8] {
        self.slot_at(slot(self.header[MAGIC.len()]))
    }

    /// Checks the flag of the current slot, which has no checksum: if it flipped, the previous
    /// commit would be current.
    fn is_last_commit(&self) -> bool {
        let other = self.slot_at(slot(self.header[MAGIC.len()] ^ SECOND_SLOT));
        is_sound(self.slot()) && (!is_sound(other) || commit_of(other) <= commit_of(self.slot()))
    }

    /// The tables of a commit, and the number of damaged pages of their list.
    fn list(&self, slot: &[u8], tables: Tables) -> io::Result<(Vec<Table>, u64)> {
        let (there, at) = match tables {
            Tables::Content => CONTENT,
            Tables::Own => OWN,
        };
        if slot[there] == 0 {
            return Ok((Vec::new(), 0));
        }
        let Some(root) = Root::at(slot, at) else { return Ok((Vec::new(), 1)) };
        let (mut found, mut unknown) = (Vec::new(), 0);
        let bad = self.tree(root, LIST, &mut |row| match Table::read(row) {
            Some(table) if row.sound => found.push(table),
            _ => unknown += 1,
        })?;
        Ok((found, bad + u64::from(bad == 0 && unknown > 0)))
    }

    /// Passes the rows in the leaves of a tree to `see`, and returns the number of damaged or
    /// missing pages. Below a damaged page, follows only pages with a correct checksum.
    fn tree(&self, root: Root, widths: Widths, see: &mut dyn FnMut(&Row<'_>)) -> io::Result<u64> {
        let (mut left, mut bad) = (vec![(root, true)], 0);
        let mut visited = BTreeSet::new();
        while let Some((next, proven)) = left.pop() {
            let page = self.page(next.page)?.filter(|_| visited.insert(next.page));
            let node = page.as_deref().and_then(|page| Node::read(page, widths));
            let (Some(page), Some(node)) = (&page, node) else {
                bad += 1;
                continue;
            };
            let sound = page.get(..node.end).map(xxh3_128) == Some(next.checksum);
            bad += u64::from(!sound);
            if !sound && !proven {
                continue;
            }
            for (key, value) in &node.rows {
                if let (Some(key), Some(value)) = (page.get(key.clone()), page.get(value.clone())) {
                    see(&Row { key, value, sound });
                }
            }
            left.extend(node.children.into_iter().rev().map(|child| (child, sound)));
        }
        Ok(bad)
    }

    fn word(&self, at: usize) -> u32 {
        word(&self.header, at).unwrap_or(0)
    }

    /// A page by its number: 20 bits of index, 20 of region, and 5 high bits of size.
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

/// The contents of a page, and their end.
struct Node {
    children: Vec<Root>,
    rows: Vec<(Range<usize>, Range<usize>)>,
    end: usize,
}

impl Node {
    fn read(page: &[u8], widths: Widths) -> Option<Self> {
        match *page.first()? {
            LEAF => Self::leaf(page, widths),
            BRANCH => Self::branch(page, widths),
            _ => None,
        }
    }

    fn leaf(page: &[u8], widths: Widths) -> Option<Self> {
        let pairs = usize::from(u16::from_le_bytes(*page.get(2..)?.first_chunk()?));
        let listed = |width: Option<usize>| if width.is_none() { 4 * pairs } else { 0 };
        let keys = 4 + listed(widths.key) + listed(widths.value);
        let last = pairs.checked_sub(1)?;
        let key_end = |pair: usize| match widths.key {
            Some(width) => keys.checked_add(width.checked_mul(pair + 1)?),
            None => Some(word(page, 4 + 4 * pair)? as usize),
        };
        let values = key_end(last)?;
        let value_end = |pair: usize| match widths.value {
            Some(width) => values.checked_add(width.checked_mul(pair + 1)?),
            None => Some(word(page, 4 + listed(widths.key) + 4 * pair)? as usize),
        };
        let (mut key, mut value) = (keys, values);
        let mut rows = Vec::with_capacity(pairs);
        for pair in 0..pairs {
            let (key_end, value_end) = (key_end(pair)?, value_end(pair)?);
            rows.push((key..key_end, value..value_end));
            (key, value) = (key_end, value_end);
        }
        Some(Self { children: Vec::new(), rows, end: value })
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
        let children = (0..children).map(child).collect::<Option<_>>()?;
        Some(Self { children, rows: Vec::new(), end })
    }
}

#[derive(Clone)]
struct Table {
    name: String,
    rows: u64,
    root: Option<Root>,
    widths: Widths,
}

impl Table {
    /// Parses a definition: kind, length, root, and the widths of keys and values, each after a
    /// byte that says whether there is one.
    fn read(row: &Row<'_>) -> Option<Self> {
        let definition = row.value;
        if *definition.first()? != NORMAL {
            return None;
        }
        let width = |at: usize| -> Option<Option<usize>> {
            Some((*definition.get(at)? != 0).then_some(word(definition, at + 1)? as usize))
        };
        let root = Root::at(definition, 10)?;
        Some(Self {
            name: str::from_utf8(row.key).ok()?.to_owned(),
            rows: u64::from_le_bytes(*definition.get(1..)?.first_chunk()?),
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

/// A list of tables on a page without verification. The checksums of its tables prove its contents.
fn read_list(page: &[u8]) -> Option<Vec<Table>> {
    let node = Node::read(page, LIST)?;
    let row = |(key, value): &(Range<usize>, Range<usize>)| {
        let (key, value) = (page.get(key.clone())?, page.get(value.clone())?);
        Table::read(&Row { key, value, sound: false })
    };
    node.rows.iter().map(row).collect()
}

/// Whether a commit slot is intact.
fn is_sound(slot: &[u8]) -> bool {
    let (said, checksum) = slot.split_at(SLOT - 16);
    xxh3_128(said).to_le_bytes() == checksum
}

fn commit_of(slot: &[u8]) -> u64 {
    slot[COMMIT..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
