//! Encodes a batch of signatures as bytes. A text is its length in 4 bytes, then UTF-8; an optional value is 0,
//! or 1 and the value.
//!
//! | field | bytes |
//! |---|---|
//! | part and index of the batch in its corpus | 8, 8 |
//! | body bytes, documents with more hidden than visible text, digest, one unused, archived, rows | 8 each |
//! | number of facts; for each: kind (0 redirect, 1 revisit), from, to, place | 4; 1, text, text, 32 |
//! | number of pages; for each: id, url, canonical | 4; text, text, 1 or 1 and text |
//! | - content hash, status (its highest bit: signed by its own text), fingerprint, words, scope | 16, 1, 8, 4, 8 |
//! | - sketch, if the page has words; short sketch | 128; 1 or 1 and 32 |
//! | - score, time of fetching | 1 or 1 and 8, each |
//! | in a checkpoint: range of the batch in its part, from and to | none or 8, 8 |
//! | - passed-over records, by reason | 8 each |
//! | - for each page the number of its pieces; for each: hash, words | 4; 4, 1 |

use std::ops::Range;

use hapax::fingerprint::{ContentHash, Fingerprint, ShortSketch, Sketch};
use hapax::group::ScopeKey;
use hapax_corpus::{Fact, FileId, Place};

use crate::frames::PIECE;
use crate::pages::{NewPage, Status};
use crate::passed_over::PassedOver;
use crate::read::ReadCounts;

/// The format that is written.
pub(crate) const FORMAT: u32 = 3;

/// The signatures and counts of a batch of a corpus.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SignatureBatch {
    pub(crate) part: u64,
    pub(crate) index: u64,
    /// Range of the batch in its part; 0..0 if unknown.
    pub(crate) extent: Range<u64>,
    /// [`BatchDigest`](crate::digest::BatchDigest) of what was read; 0 if unknown.
    pub(crate) digest: u64,
    pub(crate) counts: ReadCounts,
    pub(crate) facts: Vec<Fact>,
    pub(crate) pages: Vec<NewPage>,
    /// The packed pieces of each page; empty if frames are not learned.
    pub(crate) pieces: Vec<Vec<u8>>,
}

impl SignatureBatch {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256 * self.pages.len() + 128);
        let ReadCounts { body_bytes, archived, rows, hides_most, .. } = self.counts;
        for number in
            [self.part, self.index, body_bytes, hides_most, self.digest, 0, archived, rows]
        {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.facts.len() as u32).to_le_bytes());
        for fact in &self.facts {
            let (kind, place) = match fact {
                Fact::Redirect { place, .. } => (0, place),
                Fact::Revisit { place, .. } => (1, place),
            };
            let (from, to) = fact.addresses();
            bytes.push(kind);
            put_text(&mut bytes, from);
            put_text(&mut bytes, to);
            bytes.extend(place.file.0.to_le_bytes());
            for number in [place.number, place.member, place.within] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(place.length.to_le_bytes());
        }
        bytes.extend((self.pages.len() as u32).to_le_bytes());
        self.pages.iter().for_each(|page| put_page(&mut bytes, page));
        let passed_over = &self.counts.passed_over;
        if self.extent != (0..0) || !passed_over.is_empty() || !self.pieces.is_empty() {
            bytes.extend(self.extent.start.to_le_bytes());
            bytes.extend(self.extent.end.to_le_bytes());
            for why in PassedOver::ALL {
                bytes.extend(passed_over.get(&why).unwrap_or(&0).to_le_bytes());
            }
        }
        for pieces in &self.pieces {
            bytes.extend(((pieces.len() / PIECE) as u32).to_le_bytes());
            bytes.extend_from_slice(pieces);
        }
        bytes
    }

    /// `None` if the bytes are not a batch. In format 1, pages have no short sketch.
    pub(crate) fn from_bytes(bytes: &[u8], format: u32) -> Option<Self> {
        let mut from = Cursor(bytes, format);
        let mut numbers = [0; 8];
        for number in &mut numbers {
            *number = from.u64()?;
        }
        let [part, index, body_bytes, hides_most, digest, _, archived, rows] = numbers;
        let mut counts =
            ReadCounts { body_bytes, archived, rows, hides_most, ..ReadCounts::default() };
        let facts = (0..from.u32()?).map(|_| from.fact()).collect::<Option<_>>()?;
        let pages: Vec<_> = (0..from.u32()?).map(|_| from.page()).collect::<Option<_>>()?;
        let mut extent = 0..0;
        if !from.is_empty() {
            extent = from.u64()?..from.u64()?;
            for why in PassedOver::ALL {
                let count = from.u64()?;
                if count > 0 {
                    counts.passed_over.insert(why, count);
                }
            }
        }
        let with_pieces = if from.is_empty() { 0 } else { pages.len() };
        let pieces = (0..with_pieces).map(|_| from.pieces()).collect::<Option<_>>()?;
        from.is_empty().then_some(Self {
            part,
            index,
            extent,
            digest,
            counts,
            facts,
            pages,
            pieces,
        })
    }
}

