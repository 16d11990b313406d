//! Tests of the repository from outside.
//!
//! | module | what belongs there |
//! |---|---|
//! | `line` | pages on a line, of which only neighbours match |
//! | `model` | any operations, against the groups in memory |
//! | `operations` | one behaviour at a time |
//! | `recrawl` | pages that are fetched again: which copy passes, verdicts and events |
//! | `forged` | texts made to have another one's public signature, and pages without a text |
//! | `frames` | pages of one host that share a frame |
//! | `copying` | increments, backups and standbys |
//! | `browsing` | pages by address, groups by number and size |
//! | `damaged` | damaged files in bulk: found, refused, mended |
//! | `faults` | files that are not what they should be |
//! | `markets` | what settings do to answers: markets, scopes, repaired groups |
//! | `repairing` | tables that contradict each other, and their repair |
//! | `bad_disk` | any access refused or cut short |
//! | `full_disk` | a file that cannot grow, in a process of its own |
//! | `old_format` | repositories of former versions |
//! | `killed` | a process that ends at any moment |
//! | `together` | several threads that write and read |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_disk;
mod browsing;
mod copying;
mod damaged;
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
mod together;
