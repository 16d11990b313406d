//! Searches a segment in borrowed bytes, usually a mapped file.
//!
//! Opening checks everything once: header, checksums, and the validity of each column. A search then reads only
//! the directory lines, fingerprints and ids it needs, and allocates nothing. Guarantees that any bytes give an
//! error or a view that never panics. The bytes must not change while the view exists, which the owner of a
//! mapped file must ensure (`docs/internals/format.md`, last section).

use std::ops::{ControlFlow, Range};

use super::bits::{PackedColumn, half_at, word_at};
use super::format::{Encoding, HEADER, Layout, SegmentError};
use super::monotone::Monotone;
use super::sorted::{SortedArray, SortedSearch};
use crate::fingerprint::{Fingerprint, MaxDistance, RecipeId};
use crate::hamming::Kernel;
use crate::hamming::memory::prefetch;
use crate::index::collection::Entry;
use crate::index::near::{Effort, HammingIndex, Match, Query, SearchError};

/// Fingerprints decoded at a time when all are read.
const TILE: usize = 512;

/// A segment in borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub struct SegmentView<'a> {
    encoding: Encoding,
    fingerprints: Fingerprints<'a>,
    /// `None` if every row has one entry.
    starts: Option<Monotone<'a>>,
    ranks: PackedColumn<'a>,
    ids: Monotone<'a>,
    recipe: &'a str,
    identity: u64,
    kernel: Kernel,
}

