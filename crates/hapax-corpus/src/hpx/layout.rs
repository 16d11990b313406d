//! The header, slots and directory of an `.hpx` file, and which of its states is valid.
//!
//! ```text
//!      0  "hapaxHPX", version u32, bytes of an id u32, bytes of the recipe u32, zero u32
//!     24  the recipe, zeros up to 504; checksum of 0 to 503
//!    512  slot of odd states     sequence, offset and size of the directory, checksum
//!   1024  slot of even states
//!   2048  data
//! ```
//!
//! A directory ends with its length, sequence, checksum and a magic number, so it can be found from the end of
//! the file if a slot is unreadable: an unfinished or damaged slot loses nothing. Guarantees that an older
//! state is never taken for the last one if there may be a newer one.

use super::block::{CHECKSUM, ENTRIES};
use super::block::{MOST_ID_BITS, ids_length, seal, unseal, word_at};

pub(super) const MAGIC: &[u8; 8] = b"hapaxHPX";
pub(super) const VERSION: u32 = 1;
/// Start of the data.
pub(super) const DATA: u64 = 2048;
/// Maximum size of a recipe in bytes.
pub(super) const MOST_RECIPE: usize = 480;
const HEADER: usize = 512;
const SLOTS: [usize; 2] = [512, 1024];
/// Size of a slot in bytes.
pub(super) const SLOT: usize = 32;
const ID_BYTES: u32 = 8;
const BEGINS: &[u8; 8] = b"hpxINDEX";
const ENDS: &[u8; 8] = b"hpxIDEND";
/// Size of the end of a directory in bytes.
pub(super) const TRAILER: usize = 32;
const FIXED: usize = 40;
const ENTRY: usize = 40;
/// Maximum number of runs or sections; writers never make as many.
const MOST_PARTS: usize = 1 << 16;
/// Maximum size of a directory in bytes.
pub(super) const MOST_DIRECTORY: u64 = (FIXED + 2 * MOST_PARTS * ENTRY + TRAILER) as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) entries: u64,
    pub(super) id_bits: u32,
    /// Start of the blocks of ids; their lengths follow from the count.
    pub(super) ids_at: u64,
    pub(super) fingerprints_at: u64,
    pub(super) fingerprints_bytes: u64,
}

impl Run {
    /// Total size of all blocks of ids in bytes.
    pub(super) fn ids_bytes(&self) -> Option<u64> {
        let whole = self.entries / ENTRIES as u64;
        let rest = (self.entries % ENTRIES as u64) as usize;
        let last = if rest > 0 { ids_length(rest, self.id_bits) as u64 } else { 0 };
        whole.checked_mul(ids_length(ENTRIES, self.id_bits) as u64)?.checked_add(last)
    }

    /// Size in the file in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.ids_bytes().unwrap_or(0) + self.fingerprints_bytes
    }
}

/// The names of consecutive documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) first_id: u64,
    pub(super) count: u64,
    pub(super) at: u64,
    /// Size of the blocks and of the list of their places after them.
    pub(super) bytes: u64,
    /// Start of this list.
    pub(super) places_at: u64,
}

/// Everything in one state of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) sequence: u64,
    /// Number of documents, and the next id.
    pub(super) documents: u64,
    pub(super) runs: Vec<Run>,
    pub(super) names: Vec<Names>,
}

impl Directory {
    /// Number of bytes in use.
    pub(super) fn live_bytes(&self) -> u64 {
        self.runs.iter().map(Run::bytes).sum::<u64>()
            + self.names.iter().map(|names| names.bytes).sum::<u64>()
    }

    pub(super) fn encode(&self, offset: u64) -> Vec<u8> {
        let mut bytes = BEGINS.to_vec();
        let counts =
            [self.sequence, self.documents, self.runs.len() as u64, self.names.len() as u64];
        let runs = self.runs.iter().map(|run| {
            let Run { entries, id_bits, ids_at, fingerprints_at, fingerprints_bytes } = *run;
            [entries, id_bits.into(), ids_at, fingerprints_at, fingerprints_bytes]
        });
        let names = self.names.iter().map(|names| {
            let Names { first_id, count, at, bytes, places_at } = *names;
            [first_id, count, at, bytes, places_at]
        });
        let mut put = |words: &[u64]| {
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        };
        put(&counts);
        runs.chain(names).for_each(|entry| put(&entry));
        let length = (bytes.len() + TRAILER) as u64;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        seal(&mut bytes, 0, offset);
        bytes.extend_from_slice(ENDS);
        bytes
    }

