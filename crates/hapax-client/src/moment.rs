//! A time as users and programs write it: seconds since 1970, or an RFC 3339 date or date and time.
//!
//! One definition for requests, flags and configuration. Fractions of a second are dropped, and times end with
//! the year 9999. Answers format times with [`shown`].

use hapax_corpus::Timestamp;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serializer};
use std::fmt;

/// The last second of the year 9999.
pub const LAST: u64 = 253_402_300_799;

/// Parses a text such as `2026-03-01`, `2026-03-01T12:00:00Z` or `1772323200` to seconds since
/// 1970.
///
/// # Errors
///
/// The text is none of these, or not between 1970 and the year 9999.
pub fn parse(text: &str) -> Result<u64, String> {
    let seconds = Timestamp::parse(text).map(Timestamp::seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).ok_or_else(|| {
        "a time is 2026-03-01, 2026-03-01T12:00:00Z or seconds since 1970".to_owned()
    })?;
    bounded(seconds)
}

fn bounded(seconds: u64) -> Result<u64, String> {
    match seconds {
        0..=LAST => Ok(seconds),
        _ => Err("a time is not after the year 9999; seconds count from 1970".to_owned()),
    }
}

/// Formats as RFC 3339 in UTC: `2026-03-01T12:00:00Z`.
pub fn shown(seconds: u64) -> String {
    let seconds = i64::try_from(seconds.min(LAST)).unwrap_or(i64::MAX);
    Timestamp::from_seconds(seconds).to_string()
}

struct Given;

impl Visitor<'_> for Given {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time: seconds since 1970, or a text such as 2026-03-01T12:00:00Z")
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<u64, E> {
        bounded(seconds).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<u64, E> {
        let before_1970 = |_| E::custom("a time is not before 1970");
        bounded(u64::try_from(seconds).map_err(before_1970)?).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        parse(text).map_err(E::custom)
    }
}

struct Moment(u64);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Given).map(Self)
    }
}

/// For a required field of a request.
///
/// # Errors
///
/// The value is not a time.
pub fn required<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Moment::deserialize(from).map(|it| it.0)
}

/// For a field of a request that may be null or missing.
///
/// # Errors
///
/// The value is not a time.
pub fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Option::<Moment>::deserialize(from).map(|it| it.map(|it| it.0))
}

/// For a field of an answer that may be null.
pub fn shown_if_known<S: Serializer>(seconds: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match seconds {
        Some(seconds) => to.serialize_some(&shown(*seconds)),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Asked {
        #[serde(default, serialize_with = "shown_if_known", deserialize_with = "optional")]
        at: Option<u64>,
    }

    #[test]
    fn times_are_seconds_or_dates_and_end_with_the_year_9999() {
        for (json, seconds) in [
            (r#"{"at": 1772366400}"#, Some(1_772_366_400)),
            (r#"{"at": "2026-03-01T12:00:00Z"}"#, Some(1_772_366_400)),
            (r#"{"at": "2026-03-01T13:00:00+01:00"}"#, Some(1_772_366_400)),
            (r#"{"at": "2026-03-01"}"#, Some(1_772_323_200)),
            (r#"{"at": null}"#, None),
            ("{}", None),
        ] {
            assert_eq!(serde_json::from_str::<Asked>(json).unwrap().at, seconds, "{json}");
        }
        for bad in [r#""soon""#, "-1", "1.5", "253402300800", "true", "[]"] {
            let json = format!("{{\"at\": {bad}}}");
            assert!(serde_json::from_str::<Asked>(&json).is_err(), "{json}");
        }
        assert_eq!(parse("9999-12-31T23:59:59Z"), Ok(LAST));
        assert_eq!(parse("100000000000"), Ok(100_000_000_000));
        for late in ["9999999999999999", "253402300800000", "-1", "soon"] {
            assert!(parse(late).is_err(), "{late}");
        }
        assert_eq!(shown(1_772_366_400), "2026-03-01T12:00:00Z");
        for at in [Some(1_772_366_400), None] {
            let json = serde_json::to_string(&Asked { at }).unwrap();
            assert_eq!(json.contains("2026-03-01T12:00:00Z"), at.is_some(), "{json}");
            assert_eq!(serde_json::from_str::<Asked>(&json).unwrap().at, at);
        }
    }
}
