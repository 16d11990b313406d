//! The mutable part of a live index: the newest entries, in order of arrival, scanned by every search.
//!
//! ```text
//!   full chunks   shared with every snapshot that has seen them
//!   last chunk    copied by the first change after it was published: 4 KiB
//! ```
//!
//! Chunks are shared, and copied before a change, so publishing a state never waits for a reader, and a reader
//! never sees half a change. Only the writer knows the position of an id in the head ([`Positions`]). Does not
//! handle segments.

use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::index::collection::Entry;

/// Entries per chunk.
pub(super) const CHUNK: usize = 256;

/// A run of entries with a mark for each removed one.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    fingerprints: [u64; CHUNK],
    ids: [u64; CHUNK],
    gone: [u64; CHUNK / 64],
    len: usize,
}

impl Chunk {
    const EMPTY: Self =
        Self { fingerprints: [0; CHUNK], ids: [0; CHUNK], gone: [0; CHUNK / 64], len: 0 };

    /// All fingerprints, including removed ones.
    pub(super) fn fingerprints(&self) -> &[u64] {
        &self.fingerprints[..self.len]
    }

    /// The id at a position; `None` if the entry was removed.
    #[inline]
    pub(super) fn live_id(&self, position: usize) -> Option<u64> {
        ((self.gone[position / 64] >> (position % 64)) & 1 == 0).then(|| self.ids[position])
    }
}

/// Entries in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    full: Arc<Vec<Arc<Chunk>>>,
    last: Option<Arc<Chunk>>,
}

impl Head {
    /// Number of entries added, including removed ones.
    pub(super) fn taken(&self) -> usize {
        self.full.len() * CHUNK + self.last.as_ref().map_or(0, |chunk| chunk.len)
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let last = Arc::make_mut(self.last.get_or_insert_with(|| Arc::new(Chunk::EMPTY)));
        last.fingerprints[last.len] = entry.fingerprint.to_bits();
        last.ids[last.len] = entry.id;
        last.len += 1;
        if last.len == CHUNK {
            Arc::make_mut(&mut self.full).extend(self.last.take());
        }
    }

    /// Marks the entry at a position as removed. `false` if it already was.
    pub(super) fn remove(&mut self, position: usize) -> bool {
        let at = position % CHUNK;
        let chunk = match position / CHUNK {
            number if number < self.full.len() => &mut Arc::make_mut(&mut self.full)[number],
            _ => match &mut self.last {
                Some(last) => last,
                None => return false,
            },
        };
        if chunk.live_id(at).is_none() {
            return false;
        }
        Arc::make_mut(chunk).gone[at / 64] |= 1 << (at % 64);
        true
    }

    fn id_at(&self, position: usize) -> Option<u64> {
        let chunk = match position / CHUNK {
            number if number < self.full.len() => &self.full[number],
            _ => self.last.as_ref()?,
        };
        chunk.live_id(position % CHUNK)
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.full.iter().chain(&self.last).map(|chunk| &**chunk)
    }

    /// The remaining entries, in order of arrival.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.chunks().flat_map(|chunk| {
            chunk.fingerprints().iter().enumerate().filter_map(|(position, &bits)| {
                let fingerprint = Fingerprint::from_bits(bits);
                chunk.live_id(position).map(|id| Entry { fingerprint, id })
            })
        })
    }

    /// Heap memory in bytes, including chunks shared with older states.
    pub(super) fn memory_bytes(&self) -> usize {
        let counted = 2 * size_of::<usize>();
        let chunks = self.full.len() + usize::from(self.last.is_some());
        chunks * (size_of::<Chunk>() + counted)
            + self.full.capacity() * size_of::<Arc<Chunk>>()
            + size_of::<Vec<Arc<Chunk>>>()
            + counted
    }
}

/// The last position of each id in the head: an open-addressing table, at most half full. Nothing
/// is removed from it; the head knows which entries were removed.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    /// A position plus one, or zero if empty.
    slots: Vec<u32>,
    ids: Vec<u64>,
}

impl Positions {
    /// For a head of at most `most` entries.
    pub(super) fn new(most: usize) -> Self {
        let slots = (most * 2).next_power_of_two();
        Self { slots: vec![0; slots], ids: Vec::with_capacity(most) }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
        self.ids.clear();
    }

    /// Rebuilds the table from a head.
    pub(super) fn rebuild(&mut self, head: &Head) {
        self.clear();
        for position in 0..head.taken() {
            let id = head.id_at(position);
            self.ids.push(id.unwrap_or(u64::MAX));
            if id.is_some() {
                let slot = self.slot(self.ids[position]);
                self.slots[slot] = position as u32 + 1;
            }
        }
    }

    /// The last position of an id.
    pub(super) fn get(&self, id: u64) -> Option<usize> {
        (self.slots[self.slot(id)] as usize).checked_sub(1)
    }

    /// Records `id` at the next position.
    pub(super) fn push(&mut self, id: u64) {
        let slot = self.slot(id);
        self.ids.push(id);
        self.slots[slot] = self.ids.len() as u32;
    }

    /// The slot that holds this id, or the empty one for it.
    fn slot(&self, id: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Multiplicative hashing (Knuth); the high half is mixed best.
        let mut slot = (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                taken if self.ids[taken as usize - 1] == id => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>() + self.ids.capacity() * size_of::<u64>()
    }
}
