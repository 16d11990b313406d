//! Learns the frames of hosts while pages arrive.
//!
//! The pieces of each host's last `RECENT` different texts are kept. At 8, 16, 32 and 64 texts, and then every 64,
//! the pieces found on many of them become the host's next frame *version*. A page is compared under the version of
//! its arrival, stored in its record with its own text. A new version also renews the own texts of kept pages, but
//! no decision: [`recheck`](crate::Repository::recheck) does. Bounded: `RECENT` rows of `MOST_PIECES` pieces a
//! host, 40 bytes a page. The result depends on the order of arrival alone. Hosts with fewer than 8 texts, and
//! texts not known here, are compared as whole pages.

use crate::error::Outcome;
use crate::increment::Part;
use hapax::fingerprint::ContentHash;
use hapax::frame::{OwnText, Piece, least_pages, on_many_pages};
use hapax::group::live::PageId;
use hapax::group::{PageFacts, Scope, ScopeFacts};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use std::fmt;
use std::str::FromStr;

/// Texts of a host whose pieces are kept.
pub(crate) const RECENT: u32 = 64;
const PLACES: u64 = RECENT as u64 - 1;
/// A text with more pieces, about 20,000 words, is not counted.
pub(crate) const MOST_PIECES: usize = 4096;
/// A host with more texts than 64 times this learns a version for each of so many parts of them, so that versions stay few.
const VERSIONS: u32 = 1024;

/// Version of the frame, how many texts were counted, and the texts that are kept, 4 bytes each.
pub(crate) const HOSTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("hosts");
/// The present frame: hashes of its pieces, 4 bytes each, ascending.
pub(crate) const FRAMES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("frames");
/// By host and, in the lowest bits, place among the texts that are kept: number of the page, and its pieces, 5 bytes each.
pub(crate) const TEXTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("host texts");

/// Whether pages of one host are compared by what they say beyond its frame, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// They are, from the host's eighth text on.
    #[default]
    On,
    /// Whole pages are compared.
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

/// Why a text does not say whether frames are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frames are `on` or `off` in a repository")]
pub struct ParseFramesError;

impl FromStr for Frames {
    type Err = ParseFramesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::On, Self::Off].into_iter().find(|it| it.name() == text).ok_or(ParseFramesError)
    }
}

/// What a page says beyond the frame of its host, and by which version of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The frame under which the page was compared last; 0 if there was none.
    pub judged: u16,
    /// Of the frame that `text` is beyond, from 1.
    pub version: u16,
    pub text: OwnText,
}

impl Own {
    pub(crate) const BYTES: usize = 4 + OwnText::BYTES;

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..2].copy_from_slice(&self.judged.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.version.to_le_bytes());
        bytes[4..].copy_from_slice(&self.text.to_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (judged, rest) = bytes.split_first_chunk()?;
        let (version, text) = rest.split_first_chunk()?;
        Some(Self {
            judged: u16::from_le_bytes(*judged),
            version: u16::from_le_bytes(*version),
            text: OwnText::from_bytes(text.try_into().ok()?),
        })
    }
}

/// What a page says beyond the frame of its host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnShown {
    pub words: u16,
    /// The shared part of the smaller own text, with that of the winner, 0 to 1; `None` for the winner, for one on another host,
    /// and where one of them says nothing of its own.
    pub similarity: Option<f32>,
    /// The version of the frame under which the page was compared, from 1.
    pub frame: u16,
}

impl OwnShown {
    /// Of a page and, if that is another one, its winner, each with its address.
    pub(crate) fn of(
        (page, url): (Option<&Own>, &str),
        winner: Option<(Option<&Own>, &str)>,
    ) -> Option<Self> {
        let own = page?;
        let similarity = winner.filter(|(_, other)| host_of(url) == host_of(other));
        let similarity = similarity.and_then(|(winner, _)| own.text.shared(&winner?.text));
        Some(Self { words: own.text.words(), similarity, frame: own.judged })
    }
}

/// One number for each host, whose lowest bits are free for the place of a text; `None` without one.
pub(crate) fn host_of(url: &str) -> Option<u64> {
    let key = Scope::Host.key(&ScopeFacts { url, ..ScopeFacts::default() });
    (!PageFacts::at(url).host().is_empty()).then_some(key.0 & !PLACES)
}

/// Is it time for the next version, after so many texts?
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
    /// Texts that were counted.
    texts: u32,
    /// Those of them that are kept; the place of a text is its number modulo [`RECENT`].
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

/// A frame, and its version from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    version: u16,
    /// Ascending.
    pieces: Vec<u32>,
}

impl Frame {
    /// What these pieces of a page say beyond it; `judged` by it.
    pub(crate) fn own(&self, pieces: &[Piece], judged: u16) -> Own {
        let is_own = |piece: &&Piece| self.pieces.binary_search(&piece.hash).is_err();
        let text = OwnText::of(pieces.iter().filter(is_own).copied());
        Own { judged, version: self.version, text }
    }

    pub(crate) const fn version(&self) -> u16 {
        self.version
    }
}

/// The tables of a new repository, and of one that has none yet.
pub(crate) fn make(transaction: &WriteTransaction) -> Outcome<()> {
    Learning::open(transaction).map(drop)
}

/// The frame of a host, if it has one.
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

/// The tables, while pages come in.
pub(crate) struct Learning<'t> {
    pub(crate) hosts: Table<'t, u64, &'static [u8]>,
    pub(crate) frames: Table<'t, u64, &'static [u8]>,
    texts: Table<'t, u64, &'static [u8]>,
    /// Rows that were written, for the log of changes.
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

    /// Counts a text of a host, unless it is among those that are kept. If that makes a new version of the frame: the other
    /// pages that are kept, and their own texts by it.
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

/// Equal for equal texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentKey(u32);

impl ContentKey {
    /// Is it that of this text?
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
    fn versions_come_often_at_first_and_stay_few() {
        let due: Vec<u32> = (0..300).filter(|texts| is_due(*texts)).collect();
        assert_eq!(due, [8, 16, 32, 64, 128, 192, 256]);
        let of_ten_million = (0..10_000_000).filter(|texts| is_due(*texts)).count();
        assert!(of_ten_million < usize::from(u16::MAX), "{of_ten_million}");
    }

    #[test]
    fn hosts_texts_and_own_texts_come_back_from_their_bytes() {
        let host = Host { version: 3, texts: 70, kept: vec![1, u32::MAX, 7] };
        assert_eq!(Host::read(&host.bytes()), Some(host));
        let pieces = vec![Piece { hash: 9, words: 3 }, Piece { hash: u32::MAX, words: 0 }];
        let kept = kept_text(PageId(77), &pieces);
        assert_eq!(read_text(&kept), Some((PageId(77), pieces.clone())));
        let own = Own { judged: 2, version: 5, text: OwnText::of(pieces) };
        assert_eq!(Own::from_bytes(&own.to_bytes()), Some(own));
    }
}
