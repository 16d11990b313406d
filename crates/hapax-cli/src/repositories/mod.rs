//! A repository as the commands see it, wherever it is.
//!
//! [`Pages`] is everything that can be asked of one. [`local`] answers from a folder, [`remote`] asks
//! a service that keeps a repository open; no command knows the difference. Both answer in the
//! service's wire types, which `--json` prints; [`answers`] puts them into words for people.
//!
//! A store is a folder or the address of a service. `--server URL` says the same as the address in
//! place of STORE ([`server_first`]).

pub(crate) mod answers;
pub(crate) mod local;
pub(crate) mod remote;

use crate::failure::Failure;
use answers::Description;
use clap::Args;
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::{Rules, Scope};
pub(crate) use hapax_client::local::Done;
use hapax_client::prepare::Prepared;
use hapax_client::wire::{Event, Group, GroupStatuses, PageDetail, RulesShown, Verdict};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Which repository.
#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    /// The repository: its folder, or the address of a service
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// A service that has the repository, such as http://127.0.0.1:8017; leave out STORE then
    // Taken out before clap looks, see `server_first`.
    #[arg(long, value_name = "URL", value_parser = service_address)]
    server: Option<String>,

    /// Bearer token for the service; visible in the list of processes [default: $HAPAX_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
}

/// Puts the address of `--server URL` where STORE stands: behind the words of the command.
pub(crate) fn server_first(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut typed: Vec<OsString> = typed.into_iter().collect();
    let word = |place: usize| typed.get(place).and_then(|word| word.to_str());
    let store = match (word(1), word(2)) {
        (Some("page"), Some("fetch")) => return typed,
        (Some("page" | "group"), Some(_)) => 3,
        (Some("events" | "inspect" | "export"), _) => 2,
        _ => return typed,
    };
    let end = typed.iter().position(|word| word == "--").unwrap_or(typed.len());
    for place in store..end {
        let Some(word) = typed[place].to_str() else { continue };
        // What is no address stays where it is, for clap to refuse.
        let next = typed.get(place + 1).and_then(|word| word.to_str()).filter(|_| place + 1 < end);
        let server = match word.strip_prefix("--server=") {
            Some(server) if is_address(server) => OsString::from(server),
            None if word == "--server" && next.is_some_and(is_address) => typed.remove(place + 1),
            _ => continue,
        };
        typed.remove(place);
        typed.insert(store, server);
        break;
    }
    typed
}

impl StoreArguments {
    pub(crate) fn open(&self) -> Result<Box<dyn Pages>, Failure> {
        match self.address() {
            Some(server) => Ok(Box::new(remote::Remote::open(server, self.token.as_deref())?)),
            None => Ok(Box::new(local::Local::open(&self.store)?)),
        }
    }

    /// Where its changes can be read.
    pub(crate) fn events(&self) -> Result<Box<dyn Events>, Failure> {
        match self.address() {
            Some(server) => Ok(Box::new(remote::Remote::open(server, self.token.as_deref())?)),
            None => Ok(Box::new(local::LocalEvents(self.store.clone()))),
        }
    }

    /// The folder, for what a service cannot do.
    pub(crate) fn folder(&self, what: &str) -> Result<&Path, Failure> {
        only_folder(&self.store, what)
    }

    /// The address, if it is a service.
    pub(crate) fn address(&self) -> Option<&str> {
        self.store.to_str().filter(|text| is_address(text))
    }
}

/// Whether STORE is a service rather than a folder.
pub(crate) fn is_address(store: &str) -> bool {
    store.starts_with("http://") || store.starts_with("https://")
}

fn service_address(text: &str) -> Result<String, String> {
    match is_address(text) {
        true => Ok(text.to_owned()),
        false => Err("a service's address begins with http:// or https://".to_owned()),
    }
}

/// The folder, for what a service cannot do.
pub(crate) fn only_folder<'a>(store: &'a Path, what: &str) -> Result<&'a Path, Failure> {
    match store.to_str().filter(|text| is_address(text)) {
        None => Ok(store),
        Some(server) => Err(Failure::Arguments(format!(
            "{what} works on a folder, not on the service at {server}: stop the service, or give \
             the folder of a snapshot"
        ))),
    }
}

/// What can be asked of a repository. Every method fails when the repository cannot be read or
/// written; then nothing has happened, but where a method says so.
pub(crate) trait Pages {
    /// Things that happened to pages, in this order; answered when they are durable. In a folder
    /// all happen or none; so do pages that are forgotten together on a service, where of other
    /// things the first may have happened when one fails.
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, Failure>;

    /// What would be said of a page. Nothing changes.
    fn check(&self, page: Prepared) -> Result<Verdict, Failure>;

    /// What confirms matches; `None` for a service, which keeps it to itself and wants the texts.
    fn key(&self) -> Option<&Key>;

    /// What is known of a page, and how it stands.
    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, Failure>;

    /// The group of a page, and how all its pages stand, in order of their numbers.
    fn group(&self, url: &str, market: Option<&str>) -> Result<Option<GroupStatuses>, Failure>;

    /// Calls `visit` with every group behind a number that has at least `least` members, up to a
    /// limit.
    fn groups(
        &self,
        after: Option<u32>,
        limit: u64,
        least: u32,
        market: Option<&str>,
        visit: &mut dyn FnMut(&Group) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// Forgets pages last fetched before this time, seconds since 1970. How many.
    fn expire(&mut self, before: u64) -> Result<u64, Failure>;

    /// Other rules for all groups.
    fn set_rules(&mut self, rules: Rules) -> Result<(), Failure>;

    /// Names a list of rules, or forgets the name.
    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), Failure>;

    /// The rules, and the markets with theirs.
    fn rules(&self) -> Result<RulesShown, Failure>;

    /// What made its fingerprints.
    fn recipe(&self) -> Result<RecipeId, Failure>;

    /// Within what pages are compared.
    fn scope(&self) -> Result<Scope, Failure>;

    /// What it is, and how much is in it.
    fn describe(&self) -> Result<Description, Failure>;
}

/// Where changes of a repository can be read.
pub(crate) trait Events {
    /// The next changes behind a number, oldest first; `None` while the repository is in use.
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, Failure>;
}
