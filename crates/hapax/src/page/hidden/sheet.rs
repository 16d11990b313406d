//! The simple rules of a page's own `<style>` elements: `.a`, `#b`, `tag` and lists of them.
//!
//! Rules of one selector are merged at the position of the last of them. Tag, class and id rules apply in this
//! order; among the classes of an element the later rule wins. Rules inside `@media` apply if one of its
//! queries is just `all` or `screen`, rules inside `@layer` always, those of other at-rules never. Ignores all
//! other selectors. At most [`MAX_RULES`] selectors.

use std::collections::BTreeMap;

use super::names;
use super::style::{Style, plain};

/// Maximum number of selectors; later ones are ignored.
pub(super) const MAX_RULES: usize = 16_384;

const MAX_LOOKED_FOR: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tag,
    Class,
    Id,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    order: u32,
    style: Style,
}

/// The rules of one page.
#[derive(Debug, Default)]
pub(in crate::page) struct Sheet {
    rules: BTreeMap<u64, Rule>,
    order: u32,
    has_tags: bool,
    /// Whether all style elements of the page have been read.
    complete: bool,
    /// Number of selectors of late rules that were searched for in the text before them.
    looked_for: usize,
    /// A Bloom filter of the keys.
    filter: [u64; 8],
}

impl Sheet {
    pub(in crate::page) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Stops taking rules, because the page is read again.
    pub(in crate::page) fn complete(&mut self) {
        self.complete = true;
    }

    pub(in crate::page) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(in crate::page) fn has_tags(&self) -> bool {
        self.has_tags
    }

    /// Reads the rules of a style element; returns whether one of them may hide something in
    /// `before`, the page up to it.
    pub(in crate::page) fn read(
        &mut self,
        css: &[u8],
        media: Option<&[u8]>,
        before: &[u8],
    ) -> bool {
        if self.complete || media.is_some_and(|media| !is_for_screens(&plain(media))) {
            return false;
        }
        let css = without_comments(css);
        let mut hides_before = false;
        let mut at = 0;
        // Only applicable blocks are entered, so a closing brace ends one of them.
        while let Some(found) = prelude_length(&css[at..]) {
            let prelude = css[at..at + found].trim_ascii();
            let mark = css[at + found];
            at += found + 1;
            if mark != b'{' {
                continue;
            }
            if let [b'@', rule @ ..] = prelude {
                let rule = plain(rule);
                let enters = match rule.strip_prefix(b"media") {
                    Some(queries) => is_for_screens(queries),
                    None => rule.starts_with(b"layer"),
                };
                if !enters {
                    at += block_length(&css[at..]);
                }
                continue;
            }
            let length = block_length(&css[at..]);
            let block = &css[at..at + length];
            at += length;
            let mut style = None;
            let selectors = prelude.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
            for (kind, name) in selectors.filter_map(simple) {
                let style = *style
                    .get_or_insert_with(|| Style::parse(block.strip_suffix(b"}").unwrap_or(block)));
                if style.is_empty() {
                    break;
                }
                if self.insert(kind, key_of(kind, name), style) && style.may_hide() && !hides_before
                {
                    hides_before = self.is_named(kind, name, before);
                }
            }
        }
        hides_before
    }

    /// Whether `before` may contain an element with this name, class or id. Searches for a few;
    /// after that, returns `true`.
    fn is_named(&mut self, kind: Kind, name: &[u8], before: &[u8]) -> bool {
        if before.is_empty() {
            return false;
        }
        self.looked_for += 1;
        kind == Kind::Tag
            || self.looked_for > MAX_LOOKED_FOR
            || memchr::memmem::find(before, name).is_some()
    }

    fn insert(&mut self, kind: Kind, key: u64, style: Style) -> bool {
        self.order = self.order.saturating_add(1);
        let order = self.order;
        if let Some(rule) = self.rules.get_mut(&key) {
            *rule = Rule { order, style: rule.style.then(style) };
            return true;
        }
        let room = self.rules.len() < MAX_RULES;
        if room {
            self.rules.insert(key, Rule { order, style });
            self.has_tags |= kind == Kind::Tag;
            let (word, bit) = place(key);
            self.filter[word] |= bit;
        }
        room
    }

    /// `style` plus the rules for the element's name, classes and id.
    pub(in crate::page) fn apply(
        &self,
        mut style: Style,
        name: u64,
        classes: Option<&[u8]>,
        id: Option<&[u8]>,
    ) -> Style {
        if self.has_tags
            && let Some(rule) = self.find(key_of_tag(name))
        {
            style = style.then(rule.style);
        }
        if let Some(classes) = classes {
            style = self.apply_classes(style, classes);
        }
        if let Some(id) = id
            && let Some(rule) = self.find(key(Kind::Id, id))
        {
            style = style.then(rule.style);
        }
        style
    }

    fn apply_classes(&self, mut style: Style, classes: &[u8]) -> Style {
        // More matching classes than this are ignored.
        let mut found = [None::<&Rule>; 16];
        let mut count = 0;
        for class in classes.split(u8::is_ascii_whitespace).filter(|class| !class.is_empty()) {
            if count < found.len()
                && let Some(rule) = self.find(key(Kind::Class, class))
            {
                found[count] = Some(rule);
                count += 1;
            }
        }
        found[..count].sort_unstable_by_key(|rule| rule.map(|rule| rule.order));
        for rule in found[..count].iter().flatten() {
            style = style.then(rule.style);
        }
        style
    }

