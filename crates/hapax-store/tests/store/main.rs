//! Tests of the repository through its public interface.
//!
//! | module | contents |
//! |---|---|
//! | `line` | pages on a line, of which only neighbours match |
//! | `model` | any operations, compared with groups in memory |
//! | `operations` | one behaviour at a time |
//! | `scrubbing` | checks of the file while it is written |
//! | `recrawl` | pages that are fetched again: kept copies, verdicts and events |
//! | `forged` | forged public signatures, and pages without a text |
//! | `frames` | pages of one host that share a frame |
//! | `copying` | increments, backups and standbys |
//! | `browsing` | pages by address, groups by number and size |
//! | `dense` | many pages with one fingerprint |
//! | `damaged` | many damaged files: detected, refused, repaired |
//! | `faults` | invalid files |
//! | `markets` | effects of settings: markets, scopes, repaired groups |
//! | `repairing` | contradicting tables, and their repair |
//! | `bad_disk` | any access refused or cut short |
//! | `full_disk` | a file that cannot grow, in its own process |
//! | `old_format` | repositories of former versions |
//! | `killed` | a process killed at any moment |
//! | `together` | several threads that write and read |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_disk;
mod browsing;
mod copying;
mod damaged;
mod dense;
mod faults;
mod forged;
mod frames;
#[cfg(unix)]
mod full_disk;
mod killed;
mod line;
mod markets;
mod model;
mod old_format;
mod operations;
mod recrawl;
mod repairing;
mod scrubbing;
mod together;
