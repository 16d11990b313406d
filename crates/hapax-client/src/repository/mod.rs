//! A repository wherever it is: [`Pages`] is everything that can be asked of one.
//!
//! [`Folder`] answers from a folder of this machine, [`Service`] asks a service that keeps a repository open;
//! who asks does not know the difference. Both answer in wire types.

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

/// Why a repository did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// The folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Service(#[from] ClientError),
    /// The service failed while pages were sent together.
    #[error("{source}; {recorded} of the {sent} pages sent together are known to be recorded")]
    Interrupted { source: ClientError, recorded: usize, sent: usize },
    /// The service does not take one of the pages that were sent together.
    #[error("{url}: {} ({}); {recorded} of the {sent} pages sent together were recorded", .error.message, .error.code)]
    Page { url: String, error: ErrorAnswer, recorded: usize, sent: usize },
    /// The service is of another version.
    #[error(
        "the service, version {version}, answers in a way that this program does not know ({what}); \
         use a program and a service of the same version"
    )]
    Strange { version: String, what: &'static str },
    /// A redirect or the like where a page belongs.
    #[error("only a page can be checked")]
    NotAPage,
}

/// What a repository is, and how much is in it.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    #[serde(flatten)]
    pub settings: RepositorySettings,
    #[serde(flatten)]
    pub stats: StatsShown,
    /// Where the index is from, for people.
    #[serde(skip)]
    pub index_origin: &'static str,
}

/// What can be asked of a repository. Every method fails when the repository cannot be read or
/// written; then nothing has happened, but where a method says so.
pub trait Pages {
    /// Things that happened to pages, in this order; answered when they are durable. In a folder
    /// all happen or none; so do pages that are forgotten together on a service, where of other
    /// things the first may have happened when one fails.
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, RepositoryError>;

    /// What would be said of a page. Nothing changes.
    fn check(&self, page: Prepared) -> Result<Verdict, RepositoryError>;

    /// What confirms matches; `None` for a service, which keeps it to itself and wants the texts.
    fn key(&self) -> Option<&Key>;

    /// What is known of a page, and how it stands.
    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, RepositoryError>;

    /// The group of a page, and how all its pages stand, in order of their numbers.
    fn group(
        &self,
        url: &str,
        market: Option<&str>,
    ) -> Result<Option<GroupStatuses>, RepositoryError>;

    /// The next groups behind a number that have at least `least` members, by number and at most so many; none
    /// when there are no more.
    fn groups(
        &self,
        after: Option<u32>,
        limit: usize,
        least: u32,
        market: Option<&str>,
    ) -> Result<Vec<Group>, RepositoryError>;

    /// Forgets pages last fetched before this time, seconds since 1970. How many.
    fn expire(&mut self, before: u64) -> Result<u64, RepositoryError>;

    /// Compares pages again that were compared under an older frame of their host. Returns how many.
    fn recheck(&mut self) -> Result<u64, RepositoryError>;

    /// Other rules for all groups.
    fn set_rules(&mut self, rules: Rules) -> Result<(), RepositoryError>;

    /// Names a list of rules, or forgets the name.
    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), RepositoryError>;

    /// The rules, and the markets with theirs.
    fn rules(&self) -> Result<RulesShown, RepositoryError>;

    /// What made its fingerprints.
    fn recipe(&self) -> Result<RecipeId, RepositoryError>;

    /// Within what pages are compared.
    fn scope(&self) -> Result<Scope, RepositoryError>;

    fn describe(&self) -> Result<Description, RepositoryError>;
}

/// Where changes of a repository can be read.
pub trait Events {
    /// The next changes behind a number, oldest first; `None` while the repository is in use.
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, RepositoryError>;
}
