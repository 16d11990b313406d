//! The job as a whole: from a log and an index to a folder with results, and back.
//!
//! ```text
//!   earlier run --reveal--> index --job--> outcome --> files in the making
//!                                             |             |
//!                              pending.json --+--> index changed --> files in place
//! ```
//!
//! A run again sees the index as if the earlier run with the same folder had removed nothing, so
//! that its outcome is that of a run from scratch.
//!
//! # What it promises
//!
//! A document is in one of two states, whatever is killed and when: out, or in. What may be out
//! because of a folder is always named in the folder, in its record or in `pending.json`, so that a
//! run again, or [`undo`], brings every document where it belongs. Restoring comes before removing:
//! no group is ever without all of its members.
//!
//! # Reading order
//!
//! [`run`](run()) is the plan, `effect` changes the index, [`folder`] is what is kept, [`record`]
//! and [`summary`] are its tables and numbers, [`figures`] the paper's table and figures, `report`
//! the page.

mod effect;
pub mod figures;
pub mod folder;
pub mod record;
mod report;
mod run;
pub mod summary;

pub use effect::{Effect, Revealing};
pub use folder::{FolderError, LastRun, OutFolder};
pub use run::{Choice, Finished, Mode, RunError, Settings, Stage, Undone, run, undo};
pub use summary::{Run, Summary};
