//! `hapax serve`: runs the service with its web page on one repository.
//!
//! Settings come from the embedded default, a file, the environment and flags; this file only combines them. The
//! service is the crate `hapax-server`.

use crate::failure::{Failure, io_error};
use crate::progress::say;
use crate::recipes::RecipeArguments;
use crate::repositories::is_address;
use clap::Args;
use hapax::fingerprint::Fingerprinter;
use hapax_dedup::Decided;
use hapax_server::config::listen_address;
use hapax_server::standby::Source;
use hapax_server::{Config, ConfigError, Layers, Service};
use hapax_store::{IndexOrigin, Repository, Role, Settings, StoreError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Serve a repository over HTTP, with a web page to browse it
///
/// Opens the repository in DIR, or creates it. Until tokens are configured, only programs on this
/// machine may write, and a warning says when other machines can read.
#[derive(Args, Debug)]
#[command(after_help = "\
Order of settings: flags, then the environment (HAPAX_LISTEN, HAPAX_LIMITS__BODY_BYTES, ...), then
--config FILE, then the defaults, which --show-config prints.

Examples:
  hapax serve --store seen                    then open http://127.0.0.1:8017/
  hapax serve --store seen --config hapax.toml
  hapax serve --store copy --standby-of http://10.0.0.7:8017
  curl -s 127.0.0.1:8017/v1/check --json '{\"url\":\"http://a/\",\"text\":\"...\"}'")]
pub(crate) struct Arguments {
    /// The repository's folder
    #[arg(long, value_name = "DIR", required_unless_present = "show_config")]
    store: Option<PathBuf>,

    /// Address or host name to listen on, and port; port 0 takes a free one [default:
    /// 127.0.0.1:8017]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,

    /// Folder of an index made by `hapax search build`, for GET /v1/search
    #[arg(long, value_name = "DIR")]
    search_index: Option<String>,

    /// Follow the service at this address, or the backups in this folder: answer, but take no writes,
    /// until `hapax store promote`; the token for a service is $HAPAX_TOKEN
    #[arg(long, value_name = "URL|DIR", conflicts_with = "show_config")]
    standby_of: Option<String>,

    /// Settings, a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Print the default settings with explanations, and exit
    #[arg(long)]
    show_config: bool,

    #[command(flatten)]
    recipe: RecipeArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.show_config {
        return crate::output::print(hapax_server::config::DEFAULT);
    }
    let mut config = settings(arguments.config.as_deref(), arguments.listen)?;
    if let Some(index) = &arguments.search_index {
        config.search.index.clone_from(index);
    }
    hapax_server::logging::start(&config.log).map_err(wrong)?;
    hapax_server::pools::start_again();
    let fingerprinter = arguments.recipe.fingerprinter()?;
    let folder = arguments.store.clone().unwrap_or_default();
    let source = arguments.standby_of.as_deref().map(source);
    if let Some(source) = &source {
        source.prepare(&folder).map_err(anyhow::Error::new)?;
    }
    let repository = open(&folder, &fingerprinter, config.limits.cache_bytes)?;
    match repository.role() {
        Role::Primary => {}
        Role::Standby if source.is_some() => say("a standby: takes no writes until it is promoted"),
        Role::Standby | Role::Waiting => say(
            "warning: takes no writes until it is promoted with `hapax store promote`: it is or had a \
             standby, and another copy may be the primary",
        ),
    }
    if let IndexOrigin::Rebuilt { why } = repository.index_origin() {
        say(&format!("the index was built from the records: {why}"));
    }
    let service = Service::following(repository, fingerprinter, config, source);
    let service = service.map_err(anyhow::Error::new)?;
    let shown = service.clone();
    let listening = move |address| {
        if let Some(warning) = shown.exposure(address) {
            say(&format!("warning: {warning}"));
        }
        say(&format!("listening on http://{address}/"));
    };
    hapax_server::run(service, listening).map_err(anyhow::Error::new)?;
    say("stopped");
    Ok(())
}

fn source(of: &str) -> Source {
    match is_address(of) {
        true => Source::service(hapax_client::repository::Service::client(of, None)),
        false => Source::Backups(PathBuf::from(of)),
    }
}

/// Opens a repository, or creates it if there is none.
pub(crate) fn open(
    folder: &Path,
    by: &Fingerprinter,
    cache_bytes: usize,
) -> Result<Repository, Failure> {
    let open = || Repository::open_cached(folder, Some(by.recipe_id()), cache_bytes);
    let repository = match open() {
        Err(StoreError::Missing { .. }) if Decided::is_in(folder) => {
            let folder = crate::readable::path(folder);
            return Err(anyhow::anyhow!(
                "{folder} has results of `hapax dedup`, and no repository; `hapax dedup INPUT --into \
                 STORE` makes one of a corpus"
            )
            .into());
        }
        Err(StoreError::Missing { .. }) => {
            say(&format!("making a new repository in {}", crate::readable::path(folder)));
            Repository::create(folder, Settings::new(by.recipe_id().clone())).and_then(|made| {
                drop(made);
                open()
            })
        }
        opened => opened,
    };
    Ok(repository.map_err(anyhow::Error::new)?)
}

/// Combines default, file, environment and flag; the later one takes precedence.
pub(crate) fn settings(file: Option<&Path>, listen: Option<SocketAddr>) -> Result<Config, Failure> {
    let mut layers = Layers::new().map_err(wrong)?;
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).map_err(|error| io_error("read", path, error))?;
        layers.file(&crate::readable::path(path), &text).map_err(wrong)?;
    }
    layers.environment(std::env::vars()).map_err(wrong)?;
    if let Some(listen) = listen {
        layers.set("--listen", "listen", &listen.to_string()).map_err(wrong)?;
    }
    layers.finish().map_err(wrong)
}

fn wrong(error: ConfigError) -> Failure {
    Failure::Arguments(error.to_string())
}
