//! Tests that all engines agree. Those with a PostgreSQL server are built on request: `cargo xtask test
//! search`.
//!
//! | module | contents |
//! |---|---|
//! | `agreement` | requirements on every engine, as generic functions |
//! | `corpus` | the pages, the log and the policy of all engines |
//! | `memory` | the slow reference engine |
//! | `tantivy` | the engine in a folder |
//! | `postgres` | the engine in a database, with its own server |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agreement;
mod corpus;
mod memory;
#[cfg(feature = "server-tests")]
mod postgres;
mod tantivy;
