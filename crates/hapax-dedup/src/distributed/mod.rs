//! The job in steps on rows that may lie on many machines: Arrow batch in, Arrow batch out.
//!
//! ```text
//!   files --signature--> signatures --frame_sample, learn_frames, own_texts--> own texts
//!   signatures, own texts --copies--> representatives, copies, members --thin (8 times)--> representatives
//!   representatives --keys | band_keys--> packed keys --candidates | band_candidates--> candidates --confirm--> pairs
//!   pairs, members, copies --forest, components--> linked --resolve--> verdicts --group_rows--> rows
//! ```
//!
//! An engine such as Spark moves rows between the steps so that what may match is in one batch; each
//! step says by a key what that is. All judgement is that of [`decide`](mod@crate::decide) and
//! `near`: the steps are theirs, cut where rows may travel.
//!
//! # What it promises
//!
//! - The rows of all batches together say what [`decide`](fn@crate::decide) says of the same documents
//!   in the same order: groups, winners, distances, reasons.
//! - No step trusts the order of rows: each sorts what it is given. A row that comes twice is an error.
//! - A row is known by its *position* in the corpus, which follows from files and records alone, so a
//!   step that runs twice gives the same rows twice.
//! - What grouping needs of a component is kept whole: all confirmed pairs, not only a spanning forest,
//!   since a group's members must match the winner themselves, and the winner is known only at the end.
//!   Dense clusters were thinned out before, so that pairs grow with documents and not with their square. The
//!   [`forest`](Steps::forest) is for finding components only.
//!
//! # What this module does not know
//!
//! Engines, networks, other languages. Addresses that redirect are not looked at: they change no group.

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

    /// What was asked for.
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
