//! Ranks the queries of a search log by frequency. [`read`](read::read) parses the layouts.
//!
//! Queries are normalised before counting: compatibility forms, case, control characters, repeated spaces;
//! operators are kept. Optionally, repeats by one user within a session count once, and users with more queries
//! per day than people make are robots and ignored. The ranking depends on the rows alone: by count, then by
//! text. Everything dropped is counted in [`Counted`].
//!
//! Source: Pi et al. 2009, II.B.

pub mod read;

use std::collections::BTreeMap;

use hapax::text::normalize::Normalizer;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub query: String,
    /// Frequency; 1 if the log has none.
    pub count: u64,
    /// The user, if the log has one.
    pub user: Option<String>,
    /// Time in seconds since any moment, if the log has one.
    pub time: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// A query repeated by the same user within this many seconds counts once; 0 counts all.
    pub session_seconds: u64,
    /// Users with more rows per day are robots; `None` keeps all.
    pub most_per_day: Option<u64>,
    /// Longer queries are left out; in characters.
    pub most_chars: usize,
}

/// Half an hour, the usual length of a session.
pub const DEFAULT_SESSION_SECONDS: u64 = 1800;
/// Longer than what people type, short enough for any engine.
pub const DEFAULT_MOST_CHARS: usize = 300;

impl Default for Noise {
    fn default() -> Self {
        Self {
            session_seconds: DEFAULT_SESSION_SECONDS,
            most_per_day: None,
            most_chars: DEFAULT_MOST_CHARS,
        }
    }
}

/// A query and its frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub text: String,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub rows: u64,
    /// Empty after normalisation.
    pub empty: u64,
    pub too_long: u64,
    /// Repetitions within a session.
    pub repeated: u64,
    pub robots: u64,
}

/// Queries, most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub queries: Vec<Query>,
    pub counted: Counted,
}

const DAY: u64 = 86_400;

impl Log {
    pub fn of(mut rows: Vec<Row>, noise: &Noise) -> Self {
        let mut counted = Counted { rows: rows.len() as u64, ..Counted::default() };
        let mut normalizer = Normalizer::default();
        for row in &mut rows {
            row.query = normalised(&row.query, &mut normalizer);
        }
        rows.retain(|row| {
            let empty = row.query.is_empty();
            let too_long = row.query.chars().count() > noise.most_chars;
            counted.empty += u64::from(empty);
            counted.too_long += u64::from(too_long);
            !empty && !too_long
        });
        if let Some(most) = noise.most_per_day {
            let busy = busy_users(&rows, most);
            rows.retain(|row| !row.user.as_ref().is_some_and(|user| busy.contains_key(user)));
            counted.robots = busy.values().sum();
        }
        let before = rows.len();
        let rows = if noise.session_seconds > 0 { once_a_session(rows, noise) } else { rows };
        counted.repeated = (before - rows.len()) as u64;

        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            let count = counts.entry(row.query).or_default();
            *count = count.saturating_add(row.count);
        }
        let mut queries: Vec<Query> =
            counts.into_iter().map(|(text, count)| Query { text, count }).collect();
        // Stable, so that equally frequent queries stay sorted by text.
        queries.sort_by_key(|query| std::cmp::Reverse(query.count));
        Self { queries, counted }
    }
}

/// Folded, with one space between words.
fn normalised(query: &str, normalizer: &mut Normalizer) -> String {
    let mut text = String::with_capacity(query.len());
    for chunk in query.split(|c: char| c.is_whitespace() || c.is_control()) {
        let end = text.len();
        if !text.is_empty() && !chunk.is_empty() {
            text.push(' ');
        }
        normalizer.fold_into(chunk, &mut text);
        if text.ends_with(' ') {
            text.truncate(end);
        }
    }
    text
}

