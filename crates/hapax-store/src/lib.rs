//! A durable repository of pages, duplicate groups and the live index, in one folder.
//!
//! ```no_run
//! use hapax::fingerprint::{Fingerprinter, Recipe};
//! use hapax::page::{Body, Document};
//! use hapax_store::{Observation, Repository, Settings};
//!
//! let by = Fingerprinter::new(Recipe::built_in("web-2")?, None)?;
//! let store = Repository::create("seen".as_ref(), Settings::new(by.recipe_id().clone()))?;
//! let mut by = by.with_key(store.key());
//! let tea = Document::new(Body::Html("<p>Tea is a hot drink, made of leaves.</p>"));
//! let seen = store.observe(Observation::of_page("https://example.org/tea", by.document(&tea)?))?;
//! assert!(seen.verdict.is_winner);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - An answer is given after its records are on the disk: what was acknowledged survives the
//!   end of the process at any moment, and of the machine if the disk keeps its word.
//! - Verdict, record, groups and events of an operation are one commit: all of it or nothing.
//! - Operations happen one after the other, whoever calls; callers that wait at the same time
//!   share a commit. Readers see the last commit whole, and wait for nobody.
//! - Pages recorded with their texts are near-duplicates only if a sketch under the repository's
//!   random key says so, too: a page made to have another one's public signature removes nothing.
//! - The index is derived. What is not in its file, or damaged there, comes from the records.
//!
//! # Reading order
//!
//! [`page`] is what is known of a page and `codec` its bytes; `tables` is the file. [`confirm`] is
//! the repository's key and what it is for. `state` and `world` are what [`hapax::group::live`] asks for, over those tables. `session` is one
//! transaction and its operations, `commit` who is in which. `opening` gets from a folder to open
//! tables, [`disk`] touches the files, `checksums` and `blocks` verify what is read of them, `index_file` keeps the index between runs. [`repository`]
//! ties them together. [`view`], [`reader`] and [`browse`] read, [`integrity`] checks, [`repair`] mends. [`lineage`] says which copy
//! continues which, `changes` logs what a commit touched, [`increment`] is that as a stream, [`copies`] and [`backups`] are made of
//! it. [`texts`] keeps texts for showing.
//!
//! # What this crate does not know
//!
//! HTTP, file formats of the outside world. Times come with the pages; a page without one, and every
//! event, has the time of [`Repository::with_clock`], the system's unless another is given.

pub mod backups;
mod blocks;
pub mod browse;
mod changes;
mod checksums;
mod codec;
mod commit;
pub mod confirm;
pub mod copies;
pub mod disk;
pub mod error;
pub mod frames;
pub mod increment;
mod index_file;
pub mod integrity;
pub mod lineage;
mod merger;
mod opening;
pub mod page;
pub mod reader;
pub mod repair;
pub mod repository;
mod session;
pub mod settings;
mod state;
mod tables;
pub mod texts;
pub mod view;
mod world;

pub use browse::{FoundPages, GroupHistory, GroupSizes};
pub use confirm::Confirm;
pub use copies::receive;
pub use error::StoreError;
pub use frames::{Frames, Own, OwnShown};
pub use increment::Increment;
pub use integrity::{Integrity, check_folder};
pub use lineage::{Lineage, Position, Role};
pub use opening::CACHE_BYTES;
pub use page::{Nearest, Observation, PageInfo, Seen, StoredComparable};
pub use reader::{GroupSummary, Market, Reader, read_events};
pub use repair::{Repair, Unreadable, repair_folder};
pub use repository::{IndexOrigin, Repository};
pub use session::{Action, Decision, Effect};
pub use settings::{Settings, Wanted};
pub use tables::FILE;
pub use texts::Texts;
pub use view::{EventInfo, GroupInfo, Stats};
