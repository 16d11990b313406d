//! Which text of a page its own markup hides from a reader.
//!
//! `style` reads declarations, `sheet` the simple rules of the page's `<style>` elements, `names` says what
//! tag names mean to nesting, and `open` keeps the open elements and whether text is hidden inside them.
//! Linear in the page, with bounded memory: at most [`open::MAX_DEPTH`] open elements and
//! [`sheet::MAX_RULES`] rules.
//!
//! Not seen: external style sheets, scripts, colours, and what covers something else.

mod names;
mod open;
mod sheet;
mod style;

pub(super) use names::{is_void, name_of, numbered};
pub(super) use open::{Effect, OpenElements, Separation};
pub(super) use sheet::Sheet;

use super::attributes::{Attribute, Attributes};
use super::element::Element;
use style::Style;

/// Whether an attribute with this name, in any case, can decide what is hidden, in a page with rules or
/// without.
#[inline]
pub(super) fn may_hide(name: &[u8], has_rules: bool) -> bool {
    match name.len() {
        2 => has_rules && name.eq_ignore_ascii_case(b"id"),
        4 => name.eq_ignore_ascii_case(b"open"),
        5 => {
            name.eq_ignore_ascii_case(b"style") || has_rules && name.eq_ignore_ascii_case(b"class")
        }
        6 => name.eq_ignore_ascii_case(b"hidden"),
        _ => false,
    }
}

/// What the attributes of a start tag and the page's rules do to the text inside the element.
#[inline]
pub(super) fn effect_of(
    element: Element,
    name: u64,
    attributes: &Attributes,
    sheet: &Sheet,
) -> Effect {
    let is_dialog = element == Element::Dialog;
    // Scripts show what hides a whole page until it is loaded.
    if !(is_dialog || attributes.any() || sheet.has_tags())
        || matches!(element, Element::Html | Element::Body)
    {
        return Effect::NONE;
    }
    let get = |attribute| attributes.get(attribute);
    let mut style = Style::default();
    if get(Attribute::Hidden).is_some() || (is_dialog && get(Attribute::Open).is_none()) {
        style = Style::NOT_DISPLAYED;
    }
    if !sheet.is_empty() {
        style = sheet.apply(style, name, get(Attribute::Class), get(Attribute::Id));
    }
    if let Some(inline) = get(Attribute::Style) {
        style = style.then(Style::parse(inline));
    }
    style.effect(element.separates())
}