/// Users with more than `most` rows on some day, and their total number of rows. Rows without a
/// time count as one day.
fn busy_users(rows: &[Row], most: u64) -> BTreeMap<String, u64> {
    let mut by_day: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let Some(user) = row.user.as_deref() else { continue };
        *by_day.entry((user, row.time.unwrap_or(0) / DAY)).or_default() += row.count;
        *all.entry(user).or_default() += 1;
    }
    let busy = by_day.into_iter().filter(|&(_, asked)| asked > most);
    busy.map(|((user, _), _)| (user.to_owned(), all[user])).collect()
}

/// Drops repeats of a user within a session. Rows without user or time all count.
fn once_a_session(rows: Vec<Row>, noise: &Noise) -> Vec<Row> {
    let (mut known, mut kept): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.user.is_some() && row.time.is_some());
    known.sort_by(|a, b| (&a.user, &a.query, a.time).cmp(&(&b.user, &b.query, b.time)));
    let mut last: Option<Row> = None;
    for row in known {
        let again = last.as_ref().is_some_and(|last| {
            last.user == row.user
                && last.query == row.query
                && row.time.unwrap_or(0) - last.time.unwrap_or(0) < noise.session_seconds
        });
        if !again {
            kept.push(row.clone());
        }
        last = Some(row);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(query: &str, user: &str, time: u64) -> Row {
        let user = Some(user.to_owned());
        Row { query: query.to_owned(), count: 1, user, time: Some(time) }
    }

    fn ranked(log: &Log) -> Vec<(&str, u64)> {
        log.queries.iter().map(|query| (query.text.as_str(), query.count)).collect()
    }

    #[test]
    fn queries_are_ranked_by_count_then_text_whatever_the_order_of_rows() {
        let asked = |query: &str, count| Row { query: query.to_owned(), count, ..Row::default() };
        let mut rows = vec![asked("tea", 1), asked(" TEA\t", 2), asked("b", 2), asked("a", 2)];
        let log = Log::of(rows.clone(), &Noise::default());
        assert_eq!(ranked(&log), [("tea", 3), ("a", 2), ("b", 2)]);
        rows.reverse();
        assert_eq!(Log::of(rows, &Noise::default()), log);
    }

    #[test]
    fn a_query_is_folded_and_keeps_its_operators() {
        let mut normalizer = Normalizer::default();
        assert_eq!(normalised("  +Ｍｄ \u{0} \"Foods  X\" ", &mut normalizer), "+md \"foods x\"");
        assert_eq!(normalised(" \t\u{7} ", &mut normalizer), "");
    }

    #[test]
    fn paging_through_results_counts_once_and_returning_the_next_day_counts_again() {
        let rows = vec![row("tea", "a", 0), row("tea", "a", 1700), row("tea", "a", 3400)];
        let log = Log::of(rows, &Noise::default());
        assert_eq!((ranked(&log), log.counted.repeated), (vec![("tea", 1)], 2));
        let rows = vec![row("tea", "a", 0), row("tea", "b", 5), row("tea", "a", 86_400)];
        assert_eq!(ranked(&Log::of(rows, &Noise::default())), [("tea", 3)]);
    }

    #[test]
    fn a_user_who_asks_more_than_people_do_is_a_robot() {
        let mut rows: Vec<Row> = (0..20).map(|i| row(&format!("q{i}"), "robot", i * 60)).collect();
        rows.push(row("tea", "a", 0));
        let noise = Noise { most_per_day: Some(10), ..Noise::default() };
        let log = Log::of(rows, &noise);
        assert_eq!(ranked(&log), [("tea", 1)]);
        assert_eq!((log.counted.rows, log.counted.robots), (21, 20));
    }

    #[test]
    fn what_is_empty_or_endless_is_counted_and_left_out() {
        let asked = |query: String| Row { query, count: 1, ..Row::default() };
        let log = Log::of(vec![asked(" ".into()), asked("x".repeat(301))], &Noise::default());
        assert!(log.queries.is_empty());
        assert_eq!((log.counted.empty, log.counted.too_long), (1, 1));
    }
}
