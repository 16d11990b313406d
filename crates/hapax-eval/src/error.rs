use std::io;

/// Why an evaluation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The documents could not be read or compared.
    #[error(transparent)]
    Dedup(#[from] hapax_dedup::Error),
    /// The documents could not be read again, or the truth could not be unpacked.
    #[error(transparent)]
    Corpus(#[from] hapax_corpus::Error),
    #[error("cannot {what} {path}")]
    Io {
        what: &'static str,
        /// The file.
        path: String,
        source: io::Error,
    },
    /// A line or value is invalid.
    #[error("{path}, line {line}: {what}")]
    Bad { path: String, line: u64, what: String },
    /// The first line does not show the kind of truth.
    #[error(
        "{path}: the first line does not say what follows; name it with --truth-kind: pairs (id1 id2 label), \
         graded (id1 id2 jaccard), groups (id group), lists (id duplicates), core2020 or news-copy"
    )]
    Kind { path: String },
    /// No id of the truth is a document of the corpus.
    #[error(
        "{path}: none of its ids is a document of the corpus; the first is `{first}`, the first document is called `{document}`"
    )]
    UnknownDocuments {
        path: String,
        /// The first id of the truth.
        first: String,
        /// The first id of the corpus.
        document: String,
    },
}
