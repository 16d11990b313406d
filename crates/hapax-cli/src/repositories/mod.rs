//! A repository as the commands see it, wherever it is.
//!
//! [`Pages`] is everything that can be asked of one. [`local`] answers from a folder; a service
//! that keeps a repository open can answer the same questions, and no command would know.
//! [`answers`] are the forms in which it answers, for programs and for people.

pub(crate) mod answers;
pub(crate) mod local;

use crate::failure::Failure;
use answers::{EventAnswer, GroupAnswer, GroupPages, PageAnswer, VerdictAnswer};
use clap::Args;
use hapax::group::Rules;
use hapax_store::{Action, Observation};
use std::path::PathBuf;

/// Which repository.
#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    /// The repository: its folder
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
}

impl StoreArguments {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// There is none, or it is in use, damaged or of another version.
    pub(crate) fn open(&self) -> Result<Box<dyn Pages>, Failure> {
        Ok(Box::new(local::Local::open(&self.store)?))
    }
}

/// What an [`Action`] led to.
pub(crate) enum Done {
    /// The page stands like this.
    Verdict(Box<VerdictAnswer>),
    /// Whether the page was known.
    Known(bool),
}

/// What can be asked of a repository. Every method fails when the repository cannot be read or
/// written; then nothing has happened.
pub(crate) trait Pages {
    /// Things that happened to pages, in this order, all or none; answered when they are durable.
    fn apply(&mut self, actions: Vec<Action>) -> Result<Vec<Done>, Failure>;

    /// What would be said of a page. Nothing changes.
    fn check(&self, page: &Observation) -> Result<VerdictAnswer, Failure>;

    /// What is known of a page, and how it stands.
    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageAnswer>, Failure>;

    /// The group of a page, and how its pages stand.
    fn group(&self, url: &str, market: Option<&str>) -> Result<Option<GroupPages>, Failure>;

    /// Calls `visit` with every group behind a number that has at least `least` members, up to a
    /// limit.
    fn groups(
        &self,
        after: Option<u32>,
        limit: u64,
        least: u32,
        market: Option<&str>,
        visit: &mut dyn FnMut(&GroupAnswer) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// Forgets pages last fetched before this time, seconds since 1970. How many.
    fn expire(&mut self, before: u64) -> Result<u64, Failure>;

    /// Other rules for all groups.
    fn set_rules(&mut self, rules: Rules) -> Result<(), Failure>;

    /// Names a list of rules, or forgets the name.
    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), Failure>;

    /// The rules, and the markets with theirs.
    fn rules(&self) -> (String, Vec<(String, String)>);
}

/// Where changes of a repository can be read.
pub(crate) trait Events {
    /// The next changes behind a number, oldest first; `None` while the repository is in use.
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<EventAnswer>>, Failure>;
}
