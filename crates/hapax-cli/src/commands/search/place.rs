//! The location of a search index: a folder, or a PostgreSQL database.
//!
//! Opens either for searches, changes or new pages and gives the commands one type to work with. Stored names never
//! contain the passwords of connections.

use std::path::PathBuf;

use clap::Args;
use hapax::fingerprint::RecipeId;
use hapax_search::SearchPage;
use hapax_search::postgres::{self, Loader, PostgresIndex};
use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};

use super::failed;
use crate::failure::Failure;

/// An index that is there.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct PlaceArguments {
    /// Folder of the index that `hapax search build` made
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Or the PostgreSQL database that holds it, such as "host=/run/postgresql dbname=web" or
    /// "host=db.example user=me dbname=web sslmode=verify-full"; a password may be in PGPASSWORD
    #[arg(long, value_name = "CONNECTION")]
    postgres: Option<String>,
}

/// An index that may have moved since.
#[derive(Args, Debug)]
pub(crate) struct MovedArguments {
    /// The index, if it has moved
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Or the PostgreSQL database, if it has moved; a password may be in PGPASSWORD
    #[arg(long, value_name = "CONNECTION", conflicts_with = "index")]
    postgres: Option<String>,
}

/// An index that shall be.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct NewPlaceArguments {
    /// Folder of the new index
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Or a PostgreSQL database, in which the index gets its own schema
    #[arg(long, value_name = "CONNECTION")]
    postgres: Option<String>,
}

pub(crate) enum Place {
    Folder(PathBuf),
    Database(String),
}

/// An index opened for searches and changes.
pub(crate) enum Opened {
    Folder(Box<TantivyIndex>),
    Database(Box<PostgresIndex>),
}

/// An index opened for new pages.
pub(crate) enum Filling {
    Folder(Box<Writer>),
    Database(Box<Loader>),
}

impl PlaceArguments {
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        named(self.index.as_ref(), self.postgres.as_ref()).ok_or_else(missing)
    }
}

impl NewPlaceArguments {
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        named(self.out.as_ref(), self.postgres.as_ref()).ok_or_else(missing)
    }
}

impl MovedArguments {
    /// The named index, or the one that the run has recorded.
    pub(crate) fn place(&self, remembered: Option<&str>) -> Result<Place, Failure> {
        let before = || {
            remembered.map(|name| match postgres::named(name) {
                Some(connection) => Place::Database(connection.to_owned()),
                None => Place::Folder(PathBuf::from(name)),
            })
        };
        // A run that was killed immediately has recorded nothing.
        named(self.index.as_ref(), self.postgres.as_ref()).or_else(before).ok_or_else(missing)
    }
}

fn named(folder: Option<&PathBuf>, postgres: Option<&String>) -> Option<Place> {
    let folder = || folder.cloned().map(Place::Folder);
    postgres.cloned().map(Place::Database).or_else(folder)
}

fn missing() -> Failure {
    Failure::Arguments("--index or --postgres is needed".to_owned())
}

impl Place {
    /// The name that runs record, without the password of a connection.
    pub(crate) fn name(&self) -> Result<String, Failure> {
        match self {
            Self::Folder(folder) => {
                let full = folder.canonicalize();
                let full = full.map_err(|error| Failure::io("open", folder, error))?;
                Ok(full.to_string_lossy().into_owned())
            }
            Self::Database(connection) => postgres::name_of(connection).map_err(failed),
        }
    }

    /// Opens the index, and checks its recipe if one is given.
    pub(crate) fn open(&self, recipe: Option<&RecipeId>) -> Result<Opened, Failure> {
        Ok(match self {
            Self::Folder(folder) => {
                let index = match recipe {
                    None => TantivyIndex::open(folder),
                    Some(recipe) => TantivyIndex::open_for(folder, recipe),
                };
                Opened::Folder(Box::new(index.map_err(failed)?))
            }
            Self::Database(connection) => {
                let index = match recipe {
                    None => PostgresIndex::open(connection),
                    Some(recipe) => PostgresIndex::open_for(connection, recipe),
                };
                Opened::Database(Box::new(index.map_err(failed)?))
            }
        })
    }

    /// Opens the index for new pages of this recipe.
    pub(crate) fn fill(
        &self,
        recipe: &RecipeId,
        options: WriterOptions,
    ) -> Result<Filling, Failure> {
        Ok(match self {
            Self::Folder(folder) => Filling::Folder(Box::new(
                Writer::open_for(folder, recipe, options).map_err(failed)?,
            )),
            Self::Database(connection) => {
                Filling::Database(Box::new(Loader::open(connection, recipe).map_err(failed)?))
            }
        })
    }

    /// Creates an index of this recipe.
    pub(crate) fn create(
        &self,
        recipe: &RecipeId,
        options: WriterOptions,
    ) -> Result<Filling, Failure> {
        Ok(match self {
            Self::Folder(folder) => Filling::Folder(Box::new(
                Writer::create(folder, recipe.clone(), options).map_err(failed)?,
            )),
            Self::Database(connection) => {
                Filling::Database(Box::new(Loader::create(connection, recipe).map_err(failed)?))
            }
        })
    }
}

impl Filling {
    /// The temporary folder of an incomplete index.
    pub(crate) fn temporary(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(writer) => writer.temporary().map(Into::into),
            Self::Database(_) => None,
        }
    }

    pub(crate) fn put(&mut self, page: &SearchPage) -> Result<(), Failure> {
        match self {
            Self::Folder(writer) => writer.put(page).map_err(failed),
            Self::Database(loader) => loader.put(page).map_err(failed),
        }
    }

    /// Makes all changes take effect.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Folder(writer) => writer.finish().map_err(failed),
            Self::Database(loader) => loader.finish().map_err(failed),
        }
    }
}
