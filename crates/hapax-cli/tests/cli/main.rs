//! Tests of the program as run by users: arguments in; exit code, output and files out. Modules are named after the
//! tested command or property.

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