/// Encodes one page as in a batch.
pub(crate) fn page_bytes(page: &NewPage) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(320);
    put_page(&mut bytes, page);
    bytes
}

/// `None` if the bytes are not a page.
pub(crate) fn page_of_bytes(bytes: &[u8]) -> Option<NewPage> {
    let mut from = Cursor::new(bytes);
    let page = from.page()?;
    from.is_empty().then_some(page)
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn put_page(bytes: &mut Vec<u8>, page: &NewPage) {
    put_text(bytes, &page.id);
    put_text(bytes, &page.url);
    bytes.push(u8::from(page.canonical.is_some()));
    if let Some(canonical) = &page.canonical {
        put_text(bytes, canonical);
    }
    bytes.extend(page.content.to_bytes());
    bytes.push(page.status as u8 | u8::from(page.alone) << 7);
    bytes.extend(page.fingerprint.to_bits().to_le_bytes());
    bytes.extend(page.words.to_le_bytes());
    bytes.extend(page.scope.0.to_le_bytes());
    if has_words(page.status) {
        bytes.extend(page.sketch.to_bytes());
    }
    bytes.push(u8::from(page.short.is_some()));
    bytes.extend(page.short.as_ref().map(ShortSketch::to_bytes).as_slice().as_flattened());
    for number in [page.score.map(f64::to_bits), page.fetched.map(i64::cast_unsigned)] {
        bytes.push(u8::from(number.is_some()));
        if let Some(number) = number {
            bytes.extend(number.to_le_bytes());
        }
    }
}

const fn has_words(status: Status) -> bool {
    matches!(status, Status::Comparable | Status::TooShort)
}

/// The bytes that remain to be read, and their format.
pub(super) struct Cursor<'b>(&'b [u8], u32);