    /// Checks everything, so that the result needs no further checks.
    pub(super) fn decode(bytes: &[u8], offset: u64) -> Result<Self, &'static str> {
        let sealed = bytes.strip_suffix(ENDS).and_then(|bytes| unseal(bytes, offset));
        let body = sealed.ok_or("the directory fails its checksum")?;
        if body.len() < FIXED + 16 || !body.starts_with(BEGINS) {
            return Err("the directory does not begin like one");
        }
        let word = |at: usize| word_at(body, at);
        let (runs, names) = (word(24), word(32));
        let parts = runs.checked_add(names).filter(|&parts| parts <= 2 * MOST_PARTS as u64);
        let expected = parts.map(|parts| FIXED + parts as usize * ENTRY + 16);
        if expected != Some(body.len())
            || word(body.len() - 16) != bytes.len() as u64
            || word(body.len() - 8) != word(8)
        {
            return Err("the directory contradicts its length");
        }
        let entry = |i: u64| {
            let at = FIXED + i as usize * ENTRY;
            [0, 8, 16, 24, 32].map(|field| word(at + field))
        };
        let run = |i| {
            let [entries, id_bits, ids_at, fingerprints_at, fingerprints_bytes] = entry(i);
            let id_bits = u32::try_from(id_bits).ok().filter(|&bits| bits <= MOST_ID_BITS)?;
            let run = Run { entries, id_bits, ids_at, fingerprints_at, fingerprints_bytes };
            let ids = run.ids_bytes()?;
            let inside = is_inside(ids_at, ids, offset)
                && is_inside(fingerprints_at, fingerprints_bytes, offset);
            (inside && entries > 0).then_some(run)
        };
        let section = |i| {
            let [first_id, count, at, bytes, places_at] = entry(runs + i);
            let names = Names { first_id, count, at, bytes, places_at };
            let places = count.div_ceil(super::block::NAMES as u64).checked_mul(8)?;
            let list = places.checked_add(CHECKSUM as u64)?;
            let inside = is_inside(at, bytes, offset)
                && places_at >= at
                && places_at.checked_add(list) == at.checked_add(bytes);
            (inside && count > 0).then_some(names)
        };
        let directory = Self {
            sequence: word(8),
            documents: word(16),
            runs: (0..runs).map(run).collect::<Option<_>>().ok_or("a run is out of place")?,
            names: (0..names)
                .map(section)
                .collect::<Option<_>>()
                .ok_or("names are out of place")?,
        };
        let entries = directory.runs.iter().try_fold(0u64, |all, run| all.checked_add(run.entries));
        if entries != Some(directory.documents) {
            return Err("the directory counts wrong");
        }
        let mut next = 0;
        for names in &directory.names {
            let end = names.first_id.checked_add(names.count);
            let end = end.filter(|&end| names.first_id >= next && end <= directory.documents);
            next = end.ok_or("names are out of order")?;
        }
        Ok(directory)
    }
}

fn is_inside(at: u64, bytes: u64, end: u64) -> bool {
    at >= DATA && at.checked_add(bytes).is_some_and(|it| it <= end)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) sequence: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
}

impl Slot {
    /// End of its state.
    pub(super) fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }

    /// The slot it is written to.
    pub(super) fn place(&self) -> u64 {
        SLOTS[usize::from(self.sequence.is_multiple_of(2))] as u64
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let words = [self.sequence, self.at, self.bytes];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        seal(&mut bytes, 0, self.place());
        bytes
    }

    fn decode(bytes: &[u8], place: usize) -> Option<Self> {
        let body = unseal(bytes, place as u64)?;
        let [sequence, at, bytes] = [0, 8, 16].map(|field| word_at(body, field));
        let slot = Self { sequence, at, bytes };
        (slot.place() == place as u64 && sequence > 0).then_some(slot)
    }
}

/// The first bytes of a file without any state.
pub(super) fn empty_head(recipe: &str) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for word in [VERSION, ID_BYTES, recipe.len() as u32, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(recipe.as_bytes());
    bytes.resize(HEADER - CHECKSUM, 0);
    seal(&mut bytes, 0, 0);
    bytes.resize(DATA as usize, 0);
    bytes
}

/// The contents of the first bytes.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) recipe: String,
    pub(super) state: SlotState,
}

/// The valid state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    /// The state of this slot.
    Known(Slot),
    /// One slot is unreadable. The state of the other is valid if the file ends with it; the next
    /// state if the file ends with that; otherwise it is unknown.
    After { other: Slot, unreadable_at: u64 },
}

/// Parses the first [`DATA`] bytes, whose magic and version the caller has checked. An error is the
/// offset and what is wrong there.
pub(super) fn head(bytes: &[u8; DATA as usize]) -> Result<Head, (u64, &'static str)> {
    let header = unseal(&bytes[..HEADER], 0).ok_or((0, "the header fails its checksum"))?;
    let number = |at: usize| word_at(header, at) as u32;
    let (id_bytes, length) = (number(12), number(16) as usize);
    if id_bytes != ID_BYTES || length > MOST_RECIPE || number(20) != 0 {
        return Err((8, "the header has fields that no writer writes"));
    }
    let (recipe, rest) = header[24..].split_at(length);
    let recipe = std::str::from_utf8(recipe).map_err(|_| (24, "the recipe is not text"))?;
    let gaps = [rest, &bytes[SLOTS[0] + SLOT..SLOTS[1]], &bytes[SLOTS[1] + SLOT..]];
    if gaps.iter().any(|gap| gap.iter().any(|&byte| byte != 0)) {
        return Err((HEADER as u64, "there is something where nothing belongs"));
    }
    let raw = SLOTS.map(|at| &bytes[at..at + SLOT]);
    let [odd, even] = [0, 1].map(|i| Slot::decode(raw[i], SLOTS[i]));
    let state = match (odd, even) {
        (Some(a), Some(b)) => SlotState::Known(if a.sequence > b.sequence { a } else { b }),
        // The first state has only one slot.
        (Some(slot), None) if slot.sequence == 1 && raw[1].iter().all(|&byte| byte == 0) => {
            SlotState::Known(slot)
        }
        (Some(other), None) => SlotState::After { other, unreadable_at: SLOTS[1] as u64 },
        (None, Some(other)) => SlotState::After { other, unreadable_at: SLOTS[0] as u64 },
        (None, None) => return Err((SLOTS[0] as u64, "both slots fail their checksums")),
    };
    Ok(Head { recipe: recipe.to_owned(), state })
}
