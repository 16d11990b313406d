//! Errors of an index in a database. Connections may contain a password, so errors do not repeat them.

use std::path::PathBuf;

use hapax::fingerprint::RecipeId;

/// An index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("PostgreSQL cannot be reached")]
    Connect(#[source] postgres::Error),
    /// An unsupported or invalid option of the connection.
    #[error("the connection's `{name}` {what}")]
    Option { name: &'static str, what: String },
    /// A file of certificates or of a key is invalid.
    #[error("{} holds no {what} in PEM form", path.display())]
    Pem { path: PathBuf, what: &'static str, source: rustls::pki_types::pem::Error },
    /// The encryption settings contradict each other, such as a key that does not fit the
    /// certificate.
    #[error("no encrypted connection can be made")]
    Encryption(#[source] rustls::Error),
    /// The server's identity could not be verified.
    #[error("the certificate of {host} is refused: {reason}")]
    Certificate { host: String, reason: String },
    /// Encryption was requested and is not available.
    #[error(
        "the PostgreSQL server does not encrypt connections; turn `ssl` on there, or allow it with \
         `sslmode=disable`"
    )]
    NotOffered,
    /// Encryption was disabled and is required.
    #[error(
        "the PostgreSQL server refuses connections that are not encrypted; leave out \
         `sslmode=disable`, or say `sslmode=verify-full`"
    )]
    Wanted(#[source] postgres::Error),
    /// The server refused or failed.
    #[error("PostgreSQL failed")]
    Server(#[from] postgres::Error),
    /// The database has no index of this program.
    #[error("the database holds no search index; make one with `hapax search build --postgres`")]
    Missing,
    #[error(
        "the database holds a search index already; use `hapax search add`, or drop the schema \
         hapax_search"
    )]
    Exists,
    /// Made by another release.
    #[error(
        "the search index in the database has format {found}, this release reads {readable}; build \
         it again"
    )]
    Format { found: String, readable: String },
    /// Its fingerprints were made by another recipe.
    #[error(
        "the search index in the database was built with recipe {stored}, {asked} is asked for; \
         use that recipe or build it again"
    )]
    Recipe {
        /// The recipe of the index.
        stored: RecipeId,
        asked: RecipeId,
    },
    /// The data is inconsistent.
    #[error("the search index in the database is damaged: {0}")]
    Damaged(String),
    /// An unknown document number.
    #[error("the search index in the database has no document {id}")]
    Unknown { id: u64 },
}
