//! Determines which text a page's own markup hides.
//!
//! `style` reads declarations, `sheet` the simple rules of the page's `<style>` elements, `names` defines how
//! tag names nest, and `open` tracks the open elements and whether their text is hidden. Linear in the page,
//! with bounded memory: at most [`open::MAX_DEPTH`] open elements and [`sheet::MAX_RULES`] rules. Does not
//! handle external style sheets, scripts, colours, or elements that cover others.

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

/// Whether an attribute with this name, in any case, can affect what is hidden, on a page with or
/// without rules.
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

/// The effect of a start tag's attributes and the page's rules on the text inside the element.
#[inline]
pub(super) fn effect_of(
    element: Element,
    name: u64,
    attributes: &Attributes,
    sheet: &Sheet,
) -> Effect {
    let is_dialog = element == Element::Dialog;
    // Ignored: rules that hide the whole page until a script has run.
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
