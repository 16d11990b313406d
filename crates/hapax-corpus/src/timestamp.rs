//! A time in whole seconds, and its notations in archives.
//!
//! Parses RFC 3339 as in WARC (`2024-03-01T12:00:00Z`, with a fraction or an offset), a date alone, a space
//! instead of the `T`, the fourteen digits of ARC files (`20080619093439`), and seconds or milliseconds since
//! 1970. Anything else is no time rather than an error, because real archives contain `WARC-Date: null`; a row
//! with a day or hour that does not exist is an error (a WARC-Date is no time then). Drops fractions of a second.
//!
//! Days are computed with the usual 400-year-cycle arithmetic of the Gregorian calendar.

use std::fmt;
use std::ops::Range;

/// Seconds since the start of 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text in the notation of a time that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchTime;

/// Larger numbers are milliseconds: as seconds this is the year 5138.
const LARGEST_SECONDS: i64 = 100_000_000_000;

impl Timestamp {
    /// From seconds since 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970.
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// From seconds, or milliseconds if the number is too large for seconds.
    pub const fn from_number(number: i64) -> Self {
        if number.unsigned_abs() > LARGEST_SECONDS.unsigned_abs() {
            Self(number.div_euclid(1000))
        } else {
            Self(number)
        }
    }

    /// As [`parse`](Self::parse), for a field of a row: an error if it begins with a date and there is no such day,
    /// such as `2026-02-30`, or no such hour. A date of zeros, which databases write, is no time.
    pub fn of_field(text: &str) -> Result<Option<Self>, NoSuchTime> {
        let no_such_time = || {
            let written = Written::of(text.trim().as_bytes());
            written.is_some_and(|it| it.date != [0; 3] && it.civil().is_none())
        };
        match Self::parse(text) {
            None if no_such_time() => Err(NoSuchTime),
            parsed => Ok(parsed),
        }
    }

    /// Parses the notations listed in the module header; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_number = || text.parse::<i64>().ok().map(Self::from_number);
        let written = match Written::of(text.as_bytes()) {
            Some(written) => written,
            None => return is_number(),
        };
        let zone = match written.clock {
            None if !written.rest.is_empty() => return None,
            _ => offset(written.rest)?,
        };
        Some(Self(written.civil()?.0 - zone))
    }
}

/// A text that begins with a date.
struct Written<'a> {
    /// Year, month and day, which may not exist.
    date: [i64; 3],
    /// Hour, minute and second, if a clock follows.
    clock: Option<[i64; 3]>,
    rest: &'a [u8],
}

impl<'a> Written<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let number = |at: Range<usize>| digits(bytes.get(at)?);
        if bytes.len() == 14 && bytes.iter().all(u8::is_ascii_digit) {
            let date = [number(0..4)?, number(4..6)?, number(6..8)?];
            let clock = Some([number(8..10)?, number(10..12)?, number(12..14)?]);
            return Some(Self { date, clock, rest: &[] });
        }
        if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
            return None;
        }
        let date = [number(0..4)?, number(5..7)?, number(8..10)?];
        let rest = &bytes[10..];
        Some(match clock(rest) {
            Some((clock, rest)) => Self { date, clock: Some(clock), rest },
            None => Self { date, clock: None, rest },
        })
    }

    /// Without a zone; `None` if there is no such day or hour.
    fn civil(&self) -> Option<Timestamp> {
        civil(self.date, self.clock.unwrap_or_default())
    }
}

/// Hour, minute and second after a date, and what follows them.
fn clock(bytes: &[u8]) -> Option<([i64; 3], &[u8])> {
    let [b'T' | b't' | b' ', h, hh, b':', m, mm, rest @ ..] = bytes else { return None };
    let (hour, minute) = (digits(&[*h, *hh])?, digits(&[*m, *mm])?);
    let (second, mut rest) = match rest {
        [b':', s, ss, rest @ ..] => (digits(&[*s, *ss])?, rest),
        _ => (0, rest),
    };
    if let [b'.', after @ ..] = rest {
        let fraction = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = &after[fraction..];
    }
    Some(([hour, minute, second], rest))
}

