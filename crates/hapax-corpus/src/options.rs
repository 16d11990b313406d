//! Options for reading a corpus: format, fields, and limits on memory.
//!
//! The defaults suit most corpora. Limits exist because archives come from untrusted sources: an endless line,
//! a record that claims a terabyte, and a gzip member that unpacks to one must be errors after a bounded amount
//! of work.

use std::fmt;

/// A storage format of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// WARC 1.0 or 1.1, and WET, which is WARC with conversion records.
    Warc,
    /// The Internet Archive's older ARC, version 1.
    Arc,
    /// One JSON object per line.
    Jsonl,
    Parquet,
    /// The whole file is one page.
    Html,
    /// The whole file is one text.
    Text,
    /// Every line is a text.
    Lines,
}

impl Format {
    /// Every format with its name in arguments and a description.
    pub const NAMED: [(Self, &str, &str); 7] = [
        (Self::Warc, "warc", "WARC and WET"),
        (Self::Arc, "arc", "ARC"),
        (Self::Jsonl, "jsonl", "A JSON object a line"),
        (Self::Parquet, "parquet", "Parquet"),
        (Self::Html, "html", "Every file is a page"),
        (Self::Text, "text", "Every file is a text"),
        (Self::Lines, "lines", "Every line is a text"),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|format| format.1 == name).map(|format| format.0)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warc => "a WARC file",
            Self::Arc => "an ARC file",
            Self::Jsonl => "JSONL",
            Self::Parquet => "a Parquet file",
            Self::Html => "an HTML page",
            Self::Text => "a text",
            Self::Lines => "a text with a document a line",
        })
    }
}

/// Which field of a WARC record is the document's id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarcId {
    /// `WARC-Target-URI`: a page that was crawled twice has one id.
    #[default]
    Url,
    /// `WARC-Record-ID`: unique per record.
    Record,
}

/// Options for [`Source::open`](crate::Source::open).
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// `None` to detect it by the first bytes or, if these are ambiguous, by the name.
    pub format: Option<Format>,
    /// Fields of JSONL objects and columns of Parquet files.
    pub fields: Fields,
    /// The id of WARC documents.
    pub warc_id: WarcId,
    /// Whether HTTP responses with a status of 400 or more are documents, too. By default, only 2xx
    /// are.
    pub keep_error_pages: bool,
    /// Whether to read files in folders that are not recognized as documents by name or first
    /// bytes.
    pub all_files: bool,
    /// Whether to follow links in folders to files outside the folder. By default they are an
    /// error, because the author of the folder could name any file of the reader.
    pub follow_links: bool,
    /// Reads only the columns of a Parquet file that make documents. Faster, but the originals
    /// cannot be written and no other field can be looked up.
    pub only_known_columns: bool,
    /// Skips and counts damaged records instead of stopping at the first.
    pub skip_bad: bool,
    /// Fields that some document must have, each with the option that names it, such as
    /// `("--id-field key", "key")`, because a misspelt name would silently change the result. If
    /// the corpus is one stream, a record of the first batch must have it; if it is one file, any
    /// record, checked at its end. [`check_fields`](crate::check_fields) checks files in advance.
    pub named: Vec<(String, String)>,
    pub limits: Limits,
}

/// Maximum sizes in bytes, inclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The header of a WARC, ARC or HTTP record. Default 1 MiB.
    pub header: usize,
    /// A WARC or ARC record, a Parquet value, or a file that is one document. Default 256 MiB; at
    /// most 4 GiB - 1.
    pub record: usize,
    /// A line of JSONL or text. Default 256 MiB.
    pub line: usize,
    /// An HTTP body after decoding chunks and content encodings. Default 256 MiB.
    pub body: usize,
    /// The unpacked size of a file. Default 16 TiB.
    pub unpacked: u64,
    /// Data to skip at a time when searching for the end of something too long. A file that exceeds
    /// this is given up. Default 4 GiB.
    pub passed: u64,
    /// Bytes of records per batch. Default 1 MiB; a batch may be longer, because records are not
    /// split.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: 1 << 20,
            record: 256 << 20,
            line: 256 << 20,
            body: 256 << 20,
            unpacked: 16 << 40,
            passed: 4 << 30,
            batch: 1 << 20,
        }
    }
}

impl Limits {
    /// Lengths are stored in 32 bits per document.
    pub(crate) fn record(&self) -> usize {
        self.record.min(u32::MAX as usize)
    }

    pub(crate) fn line(&self) -> usize {
        self.line.min(u32::MAX as usize)
    }
}

