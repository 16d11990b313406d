//! Reads ground truth: labelled pairs, graded pairs, groups, or lists of duplicates.
//!
//! Tables are tab-separated lines with a header, compressed or not. [`core2020`] and [`news_copy`] read two public
//! benchmarks, [`free`] finds labels that a crawl contains, [`known`] turns ids into positions of a corpus. Does not
//! know predictions.

pub mod core2020;
pub mod free;
pub mod known;
pub mod news_copy;

use std::path::Path;
use std::str::FromStr;

use hapax_corpus::{Format, ReadOptions, Source};

use crate::error::Error;

/// A labelled pair; the label comes from people or links, not from the text.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledPair {
    pub a: String,
    pub b: String,
    pub label: String,
    /// `None` if not given.
    pub jaccard: Option<f64>,
}

/// A pair with its exact similarity.
#[derive(Clone, Debug, PartialEq)]
pub struct GradedPair {
    pub a: String,
    pub b: String,
    /// Of their sets of shingles, from 0 to 1.
    pub jaccard: f64,
}

/// The known correct answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// Some pairs with labels; other pairs are unknown.
    Pairs(Vec<LabelledPair>),
    /// All pairs with at least some similarity.
    Graded(Vec<GradedPair>),
    /// Documents with the name of their group; documents that are not listed are alone.
    Groups(Vec<(String, String)>),
    /// Documents with all of their duplicates.
    Lists(Vec<(String, Vec<String>)>),
}

/// Formats of truth files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthKind {
    /// `id1 id2 label [jaccard]`.
    Pairs,
    /// `id1 id2 jaccard`.
    Graded,
    /// `id group`.
    Groups,
    /// `id duplicates`, with the duplicates separated by commas or spaces; an empty list means
    /// none.
    Lists,
    /// The CORE deduplication dataset of 2020.
    Core2020,
    /// Ground truth of NEWS-COPY.
    NewsCopy,
}

impl TruthKind {
    /// All kinds, as written by the user.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("pairs", Self::Pairs),
        ("graded", Self::Graded),
        ("groups", Self::Groups),
        ("lists", Self::Lists),
        ("core2020", Self::Core2020),
        ("news-copy", Self::NewsCopy),
    ];
}

impl FromStr for TruthKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::NAMES.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, kind)| kind).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            format!("no kind of truth is called `{text}`; the kinds are {names}")
        })
    }
}

impl Truth {
    /// Reads a file; without `kind`, its header determines the format.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its content is invalid.
    pub fn read(path: &Path, kind: Option<TruthKind>) -> Result<Self, Error> {
        match kind {
            Some(TruthKind::Core2020) => return core2020::truth(path),
            Some(TruthKind::NewsCopy) => return news_copy::truth(path),
            Some(TruthKind::Pairs | TruthKind::Graded | TruthKind::Groups | TruthKind::Lists)
            | None => {}
        }
        let name = path.display().to_string();
        let lines = lines(path)?;
        let Some(header) = lines.first() else { return Err(Error::Kind { path: name }) };
        let kind = match kind.or_else(|| kind_of(header)) {
            Some(kind) => kind,
            None => return Err(Error::Kind { path: name }),
        };
        let has_header = kind_of(header).is_some();
        let table = Table { name: &name, lines: &lines, skip: usize::from(has_header) };
        table.read(kind)
    }

    /// The first id; `None` without entries.
    pub fn first_id(&self) -> Option<&str> {
        match self {
            Self::Pairs(pairs) => pairs.first().map(|pair| pair.a.as_str()),
            Self::Graded(pairs) => pairs.first().map(|pair| pair.a.as_str()),
            Self::Groups(groups) => groups.first().map(|(id, _)| id.as_str()),
            Self::Lists(lists) => lists.first().map(|(id, _)| id.as_str()),
        }
    }
}

fn kind_of(header: &str) -> Option<TruthKind> {
    let fields: Vec<&str> = header.split('\t').collect();
    match fields.as_slice() {
        ["id1", "id2", "label", ..] => Some(TruthKind::Pairs),
        ["id1", "id2", graded, ..] if graded.starts_with("jaccard") => Some(TruthKind::Graded),
        ["id", "cluster" | "group"] => Some(TruthKind::Groups),
        ["id", "duplicates"] => Some(TruthKind::Lists),
        _ => None,
    }
}

