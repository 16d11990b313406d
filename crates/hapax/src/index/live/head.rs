//! The mutable part of a live index: the newest entries, in order of arrival, scanned by every search.
//!
//! ```text
//!   full chunks   shared with every snapshot that has seen them
//!   last chunk    copied by the first change after it was published: 4 KiB
//! ```
//!
//! Chunks are shared and copied when changed, so publishing a state never waits for a reader, and a reader never
//! sees half a change. Only the writer knows where in the head an id is ([`Positions`]). Does not know segments.

use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::index::collection::Entry;

/// Entries in a chunk.
pub(super) const CHUNK: usize = 256;

/// A run of entries and which of them are gone.
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

    /// Gone ones included.
    pub(super) fn fingerprints(&self) -> &[u64] {
        &self.fingerprints[..self.len]
    }

    /// The id at a position, unless the entry is gone.
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
    /// How many entries it has taken, gone ones included.
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

    /// Marks the entry at a position as gone. False when it was already.
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

    /// What is still there, in order of arrival.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.chunks().flat_map(|chunk| {
            chunk.fingerprints().iter().enumerate().filter_map(|(position, &bits)| {
                let fingerprint = Fingerprint::from_bits(bits);
                chunk.live_id(position).map(|id| Entry { fingerprint, id })
            })
        })
    }

    /// Heap bytes held, chunks shared with older states included.
    pub(super) fn memory_bytes(&self) -> usize {
        let counted = 2 * size_of::<usize>();
        let chunks = self.full.len() + usize::from(self.last.is_some());
        chunks * (size_of::<Chunk>() + counted)
            + self.full.capacity() * size_of::<Arc<Chunk>>()
            + size_of::<Vec<Arc<Chunk>>>()
            + counted
    }
}

/// Where in the head each id came last: an open-addressed table of positions, half full at
/// most. Nothing is ever taken out; the head knows which entries are gone.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    /// A position plus one, or zero.
    slots: Vec<u32>,
    ids: Vec<u64>,
}

impl Positions {
    /// Room for a head that takes `most` entries.
    pub(super) fn new(most: usize) -> Self {
        let slots = (most * 2).next_power_of_two();
        Self { slots: vec![0; slots], ids: Vec::with_capacity(most) }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
        self.ids.clear();
    }

    /// Starts anew from a head.
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

    /// Where an id came last.
    pub(super) fn get(&self, id: u64) -> Option<usize> {
        (self.slots[self.slot(id)] as usize).checked_sub(1)
    }

    /// Notes that `id` came next.
    pub(super) fn push(&mut self, id: u64) {
        let slot = self.slot(id);
        self.ids.push(id);
        self.slots[slot] = self.ids.len() as u32;
    }

    /// The slot that has this id, or the empty one where it belongs.
    fn slot(&self, id: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Multiplicative hashing (Knuth); the high half is the well mixed one.
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
