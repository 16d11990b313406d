//! Opens the search logs that the user names.

use crate::failure::Failure;
use crate::readable;
use clap::{Args, ValueEnum};
use hapax_corpus::Unpacked;
use hapax_search::clean::summary::LogCounts;
use hapax_search::log::read::{Columns, Layout, ReadLog, read};
use hapax_search::log::{DEFAULT_MOST_CHARS, DEFAULT_SESSION_SECONDS, Log, Noise};
use std::path::PathBuf;

const LOG: &str = "The log";

#[derive(Args, Debug)]
pub(super) struct LogArguments {
    /// Query log, compressed or not; may be given several times
    #[arg(long = "log", value_name = "QUERIES", required = true, help_heading = LOG)]
    logs: Vec<PathBuf>,

    /// How rows are laid out [default: by the first line]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = LOG)]
    log_format: Option<LogFormat>,

    /// The column or field with the query [default: query, q]
    #[arg(long, value_name = "NAME", help_heading = LOG)]
    query_column: Option<String>,

    /// The column or field with the number of times it was asked [default: count, frequency, freq]
    #[arg(long, value_name = "NAME", help_heading = LOG)]
    count_column: Option<String>,

    /// The column or field with the user [default: user, user_id, anonid, session]
    #[arg(long, value_name = "NAME", help_heading = LOG)]
    user_column: Option<String>,

    /// The column or field with the time [default: time, timestamp, querytime, ...]
    #[arg(long, value_name = "NAME", help_heading = LOG)]
    time_column: Option<String>,

    /// The same query of the same user counts once within this many seconds; 0 counts all
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_SESSION_SECONDS, help_heading = LOG)]
    session: u64,

    /// Users who ask more than N times a day are robots and do not count [default: all count]
    #[arg(long, value_name = "N", help_heading = LOG)]
    robots: Option<u64>,

    /// Skip queries with more characters than this
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MOST_CHARS, help_heading = LOG)]
    max_chars: usize,

    /// Skip and count rows that cannot be parsed, instead of stopping at the first
    #[arg(long, help_heading = LOG)]
    skip_bad: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A query a line
    Lines,
    /// Columns separated by tabs, with a header
    Tsv,
    /// Columns separated by commas, with a header
    Csv,
    /// A JSON object a line
    Jsonl,
}

impl LogArguments {
    pub(super) fn read(&self) -> Result<(Log, LogCounts), Failure> {
        let how = ReadLog {
            layout: match self.log_format {
                None => Layout::Detect,
                Some(LogFormat::Lines) => Layout::Lines,
                Some(LogFormat::Tsv) => Layout::Tsv,
                Some(LogFormat::Csv) => Layout::Csv,
                Some(LogFormat::Jsonl) => Layout::Jsonl,
            },
            columns: Columns {
                query: self.query_column.clone(),
                count: self.count_column.clone(),
                user: self.user_column.clone(),
                time: self.time_column.clone(),
            },
            skip_bad: self.skip_bad,
        };
        let (mut rows, mut bad) = (Vec::new(), 0);
        for path in &self.logs {
            let text = Unpacked::open(path).map_err(anyhow::Error::new)?;
            let named = |error| anyhow::Error::new(error).context(readable::path(path));
            let (more, passed) = read(text, &how).map_err(named)?;
            rows.extend(more);
            bad += passed;
        }
        let noise = Noise {
            session_seconds: self.session,
            most_per_day: self.robots,
            most_chars: self.max_chars,
        };
        let log = Log::of(rows, &noise);
        let counts = LogCounts::new(&log.counted, bad, log.queries.len());
        Ok((log, counts))
    }
}
