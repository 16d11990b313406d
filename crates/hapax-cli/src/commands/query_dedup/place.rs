//! Which index is cleaned: a folder, or a database.

use std::path::{Path, PathBuf};

use clap::Args;
use hapax::fingerprint::{Fingerprinter, RecipeId};
use hapax_search::postgres::{self, PostgresIndex};
use hapax_search::tantivy::TantivyIndex;

use crate::failure::Failure;
use crate::recipes;

/// An index that is there.
#[derive(Args, Debug)]
pub(super) struct PlaceArguments {
    /// The index that `hapax search build` made
    #[arg(long, value_name = "DIR", required_unless_present = "postgres")]
    index: Option<PathBuf>,

    /// Or the PostgreSQL database that holds it, such as "host=/run/postgresql dbname=web" or
    /// "host=db.example user=me dbname=web sslmode=verify-full"; a password may be in PGPASSWORD
    #[arg(long, value_name = "CONNECTION", conflicts_with = "index")]
    postgres: Option<String>,
}

/// An index that may have moved since.
#[derive(Args, Debug)]
pub(super) struct MovedArguments {
    /// The index, if it is no longer where it was
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Or the PostgreSQL database, if it has moved; a password may be in PGPASSWORD
    #[arg(long, value_name = "CONNECTION", conflicts_with = "index")]
    postgres: Option<String>,
}

/// Where an index is.
pub(super) enum Place {
    Folder(PathBuf),
    Database(String),
}

/// An index, open for changes.
pub(super) enum Opened {
    Folder(Box<TantivyIndex>),
    Database(Box<PostgresIndex>),
}

impl PlaceArguments {
    /// What was named.
    pub(super) fn place(&self) -> Result<Place, Failure> {
        named(self.index.as_ref(), self.postgres.as_ref()).ok_or_else(missing)
    }
}

impl MovedArguments {
    /// What was named, or else the index that a run remembers.
    pub(super) fn place(&self, remembered: Option<&str>) -> Result<Place, Failure> {
        let before = || {
            remembered.map(|name| match postgres::named(name) {
                Some(connection) => Place::Database(connection.to_owned()),
                None => Place::Folder(PathBuf::from(name)),
            })
        };
        // A run that was killed at once remembers nothing.
        named(self.index.as_ref(), self.postgres.as_ref()).or_else(before).ok_or_else(missing)
    }
}

fn named(index: Option<&PathBuf>, postgres: Option<&String>) -> Option<Place> {
    let folder = || index.cloned().map(Place::Folder);
    postgres.cloned().map(Place::Database).or_else(folder)
}

fn missing() -> Failure {
    Failure::Arguments("--index or --postgres is needed".to_owned())
}

impl Place {
    /// How runs remember it; the password of a connection is left out.
    pub(super) fn name(&self) -> Result<String, Failure> {
        match self {
            Self::Folder(folder) => {
                let full = folder.canonicalize();
                let full = full.map_err(|error| Failure::io("open", folder, error))?;
                Ok(full.to_string_lossy().into_owned())
            }
            Self::Database(connection) => Ok(postgres::name_of(connection).map_err(failed)?),
        }
    }

    /// Opens it, and makes sure of its recipe where one is named.
    pub(super) fn open(&self, recipe: Option<&str>) -> Result<Opened, Failure> {
        let recipe = recipe.map(id).transpose()?;
        Ok(match self {
            Self::Folder(folder) => Opened::Folder(Box::new(folder_index(folder, recipe)?)),
            Self::Database(connection) => {
                let index = match recipe {
                    None => PostgresIndex::open(connection),
                    Some(recipe) => PostgresIndex::open_for(connection, &recipe),
                };
                Opened::Database(Box::new(index.map_err(failed)?))
            }
        })
    }
}

fn id(recipe: &str) -> Result<RecipeId, Failure> {
    let fingerprinter = Fingerprinter::new(recipes::named("--recipe", recipe)?, None);
    Ok(fingerprinter.map_err(anyhow::Error::new)?.recipe_id().clone())
}

fn folder_index(folder: &Path, recipe: Option<RecipeId>) -> Result<TantivyIndex, Failure> {
    let opened = match recipe {
        None => TantivyIndex::open(folder),
        Some(recipe) => TantivyIndex::open_for(folder, &recipe),
    };
    Ok(opened.map_err(anyhow::Error::new)?)
}

fn failed(error: postgres::Error) -> anyhow::Error {
    anyhow::Error::new(error)
}
