//! The HTTP service: accepts pages, answers with verdicts, and serves a web page to browse the repository.
//!
//! ```no_run
//! use hapax::fingerprint::{Fingerprinter, Recipe};
//! use hapax_server::{Layers, Service};
//! use hapax_store::{Repository, Settings};
//!
//! let by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
//! let store = Repository::create("seen".as_ref(), Settings::new(by.recipe_id().clone()))?;
//! let service = Service::new(store, by, Layers::new()?.finish()?)?;
//! hapax_server::run(service, |address| eprintln!("listening on http://{address}"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Guarantees: an acknowledged write is on disk, and an accepted one completes even if its client disconnects
//! or the service stops. Overload is reported immediately, and memory is bounded by [`config`]. Data from
//! outside is untrusted until it is escaped, checked or refused; internal failures are logged, not sent.
//!
//! Start at [`config`], [`routes`] and [`writer`]; [`state`] separates asynchronous from blocking code.
//! Contains no algorithms: the engine compares and explains, the store decides and stores.

pub mod access;
mod answers;
mod bodies;
mod clock;
pub mod config;
mod connections;
pub mod error;
pub mod fetch;
pub mod history;
mod idle;
mod large;
pub mod logging;
pub mod metrics;
pub mod middleware;
pub mod pools;
pub mod routes;
pub mod server;
pub mod standby;
pub mod state;
mod turns;
pub mod writer;

pub use config::{Config, ConfigError, Layers};
pub use server::{App, on_interrupt, run};
pub use state::{Service, StartError};
