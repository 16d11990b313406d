//! What can go wrong with an index in a database. Connections may hold a password, so errors do not
//! repeat them.

use std::path::PathBuf;

use hapax::fingerprint::RecipeId;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("PostgreSQL cannot be reached")]
    Connect(#[source] postgres::Error),
    /// An option of the connection that is not supported or makes no sense.
    #[error("the connection's `{name}` {what}")]
    Option { name: &'static str, what: String },
    /// A file of certificates or of a key.
    #[error("{} holds no {what} in PEM form", path.display())]
    Pem { path: PathBuf, what: &'static str, source: rustls::pki_types::pem::Error },
    /// The settings of encryption contradict each other, such as a key that is not the certificate's.
    #[error("no encrypted connection can be made")]
    Encryption(#[source] rustls::Error),
    /// The server's identity could not be verified.
    #[error("the certificate of {host} is refused: {reason}")]
    Certificate { host: String, reason: String },
    /// Encryption was asked for.
    #[error(
        "the PostgreSQL server does not encrypt connections; turn `ssl` on there, or allow it with \
         `sslmode=disable`"
    )]
    NotOffered,
    /// Encryption was switched off.
    #[error(
        "the PostgreSQL server refuses connections that are not encrypted; leave out \
         `sslmode=disable`, or say `sslmode=verify-full`"
    )]
    Wanted(#[source] postgres::Error),
    /// The server refused or failed.
    #[error("PostgreSQL failed")]
    Server(#[from] postgres::Error),
    /// Nothing there that this program made.
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
    /// Its fingerprints cannot be compared with those that are asked about.
    #[error(
        "the search index in the database was built with recipe {stored}, {asked} is asked for; \
         use that recipe or build it again"
    )]
    Recipe {
        /// What the index was built with.
        stored: RecipeId,
        asked: RecipeId,
    },
    /// What the database says contradicts itself.
    #[error("the search index in the database is damaged: {0}")]
    Damaged(String),
    /// A number that no document has.
    #[error("the search index in the database has no document {id}")]
    Unknown { id: u64 },
}
