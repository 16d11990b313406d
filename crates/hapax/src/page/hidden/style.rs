//! Reduces the declarations of a style to the facts that decide whether text is hidden.
//!
//! Each fact is a bit with three states: not declared, declared as not hiding, declared as hiding. A value that
//! is not understood leaves its fact unchanged, like an invalid declaration in browsers. Lengths are converted
//! to whole pixels by fixed factors, without floating-point numbers. Does not handle `calc()`, `var()`,
//! `inset`, colours and animations.

use std::borrow::Cow;

use super::open::Effect;

const NOT_DISPLAYED: u32 = 1 << 0;
const BLOCK: u32 = 1 << 1;
const INVISIBLE: u32 = 1 << 2;
const TRANSPARENT: u32 = 1 << 3;
const NO_FONT: u32 = 1 << 4;
const OUT_OF_FLOW: u32 = 1 << 5;
const RELATIVE: u32 = 1 << 6;
const FLOATS: u32 = 1 << 7;
const FAR_LEFT: u32 = 1 << 8;
const FAR_RIGHT: u32 = 1 << 9;
const FAR_TOP: u32 = 1 << 10;
const FAR_BOTTOM: u32 = 1 << 11;
const INDENTED: u32 = 1 << 12;
const CLIPS: u32 = 1 << 13;
const NO_WIDTH: u32 = 1 << 14;
const NO_HEIGHT: u32 = 1 << 15;
const DOT_WIDTH: u32 = 1 << 16;
const DOT_HEIGHT: u32 = 1 << 17;
const NO_MAX_WIDTH: u32 = 1 << 18;
const NO_MAX_HEIGHT: u32 = 1 << 19;
const CLIPPED: u32 = 1 << 20;
const CLIP_PATH: u32 = 1 << 21;
const SKIPPED: u32 = 1 << 22;
const MOVED: u32 = 1 << 23;

/// Pixels beyond which a position is off screen.
const FAR: i64 = -999;

/// The declared properties that can hide text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Style {
    set: u32,
    on: u32,
    important: u32,
}

impl Style {
    /// `display: none`, which also applies to the attribute `hidden` and to closed dialogs.
    pub(in super::super) const NOT_DISPLAYED: Self =
        Self { set: NOT_DISPLAYED, on: NOT_DISPLAYED, important: 0 };

    /// Parses the declarations of a `style` attribute or a rule.
    pub(in super::super) fn parse(css: &[u8]) -> Self {
        let mut style = Self::default();
        for_each_declaration(css, |name, value| {
            let (value, important) = match value.iter().rposition(|&byte| byte == b'!') {
                Some(at) if value[at + 1..].trim_ascii() == b"important" => {
                    (value[..at].trim_ascii_end(), true)
                }
                _ => (value, false),
            };
            if let Some((set, on)) = facts(name, value) {
                let important = if important { set } else { 0 };
                style = style.then(Self { set, on, important });
            }
        });
        style
    }

    pub(in super::super) fn is_empty(self) -> bool {
        self.set == 0
    }

    /// Whether anything in it can hide text.
    pub(in super::super) fn may_hide(self) -> bool {
        self.on & !(BLOCK | OUT_OF_FLOW | RELATIVE | FLOATS | CLIPS) != 0
    }

    /// Combines both; `later` has the same or higher specificity.
    #[must_use]
    pub(in super::super) fn then(self, later: Self) -> Self {
        let wins = later.set & (!self.important | later.important);
        Self {
            set: self.set | later.set,
            on: (self.on & !wins) | (later.on & wins),
            important: self.important | later.important,
        }
    }

