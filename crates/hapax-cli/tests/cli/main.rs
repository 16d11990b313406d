//! The program as a user meets it: arguments in, exit code, output and files out.
//!
//! - [`fingerprint`]: what `hapax fingerprint` prints, and in which order.
//! - [`bad_input`]: everything that can be wrong with what is read or typed.
//! - [`compare`]: two pages, on the terminal, as JSON and as a web page.
//! - [`dedup`]: corpora cleaned, and the stages one by one.
//! - [`deploy`]: service file, container and jobs fit the program.
//! - [`eval`]: answers judged against what is known.
//! - [`train`]: frequency tables, and fingerprints made with them.
//! - [`recipe`]: listing, showing and using recipes.
//! - [`interrupted`]: what Ctrl-C leaves behind, which is nothing.
//! - [`manual`]: help, reference, manual pages, completions.
//! - [`serve`]: the service, and fetching.
//! - [`near`]: a collection of fingerprints, built, searched and described.
//! - [`near_batch`]: batches against a collection that grows by them.
//! - [`overwriting`]: results that would replace what is read.
//! - [`partition`]: pages mapped to machines.
//! - [`plan`]: what an index would take.
//! - [`query_dedup`]: duplicates out of the results of logged queries.
//! - [`rank`]: the authority of pages.
//! - [`remote`]: the same commands on a folder and on a service.
//! - [`repository`]: pages, groups, events and tables of a repository.
//! - [`resume`]: jobs that are killed and started again.
//! - [`search`]: a search index, made, asked and changed.
//! - [`standby`]: backups, and a standby that takes over.
//! - [`shards`]: a corpus cleaned by several processes.
//! - [`upgrade`]: files of former versions.
//! - [`trust`]: what hostile names, pages and neighbours cannot do.
//! - [`folder`]: a temporary folder and the program run in it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod bad_input;
mod compare;
mod dedup;
mod deploy;
mod eval;
mod fingerprint;
mod folder;
#[cfg(unix)]
mod interrupted;
mod manual;
mod near;
mod near_batch;
mod overwriting;
mod partition;
mod plan;
mod query_dedup;
mod rank;
mod recipe;
mod remote;
mod repository;
mod resume;
mod search;
mod serve;
mod shards;
mod stages;
mod standby;
mod train;
mod trust;
mod upgrade;
