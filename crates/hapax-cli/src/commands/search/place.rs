//! Where a search index is: in a folder, or in a PostgreSQL database.
//!
//! Opens either for reading or for changes and gives the commands one type to work with.
//! Does not create an index: `build` does.

use std::path::PathBuf;

use clap::Args;
use hapax::fingerprint::RecipeId;
use hapax_search::SearchPage;
use hapax_search::postgres::{Loader, PostgresIndex};
use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};

use super::failed;
use crate::failure::Failure;

/// An index that is there.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Place {
    /// Folder of the index
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Or the PostgreSQL database that holds it, such as "host=/run/postgresql dbname=web" or
    /// "host=db.example user=me dbname=web sslmode=verify-full"; a password may be in PGPASSWORD
    #[arg(long, value_name = "CONNECTION")]
    postgres: Option<String>,
}

/// An index that shall be.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct NewPlace {
    /// Folder of the new index
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Or the PostgreSQL database that shall hold it, in a schema of its own
    #[arg(long, value_name = "CONNECTION")]
    postgres: Option<String>,
}

/// An index, open for questions.
pub(crate) enum Opened {
    Folder(Box<TantivyIndex>),
    Database(Box<PostgresIndex>),
}

/// An index, open for pages.
pub(crate) enum Filling {
    Folder(Box<Writer>),
    Database(Box<Loader>),
}

impl Place {
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        match (&self.index, &self.postgres) {
            (_, Some(connection)) => {
                let index = PostgresIndex::open(connection).map_err(failed)?;
                Ok(Opened::Database(Box::new(index)))
            }
            (folder, None) => {
                let folder = folder.as_deref().unwrap_or_else(|| "".as_ref());
                let index = TantivyIndex::open(folder).map_err(failed)?;
                Ok(Opened::Folder(Box::new(index)))
            }
        }
    }

    /// Opens it for pages of this recipe.
    pub(crate) fn fill(
        &self,
        recipe: &RecipeId,
        options: WriterOptions,
    ) -> Result<Filling, Failure> {
        match (&self.index, &self.postgres) {
            (_, Some(connection)) => {
                let loader = Loader::open(connection, recipe).map_err(failed)?;
                Ok(Filling::Database(Box::new(loader)))
            }
            (folder, None) => {
                let folder = folder.as_deref().unwrap_or_else(|| "".as_ref());
                let writer = Writer::open_for(folder, recipe, options).map_err(failed)?;
                Ok(Filling::Folder(Box::new(writer)))
            }
        }
    }
}

impl NewPlace {
    /// Begins an index of this recipe.
    pub(crate) fn create(
        &self,
        recipe: &RecipeId,
        options: WriterOptions,
    ) -> Result<Filling, Failure> {
        match (&self.out, &self.postgres) {
            (_, Some(connection)) => {
                let loader = Loader::create(connection, recipe).map_err(failed)?;
                Ok(Filling::Database(Box::new(loader)))
            }
            (folder, None) => {
                let folder = folder.as_deref().unwrap_or_else(|| "".as_ref());
                let writer = Writer::create(folder, recipe.clone(), options).map_err(failed)?;
                Ok(Filling::Folder(Box::new(writer)))
            }
        }
    }
}

impl Filling {
    /// The folder of an index that is not complete.
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

    /// Lets everything take effect.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Folder(writer) => writer.finish().map_err(failed),
            Self::Database(loader) => loader.finish().map_err(failed),
        }
    }
}