#[derive(Clone, Copy, Debug)]
enum Fingerprints<'a> {
    Plain(Plain<'a>),
    Compressed(Monotone<'a>),
}

impl<'a> SegmentView<'a> {
    /// Checks the bytes and opens a view of them.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] unless these are the unchanged bytes of a segment.
    pub fn open(bytes: &'a [u8]) -> Result<Self, SegmentError> {
        let layout = Layout::read(bytes)?;
        let view = Self::lay(bytes, &layout, Kernel::best())?;
        view.check()?;
        Ok(view)
    }

    /// A view of bytes approved by [`Layout::read`] and [`check`](Self::check).
    pub(super) fn lay(
        bytes: &'a [u8],
        layout: &Layout,
        kernel: Kernel,
    ) -> Result<Self, SegmentError> {
        let header = &layout.header;
        let part = |range: &Range<usize>, part| {
            bytes.get(range.clone()).ok_or(SegmentError::Content { part })
        };
        let sequence = |range, name, shape| {
            Monotone::new(part(range, name)?, shape).ok_or(SegmentError::Content { part: name })
        };
        let fingerprints = match header.encoding {
            Encoding::Plain => Fingerprints::Plain(Plain {
                rows: part(&layout.fingerprints, "the fingerprints")?,
                directory: part(&layout.directory, "the directory")?,
                bits: header.directory_bits,
                largest: header.largest_fingerprint,
            }),
            Encoding::Compressed => Fingerprints::Compressed(sequence(
                &layout.fingerprints,
                "the fingerprints",
                header.fingerprint_shape(),
            )?),
        };
        let starts = if header.rows < header.entries {
            Some(sequence(&layout.starts, "the starts", header.start_shape())?)
        } else {
            None
        };
        let recipe = std::str::from_utf8(part(&layout.recipe, "the recipe")?)
            .map_err(|_| SegmentError::Content { part: "the recipe" })?;
        Ok(Self {
            encoding: header.encoding,
            fingerprints,
            starts,
            ranks: PackedColumn::new(part(&layout.ranks, "the ranks")?, header.rank_width()),
            ids: sequence(&layout.ids, "the ids", header.id_shape())?,
            recipe,
            identity: word_at(part(&(0..HEADER), "the header")?, HEADER - 8),
            kernel,
        })
    }

    /// How the fingerprints are encoded.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The recipe of the fingerprints.
    pub fn recipe(&self) -> &'a str {
        self.recipe
    }

    /// Refuses a segment of another recipe.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Recipe`].
    pub fn must_be(&self, recipe: &RecipeId) -> Result<(), SegmentError> {
        let asked = recipe.to_string();
        if self.recipe == asked {
            Ok(())
        } else {
            Err(SegmentError::Recipe { stored: self.recipe.to_owned(), asked })
        }
    }

    /// A number that identifies the bytes; removals refer to their segment by it.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Number of distinct fingerprints.
    pub fn rows(&self) -> usize {
        match &self.fingerprints {
            Fingerprints::Plain(array) => array.rows(),
            Fingerprints::Compressed(array) => array.rows(),
        }
    }

    /// Calls `each` for every entry, by fingerprint, then id.
    pub fn for_each(&self, mut each: impl FnMut(Entry)) {
        self.for_each_rank(|bits, rank| {
            let fingerprint = Fingerprint::from_bits(bits);
            each(Entry { fingerprint, id: self.ids.get(rank as usize) });
        });
    }

    /// The ids, ascending. The *rank* of an entry is the index of its id.
    pub(super) fn ids(&self) -> Monotone<'a> {
        self.ids
    }

    /// Calls `each(fingerprint, rank)` for every entry, in this order.
    pub(super) fn for_each_rank(&self, mut each: impl FnMut(u64, u64)) {
        let mut tile = [0; TILE];
        let mut starts = self.starts.map(|starts| starts.iter().skip(1));
        let mut entry = 0;
        for start in (0..self.rows()).step_by(TILE) {
            let tile = &mut tile[..TILE.min(self.rows() - start)];
            match &self.fingerprints {
                Fingerprints::Plain(array) => array.load(start, tile),
                Fingerprints::Compressed(array) => array.load(start, tile),
            }
            for &fingerprint in &*tile {
                let next = starts.as_mut().and_then(Iterator::next);
                for entry in entry..next.map_or(entry + 1, |next| next as usize) {
                    each(fingerprint, self.ranks.get(entry));
                }
                entry = next.map_or(entry + 1, |next| next as usize);
            }
        }
    }

    /// As [`HammingIndex::visit_batch`], with ranks instead of ids.
    pub(super) fn visit_ranks(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Effort {
        let bound = bound.bits();
        let hit = |query: usize, row: usize, distance: u32| {
            self.entries(row)
                .map(|entry| Match { distance, id: self.ranks.get(entry) })
                .try_for_each(|m| visit(query, m))
        };
        match self.fingerprints {
            Fingerprints::Plain(array) => {
                self.kernel.run(SortedSearch { array, queries, bound, hit })
            }
            Fingerprints::Compressed(array) => {
                self.kernel.run(SortedSearch { array, queries, bound, hit })
            }
        }
    }

    /// The entries of a row, ascending by rank.
    fn entries(&self, row: usize) -> Range<usize> {
        match self.starts {
            Some(starts) => starts.get(row) as usize..starts.get(row + 1) as usize,
            None => row..row + 1,
        }
    }

    /// Whether every column is valid. Checksums detect damage; this detects invalid content.
    pub(super) fn check(&self) -> Result<(), SegmentError> {
        let wrong = |part| Err(SegmentError::Content { part });
        let strictly =
            |sequence: Monotone<'_>| sequence.check() && sequence.iter().is_sorted_by(|a, b| a < b);
        if !strictly(self.ids) {
            return wrong("the ids");
        }
        let ordered = match self.fingerprints {
            Fingerprints::Plain(array) => array.check(),
            Fingerprints::Compressed(array) => strictly(array),
        };
        if !ordered {
            return wrong("the fingerprints");
        }
        if let Some(starts) = self.starts
            && !(strictly(starts) && starts.get(0) == 0)
        {
            return wrong("the starts");
        }
        let mut seen = vec![0u64; self.ids.len().div_ceil(64)];
        let mut each_once = true;
        let mut before = None;
        self.for_each_rank(|fingerprint, rank| {
            each_once &= before < Some((fingerprint, rank));
            before = Some((fingerprint, rank));
            match seen.get_mut(rank as usize / 64) {
                Some(word) if (rank as usize) < self.ids.len() => {
                    each_once &= (*word >> (rank % 64)) & 1 == 0;
                    *word |= 1 << (rank % 64);
                }
                _ => each_once = false,
            }
        });
        let padded = self.ranks.padding_is_zero(self.ids.len());
        if each_once && padded { Ok(()) } else { wrong("the ranks") }
    }
}