impl<'b> Cursor<'b> {
    /// For bytes in the current format.
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes, FORMAT)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'b str> {
        let length = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn pieces(&mut self) -> Option<Vec<u8>> {
        let length = (self.u32()? as usize).checked_mul(PIECE)?;
        let (pieces, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(pieces.to_vec())
    }

    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.u8()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    fn fact(&mut self) -> Option<Fact> {
        let kind = self.u8()?;
        let (from, to) = (self.text()?.to_owned(), self.text()?.to_owned());
        let place = Place {
            file: FileId(self.u32()?),
            number: self.u64()?,
            member: self.u64()?,
            within: self.u64()?,
            length: self.u32()?,
        };
        match kind {
            0 => Some(Fact::Redirect { from, to, place }),
            1 => Some(Fact::Revisit { from, to, place }),
            _ => None,
        }
    }

    fn page(&mut self) -> Option<NewPage> {
        let (id, url) = (self.text()?.to_owned(), self.text()?.to_owned());
        let canonical = self.optional(|from| from.text().map(str::to_owned))?;
        let content = ContentHash::from_bytes(self.array()?);
        let byte = self.u8()?;
        let (alone, status) = (byte >> 7 == 1, byte & 0x7f);
        let status = Status::ALL.into_iter().find(|it| *it as u8 == status)?;
        let fingerprint = Fingerprint::from_bits(self.u64()?);
        let (words, scope) = (self.u32()?, ScopeKey(self.u64()?));
        let sketch = if has_words(status) { self.array()? } else { [0; 128] };
        let short = match self.1 {
            1 => None,
            _ => self.optional(|from| from.array().map(|it| ShortSketch::from_bytes(&it)))?,
        };
        Some(NewPage {
            id,
            url,
            canonical,
            content,
            status,
            fingerprint,
            sketch: Sketch::from_bytes(&sketch),
            short,
            score: self.optional(Self::u64)?.map(f64::from_bits),
            fetched: self.optional(Self::u64)?.map(u64::cast_signed),
            words,
            scope,
            alone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page() -> impl Strategy<Value = NewPage> {
        let names = (".{0,9}", ".{0,9}", prop::option::of(".{0,5}"));
        let numbers = (any::<u64>(), any::<u32>(), any::<u64>(), any::<[u8; 16]>(), any::<u8>());
        let facts = (prop::option::of(-1e9..1e9f64), any::<Option<i64>>(), 0usize..5);
        (names, numbers, facts).prop_map(
            |((id, url, canonical), numbers, (score, fetched, status))| {
                let (bits, words, scope, content, sketch) = numbers;
                let status = Status::ALL[status];
                NewPage {
                    id,
                    url,
                    canonical,
                    content: ContentHash::from_bytes(content),
                    status,
                    fingerprint: Fingerprint::from_bits(bits),
                    sketch: Sketch::from_bytes(&[if has_words(status) { sketch } else { 0 }; 128]),
                    short: (sketch > 99).then(|| ShortSketch::from_bytes(&[sketch; 32])),
                    score,
                    fetched,
                    words,
                    scope: ScopeKey(scope),
                    alone: scope % 2 == 1,
                }
            },
        )
    }

    fn batch() -> impl Strategy<Value = SignatureBatch> {
        let place = Place { file: FileId(3), number: 4, member: 5, within: 6, length: 7 };
        let fact =
            (any::<bool>(), ".{0,5}", ".{0,5}").prop_map(
                move |(revisit, from, to)| match revisit {
                    true => Fact::Revisit { from, to, place },
                    false => Fact::Redirect { from, to, place },
                },
            );
        let lists = (prop::collection::vec(fact, 0..4), prop::collection::vec(page(), 0..6));
        (any::<u64>(), any::<u64>(), any::<u64>(), lists).prop_map(
            |(part, index, rows, (facts, pages))| {
                let counts = ReadCounts { rows, ..ReadCounts::default() };
                let (pieces, extent, digest) = (Vec::new(), 0..0, rows);
                SignatureBatch { part, index, extent, digest, counts, facts, pages, pieces }
            },
        )
    }

    proptest! {
        #[test]
        fn a_batch_comes_back_as_it_went(mut batch in batch(), start in any::<u64>()) {
            prop_assert_eq!(SignatureBatch::from_bytes(&batch.to_bytes(), FORMAT), Some(batch.clone()));
            let piece = batch.index as u8;
            batch.pieces = (0..batch.pages.len()).map(|at| vec![piece; at * PIECE]).collect();
            batch.extent = start..batch.part;
            batch.counts.passed_over.insert(PassedOver::HttpStatus, start.max(1));
            prop_assert_eq!(SignatureBatch::from_bytes(&batch.to_bytes(), FORMAT), Some(batch));
        }

        #[test]
        fn a_cut_or_changed_batch_does_not_panic(
            batch in batch(), cut in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = batch.to_bytes();
            let at = cut.index(bytes.len());
            prop_assert_eq!(SignatureBatch::from_bytes(&bytes[..at], FORMAT), None);
            bytes[at] ^= byte;
            let _ = SignatureBatch::from_bytes(&bytes, FORMAT);
        }
    }
}
