//! Tests of the service through its public interface: a real server on a free port, over real connections.
//!
//! | module | contents |
//! |---|---|
//! | `running` | a server for a test, and a small client that sees every byte |
//! | `verdicts` | pages observed, checked, looked up, changed |
//! | `backups` | copies while the service runs |
//! | `batches` | streams of lines |
//! | `limits` | overload, slow and hostile clients, tokens |
//! | `hostile` | any input to the parsers of requests |
//! | `groups` | histories, rules and statuses of groups |
//! | `fetching` | allowed and forbidden addresses |
//! | `forged` | forged public signatures |
//! | `trust` | what clients without a token, other sites and readers cannot do |
//! | `searching` | a search index behind the service |
//! | `documented` | the guide's examples and the description of the API |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod backups;
mod batches;
mod documented;
mod fetching;
mod forged;
mod groups;
mod hostile;
mod limits;
mod running;
mod searching;
mod trust;
mod verdicts;
