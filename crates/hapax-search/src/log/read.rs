//! Reads search logs: one query per line, TSV or CSV with or without a header, JSONL.
//!
//! A time is whole seconds, `YYMMDDhhmmss` or `YYYYMMDDhhmmss`, or an RFC 3339 date and time. The caller can
//! name columns ([`Columns`]); nothing is guessed from their contents. A bad line is an error with its number
//! or, on request, counted and skipped.
//!
//! | first line | layout |
//! |---|---|
//! | `{` | JSONL: fields `query` (or `q`), `count`, `user`, `time` |
//! | has a column called `query` or `q` | a header; other columns by name |
//! | anything else | every line is a query; columns after a tab are refused |

use std::io::{BufRead, Read};

use hapax_corpus::Timestamp;
use hapax_dedup::stages::fingerprints::csv;
use serde::Deserialize;

use super::Row;

/// Maximum length of a line; longer ones are not queries.
const MOST_LINE: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    #[default]
    Detect,
    Lines,
    /// Tab-separated columns with a header.
    Tsv,
    /// Comma-separated columns, quoted where needed, with a header.
    Csv,
    Jsonl,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadLog {
    pub layout: Layout,
    /// Names of columns, if they are not the usual ones.
    pub columns: Columns,
    /// Counts and skips invalid lines.
    pub skip_bad: bool,
}

/// Names of columns; `None` for the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The query; usually `query`, `q`.
    pub query: Option<String>,
    /// The frequency; usually `count`, `frequency`, `freq`.
    pub count: Option<String>,
    /// The user; usually `user`, `user_id`, `anonid`, `session`.
    pub user: Option<String>,
    /// The time; usually `time`, `timestamp`, `querytime`, `time_yymmddhhmmss`.
    pub time: Option<String>,
}

const QUERY: [&str; 2] = ["query", "q"];
const COUNT: [&str; 3] = ["count", "frequency", "freq"];
const USER: [&str; 4] = ["user", "user_id", "anonid", "session"];
const TIME: [&str; 4] = ["time", "timestamp", "querytime", "time_yymmddhhmmss"];

/// Reading a log failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    #[error("line {line} cannot be read")]
    Read { line: u64, source: std::io::Error },
    /// The bytes are not UTF-8.
    #[error(
        "line {line} is not UTF-8: convert the log, for example with iconv, or pass such lines with --skip-bad"
    )]
    NotUtf8 { line: u64 },
    /// The line is too long for a query.
    #[error("line {line} is longer than {MOST_LINE} bytes: this is not a search log")]
    TooLong { line: u64 },
    /// The header has no such column.
    #[error("the log has no column `{wanted}`; it has {found}")]
    NoColumn { wanted: String, found: String },
    #[error("line {line}: {why}")]
    Row { line: u64, why: String },
    #[error("the query log is empty")]
    Empty,
}

/// The rows of a log, and the number of skipped lines.
///
/// # Errors
///
/// A line is unreadable or invalid, or there are no lines.
pub fn read(mut text: impl BufRead, how: &ReadLog) -> Result<(Vec<Row>, u64), LogError> {
    let mut rows = Vec::new();
    let mut bad = 0;
    let mut layout = None;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = text.by_ref().take(MOST_LINE + 1).read_until(b'\n', &mut bytes);
        if read.map_err(|source| LogError::Read { line, source })? == 0 {
            break;
        }
        if bytes.len() as u64 > MOST_LINE {
            return Err(LogError::TooLong { line });
        }
        let row = std::str::from_utf8(&bytes).map_err(|_| LogError::NotUtf8 { line });
        let row = row.map(|row| row.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']));
        let parsed = row.and_then(|row| match &layout {
            _ if row.trim().is_empty() => Ok(None),
            None => {
                let (found, first) = Parser::detect(row, how, line)?;
                layout = Some(found);
                Ok(first)
            }
            Some(parser) => parser.row(row, line).map(Some),
        });
        match parsed {
            Ok(row) => rows.extend(row),
            // A missing column is the caller's mistake, not a bad line.
            Err(error @ LogError::NoColumn { .. }) => return Err(error),
            Err(_) if how.skip_bad => bad += 1,
            Err(error) => return Err(error),
        }
    }
    if rows.is_empty() { Err(LogError::Empty) } else { Ok((rows, bad)) }
}

/// A layout with the indexes of its columns.
enum Parser {
    Lines,
    Columns {
        separator: char,
        query: usize,
        count: Option<usize>,
        user: Option<usize>,
        time: Option<usize>,
    },
    Jsonl(Columns),
}

