//! The repository from outside.
//!
//! | module | what belongs there |
//! |---|---|
//! | `line` | pages on a line, of which only neighbours match |
//! | `model` | any operations, against the groups in memory |
//! | `operations` | one behaviour at a time |
//! | `browsing` | pages by address, groups by number and size |
//! | `faults` | files that are not what they should be |
//! | `full_disk` | writes that fail |
//! | `killed` | a process that ends at any moment |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browsing;
mod faults;
#[cfg(unix)]
mod full_disk;
mod killed;
mod line;
mod model;
mod operations;
