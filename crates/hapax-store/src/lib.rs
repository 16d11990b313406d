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
//! Guarantees: an operation returns after its records are on disk, so they survive the end of the process, and
//! of the machine if the disk honours syncs. Verdict, record, groups and events of an operation are one commit.
//! Operations are serial; waiting callers share a commit, and readers see the last commit without waiting.
//! Pages recorded with their texts are near-duplicates only if a sketch under the repository's random key
//! agrees. The index is derived from the records. Start at [`repository`]; [`page`] is a record, `tables` the
//! file. Does not handle HTTP or foreign formats. A page without a time gets that of
//! [`Repository::with_clock`].

pub mod backups;
mod blocks;
pub mod browse;
mod changes;
mod checksums;
mod codec;
mod commit;
pub mod confirm;
pub mod contents;
mod copies;
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