/// In WARC's notation: `2024-03-01T12:00:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, clock) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = date(days);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Seconds east of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    match zone {
        [] | [b'Z' | b'z'] | b" UTC" => Some(0),
        [sign @ (b'+' | b'-'), hours @ ..] => {
            let seconds = match hours {
                [a, b, b':', c, d] | [a, b, c, d] => {
                    digits(&[*a, *b])? * 3600 + digits(&[*c, *d])? * 60
                }
                [a, b] => digits(&[*a, *b])? * 3600,
                _ => return None,
            };
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn civil([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<Timestamp> {
    // Second 60 is a leap second, which counts as the first second of the next minute.
    let legal = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && (0..=23).contains(&hour)
        && (0..=59).contains(&minute)
        && (0..=60).contains(&second);
    if !legal {
        return None;
    }
    // Years begin in March here, so that the leap day is the last day.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some(Timestamp(days * 86_400 + hour * 3600 + minute * 60 + second))
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_notation_of_a_time_gives_the_same_time() {
        let expected = Some(Timestamp::from_seconds(1_213_868_079));
        for form in [
            "2008-06-19T09:34:39Z",
            "2008-06-19T09:34:39.123456Z",
            "2008-06-19 09:34:39",
            "2008-06-19T11:34:39+02:00",
            "20080619093439",
            "1213868079",
            "1213868079123",
        ] {
            assert_eq!(Timestamp::parse(form), expected, "{form}");
        }
        assert_eq!(Timestamp::parse("2008-06-19"), Timestamp::parse("2008-06-19T00:00Z"));
    }

    #[test]
    fn a_day_that_no_calendar_has_is_no_time_and_an_error_in_a_field() {
        for form in [
            "2026-02-30",
            "2025-02-29",
            "1900-02-29T00:00:00Z",
            "2026-04-31",
            "20260230000000",
            "2026-01-01T24:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(form), None, "{form}");
            assert_eq!(Timestamp::of_field(form), Err(NoSuchTime), "{form}");
        }
        for form in ["2024-02-29", "2000-02-29", "2026-12-31", "2026-03-01 10:00"] {
            assert_eq!(Timestamp::of_field(form), Ok(Timestamp::parse(form)), "{form}");
            assert!(Timestamp::parse(form).is_some(), "{form}");
        }
    }

    #[test]
    fn a_notation_that_is_not_understood_is_no_time_and_no_error() {
        for form in [
            "null",
            "",
            "yesterday",
            "Tue, 03 Mar 2026 10:00:00 GMT",
            "2026-03-01 10:00:00 +0000",
            "2026-03-01 10:00:00 GMT",
            "2026-03-01T10:00:00,5Z",
            "2026-03-01T10",
            "2026-03-01-0730",
            "0000-00-00 00:00:00",
            "0000-00-00",
            "2026/02/30",
        ] {
            assert_eq!(Timestamp::parse(form), None, "{form}");
            assert_eq!(Timestamp::of_field(form), Ok(None), "{form}");
        }
        // Out of range, whatever follows.
        for form in ["2026-02-30 GMT", "2026-01-01 25:00 GMT", "2026-01-01T10:60:00,5Z"] {
            assert_eq!(Timestamp::of_field(form), Err(NoSuchTime), "{form}");
        }
    }

    #[test]
    fn text_that_is_not_a_date_gives_none() {
        for form in ["null", "", "2008-13-01", "2008-06-19T25:00:00Z", "yesterday", "２０08-06-19"]
        {
            assert_eq!(Timestamp::parse(form), None, "{form}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(seconds in -62_135_596_800i64..253_402_300_799) {
            let moment = Timestamp::from_seconds(seconds);
            prop_assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        }

        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            let _ = Timestamp::parse(&text);
        }
    }
}
