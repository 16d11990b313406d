//! What can go wrong with an index in a database. Connections may hold a password, so errors do not
//! repeat them.

use hapax::fingerprint::RecipeId;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("PostgreSQL cannot be reached")]
    Connect(#[source] postgres::Error),
    /// Encryption was asked for.
    #[error(
        "the connection asks for encryption (`sslmode`), which is not supported; use a socket, the \
         loopback or a tunnel"
    )]
    Encryption,
    /// Nothing would be encrypted on the way to another machine.
    #[error(
        "the connection to {host} would not be encrypted; use a socket, the loopback or a tunnel, or \
         allow it with `sslmode=disable`"
    )]
    Unencrypted {
        /// The other machine.
        host: String,
    },
    /// The server refused or failed.
    #[error("PostgreSQL failed")]
    Server(#[from] postgres::Error),
    /// Nothing there that this program made.
    #[error("the database holds no search index; make one with `hapax search build --postgres`")]
    Missing,
    /// There is one already.
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
    Format {
        found: String,
        /// What could be read.
        readable: String,
    },
    /// Its fingerprints cannot be compared with those that are asked about.
    #[error(
        "the search index in the database was built with recipe {stored}, {asked} is asked for; \
         use that recipe or build it again"
    )]
    Recipe {
        /// What the index was built with.
        stored: RecipeId,
        /// What was asked for.
        asked: RecipeId,
    },
    /// What the database says contradicts itself.
    #[error("the search index in the database is damaged: {0}")]
    Damaged(String),
    /// A number that no document has.
    #[error("the search index in the database has no document {id}")]
    Unknown { id: u64 },
}