    /// The effect on the text of an element that is a block by default or not.
    pub(in super::super) fn effect(self, is_block: bool) -> Effect {
        if self.set == 0 {
            return Effect::NONE;
        }
        let on = |bits: u32| self.on & bits != 0;
        let is_box = on(BLOCK | OUT_OF_FLOW | FLOATS) || (is_block && self.set & BLOCK == 0);
        let off_screen =
            on(OUT_OF_FLOW | RELATIVE) && on(FAR_LEFT | FAR_RIGHT | FAR_TOP | FAR_BOTTOM);
        let no_room = on(NO_WIDTH | NO_HEIGHT | NO_MAX_WIDTH | NO_MAX_HEIGHT)
            || (on(DOT_WIDTH) && on(DOT_HEIGHT));
        let mut effect = Effect::NONE;
        if on(NOT_DISPLAYED)
            || (on(OUT_OF_FLOW) && (off_screen || on(CLIPPED)))
            || (is_box && on(CLIPS) && no_room && (on(OUT_OF_FLOW | FLOATS) || !is_block))
        {
            effect = effect.and(Effect::GONE);
        }
        if on(TRANSPARENT)
            || off_screen
            || (is_box && (on(INDENTED | SKIPPED | MOVED) || (on(CLIPS) && no_room)))
            || on(CLIP_PATH)
        {
            effect = effect.and(Effect::UNSEEN);
        }
        if self.set & INVISIBLE != 0 {
            effect = effect.and(if on(INVISIBLE) { Effect::INVISIBLE } else { Effect::VISIBLE });
        }
        if self.set & NO_FONT != 0 {
            effect = effect.and(if on(NO_FONT) { Effect::NO_FONT } else { Effect::FONT });
        }
        effect
    }
}

