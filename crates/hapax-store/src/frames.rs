//! Learns the frames of hosts while pages arrive.
//!
//! Stores the pieces of each host's last `RECENT` different texts. At 8, 16, 32 and 64 texts, then every 64,
//! the pieces on many of them become the host's next frame *version*. A page is compared under the version at
//! its arrival, which is stored in its record with its own text. A new version also updates the own texts of
//! stored pages, but no decision; [`recheck`](crate::Repository::recheck) does. Bounded: `RECENT` rows of
//! `MOST_PIECES` pieces per host, 40 bytes per page. The result depends on the order of arrival alone. Hosts
//! with fewer than 8 texts, and pages without a known text, are compared as whole pages.

use crate::error::Outcome;
use crate::increment::Part;
use hapax::fingerprint::ContentHash;
use hapax::frame::{OwnText, Piece, least_pages, on_many_pages};
use hapax::group::live::PageId;
use hapax::group::{PageFacts, Scope, ScopeFacts};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use std::fmt;
use std::str::FromStr;

/// Number of texts per host whose pieces are stored.
pub(crate) const RECENT: u32 = 64;
const PLACES: u64 = RECENT as u64 - 1;
/// A text with more pieces, about 20,000 words, is ignored.
pub(crate) const MOST_PIECES: usize = 4096;
/// For a host with more than 64 times as many texts, learns a version only after each such fraction
/// of them, to bound the number of versions.
const VERSIONS: u32 = 1024;

/// By host: version of the frame, number of texts counted, and the stored texts, 4 bytes each.
pub(crate) const HOSTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("hosts");
/// By host: the current frame as hashes of its pieces, 4 bytes each, ascending.
pub(crate) const FRAMES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("frames");
/// By host and, in the lowest bits, position among the stored texts: number of the page, and its
/// pieces, 5 bytes each.
pub(crate) const TEXTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("host texts");

/// Whether pages of one host must also match in their own texts, beyond the host's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// Own texts are compared, from the host's eighth text on.
    #[default]
    On,
    /// Only whole pages are compared.
    Off,
}