/// Which fields of a JSON object, or columns of a table, make a document.
///
/// A field that is `None` is searched for under the names of [`Role::usual_names`], in order. If
/// `html` or `text` is given, no other name is tried for the body. If both exist, HTML wins.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The document's id; if it is missing, the URL is used, or else file and line.
    pub id: Option<String>,
    /// The document's address.
    pub url: Option<String>,
    /// The page as HTML.
    pub html: Option<String>,
    /// The page as text.
    pub text: Option<String>,
    /// The document's quality; larger is better.
    pub score: Option<String>,
    pub fetched: Option<String>,
    pub language: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Id,
    Url,
    Html,
    Text,
    Score,
    Fetched,
    Language,
}

impl Role {
    /// All roles, in a fixed order.
    pub const ALL: [Self; 7] =
        [Self::Id, Self::Url, Self::Html, Self::Text, Self::Score, Self::Fetched, Self::Language];

    /// The default names; the first that exists is used.
    pub const fn usual_names(self) -> &'static [&'static str] {
        match self {
            Self::Id => &["id", "_id", "doc_id", "docid", "document_id", "uuid"],
            Self::Url => &["url", "uri", "source_url", "target_uri", "link"],
            Self::Html => &["html", "raw_html", "page_html"],
            Self::Text => &["text", "content", "raw_content", "body"],
            Self::Score => &["score", "pagerank", "page_rank"],
            // Not `date` and `timestamp`: in many datasets they are what the page says of itself, and who
            // copies a page could make it older than the original.
            Self::Fetched => &["fetched", "fetched_at", "fetch_time", "crawl_date", "warc_date"],
            Self::Language => &["language", "lang"],
        }
    }
}

/// Names and their roles.
pub(crate) type FieldTable = Vec<(Box<str>, Vec<(Role, usize)>)>;

impl Fields {
    fn given(&self, role: Role) -> Option<&str> {
        match role {
            Role::Id => self.id.as_deref(),
            Role::Url => self.url.as_deref(),
            Role::Html => self.html.as_deref(),
            Role::Text => self.text.as_deref(),
            Role::Score => self.score.as_deref(),
            Role::Fetched => self.fetched.as_deref(),
            Role::Language => self.language.as_deref(),
        }
    }

    /// The result of `look` for the first name of a role for which it has one.
    pub fn find<T>(&self, role: Role, look: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.names(role).find_map(look)
    }

    /// The names to try for a role, best first.
    pub(crate) fn names(&self, role: Role) -> impl Iterator<Item = &str> {
        let given = self.given(role);
        let body_is_given =
            matches!(role, Role::Html | Role::Text) && (self.html.is_some() || self.text.is_some());
        let usual = if given.is_some() || body_is_given { &[][..] } else { role.usual_names() };
        given.into_iter().chain(usual.iter().copied())
    }

    /// Every name to search for, with its roles and its position in their lists.
    pub(crate) fn table(&self) -> FieldTable {
        let mut table: FieldTable = Vec::new();
        for role in Role::ALL {
            for (rank, name) in self.names(role).enumerate() {
                match table.iter_mut().find(|(known, _)| **known == *name) {
                    Some((_, roles)) => roles.push((role, rank)),
                    None => table.push((name.into(), vec![(role, rank)])),
                }
            }
        }
        table
    }

    /// "text or html field (html, text, ...)", for errors.
    pub(crate) fn body_names(&self) -> String {
        let names: Vec<&str> = self.names(Role::Html).chain(self.names(Role::Text)).collect();
        format!("field for the page or text ({})", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(fields: &Fields, name: &str) -> Vec<(Role, usize)> {
        let table = fields.table();
        table.into_iter().find(|(known, _)| **known == *name).map(|it| it.1).unwrap_or_default()
    }

    #[test]
    fn a_given_name_silences_the_usual_ones() {
        let fields = Fields { text: Some("article".into()), ..Fields::default() };
        assert_eq!(roles(&fields, "article"), [(Role::Text, 0)]);
        assert_eq!(roles(&fields, "html"), []);
        assert_eq!(roles(&fields, "text"), []);
        assert_eq!(roles(&fields, "url"), [(Role::Url, 0)]);
    }

    #[test]
    fn one_field_may_have_two_roles() {
        let fields = Fields { id: Some("url".into()), ..Fields::default() };
        assert_eq!(roles(&fields, "url"), [(Role::Id, 0), (Role::Url, 0)]);
    }

    #[test]
    fn no_usual_name_has_two_roles() {
        let mut names: Vec<_> = Role::ALL.iter().flat_map(|role| role.usual_names()).collect();
        let before = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