impl HammingIndex for SegmentView<'_> {
    fn visit_batch(
        &self,
        queries: &[Query<'_>],
        bound: MaxDistance,
        visit: &mut dyn FnMut(usize, Match) -> ControlFlow<()>,
    ) -> Result<Effort, SearchError> {
        Ok(self.visit_ranks(queries, bound, &mut |query, m| {
            visit(query, Match { id: self.ids.get(m.id as usize), ..m })
        }))
    }

    fn widest(&self) -> MaxDistance {
        const { MaxDistance::new(Fingerprint::BITS as u8).unwrap() }
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    /// 0, because the bytes are borrowed.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// Eight bytes per fingerprint; entry `x` of the directory is the number of fingerprints whose
/// leading bits are less than `x`.
#[derive(Clone, Copy, Debug)]
struct Plain<'a> {
    rows: &'a [u8],
    directory: &'a [u8],
    bits: u32,
    largest: u64,
}

impl Plain<'_> {
    fn check(&self) -> bool {
        let mut before = None;
        let mut place = 0;
        for row in 0..self.rows() {
            let fingerprint = word_at(self.rows, row * 8);
            if before >= Some(fingerprint) {
                return false;
            }
            before = Some(fingerprint);
            let prefix = fingerprint.checked_shr(64 - self.bits).unwrap_or(0) as usize;
            while place <= prefix {
                if half_at(self.directory, place * 4) as usize != row {
                    return false;
                }
                place += 1;
            }
        }
        let mut rest = self.directory[place * 4..].as_chunks().0.iter();
        before.unwrap_or(0) == self.largest
            && rest.all(|&end| u32::from_le_bytes(end) as usize == self.rows())
    }
}

impl SortedArray for Plain<'_> {
    const PROBE: f64 = 12.0;
    const ENTRY: f64 = 0.3;
    const SCANNED: f64 = 0.1;

    fn rows(&self) -> usize {
        self.rows.len() / 8
    }

    fn prefix_bits(&self) -> u32 {
        self.bits
    }

    #[inline(always)]
    fn prefetch_bucket(&self, prefix: u64, bits: u32) {
        prefetch(self.directory, (prefix as usize) << (self.bits - bits) << 2);
    }

    #[inline(always)]
    fn bucket(&self, prefix: u64, bits: u32) -> Range<usize> {
        let place = |prefix: u64| {
            half_at(self.directory, (prefix as usize) << (self.bits - bits) << 2) as usize
        };
        place(prefix)..place(prefix + 1)
    }

    #[inline(always)]
    fn prefetch_rows(&self, row: usize) {
        prefetch(self.rows, row * 8);
    }

    #[inline(always)]
    fn load(&self, start: usize, out: &mut [u64]) {
        let bytes = &self.rows[start * 8..(start + out.len()) * 8];
        for (fingerprint, word) in out.iter_mut().zip(bytes.as_chunks().0) {
            *fingerprint = u64::from_le_bytes(*word);
        }
    }
}

/// The unary part of Elias-Fano serves as the directory.
impl SortedArray for Monotone<'_> {
    const PROBE: f64 = 100.0;
    const ENTRY: f64 = 2.0;
    const SCANNED: f64 = 0.15;

    fn rows(&self) -> usize {
        self.len()
    }

    fn prefix_bits(&self) -> u32 {
        (64 - self.low_bits()).min(super::format::MOST_DIRECTORY_BITS)
    }

    fn prefetch_bucket(&self, _prefix: u64, _bits: u32) {}

    fn bucket(&self, prefix: u64, bits: u32) -> Range<usize> {
        let shift = 64 - self.low_bits() - bits;
        let last = prefix + 1 == 1 << bits;
        let end = if last { self.len() } else { self.below_high((prefix + 1) << shift) };
        self.below_high(prefix << shift)..end
    }

    fn prefetch_rows(&self, _row: usize) {}

    fn load(&self, start: usize, out: &mut [u64]) {
        Monotone::load(self, start, out);
    }
}
