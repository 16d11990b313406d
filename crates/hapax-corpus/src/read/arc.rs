//! Parses the first line of a record of an ARC file.
//!
//! Version 1 has five fields, `URL IP-address date type length`; version 2 has five more between type and
//! length. URLs may contain spaces, so fields are located relative to the date, which has a distinct form.

use std::borrow::Cow;

/// The relevant fields of the line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArcLine<'a> {
    pub(crate) url: Cow<'a, str>,
    pub(crate) date: &'a str,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) length: u64,
}

impl<'a> ArcLine<'a> {
    /// `None` if the line is not the start of a record.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let spaces: Vec<usize> = memchr::memrchr_iter(b' ', line).take(12).collect();
        let length = std::str::from_utf8(&line[spaces.first()? + 1..]).ok()?.parse().ok()?;
        // From the right: the field between two spaces with fourteen digits.
        let pair = spaces.windows(2).find(|pair| is_date(&line[pair[1] + 1..pair[0]]))?;
        let date = std::str::from_utf8(&line[pair[1] + 1..pair[0]]).ok()?;
        let type_and_more = line.get(pair[0] + 1..*spaces.first()?).unwrap_or_default();
        let content_type = type_and_more.split(|byte| *byte == b' ').next()?;
        let address = memchr::memrchr(b' ', &line[..pair[1]])?;
        let url = &line[..address];
        // Every address has a scheme; otherwise a line of prose could match.
        let scheme = memchr::memchr(b':', url)?;
        let legal = scheme > 0
            && url[..scheme].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        legal.then(|| Self {
            url: String::from_utf8_lossy(url),
            date,
            content_type: std::str::from_utf8(content_type).ok().filter(|it| !it.is_empty()),
            length,
        })
    }
}

fn is_date(field: &[u8]) -> bool {
    field.len() == 14 && field.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_and_urls_with_spaces_are_read() {
        let line = b"http://a.test/x y 10.0.0.1 20080509190241 text/html 6508";
        let parsed = ArcLine::parse(line).unwrap();
        assert_eq!(parsed.url, "http://a.test/x y");
        assert_eq!((parsed.date, parsed.length), ("20080509190241", 6508));
        assert_eq!(parsed.content_type, Some("text/html"));

        let second = b"http://a.test/ 1.2.3.4 19960923142103 text/html 200 - - 209 f.arc 202";
        assert_eq!(ArcLine::parse(second).unwrap().length, 202);
        assert_eq!(ArcLine::parse(second).unwrap().content_type, Some("text/html"));

        let no_type = b"http://a.test/ 1.2.3.4 19960923142103 5";
        assert_eq!(ArcLine::parse(no_type).unwrap().content_type, None);
    }

    #[test]
    fn prose_is_not_a_record() {
        for line in [&b""[..], b"12", b"a b c 20080509190241 text/html x", b"in 20080509190241 5"] {
            assert_eq!(ArcLine::parse(line), None, "{}", line.escape_ascii());
        }
    }
}