/// The lines of a text file, compressed or not, without blank lines.
pub(crate) fn lines(path: &Path) -> Result<Vec<String>, Error> {
    let options = ReadOptions { format: Some(Format::Lines), ..ReadOptions::default() };
    let name = path.display().to_string();
    // A source takes its argument for a glob, and file names often contain brackets.
    let source = match std::fs::metadata(path) {
        Ok(_) => Source::open(&[&name], options)?,
        Err(_) if hapax_corpus::is_address(&name) => Source::open(&[&name], options)?,
        Err(source) => return Err(Error::Io { what: "read", path: name, source }),
    };
    let mut lines = Vec::new();
    for mut batch in source.batches() {
        for document in batch.documents() {
            let text = document?.body.content;
            lines.push(String::from_utf8_lossy(text.as_bytes()).into_owned());
        }
    }
    Ok(lines)
}

struct Table<'a> {
    name: &'a str,
    lines: &'a [String],
    skip: usize,
}

impl Table<'_> {
    fn read(&self, kind: TruthKind) -> Result<Truth, Error> {
        match kind {
            TruthKind::Pairs => self
                .each("id1, id2 and a label", |fields| match fields {
                    [a, b, label, more @ ..] => Some(LabelledPair {
                        a: (*a).to_owned(),
                        b: (*b).to_owned(),
                        label: (*label).to_owned(),
                        jaccard: more.first().and_then(|it| similarity(it)),
                    }),
                    _ => None,
                })
                .map(Truth::Pairs),
            TruthKind::Graded => self
                .each("id1, id2 and a similarity from 0 to 1", |fields| {
                    let [a, b, jaccard, ..] = fields else { return None };
                    let jaccard = similarity(jaccard)?;
                    Some(GradedPair { a: (*a).to_owned(), b: (*b).to_owned(), jaccard })
                })
                .map(Truth::Graded),
            TruthKind::Groups => self
                .each("id and group", |fields| match fields {
                    [id, group] => Some(((*id).to_owned(), (*group).to_owned())),
                    _ => None,
                })
                .map(Truth::Groups),
            TruthKind::Lists | TruthKind::Core2020 | TruthKind::NewsCopy => self
                .each("id and its duplicates", |fields| {
                    let (id, duplicates) = match fields {
                        [id] => (id, ""),
                        [id, duplicates] => (id, *duplicates),
                        _ => return None,
                    };
                    let duplicates = duplicates.split([',', ' ']).filter(|it| !it.is_empty());
                    Some(((*id).to_owned(), duplicates.map(str::to_owned).collect()))
                })
                .map(Truth::Lists),
        }
    }

    fn each<T>(&self, what: &str, read: impl Fn(&[&str]) -> Option<T>) -> Result<Vec<T>, Error> {
        let lines = self.lines.iter().enumerate().skip(self.skip);
        lines
            .map(|(at, line)| {
                let fields: Vec<&str> = line.trim_end_matches('\r').split('\t').collect();
                read(&fields).ok_or_else(|| Error::Bad {
                    path: self.name.to_owned(),
                    line: at as u64 + 1,
                    what: format!("expected {what}, separated by tabs"),
                })
            })
            .collect()
    }
}

fn similarity(text: &str) -> Option<f64> {
    text.parse().ok().filter(|it| (0.0..=1.0).contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, kind: Option<TruthKind>) -> Result<Truth, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth.tsv");
        std::fs::write(&path, text).unwrap();
        Truth::read(&path, kind)
    }

    #[test]
    fn a_header_determines_the_kind() {
        let pairs = read("id1\tid2\tlabel\tjaccard5\na\tb\tdup\t0.5\n", None).unwrap();
        assert!(matches!(&pairs, Truth::Pairs(it) if it[0].jaccard == Some(0.5)), "{pairs:?}");
        let graded = read("id1\tid2\tjaccard5\tcontain5\na\tb\t0.91\t1\n", None).unwrap();
        assert!(matches!(&graded, Truth::Graded(it) if it[0].jaccard == 0.91), "{graded:?}");
        let groups = read("id\tcluster\na\t7\nb\t7\n", None).unwrap();
        assert!(matches!(&groups, Truth::Groups(it) if it.len() == 2), "{groups:?}");
        let lists = read("id\tduplicates\na\tb,c\nd\n", None).unwrap();
        let expected =
            vec![("a".to_owned(), vec!["b".to_owned(), "c".to_owned()]), ("d".to_owned(), vec![])];
        assert_eq!(lists, Truth::Lists(expected));
    }

    #[test]
    fn without_a_header_the_kind_must_be_named() {
        assert!(matches!(read("a\tb\n", None), Err(Error::Kind { .. })));
        assert!(matches!(read("a\tb\n", Some(TruthKind::Groups)), Ok(Truth::Groups(_))));
    }

    #[test]
    fn an_error_names_the_bad_line() {
        let error = read("id1\tid2\tjaccard5\na\tb\t0.9\na\tb\tmany\n", None).unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
    }
}