impl Parser {
    /// From the first line, which is a row itself unless it is a header.
    fn detect(first: &str, how: &ReadLog, line: u64) -> Result<(Self, Option<Row>), LogError> {
        let named = how.columns.query.is_some();
        let layout = match how.layout {
            Layout::Detect if first.trim_start().starts_with('{') => Layout::Jsonl,
            Layout::Detect => {
                let header = |separator: char| {
                    let cells = cells(first, separator).unwrap_or_default();
                    find(&cells, how.columns.query.as_deref(), &QUERY).is_some()
                };
                match first {
                    _ if header('\t') => Layout::Tsv,
                    _ if header(',') => Layout::Csv,
                    _ if named || first.contains('\t') => {
                        return Err(LogError::NoColumn {
                            wanted: how.columns.query.clone().unwrap_or_else(|| "query".to_owned()),
                            found: first.replace('\t', ", "),
                        });
                    }
                    _ => Layout::Lines,
                }
            }
            given => given,
        };
        match layout {
            Layout::Tsv => Ok((Self::header(first, '\t', &how.columns, line)?, None)),
            Layout::Csv => Ok((Self::header(first, ',', &how.columns, line)?, None)),
            Layout::Jsonl => {
                let parser = Self::Jsonl(how.columns.clone());
                let row = parser.row(first, line)?;
                Ok((parser, Some(row)))
            }
            Layout::Lines | Layout::Detect => {
                let row = Self::Lines.row(first, line)?;
                Ok((Self::Lines, Some(row)))
            }
        }
    }

    fn header(first: &str, separator: char, names: &Columns, line: u64) -> Result<Self, LogError> {
        let cells = cells(first, separator).map_err(|why| LogError::Row { line, why })?;
        let place = |given: &Option<String>, usual: &[&str]| {
            let found = find(&cells, given.as_deref(), usual);
            match (found, given) {
                (None, Some(wanted)) => {
                    Err(LogError::NoColumn { wanted: wanted.clone(), found: cells.join(", ") })
                }
                _ => Ok(found),
            }
        };
        let query = place(&names.query, &QUERY)?.ok_or_else(|| LogError::NoColumn {
            wanted: "query".to_owned(),
            found: cells.join(", "),
        })?;
        Ok(Self::Columns {
            separator,
            query,
            count: place(&names.count, &COUNT)?,
            user: place(&names.user, &USER)?,
            time: place(&names.time, &TIME)?,
        })
    }

    fn row(&self, row: &str, line: u64) -> Result<Row, LogError> {
        let wrong = |why: String| LogError::Row { line, why };
        match self {
            Self::Lines => Ok(Row { query: row.to_owned(), count: 1, ..Row::default() }),
            Self::Columns { separator, query, count, user, time } => {
                let cells = cells(row, *separator).map_err(wrong)?;
                let cell = |place: usize| {
                    let missing =
                        || wrong(format!("{} columns, and the header has more", cells.len()));
                    cells.get(place).ok_or_else(missing)
                };
                Ok(Row {
                    query: cell(*query)?.clone(),
                    count: match count {
                        Some(place) => parse_count(cell(*place)?).map_err(wrong)?,
                        None => 1,
                    },
                    user: user.map(cell).transpose()?.cloned(),
                    time: match time {
                        Some(place) => Some(parse_time(cell(*place)?).map_err(wrong)?),
                        None => None,
                    },
                })
            }
            Self::Jsonl(names) => parse_json(row, names).map_err(wrong),
        }
    }
}

/// The index of a column: the given name, or the first usual one.
fn find(cells: &[String], given: Option<&str>, usual: &[&str]) -> Option<usize> {
    let of = |name: &str| cells.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name));
    match given {
        Some(name) => of(name),
        None => usual.iter().find_map(|name| of(name)),
    }
}

/// The cells of a line. In CSV a quoted cell may contain commas and doubled quotes; line breaks
/// inside cells are not supported.
fn cells(line: &str, separator: char) -> Result<Vec<String>, String> {
    if separator == '\t' {
        return Ok(line.split('\t').map(str::to_owned).collect());
    }
    let (mut last, mut cells) = (Vec::new(), Vec::new());
    if csv::split(line.as_bytes(), false, &mut last, &mut cells)? {
        return Err("a quote is not closed in its line".to_owned());
    }
    cells.push(last);
    // Split at ASCII bytes only, so cells are still UTF-8.
    Ok(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
}

fn parse_count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a count"))
}

/// Seconds since 1970, from digits or from a date and time.
fn parse_time(text: &str) -> Result<u64, String> {
    let given = text.trim();
    // Two-digit years are 1970 to 2069.
    let short = given.len() == 12 && given.bytes().all(|byte| byte.is_ascii_digit());
    let century = if given < "70" { "20" } else { "19" };
    let long = short.then(|| format!("{century}{given}"));
    let time = Timestamp::parse(long.as_deref().unwrap_or(given));
    time.and_then(|time| u64::try_from(time.seconds()).ok()).ok_or_else(|| {
        format!("`{text}` is not a time: seconds, [YY]YYMMDDhhmmss digits, or 2026-11-15T12:00:00Z")
    })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    Text(String),
}

