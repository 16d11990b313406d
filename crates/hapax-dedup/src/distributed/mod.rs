//! The job in steps on rows that may be on many machines: Arrow batch in, Arrow batch out.
//!
//! ```text
//!   files --signature--> signatures --frame_sample, learn_frames, own_texts--> own texts
//!   signatures, own texts --copies--> representatives, copies, members --thin (8 times)--> representatives
//!   representatives --keys | band_keys--> packed keys --candidates | band_candidates--> candidates --confirm--> pairs
//!   pairs, members, copies --forest, components--> linked --resolve--> verdicts --group_rows--> rows
//! ```
//!
//! An engine such as Spark moves rows so that pages that may match are in one batch; each step gives the key to
//! move by. Guarantees that all batches together decide as [`decide`](fn@crate::decide) does for the same documents
//! in the same order. No step trusts the order of rows; a row that comes twice is an error. A row is known by its
//! position in the corpus, so a repeated step gives the same rows. All confirmed pairs of a component are kept,
//! since members must match the winner itself; [`forest`](Steps::forest) only finds components. Does not handle
//! redirects: they change no group.

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

/// What own texts alone cannot decide.
const SIGNED_FIRST: (&str, &str) = (
    "steps on many machines, which sign pages before frames are known",
    "run `hapax dedup` on one machine",
);

/// The steps, under the options of a job.
#[derive(Clone, Debug)]
pub struct Steps {
    options: Options,
}

impl Steps {
    /// Ready to work. Steps use the calling thread only: an engine gives each task a core.
    /// Every task must have the same key, if any: without one public signatures decide.
    ///
    /// # Errors
    ///
    /// Own texts alone were to decide.
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

/// Spreads numbers over tasks.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, number| {
        let mixed = (hash ^ number).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ mixed >> 32).wrapping_mul(0x94D0_49BB_1331_11EB) ^ mixed >> 29
    })
}