    #[inline]
    fn find(&self, key: u64) -> Option<&Rule> {
        let (word, bit) = place(key);
        if self.filter[word] & bit == 0 {
            return None;
        }
        self.rules.get(&key)
    }
}

fn place(key: u64) -> (usize, u64) {
    ((key >> 6 & 7) as usize, 1 << (key & 63))
}

fn key(kind: Kind, name: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(name, kind as u64)
}

fn key_of_tag(name: u64) -> u64 {
    key(Kind::Tag, &name.to_le_bytes())
}

fn key_of(kind: Kind, name: &[u8]) -> u64 {
    match kind {
        Kind::Tag => key_of_tag(names::name_of(&name.to_ascii_lowercase())),
        Kind::Class | Kind::Id => key(kind, name),
    }
}

/// The element, class or id of a simple selector.
fn simple(selector: &[u8]) -> Option<(Kind, &[u8])> {
    let is_name =
        |name: &[u8]| !name.is_empty() && name.iter().all(|&byte| IN_NAMES[usize::from(byte)]);
    match selector {
        [b'.', class @ ..] if is_name(class) => Some((Kind::Class, class)),
        [b'#', id @ ..] if is_name(id) => Some((Kind::Id, id)),
        tag if is_name(tag) => Some((Kind::Tag, tag)),
        _ => None,
    }
}

/// Whether one of the media queries, in lower case, applies to every screen.
fn is_for_screens(queries: &[u8]) -> bool {
    queries.split(|&byte| byte == b',').any(|query| {
        let query = query.trim_ascii();
        matches!(
            query.strip_prefix(b"only ").unwrap_or(query).trim_ascii(),
            b"" | b"all" | b"screen"
        )
    })
}

/// The text without comments.
fn without_comments(css: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let comment = memchr::memmem::Finder::new(b"/*");
    let Some(mut start) = comment.find(css) else { return css.into() };
    let mut out = Vec::with_capacity(css.len());
    let mut rest = css;
    loop {
        out.extend_from_slice(&rest[..start]);
        out.push(b' ');
        rest = &rest[start + 2..];
        let Some(end) = memchr::memmem::find(rest, b"*/") else { break };
        rest = &rest[end + 2..];
        match comment.find(rest) {
            Some(next) => start = next,
            None => {
                out.extend_from_slice(rest);
                break;
            }
        }
    }
    out.into()
}

/// Length of a rule up to its block, or up to its end if it has none.
fn prelude_length(css: &[u8]) -> Option<usize> {
    let first = memchr::memchr3(b'{', b'}', b';', css)?;
    if has_string(&css[..first]) { find_outside_strings(css, b"{};") } else { Some(first) }
}

/// Rare, so that usually the first mark found is the right one.
fn has_string(css: &[u8]) -> bool {
    memchr::memchr3(b'"', b'\'', b'\\', css).is_some()
}

/// The position of the first of these bytes outside strings.
fn find_outside_strings(css: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = css.get(at) {
        match quote {
            _ if !MATTERS[usize::from(byte)] => {}
            _ if byte == b'\\' => at += 1,
            Some(open) if byte == open || byte == b'\n' => quote = None,
            Some(_) => {}
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            None if wanted.contains(&byte) => return Some(at),
            None => {}
        }
        at += 1;
    }
    None
}

/// Bytes of names in selectors.
static IN_NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let sign = byte as u8;
        table[byte] =
            sign.is_ascii_alphanumeric() || matches!(sign, b'-' | b'_') || !sign.is_ascii();
        byte += 1;
    }
    table
};

/// Bytes that may end a rule, a block or a string.
static MATTERS: [bool; 256] = {
    let mut table = [false; 256];
    let marks = b"{};\"'\\\n";
    let mut mark = 0;
    while mark < marks.len() {
        table[marks[mark] as usize] = true;
        mark += 1;
    }
    table
};

/// Length of a block from after its opening brace to and including its closing brace.
fn block_length(css: &[u8]) -> usize {
    let mut depth = 1;
    let mut at = 0;
    while let Some(first) = memchr::memchr2(b'{', b'}', &css[at..]) {
        at += if has_string(&css[at..at + first]) {
            let Some(found) = find_outside_strings(&css[at..], b"{}") else { break };
            found + 1
        } else {
            first + 1
        };
        depth = if css[at - 1] == b'{' { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return at;
        }
    }
    css.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation, brace by brace.
    fn slow_block_length(css: &[u8]) -> usize {
        let (mut depth, mut at) = (1, 0);
        while let Some(found) = find_outside_strings(&css[at..], b"{}") {
            depth = if css[at + found] == b'{' { depth + 1 } else { depth - 1 };
            at += found + 1;
            if depth == 0 {
                return at;
            }
        }
        css.len()
    }

    proptest! {
        #[test]
        fn marks_are_found_as_byte_by_byte(css in "[a{};\"'\\\\\n ]{0,60}") {
            let css = css.as_bytes();
            prop_assert_eq!(prelude_length(css), find_outside_strings(css, b"{};"));
            prop_assert_eq!(block_length(css), slow_block_length(css));
        }
    }
}