impl Value {
    fn text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

fn parse_json(line: &str, names: &Columns) -> Result<Row, String> {
    let mut fields: std::collections::BTreeMap<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|error| format!("no JSON object: {error}"))?;
    let mut field = |given: &Option<String>, usual: &[&str]| {
        let names = given.as_deref().map_or(usual.to_vec(), |name| vec![name]);
        let value = names.iter().find_map(|name| fields.remove(*name))?;
        (!value.is_null()).then(|| {
            serde_json::from_value::<Value>(value)
                .map(Value::text)
                .map_err(|_| format!("field `{}` is neither text nor a whole number", names[0]))
        })
    };
    let query = field(&names.query, &QUERY).ok_or("no field `query`")??;
    let count = field(&names.count, &COUNT).transpose()?;
    let user = field(&names.user, &USER).transpose()?;
    let time = field(&names.time, &TIME).transpose()?;
    Ok(Row {
        query,
        count: count.as_deref().map_or(Ok(1), parse_count)?,
        user,
        time: time.as_deref().map(parse_time).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Row> {
        read(text.as_bytes(), &ReadLog::default()).unwrap().0
    }

    fn refused(text: &[u8]) -> String {
        read(text, &ReadLog::default()).unwrap_err().to_string()
    }

    fn asked(query: &str, count: u64) -> Row {
        Row { query: query.to_owned(), count, ..Row::default() }
    }

    #[test]
    fn a_query_a_line_needs_no_header() {
        assert_eq!(
            rows("tea\n\ngreen tea, cheap\n"),
            [asked("tea", 1), asked("green tea, cheap", 1)]
        );
    }

    #[test]
    fn columns_are_found_by_their_names_in_any_place() {
        let tsv = rows("user\ttime_yymmddhhmmss\tquery\nA\t970916105432\ttea\n");
        assert_eq!(tsv[0].user.as_deref(), Some("A"));
        assert_eq!(tsv[0].query, "tea");
        let csv = rows("count,query\n3,\"tea, \"\"green\"\"\"\n");
        assert_eq!(csv, [asked("tea, \"green\"", 3)]);
        let json = rows("{\"q\": \"tea\", \"count\": 4, \"user\": 7}");
        assert_eq!(json, [Row { user: Some("7".to_owned()), ..asked("tea", 4) }]);
    }

    #[test]
    fn times_in_all_spellings_are_as_far_apart_as_they_are() {
        let spellings = [
            "970916105432",
            "19970916105432",
            "1997-09-16T10:54:32Z",
            "1997-09-16 10:54:32.5",
            "1997-09-16T12:54:32+02:00",
            "874407272",
        ];
        let times = spellings.map(|text| parse_time(text).unwrap());
        assert!(times.iter().all(|&time| time == times[0]), "{times:?}");
        assert_eq!(parse_time("970916105502").unwrap() - times[0], 30);
        assert_eq!(
            parse_time("20240301000000").unwrap() - parse_time("20240228000000").unwrap(),
            172_800
        );
        for same in ["1731672000", "1731672000000"] {
            assert_eq!(parse_time(same).unwrap(), 1_731_672_000);
        }
        assert!(parse_time("19971316105432").is_err() && parse_time("soon").is_err());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(refused(b""), "the query log is empty");
        assert!(refused(b"tea\n\xe9t\xe9\n").starts_with("line 2 is not UTF-8"));
        assert_eq!(refused(b"count,query\nmany,tea\n"), "line 2: `many` is not a count");
        assert_eq!(refused(b"1\ttea\n"), "the log has no column `query`; it has 1, tea");
        assert!(refused(b"{\"query\": \"tea\"}\n{\"query\"").starts_with("line 2: no JSON object"));
        assert_eq!(refused(b"query,count\n\"tea,1\n"), "line 2: a quote is not closed in its line");
        assert_eq!(refused(b"query,count\n\"tea\"s,1\n"), "line 2: text behind a closing quote");
        assert!(refused(&vec![b'a'; 1 << 21]).contains("not a search log"));
    }

    #[test]
    fn bad_lines_are_counted_and_passed_when_asked() {
        let how = ReadLog { skip_bad: true, ..ReadLog::default() };
        let (rows, bad) = read(&b"query,count\ntea,1\n\xff,1\ncoffee,x\n"[..], &how).unwrap();
        assert_eq!((rows.len(), bad), (1, 2));
    }
}
