//! Parses robots.txt.
//!
//! Uses the group that names us most specifically, or else the one for `*`; of the rules that match a path the
//! longest decides, and `allow` wins a tie. A missing file does not restrict; the caller decides about a file
//! that cannot be fetched.
//!
//! Source: RFC 9309.

use std::time::Duration;

/// Bytes of the file to read, the minimum required by the standard.
pub const MOST_BYTES: usize = 500 * 1024;
/// Maximum delay that a site may request, in seconds.
const LONGEST_DELAY: f64 = 30.0;

/// The rules of one site for one crawler.
#[derive(Clone, Debug, PartialEq)]
pub struct Robots {
    rules: Vec<(bool, String)>,
    /// The delay requested by the site.
    pub delay: Option<Duration>,
}

impl Robots {
    pub const fn open() -> Self {
        Self { rules: Vec::new(), delay: None }
    }

    /// Parses a file for the crawler with this product name.
    pub fn parse(text: &str, product: &str) -> Self {
        let product = product.to_ascii_lowercase();
        let mut ours = Self::open();
        let mut everyones = Self::open();
        let (mut named, mut for_us, mut for_all, mut in_rules) = (false, false, false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                if in_rules {
                    (for_us, for_all, in_rules) = (false, false, false);
                }
                for_us |= value.to_ascii_lowercase() == product;
                for_all |= value == "*";
                named |= for_us;
                continue;
            }
            let allow = match key.as_str() {
                "allow" => Some(true),
                "disallow" => Some(false),
                _ => None,
            };
            in_rules = true;
            for (applies, group) in [(for_us, &mut ours), (for_all, &mut everyones)] {
                match allow {
                    _ if !applies => {}
                    Some(allow) if !value.is_empty() => group.rules.push((allow, value.to_owned())),
                    None if key == "crawl-delay" => {
                        let seconds =
                            value.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
                        let pause = |s: f64| Duration::from_secs_f64(s.min(LONGEST_DELAY));
                        group.delay = seconds.map(pause);
                    }
                    Some(_) | None => {}
                }
            }
        }
        if named { ours } else { everyones }
    }

    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        let rule = size_of::<(bool, String)>();
        self.rules.iter().map(|(_, pattern)| rule + pattern.len()).sum()
    }

    /// Whether this path, with its query, may be fetched.
    pub fn allows(&self, path: &str) -> bool {
        let matching = self.rules.iter().filter(|(_, pattern)| matches(pattern, path));
        // The longest rule; of equally long ones, `allow`.
        let best = matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow));
        path == "/robots.txt" || best.is_none_or(|(allow, _)| *allow)
    }
}

/// `*` matches anything, `$` at the end matches the end; otherwise the pattern is a prefix.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if anchored && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The leftmost match leaves the most for the rest.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    !anchored || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_decides_and_allow_wins_a_tie() {
        let robots = Robots::parse(
            "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.gif$\nAllow: /x\nDisallow: /x\n",
            "hapax",
        );
        for (path, allowed) in [
            ("/", true),
            ("/a", false),
            ("/apple", false),
            ("/a/b/c", true),
            ("/i/p.gif", false),
            ("/i/p.gif?x", true),
            ("/x", true),
            ("/robots.txt", true),
        ] {
            assert_eq!(robots.allows(path), allowed, "{path}");
        }
    }

    #[test]
    fn the_group_with_our_name_counts_instead_of_the_one_for_all() {
        let text = "user-agent: *\ndisallow: /\n\nUser-Agent: other\nUser-agent: Hapax # us\n\
                    Disallow: /private\ncrawl-delay: 2.5\n";
        let robots = Robots::parse(text, "hapax");
        assert!(robots.allows("/page") && !robots.allows("/private/x"));
        assert_eq!(robots.delay, Some(Duration::from_millis(2500)));
        assert!(!Robots::parse(text, "someone").allows("/page"));
    }

    #[test]
    fn nonsense_restricts_nothing_and_does_not_panic() {
        for text in [
            "",
            ":::",
            "disallow: /",
            "user-agent: *\ndisallow:",
            "user-agent\n*\u{0}",
            "User-agent: *\nCrawl-delay: NaN",
        ] {
            assert!(Robots::parse(text, "hapax").allows("/é"), "{text}");
        }
        assert!(Robots::open().allows("/"));
        assert!(matches("/a*b*c$", "/axxbyyc") && !matches("/a*b$", "/abc") && matches("*", "/"));
    }
}
