//! A repository, local or remote: [`Pages`] has all operations.
//!
//! [`Folder`] uses a folder on this machine, [`Service`] a service that keeps a repository open; callers see no
//! difference. Both answer in wire types.

mod folder;
mod service;

pub use folder::{Folder, FolderEvents};
pub use service::Service;

use crate::client::{ClientError, ErrorAnswer};
use crate::local::Done;
use crate::prepare::Prepared;
use crate::wire::{
    Event, Group, GroupStatuses, PageDetail, RepositorySettings, RulesShown, StatsShown, Verdict,
};
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::{Rules, Scope};
use hapax_store::StoreError;
use serde::Serialize;

/// An operation on a repository failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// The folder is unreadable or not writable.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Service(#[from] ClientError),
    /// The service failed while several pages were being sent.
    #[error("{source}; {recorded} of the {sent} pages sent together are known to be recorded")]
    Interrupted { source: ClientError, recorded: usize, sent: usize },
    /// The service refused one of several pages.
    #[error("{url}: {} ({}); {recorded} of the {sent} pages sent together were recorded", .error.message, .error.code)]
    Page { url: String, error: ErrorAnswer, recorded: usize, sent: usize },
    /// The service has another version.
    #[error(
        "the service, version {version}, answers in a way that this program does not know ({what}); \
         use a program and a service of the same version"
    )]
    Strange { version: String, what: &'static str },
    /// A redirect or similar where a page is expected.
    #[error("only a page can be checked")]
    NotAPage,
}

/// What a repository is, and its size.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    #[serde(flatten)]
    pub settings: RepositorySettings,
    #[serde(flatten)]
    pub stats: StatsShown,
    /// Where the index came from, for display.
    #[serde(skip)]
    pub index_origin: &'static str,
}

/// The operations on a repository. Every method fails if the repository cannot be read or written;
/// then nothing has changed, unless the method says otherwise.
pub trait Pages {
    /// Applies actions on pages, in this order; returns when they are durable. In a folder all are
    /// applied or none; on a service, this holds for deleting pages, while of other actions the
    /// first may have been applied when one fails.
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, RepositoryError>;

    /// The verdict that this page would get. Changes nothing.
    fn check(&self, page: Prepared) -> Result<Verdict, RepositoryError>;

    /// The key that confirms matches; `None` for a service, which does not reveal it and needs the
    /// texts instead.
    fn key(&self) -> Option<&Key>;

    /// The data and status of a page; `None` if it is unknown.
    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, RepositoryError>;

    /// The group of a page, with the status of all its pages, in order of their numbers.
    fn group(
        &self,
        url: &str,
        market: Option<&str>,
    ) -> Result<Option<GroupStatuses>, RepositoryError>;

    /// The next groups after a number that have at least `least` members, by number, at most
    /// `limit`; empty at the end.
    fn groups(
        &self,
        after: Option<u32>,
        limit: usize,
        least: u32,
        market: Option<&str>,
    ) -> Result<Vec<Group>, RepositoryError>;

    /// Deletes pages last fetched before this time in seconds since 1970; returns their number.
    fn expire(&mut self, before: u64) -> Result<u64, RepositoryError>;

    /// Compares pages again that were compared under an older frame of their host; returns their
    /// number.
    fn recheck(&mut self) -> Result<u64, RepositoryError>;

    /// Sets the rules of all groups.
    fn set_rules(&mut self, rules: Rules) -> Result<(), RepositoryError>;

    /// Sets the rules of a market, or removes it (`None`).
    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), RepositoryError>;

    /// The rules, and those of the markets.
    fn rules(&self) -> Result<RulesShown, RepositoryError>;

    /// The recipe of its fingerprints.
    fn recipe(&self) -> Result<RecipeId, RepositoryError>;

    /// Which pages may match each other.
    fn scope(&self) -> Result<Scope, RepositoryError>;

    fn describe(&self) -> Result<Description, RepositoryError>;
}

/// A source of a repository's events.
pub trait Events {
    /// The next events after a number, oldest first; `None` while the repository is in use by
    /// another process.
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, RepositoryError>;

    /// The epoch of the last events that were read; `None` for a folder, or if there is none yet.
    fn epoch(&self) -> Option<String>;
}