/// Calls `visit` for each declaration: name and value in lower case, without comments, trimmed.
fn for_each_declaration(css: &[u8], mut visit: impl FnMut(&[u8], &[u8])) {
    let awkward = |byte: &u8| {
        byte.is_ascii_uppercase()
            || matches!(byte, b'\\' | b'/' | b'"' | b'\'' | b'(' | b'[' | b'{')
    };
    if !css.iter().fold(false, |found, byte| found | awkward(byte)) {
        for declaration in css.split(|&byte| byte == b';') {
            if let Some(colon) = memchr::memchr(b':', declaration) {
                visit(declaration[..colon].trim_ascii(), declaration[colon + 1..].trim_ascii());
            }
        }
        return;
    }
    let css = plain(css);
    let mut start = 0;
    let mut colon = None;
    let mut depth = 0usize;
    let mut quote = None;
    for at in 0..=css.len() {
        let byte = css.get(at).copied();
        match (byte, quote) {
            (Some(byte), Some(open)) if byte == open || byte == b'\n' => quote = None,
            (Some(_), Some(_)) => {}
            (Some(byte @ (b'"' | b'\'')), None) => quote = Some(byte),
            (Some(b'(' | b'[' | b'{'), None) => depth += 1,
            (Some(b')' | b']' | b'}'), None) => depth = depth.saturating_sub(1),
            (Some(b':'), None) if depth == 0 && colon.is_none() => colon = Some(at),
            (Some(b';'), None) if depth > 0 => {}
            (Some(b';') | None, _) => {
                if let Some(colon) = colon.take() {
                    visit(css[start..colon].trim_ascii(), css[colon + 1..at].trim_ascii());
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The text in lower case without comments and escapes; borrowed if unchanged.
pub(super) fn plain(css: &[u8]) -> Cow<'_, [u8]> {
    let has_comment = memchr::memmem::find(css, b"/*").is_some();
    let has_escape = memchr::memchr(b'\\', css).is_some();
    if !(has_comment || has_escape || css.iter().any(u8::is_ascii_uppercase)) {
        return Cow::Borrowed(css);
    }
    let mut out = Vec::with_capacity(css.len());
    let mut rest = css;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'/' if after.first() == Some(&b'*') => {
                let end = memchr::memmem::find(&after[1..], b"*/");
                rest = end.map_or(&[], |end| &after[end + 3..]);
                out.push(b' ');
            }
            b'\\' => out.push(unescape(&mut rest)),
            byte => out.push(byte.to_ascii_lowercase()),
        }
    }
    Cow::Owned(out)
}

/// The character after a backslash; one with a meaning in the grammar, or beyond ASCII, is replaced
/// by a placeholder.
fn unescape(rest: &mut &[u8]) -> u8 {
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let code = if digits == 0 {
        let Some((&byte, after)) = rest.split_first() else { return b'_' };
        *rest = after;
        u32::from(byte)
    } else {
        let hex = &rest[..digits];
        *rest = &rest[digits..];
        if let [b' ' | b'\t' | b'\n', after @ ..] = *rest {
            *rest = after;
        }
        hex.iter().fold(0, |code, &byte| code * 16 + char::from(byte).to_digit(16).unwrap_or(0))
    };
    match u8::try_from(code) {
        Ok(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => byte.to_ascii_lowercase(),
        _ => b'_',
    }
}

/// The facts that a declaration sets, and those of them that hide.
fn facts(name: &[u8], value: &[u8]) -> Option<(u32, u32)> {
    let flag = |bit: u32, on: bool| (bit, if on { bit } else { 0 });
    let far = |bit: u32| Some(flag(bit, Length::read(value)?.pixels() <= FAR));
    Some(match name {
        b"display" => return display(value),
        b"visibility" => match value {
            b"hidden" | b"collapse" => flag(INVISIBLE, true),
            b"visible" | b"initial" => flag(INVISIBLE, false),
            _ => return None,
        },
        b"content-visibility" => flag(SKIPPED, value == b"hidden"),
        b"opacity" => flag(TRANSPARENT, Length::read(value)?.is_nearly_zero()),
        b"font-size" => return font_size(value),
        b"font" => {
            let size = value.split(|&byte| matches!(byte, b' ' | b'/')).find(|part| {
                part.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b'.')
                    && Length::read(part)
                        .is_some_and(|length| length.factor != 0 || length.is_zero())
            });
            return font_size(size?);
        }
        b"position" => match value {
            b"absolute" | b"fixed" => (OUT_OF_FLOW | RELATIVE, OUT_OF_FLOW),
            b"relative" | b"sticky" => (OUT_OF_FLOW | RELATIVE, RELATIVE),
            b"static" | b"initial" => (OUT_OF_FLOW | RELATIVE, 0),
            _ => return None,
        },
        b"float" => flag(FLOATS, value != b"none"),
        b"left" => return far(FAR_LEFT),
        b"right" => return far(FAR_RIGHT),
        b"top" => return far(FAR_TOP),
        b"bottom" => return far(FAR_BOTTOM),
        b"text-indent" => return far(INDENTED),
        b"overflow" | b"overflow-x" | b"overflow-y" => flag(CLIPS, value != b"visible"),
        b"width" => return size(value, NO_WIDTH, DOT_WIDTH),
        b"height" => return size(value, NO_HEIGHT, DOT_HEIGHT),
        b"max-width" => return size(value, NO_MAX_WIDTH, 0),
        b"max-height" => return size(value, NO_MAX_HEIGHT, 0),
        b"clip" => flag(CLIPPED, is_empty_rectangle(value)),
        b"clip-path" => flag(CLIP_PATH, is_empty_path(value)),
        b"transform" => flag(MOVED, is_moved_away(value)),
        _ => return None,
    })
}

fn display(value: &[u8]) -> Option<(u32, u32)> {
    let both = NOT_DISPLAYED | BLOCK;
    Some(match value {
        b"none" => (both, NOT_DISPLAYED),
        b"inline" | b"contents" => (both, 0),
        b"initial" | b"inherit" | b"unset" | b"revert" => (NOT_DISPLAYED, 0),
        b"block" | b"inline-block" | b"flex" | b"inline-flex" | b"grid" | b"inline-grid"
        | b"list-item" | b"flow-root" | b"-webkit-box" => (both, BLOCK),
        _ if value.starts_with(b"table") || value == b"inline-table" => (both, BLOCK),
        _ => return None,
    })
}

/// Unreadable up to one pixel; a relative size keeps the state of the parent.
fn font_size(value: &[u8]) -> Option<(u32, u32)> {
    if matches!(value, b"small" | b"medium" | b"large" | b"initial")
        || value.starts_with(b"x-")
        || value.starts_with(b"xx-")
    {
        return Some((NO_FONT, 0));
    }
    let length = Length::read(value)?;
    if length.is_nearly_zero() || (length.is_pixels && length.whole <= 1) {
        return Some((NO_FONT, NO_FONT));
    }
    length.is_absolute.then_some((NO_FONT, 0))
}

fn size(value: &[u8], none: u32, dot: u32) -> Option<(u32, u32)> {
    let Some(length) = Length::read(value) else {
        return matches!(value, b"auto" | b"none" | b"initial").then_some((none | dot, 0));
    };
    let dotted = if length.is_pixels && length.whole <= 1 { dot } else { 0 };
    Some((none | dot, if length.is_zero() { none | dot } else { dotted }))
}

/// An empty `rect()`, or one of a pixel, as used for screen readers.
fn is_empty_rectangle(value: &[u8]) -> bool {
    let Some(inside) = value.strip_prefix(b"rect(") else { return false };
    let edges =
        inside.split(|&byte| matches!(byte, b',' | b' ' | b')')).filter(|part| !part.is_empty());
    let (mut count, mut least, mut most) = (0, i64::MAX, i64::MIN);
    for edge in edges {
        let Some(length) = Length::read(edge) else { return false };
        count += 1;
        least = least.min(length.pixels());
        most = most.max(length.pixels());
    }
    count == 4 && most - least <= 1
}

fn is_empty_path(value: &[u8]) -> bool {
    let first = |prefix: &[u8]| {
        let inside = value.strip_prefix(prefix)?;
        let end = inside.iter().position(|byte| matches!(byte, b' ' | b')' | b','))?;
        Length::read(&inside[..end])
    };
    first(b"inset(").is_some_and(|length| length.is_percent && length.whole >= 50)
        || first(b"circle(").is_some_and(Length::is_zero)
}

fn is_moved_away(value: &[u8]) -> bool {
    let Some((name, inside)) =
        value.split_at_checked(value.iter().position(|&b| b == b'(').unwrap_or(0))
    else {
        return false;
    };
    let mut lengths = inside
        .get(1..)
        .unwrap_or_default()
        .split(|byte| matches!(byte, b',' | b' ' | b')'))
        .filter_map(Length::read);
    match name {
        b"scale" | b"scalex" | b"scaley" | b"scale3d" => {
            lengths.next().is_some_and(Length::is_zero)
        }
        b"translate" | b"translatex" | b"translatey" | b"translate3d" => {
            lengths.any(|length| length.pixels() <= FAR)
        }
        _ => false,
    }
}

/// A number with a unit, reduced to what matters here.
#[derive(Clone, Copy, Debug)]
struct Length {
    whole: i64,
    /// The first digit after the point, and whether any further digit is not zero.
    tenth: u8,
    finer: bool,
    negative: bool,
    /// Approximate pixels per unit; 0 without a unit.
    factor: i64,
    is_absolute: bool,
    is_pixels: bool,
    is_percent: bool,
}

impl Length {
    fn read(value: &[u8]) -> Option<Self> {
        let (negative, digits) = match value {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        let whole_end =
            digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        let whole = digits[..whole_end]
            .iter()
            .fold(0i64, |sum, byte| (sum * 10 + i64::from(byte - b'0')).min(1 << 40));
        let mut unit = &digits[whole_end..];
        let mut fraction: &[u8] = b"";
        if let [b'.', rest @ ..] = unit {
            let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            fraction = &rest[..end];
            unit = &rest[end..];
        }
        if whole_end + fraction.len() == 0 {
            return None;
        }
        let (factor, is_absolute) = match unit {
            b"" => (0, false),
            b"px" | b"pt" => (1, true),
            b"pc" | b"em" => (16, unit == b"pc"),
            b"rem" => (16, true),
            b"ex" | b"ch" => (8, false),
            b"vw" | b"vh" | b"vmin" | b"vmax" => (10, true),
            b"mm" => (4, true),
            b"cm" => (38, true),
            b"in" => (96, true),
            b"%" => (1, false),
            _ => return None,
        };
        Some(Self {
            whole,
            tenth: fraction.first().map_or(0, |byte| byte - b'0'),
            finer: fraction.iter().skip(1).any(|&byte| byte != b'0'),
            negative,
            factor,
            is_absolute,
            is_pixels: factor == 1 && is_absolute,
            is_percent: unit == b"%",
        })
    }

    fn is_zero(self) -> bool {
        self.whole == 0 && self.tenth == 0 && !self.finer
    }

    fn is_nearly_zero(self) -> bool {
        self.negative || (self.whole == 0 && self.tenth == 0)
    }

    fn pixels(self) -> i64 {
        let size = self.whole * self.factor.max(1);
        if self.negative { -size } else { size }
    }
}
