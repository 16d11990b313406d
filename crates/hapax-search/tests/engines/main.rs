//! Tests that all engines agree. Those with a PostgreSQL server are built on request: `cargo xtask test search`.
//!
//! | module | what belongs there |
//! |---|---|
//! | `agreement` | what every engine must do, as one generic function |
//! | `corpus` | the pages, the log and the policy that all of them get |
//! | `memory` | the slow and obvious engine |
//! | `tantivy` | the one in a folder |
//! | `postgres` | the one in a database, with a server of its own |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agreement;
mod corpus;
mod memory;
#[cfg(feature = "server-tests")]
mod postgres;
mod tantivy;
