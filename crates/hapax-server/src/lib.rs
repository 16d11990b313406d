//! The service: pages in over HTTP, verdicts out, and a web page to look at it all.
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
//! # What it promises
//!
//! - A write that was answered is on the disk; one that was accepted is done even if its client
//!   has gone or the service is stopping.
//! - Overload is answered at once, and memory stays bounded: by the limits of [`config`].
//! - What comes from outside is hostile until it is escaped, checked or refused; what fails
//!   inside is logged, not sent.
//!
//! # Reading order
//!
//! [`config`] is what can be set, [`error`] what can go wrong; `hapax_client` has what is sent.
//! [`state`] holds what requests share and is the border between asynchronous and blocking code;
//! [`writer`] makes commits of what waits. [`routes`] are the paths, [`middleware`] is what every request passes, [`server`] accepts
//! connections, `connections` knows those that are open, `bodies` reads what they send. [`fetch`] gets pages of other sites. [`standby`] follows another service.
//! [`metrics`] and [`history`] count, [`logging`] writes.
//!
//! # What this crate does not know
//!
//! Algorithms: the engine compares and explains, the store decides and keeps.

pub mod access;
mod bodies;
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
