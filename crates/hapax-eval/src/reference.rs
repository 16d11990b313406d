//! The exact similarity of documents, which truth is based on. Shares no code with the engine.
//!
//! Comments, `<script>` and `<style>` with their contents are dropped, other tags become spaces, entities are
//! decoded, letters lowercased. Tokens are runs of letters and digits; each Han, Hiragana or Katakana character is
//! one. Compares the sets of all runs of five tokens (one run of all if there are fewer). Titles, addresses and
//! `<noscript>` count. Exact except for collisions of 64-bit hashes.

use html5gum::{Token, Tokenizer};

/// Tokens in a run.
pub const RUN: usize = 5;
/// Documents with fewer runs are too short to be compared.
pub const FEWEST: usize = 10;

/// A document's set of runs, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSet(Vec<u64>);

impl RunSet {
    pub fn of_html(html: &str) -> Self {
        Self::of_text(&without_tags(html))
    }

    pub fn of_text(text: &str) -> Self {
        let tokens = tokens(text);
        let mut runs: Vec<u64> = match tokens.len() {
            0 => Vec::new(),
            few if few < RUN => vec![mix_all(&tokens)],
            _ => tokens.windows(RUN).map(mix_all).collect(),
        };
        runs.sort_unstable();
        runs.dedup();
        Self(runs)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Jaccard similarity; 1 for two empty sets.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let (mut i, mut j, mut both) = (0, 0, 0usize);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            i += usize::from(a <= b);
            j += usize::from(b <= a);
            both += usize::from(a == b);
        }
        let all = self.len() + other.len() - both;
        if all == 0 { 1.0 } else { both as f64 / all as f64 }
    }
}

/// The text of a page, without tags and with entities decoded.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        decode_into(&rest[..at], &mut text);
        text.push(' ');
        let tag = &rest[at..];
        let end = if let Some(comment) = tag.strip_prefix("<!--") {
            comment.find("-->").map(|end| end + 7)
        } else if let Some(name) = ["script", "style"].into_iter().find(|it| opens(tag, it)) {
            closing(tag, name)
        } else {
            tag.find('>').map(|end| end + 1)
        };
        match end {
            Some(end) => rest = &tag[end..],
            // A lone `<` at the end of the page.
            None => rest = &tag[1..],
        }
    }
    decode_into(rest, &mut text);
    text
}

fn opens(tag: &str, name: &str) -> bool {
    let after = 1 + name.len();
    tag.get(1..after).is_some_and(|it| it.eq_ignore_ascii_case(name))
        && tag[after..].chars().next().is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
}

/// The position after the end tag of an element.
fn closing(tag: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = tag[from..].find("</") {
        let start = from + at;
        let after = start + 2 + name.len();
        if tag.get(start + 2..after).is_some_and(|it| it.eq_ignore_ascii_case(name)) {
            let end = tag[after..].find('>')?;
            if tag[after..after + end].trim().is_empty() {
                return Some(after + end + 1);
            }
        }
        from = start + 2;
    }
    // Never closed: only the tag itself is dropped.
    tag.find('>').map(|end| end + 1)
}

fn decode_into(text: &str, out: &mut String) {
    if !text.contains('&') {
        out.push_str(text);
        return;
    }
    for token in Tokenizer::new(text) {
        let Ok(token) = token;
        if let Token::String(part) = token {
            out.push_str(&String::from_utf8_lossy(&part.value));
        }
    }
}

fn tokens(text: &str) -> Vec<u64> {
    let mut tokens = Vec::new();
    let mut run: Option<u64> = None;
    for c in text.chars().flat_map(char::to_lowercase) {
        if is_by_itself(c) {
            tokens.extend(run.take());
            tokens.push(mix(u64::from(c)));
        } else if c.is_alphanumeric() {
            run = Some(mix(run.unwrap_or(0).wrapping_add(u64::from(c))));
        } else {
            tokens.extend(run.take());
        }
    }
    tokens.extend(run);
    tokens
}

fn is_by_itself(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}')
        || matches!(c, '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

fn mix_all(tokens: &[u64]) -> u64 {
    tokens.iter().fold(tokens.len() as u64, |hash, token| mix(hash.wrapping_add(*token)))
}

/// The finalizer of SplitMix64.
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_counts_and_scripts_do_not() {
        let html = "<title>T &amp; U</title><script>a<b</script><!-- c --><STYLE x>d</STYLE >\
                    <p>caf&eacute;<b>s</b></p>snake_case 3.14";
        let text = without_tags(html);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, ["T", "&", "U", "café", "s", "snake_case", "3.14"]);
        // t u café s snake case 3 14
        assert_eq!(tokens(&text).len(), 8);
    }

    #[test]
    fn characters_of_chinese_and_japanese_are_tokens() {
        assert_eq!(tokens("我爱北京 abc コーヒー").len(), 4 + 1 + 4);
        assert_eq!(tokens("한국어").len(), 1);
    }

    #[test]
    fn similarity_is_of_sets_of_runs() {
        let (a, b) = (RunSet::of_text("a b c d e f"), RunSet::of_text("a b c d e g"));
        assert_eq!((a.len(), b.len()), (2, 2));
        assert!((a.jaccard(&b) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(RunSet::of_text("a b").jaccard(&RunSet::of_text("A, b!")), 1.0);
        assert_eq!(RunSet::of_text("").len(), 0);
    }
}
