//! Parses quantities: `8e9`, `10M`, `64GB`, `1.5TiB`.
//!
//! For counts, a one-letter suffix is a power of 1000. Bytes need a full unit, because `64G` is ambiguous.

/// Largest accepted quantity; a double represents all integers up to it.
const MOST: f64 = 9e15;

/// Parses a count: `1000`, `8e9`, `10M`, `1.5M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let how = "a count is a whole number like 1000, 8e9, 10M or 1.5G (k, M, G, T: powers of 1000)";
    let (number, unit) = split(text);
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return Err(how.to_owned()),
    };
    whole(number, factor, how)
}

/// Parses a number of bytes: `64GB`, `1.5TiB`, `500 MB`, `8e9`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let how = "a size is a number with a unit like 64GB (powers of 1000), 1.5TiB (powers of 1024) \
               or 8e9 (bytes)";
    let (number, unit) = split(text);
    let power = |base: f64, prefix: &str| {
        let prefixes = ["K", "M", "G", "T", "P"];
        let at = prefixes.iter().position(|p| p.eq_ignore_ascii_case(prefix))?;
        Some(base.powi(at as i32 + 1))
    };
    let factor = match unit {
        "" | "B" | "b" => Some(1.0),
        _ => match unit.to_ascii_lowercase().as_str() {
            prefix @ ("k" | "m" | "g" | "t" | "p") => {
                let letter = prefix.to_ascii_uppercase();
                return Err(format!(
                    "say which: {number}{letter}B is a power of 1000, {number}{letter}iB one of 1024"
                ));
            }
            lower => match (lower.strip_suffix("ib"), lower.strip_suffix('b')) {
                (Some(prefix), _) => power(1024.0, prefix),
                (None, Some(prefix)) => power(1000.0, prefix),
                (None, None) => None,
            },
        },
    };
    whole(number, factor.ok_or(how)?, how)
}

/// Splits into number and unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    // An `e` belongs to the number if digits follow.
    let number_like = |(at, c): (usize, char)| match c {
        '0'..='9' | '.' | '_' | '+' | '-' => true,
        'e' | 'E' => {
            text[at + 1..].trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    };
    let end = text.char_indices().find(|&at| !number_like(at)).map_or(text.len(), |(at, _)| at);
    (text[..end].trim_end(), text[end..].trim())
}

fn whole(number: &str, factor: f64, how: &str) -> Result<u64, String> {
    let value: f64 = number.replace('_', "").parse().map_err(|_| how.to_owned())?;
    // 1.1 times a power of 1024 is not an integer; the fraction of a byte is rounded.
    let value = if factor == 1.0 { value } else { (value * factor).round() };
    if !value.is_finite() || value < 0.0 || value.fract() != 0.0 {
        return Err(how.to_owned());
    }
    if value > MOST { Err("that is beyond 9e15".to_owned()) } else { Ok(value as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_parsed_in_their_usual_forms() {
        let read =
            ["0", "1000", "8e9", "10M", "1.5M", "2k", "1_000", "8E9", "3T", "1e3k"].map(count);
        let meant = [0, 1000, 8_000_000_000, 10_000_000, 1_500_000, 2000, 1000, 8_000_000_000];
        assert_eq!(read[..8].iter().flatten().copied().collect::<Vec<_>>(), meant);
        assert_eq!(read[8..], [Ok(3_000_000_000_000), Ok(1_000_000)]);
    }

    #[test]
    fn sizes_are_parsed_in_their_usual_forms() {
        let read =
            ["64GB", "1.5TiB", "500 MB", "8e9", "12", "12B", "1kb", "4KiB", "1PB"].map(bytes);
        let meant: [u64; 9] = [
            64_000_000_000,
            3 << 39,
            500_000_000,
            8_000_000_000,
            12,
            12,
            1000,
            4096,
            1_000_000_000_000_000,
        ];
        assert_eq!(read, meant.map(Ok));
    }

    #[test]
    fn invalid_quantities_are_refused_with_advice() {
        for text in
            ["", "many", "1.5", "-3", "8e", "nan", "inf", "10X", "10 M M", "1e300", "é", "5é"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        for text in ["", "GB", "-1GB", "64XB", "64GBB", "1e9PB", "infGB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(bytes("64G").unwrap_err().contains("64GB is a power of 1000, 64GiB"));
    }
}
