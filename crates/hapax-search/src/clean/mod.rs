//! The whole job: from a log and an index to a folder with results, and its undoing.
//!
//! ```text
//!   earlier run --reveal--> index --job--> outcome --> files in preparation
//!                                             |             |
//!                              pending.json --+--> index changed --> files in place
//! ```
//!
//! A repeated run sees the index as if the previous run with the same folder had removed nothing, so its
//! outcome is that of a run from scratch. Guarantees that whenever the process is killed, a document is either
//! removed or not, and every document that may be removed is listed in the folder's record or in
//! `pending.json`, so that another run or [`undo`] restores it. Restores before removing, so no group ever
//! loses all its members.

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
