//! Turns bytes and documents into observations.
//!
//! Uses the repository's recipe: a built-in one by its name, any other must be given again. A document without an
//! address is known by its id. Skips documents that are neither HTML nor text.

use crate::failure::Failure;
use crate::one_page::Source;
use crate::recipes::RecipeArguments;
use clap::Args;
use hapax::fingerprint::{Fingerprinter, RecipeId};
use hapax::group::Scope;
use hapax::page::Document as Known;
use hapax_client::prepare::Prepared;
use hapax_client::repository::Pages;
use hapax_corpus::Document;
use hapax_store::{Action, Observation};
use std::path::PathBuf;

/// What made the repository's fingerprints.
#[derive(Args, Debug)]
pub(super) struct RecipeChoice {
    /// Built-in recipe or a .toml file [default: the repository's, web-2 for a new one]
    #[arg(long, value_name = "NAME|FILE.toml")]
    recipe: Option<String>,

    /// Document-frequency table, for recipes that weigh by TF-IDF
    #[arg(long, value_name = "TABLE")]
    frequencies: Option<PathBuf>,
}

impl RecipeChoice {
    /// The fingerprinter; of an existing repository, with its recipe.
    pub(super) fn fingerprinter(&self, of: Option<&RecipeId>) -> Result<Fingerprinter, Failure> {
        let name = match (&self.recipe, of) {
            (Some(given), _) => given.clone(),
            (None, Some(stored)) => stored.name().to_owned(),
            (None, None) => hapax::fingerprint::recipe::DEFAULT_RECIPE.to_owned(),
        };
        let made = RecipeArguments::of(name, self.frequencies.clone()).fingerprinter()?;
        match of {
            Some(stored) if stored != made.recipe_id() => Err(Failure::Run(anyhow::anyhow!(
                "the repository holds fingerprints of recipe {stored}, not {}; give --recipe (and \
                 --frequencies) as it was made with, or feed the pages to a new repository",
                made.recipe_id()
            ))),
            _ => Ok(made),
        }
    }
}

/// Creates observations; one per thread.
#[derive(Clone)]
pub(super) struct Observer {
    fingerprinter: Fingerprinter,
    scope: Scope,
    /// Whether to send texts to a service, which alone has the key that confirms matches.
    with_text: bool,
}

impl Observer {
    /// An observer for pages that are recorded in this repository.
    ///
    /// # Errors
    ///
    /// The service gives an answer that this program does not understand.
    pub(super) fn new(by: &Fingerprinter, store: &dyn Pages) -> Result<Self, Failure> {
        let key = store.key();
        let fingerprinter = match key {
            Some(key) => by.clone().with_key(key),
            None => by.clone(),
        };
        Ok(Self { fingerprinter, scope: store.scope()?, with_text: key.is_none() })
    }

    /// An observer for pages that are not recorded.
    pub(super) fn trying(by: &Fingerprinter, scope: &Scope) -> Self {
        Self { fingerprinter: by.clone(), scope: scope.clone(), with_text: false }
    }

    /// Observes the page in a file, at an address.
    ///
    /// # Errors
    ///
    /// It is neither HTML nor text.
    pub(super) fn file(
        &mut self,
        url: &str,
        source: &Source,
        bytes: &[u8],
    ) -> Result<(Observation, Option<String>), Failure> {
        let known = Known { url: Some(url), ..source.document(bytes) };
        let signed = self.fingerprinter.document(&known).map_err(|error| {
            anyhow::Error::new(error).context(crate::readable::path(source.path()))
        })?;
        let text = self.with_text.then(|| signed.page.text.clone());
        Ok((Observation::of_page(url, signed), text))
    }

    /// Observes a document of a corpus; `None` if it is neither HTML nor text.
    pub(super) fn document(&mut self, document: &Document<'_>) -> Option<Prepared> {
        let url = document.url.as_deref().unwrap_or(&document.id);
        let signed = hapax_dedup::sign(&mut self.fingerprinter, document).ok()?;
        let text = self.with_text.then(|| signed.page.text.clone());
        let mut seen = Observation::of_page(url, signed);
        seen.score = document.score;
        let fetched = document.fetched.map(|time| time.seconds());
        seen.fetched = fetched.and_then(|seconds| u64::try_from(seconds).ok());
        if let Scope::Field(name) = &self.scope {
            seen.field = document.field(name).unwrap_or_default();
        }
        Some(Prepared { text, ..Action::Observe(Box::new(seen)).into() })
    }
}
