//! The deduplication job as steps over rows on many machines: Arrow batch in, Arrow batch out.
//!
//! ```text
//!   files --signature--> signatures --frame_sample, learn_frames, own_texts--> own texts
//!   signatures, own texts --copies--> representatives, copies, members --thin (8 times)--> representatives
//!   representatives --keys | band_keys--> packed keys --candidates | band_candidates--> candidates --confirm--> pairs
//!   pairs, members, copies --forest, components--> linked --resolve--> verdicts --group_rows--> rows
//! ```
//!
//! An engine such as Spark moves rows so that pages that may match are in one batch; each step returns the key
//! to move by. Guarantees the decision of [`decide`](fn@crate::decide) for the same documents in the same
//! order. No step depends on the order of rows, and a row that occurs twice is an error. A row is identified by
//! its position in the corpus, so a repeated step returns the same rows. Keeps all confirmed pairs of a
//! component, because members must match the winner itself; [`forest`](Steps::forest) only finds components.
//! Does not handle redirects: they change no group.

mod components;
mod confirm;
mod dense;
mod frames;
mod kept;
mod keys;
mod later;
mod report;
mod resolve;
mod rows;
mod saturation;
mod signature;
#[cfg(test)]
mod tests;

pub use dense::Wide;
pub use frames::{LearnFrames, OwnTexts};
pub use kept::{Part as KeptPart, write_part};
pub use keys::Cut;
pub use report::Shown;
pub use saturation::{SaturationCounts, Seen};
pub use signature::PartSignatures;

use crate::error::Error;
use crate::options::{Confirm, Options};

/// Why `Frames::Own` is refused here, and what to use instead.
const SIGNED_FIRST: (&str, &str) = (
    "steps on many machines, which sign pages before frames are known",
    "run `hapax dedup` on one machine",
);

/// The steps of a job with given options.
#[derive(Clone, Debug)]
pub struct Steps {
    options: Options,
}

impl Steps {
    /// Steps run on the calling thread: an engine gives each task a core. Every task must be given
    /// the same key, if any; without a key, public signatures decide.
    ///
    /// # Errors
    ///
    /// The options ask for own texts alone.
    pub fn new(mut options: Options) -> Result<Self, Error> {
        options.check_frames(Some(SIGNED_FIRST))?;
        let keyed = options.fingerprinter.key().is_some();
        options.confirm = if keyed { Confirm::Keyed } else { Confirm::No };
        Ok(Self { options })
    }

    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Hashes numbers, to spread them over tasks.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, number| {
        let mixed = (hash ^ number).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ mixed >> 32).wrapping_mul(0x94D0_49BB_1331_11EB) ^ mixed >> 29
    })
}