impl Frames {
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not a value of `Frames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frames are `on` or `off` in a repository")]
pub struct ParseFramesError;

impl FromStr for Frames {
    type Err = ParseFramesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::On, Self::Off].into_iter().find(|it| it.name() == text).ok_or(ParseFramesError)
    }
}

/// The own text of a page, and the versions of its host's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The frame version under which the page was compared last; 0 without a frame.
    pub compared_under: u16,
    /// The frame version that `text` was computed with, from 1.
    pub version: u16,
    pub text: OwnText,
}

impl Own {
    pub(crate) const BYTES: usize = 4 + OwnText::BYTES;

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..2].copy_from_slice(&self.compared_under.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.version.to_le_bytes());
        bytes[4..].copy_from_slice(&self.text.to_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (compared_under, rest) = bytes.split_first_chunk()?;
        let (version, text) = rest.split_first_chunk()?;
        Some(Self {
            compared_under: u16::from_le_bytes(*compared_under),
            version: u16::from_le_bytes(*version),
            text: OwnText::from_bytes(text.try_into().ok()?),
        })
    }
}

/// The own text of a page, for display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnShown {
    pub words: u16,
    /// The shared part of the smaller own text with that of the winner, 0 to 1; `None` for the
    /// winner, for a winner on another host, and if either own text is empty.
    pub similarity: Option<f32>,
    /// The frame version under which the page was compared, from 1.
    pub frame: u16,
}

impl OwnShown {
    /// For a page and its winner (`None` if it is the winner itself), each with its address.
    pub(crate) fn of(
        (page, url): (Option<&Own>, &str),
        winner: Option<(Option<&Own>, &str)>,
    ) -> Option<Self> {
        let own = page?;
        let similarity = winner.filter(|(_, other)| host_of(url) == host_of(other));
        let similarity = similarity.and_then(|(winner, _)| own.text.shared(&winner?.text));
        Some(Self { words: own.text.words(), similarity, frame: own.compared_under })
    }
}

/// The key of a host, whose lowest bits are free for the position of a text; `None` without a host.
pub(crate) fn host_of(url: &str) -> Option<u64> {
    let key = Scope::Host.key(&ScopeFacts { url, ..ScopeFacts::default() });
    (!PageFacts::at(url).host().is_empty()).then_some(key.0 & !PLACES)
}

/// Whether a new version is due after this many texts.
const fn is_due(texts: u32) -> bool {
    match texts {
        8 | 16 | 32 => true,
        _ => {
            let every = RECENT * (texts / (RECENT * VERSIONS) + 1);
            texts >= RECENT && texts.is_multiple_of(every)
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Host {
    version: u16,
    /// Number of texts counted.
    texts: u32,
    /// The stored texts; the position of a text is its number modulo [`RECENT`].
    kept: Vec<u32>,
}

impl Host {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk()?;
        let (texts, rest) = rest.split_first_chunk()?;
        let kept = rest.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
        let (version, texts) = (u16::from_le_bytes(*version), u32::from_le_bytes(*texts));
        Some(Self { version, texts, kept })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        bytes.extend(self.texts.to_le_bytes());
        self.kept.iter().for_each(|text| bytes.extend(text.to_le_bytes()));
        bytes
    }
}

/// A frame and its version, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    version: u16,
    /// Ascending.
    pieces: Vec<u32>,
}

impl Frame {
    /// The own text of a page with these pieces, which was compared under version `compared_under`.
    pub(crate) fn own(&self, pieces: &[Piece], compared_under: u16) -> Own {
        let is_own = |piece: &&Piece| self.pieces.binary_search(&piece.hash).is_err();
        let text = OwnText::of(pieces.iter().filter(is_own).copied());
        Own { compared_under, version: self.version, text }
    }

    pub(crate) const fn version(&self) -> u16 {
        self.version
    }
}

/// Creates the tables if they are missing.
pub(crate) fn make(transaction: &WriteTransaction) -> Outcome<()> {
    Learning::open(transaction).map(drop)
}

/// The frame of a host; `None` without one.
pub(crate) fn frame(
    hosts: &impl ReadableTable<u64, &'static [u8]>,
    frames: &impl ReadableTable<u64, &'static [u8]>,
    host: u64,
) -> Outcome<Option<Frame>> {
    let known = hosts.get(host)?.and_then(|row| Host::read(row.value())).unwrap_or_default();
    let Some(row) = frames.get(host)? else { return Ok(None) };
    let pieces = row.value().as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
    Ok(Some(Frame { version: known.version, pieces }))
}

/// The tables while pages arrive.
pub(crate) struct Learning<'t> {
    pub(crate) hosts: Table<'t, u64, &'static [u8]>,
    pub(crate) frames: Table<'t, u64, &'static [u8]>,
    texts: Table<'t, u64, &'static [u8]>,
    /// Rows that were written, for the change log.
    pub(crate) touched: Vec<(Part, u64)>,
}

impl<'t> Learning<'t> {
    pub(crate) fn open(transaction: &'t WriteTransaction) -> Outcome<Self> {
        Ok(Self {
            hosts: transaction.open_table(HOSTS)?,
            frames: transaction.open_table(FRAMES)?,
            texts: transaction.open_table(TEXTS)?,
            touched: Vec::new(),
        })
    }

    /// Counts a text of a host, unless it is stored already. If this makes a new version of the
    /// frame, returns the other stored pages and their new own texts.
    pub(crate) fn count(
        &mut self,
        host: u64,
        page: PageId,
        content: ContentHash,
        pieces: &[Piece],
    ) -> Outcome<Vec<(PageId, ContentKey, Own)>> {
        let mut known = self.hosts.get(host)?.and_then(|row| Host::read(row.value()));
        let known = known.get_or_insert_default();
        let text = content_key(content);
        if pieces.len() > MOST_PIECES || known.kept.contains(&text) {
            return Ok(Vec::new());
        }
        let place = known.texts % RECENT;
        known.texts = known.texts.wrapping_add(1);
        match known.kept.get_mut(place as usize) {
            Some(slot) => *slot = text,
            None => known.kept.push(text),
        }
        let key = host | u64::from(place);
        self.texts.insert(key, kept_text(page, pieces).as_slice())?;
        self.touched.extend([(Part::HostTexts, key), (Part::Hosts, host)]);
        let learned = match is_due(known.texts) && known.version < u16::MAX {
            true => self.learn(host, known)?,
            false => Vec::new(),
        };
        self.hosts.insert(host, known.bytes().as_slice())?;
        Ok(learned)
    }

    fn learn(&mut self, host: u64, known: &mut Host) -> Outcome<Vec<(PageId, ContentKey, Own)>> {
        let mut kept = Vec::new();
        for (place, text) in (0..).zip(&known.kept) {
            let row = self.texts.get(host | place)?;
            let read = row.and_then(|row| read_text(row.value()));
            kept.extend(read.map(|(page, pieces)| (page, *text, pieces)));
        }
        let Some(least) = least_pages(kept.len() as u32) else { return Ok(Vec::new()) };
        let all = kept.iter().flat_map(|it| it.2.iter().map(|piece| piece.hash)).collect();
        known.version += 1;
        let frame = Frame { version: known.version, pieces: on_many_pages(all, least) };
        let bytes: Vec<[u8; 4]> = frame.pieces.iter().map(|it| it.to_le_bytes()).collect();
        self.frames.insert(host, bytes.as_flattened())?;
        self.touched.push((Part::Frames, host));
        let own = |(page, text, pieces): (PageId, u32, Vec<Piece>)| {
            (page, ContentKey(text), frame.own(&pieces, 0))
        };
        Ok(kept.into_iter().map(own).collect())
    }
}

/// A key that is equal for equal texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentKey(u32);

impl ContentKey {
    /// Whether it is the key of this text.
    pub(crate) fn is_of(self, content: ContentHash) -> bool {
        content_key(content) == self.0
    }
}

fn content_key(content: ContentHash) -> u32 {
    let [a, b, c, d, ..] = content.to_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn kept_text(page: PageId, pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = page.0.to_le_bytes().to_vec();
    for piece in pieces {
        bytes.extend(piece.hash.to_le_bytes());
        bytes.push(piece.words);
    }
    bytes
}

fn read_text(bytes: &[u8]) -> Option<(PageId, Vec<Piece>)> {
    let (page, rest) = bytes.split_first_chunk()?;
    let piece =
        |&[a, b, c, d, words]: &[u8; 5]| Piece { hash: u32::from_le_bytes([a, b, c, d]), words };
    let pieces = rest.as_chunks::<5>().0.iter().map(piece).collect();
    Some((PageId(u32::from_le_bytes(*page)), pieces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_frequent_at_first_and_stay_few() {
        let due: Vec<u32> = (0..300).filter(|texts| is_due(*texts)).collect();
        assert_eq!(due, [8, 16, 32, 64, 128, 192, 256]);
        let of_ten_million = (0..10_000_000).filter(|texts| is_due(*texts)).count();
        assert!(of_ten_million < usize::from(u16::MAX), "{of_ten_million}");
    }

    #[test]
    fn hosts_texts_and_own_texts_survive_encoding() {
        let host = Host { version: 3, texts: 70, kept: vec![1, u32::MAX, 7] };
        assert_eq!(Host::read(&host.bytes()), Some(host));
        let pieces = vec![Piece { hash: 9, words: 3 }, Piece { hash: u32::MAX, words: 0 }];
        let kept = kept_text(PageId(77), &pieces);
        assert_eq!(read_text(&kept), Some((PageId(77), pieces.clone())));
        let own = Own { compared_under: 2, version: 5, text: OwnText::of(pieces) };
        assert_eq!(Own::from_bytes(&own.to_bytes()), Some(own));
    }
}
