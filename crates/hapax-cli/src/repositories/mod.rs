//! Opens the repository of a command, and explains its errors.
//!
//! `hapax_client::repository` accesses a folder or a service; commands do not know the difference. `--json` prints
//! its wire types; [`answers`] turns them into text. A store is a folder or the address of a service. `--server URL`
//! means the same as the address in place of STORE ([`server_first`]).

pub(crate) mod answers;

use crate::failure::Failure;
use crate::readable::harmless;
use clap::Args;
use hapax_client::client::ClientError;
pub(crate) use hapax_client::local::Done;
use hapax_client::repository::{Events, Folder, FolderEvents, Pages, RepositoryError, Service};
use hapax_store::{IndexOrigin, Repository, StoreError};
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

/// A question about one page.
#[derive(Args, Debug)]
pub(crate) struct PageQuestion {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// The page's address
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// Under the rules of this market
    #[arg(long, value_name = "NAME")]
    pub(crate) market: Option<String>,

    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Moves the address of `--server URL` to the place of STORE, after the words of the command.
pub(crate) fn server_first(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut typed: Vec<OsString> = typed.into_iter().collect();
    let word = |place: usize| typed.get(place).and_then(|word| word.to_str());
    let store = match (word(1), word(2)) {
        (Some("page"), Some("fetch")) => return typed,
        (Some("page" | "group"), Some(_)) | (Some("store"), Some("backup" | "promote")) => 3,
        (Some("events" | "inspect" | "export"), _) => 2,
        _ => return typed,
    };
    let end = typed.iter().position(|word| word == "--").unwrap_or(typed.len());
    for place in store..end {
        let Some(word) = typed[place].to_str() else { continue };
        // A value that is not an address stays in place, so that clap refuses it.
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
            Some(server) => Ok(Box::new(Service::open(server, self.token.as_deref())?)),
            None => Ok(Box::new(open_folder(&self.store)?)),
        }
    }

    /// The source of its changes, which must be of the history with this epoch.
    pub(crate) fn events(&self, epoch: Option<&str>) -> Result<Box<dyn Events>, Failure> {
        match (self.address(), epoch) {
            (Some(server), epoch) => {
                let service = Service::open(server, self.token.as_deref())?;
                Ok(Box::new(match epoch {
                    Some(epoch) => service.continue_in(epoch),
                    None => service,
                }))
            }
            (None, None) => Ok(Box::new(FolderEvents(self.store.clone()))),
            (None, Some(_)) => Err(Failure::Arguments(
                "--epoch is for the events of a service, not of a folder".to_owned(),
            )),
        }
    }

    /// The folder, for operations that a service does not support.
    pub(crate) fn folder(&self, what: &str) -> Result<&Path, Failure> {
        match self.address() {
            None => Ok(&self.store),
            Some(server) => Err(Failure::Arguments(format!(
                "{what} works on a folder, not on the service at {server}: stop the service, or give \
                 the folder of a snapshot"
            ))),
        }
    }

    /// The error for an unknown page.
    pub(crate) fn unknown(&self, url: &str) -> Failure {
        Failure::Run(anyhow::anyhow!(
            "repository {} does not know {}; addresses are compared as they are written",
            crate::readable::path(&self.store),
            crate::readable::harmless(url)
        ))
    }

    /// The address of a service; `None` for a folder.
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

/// Opens the repository in a folder, and prints a note if its index was rebuilt.
pub(crate) fn open_folder(folder: &Path) -> Result<Folder, Failure> {
    let store = Repository::open(folder, None).map_err(failure)?;
    if let IndexOrigin::Rebuilt { why } = store.index_origin() {
        let why = harmless(why);
        crate::progress::say(&format!("note: the index was built from the records: {why}"));
    }
    Ok(Folder { store })
}

/// A repository's error, with advice for a user of this program.
pub(crate) fn failure(error: impl Into<RepositoryError>) -> Failure {
    let error = error.into();
    let (hint, refused) = match &error {
        RepositoryError::Store(error) => of_store(error),
        RepositoryError::Service(error) | RepositoryError::Interrupted { source: error, .. } => {
            of_service(error)
        }
        _ => ("", false),
    };
    // The text already contains the cause.
    let text = harmless(&format!("{error}{hint}")).into_owned();
    match refused {
        true => Failure::Refused(text),
        false => Failure::Run(anyhow::anyhow!(text)),
    }
}

/// Advice for the user, and whether the page is at fault.
fn of_store(error: &StoreError) -> (&'static str, bool) {
    match error {
        StoreError::Missing { file } if file.parent().is_some_and(Path::is_file) => {
            ("; a repository is a folder, and this is a file", false)
        }
        StoreError::Missing { .. } => ("; `hapax page add STORE --create` makes one", false),
        StoreError::OtherSetting { setting: "rules", .. } => (
            "; `hapax group rules STORE --set RULES` changes the rules of one that is there",
            false,
        ),
        StoreError::InUse { .. } => (
            "; if a service has it open, ask that with --server URL in place of the folder \
             (`hapax export --server URL --snapshot DIR` makes a snapshot)",
            false,
        ),
        StoreError::BadUrl { .. } | StoreError::SelfRedirect { .. } => ("", true),
        _ => ("", false),
    }
}

fn of_service(error: &ClientError) -> (&'static str, bool) {
    match error {
        ClientError::Refused { code, .. } if code == "unauthorized" => {
            ("; give the service's token with --token or in HAPAX_TOKEN", false)
        }
        ClientError::Refused { code, .. } if code == "forbidden" => (
            "; give a token that may write with --token or in HAPAX_TOKEN, or call from the \
             service's machine",
            false,
        ),
        ClientError::Unreachable { .. } => {
            ("; is `hapax serve` running there, and is this its address?", false)
        }
        ClientError::Strange { .. } => (
            "; give the address that `hapax serve` prints, and use a program and a service of the \
             same version",
            false,
        ),
        ClientError::Refused { status: 400 | 413 | 422, .. } => ("", true),
        _ => ("", false),
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        failure(error)
    }
}
