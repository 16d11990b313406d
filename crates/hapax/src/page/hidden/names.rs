//! How tag names nest.
//!
//! A name is a number: its bytes, the first highest, or for more than eight bytes the last eight mixed with the
//! length. Names that are too long to be known are all equal.
//!
//! Source: the HTML standard, "The stack of open elements" and "in body", reduced to what decides where an
//! element ends.

use crate::page::element::{Element, PACKED_LENGTH};

/// The number of a lower-case name.
pub(in crate::page) const fn name_of(name: &[u8]) -> u64 {
    let mut packed = 0;
    let mut at = 0;
    while at < name.len() {
        packed = packed << 8 | name[at] as u64;
        at += 1;
    }
    numbered(packed, name.len())
}

/// The number of a name of `length` bytes whose last eight are packed.
#[inline]
pub(in crate::page) const fn numbered(packed: u64, length: usize) -> u64 {
    if length <= PACKED_LENGTH {
        packed
    } else if length <= Element::MAX_NAME {
        packed ^ (length as u64) << 56
    } else {
        u64::MAX
    }
}

macro_rules! is_one_of {
    ($name:expr, $($one:literal)|+) => {
        false $(|| $name == const { name_of($one) })+
    };
}

/// Whether the element has no contents and no end tag.
#[inline]
pub(in crate::page) fn is_void(element: Element, name: u64) -> bool {
    match element {
        Element::Area
        | Element::Base
        | Element::Link
        | Element::Meta
        | Element::Input
        | Element::Frame => true,
        Element::Gap => is_one_of!(name, b"br" | b"hr" | b"img" | b"col" | b"embed" | b"image"),
        Element::Inline => {
            is_one_of!(
                name,
                b"wbr" | b"source" | b"track" | b"param" | b"keygen" | b"bgsound" | b"basefont"
            )
        }
        _ => false,
    }
}

pub(super) const LINK: u64 = name_of(b"a");
pub(super) const PARAGRAPH: u64 = name_of(b"p");

/// Whether end tags of elements inside do not reach beyond this element.
pub(super) fn bounds_scope(name: u64) -> bool {
    is_one_of!(
        name,
        b"table"
            | b"td"
            | b"th"
            | b"caption"
            | b"object"
            | b"applet"
            | b"marquee"
            | b"template"
            | b"html"
    )
}

/// Elements that are reopened after an element around them was closed.
const FORMATTING: [u64; 14] = [
    LINK,
    name_of(b"b"),
    name_of(b"big"),
    name_of(b"code"),
    name_of(b"em"),
    name_of(b"font"),
    name_of(b"i"),
    name_of(b"nobr"),
    name_of(b"s"),
    name_of(b"small"),
    name_of(b"strike"),
    name_of(b"strong"),
    name_of(b"tt"),
    name_of(b"u"),
];

/// The index of the formatting element with this name; `None` for other elements.
pub(super) fn formatting(name: u64) -> Option<usize> {
    FORMATTING.iter().position(|&one| one == name)
}

/// Whether the end tag of an inline element does not reach beyond this element.
pub(super) fn is_special(element: Element) -> bool {
    use Element::*;
    !matches!(
        element,
        Inline
            | A
            | Span
            | Label
            | Math
            | Gap
            | Svg
            | Video
            | Audio
            | Canvas
            | Datalist
            | RubyParenthesis
            | Annotation
            | AnnotationXml
            | ForeignObject
    )
}

/// Which elements a start tag closes first, and how far up the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Closes {
    Nothing,
    /// The innermost of these, up to any special element except `address`, `div` and `p`.
    ItemsLike([u64; 2]),
    /// The outermost of these inside the innermost table.
    Row(&'static [u64]),
    /// The innermost of these within its scope.
    InScope(&'static [u64]),
}

const LI: u64 = name_of(b"li");
const CELLS: &[u64] = &[name_of(b"td"), name_of(b"th"), name_of(b"caption")];
const ROWS: &[u64] =
    &[name_of(b"tr"), name_of(b"td"), name_of(b"th"), name_of(b"caption"), name_of(b"colgroup")];
const SECTIONS: &[u64] = &[
    name_of(b"tbody"),
    name_of(b"thead"),
    name_of(b"tfoot"),
    name_of(b"tr"),
    name_of(b"td"),
    name_of(b"th"),
    name_of(b"caption"),
    name_of(b"colgroup"),
];
const OPTIONS: &[u64] = &[name_of(b"option")];
const OPTION_GROUPS: &[u64] = &[name_of(b"optgroup"), name_of(b"option")];

pub(super) fn closed_by_start(element: Element, name: u64) -> Closes {
    match element {
        Element::ListItem => Closes::ItemsLike([LI, LI]),
        Element::Td => Closes::Row(CELLS),
        Element::Button => Closes::InScope(const { &[name_of(b"button")] }),
        Element::Gap if name == name_of(b"option") => Closes::InScope(OPTIONS),
        Element::Gap if name == name_of(b"optgroup") => Closes::InScope(OPTION_GROUPS),
        Element::Block if is_one_of!(name, b"dd" | b"dt") => {
            Closes::ItemsLike([name_of(b"dd"), name_of(b"dt")])
        }
        Element::Block if name == name_of(b"tr") => Closes::Row(ROWS),
        Element::Block if is_one_of!(name, b"tbody" | b"thead" | b"tfoot") => Closes::Row(SECTIONS),
        _ => Closes::Nothing,
    }
}

/// Whether a start tag ends an open paragraph.
#[inline]
pub(super) fn closes_paragraph(element: Element, name: u64) -> bool {
    use Element::*;
    match element {
        Paragraph | Heading | ListItem | Div | Section | Article | Aside | Header | Footer
        | Nav | Main | Menu | Dialog | Figure | Figcaption | Form | Ul | Ol | Table | Plaintext
        | Xmp => true,
        Block => !is_one_of!(
            name,
            b"tr"
                | b"tbody"
                | b"thead"
                | b"tfoot"
                | b"caption"
                | b"colgroup"
                | b"legend"
                | b"marquee"
                | b"frameset"
        ),
        Gap => name == name_of(b"hr"),
        _ => false,
    }
}

/// Whether an end tag with this name belongs to a part of a table.
pub(super) fn is_table_part(name: u64) -> bool {
    is_one_of!(name, b"table" | b"tr" | b"td" | b"th" | b"tbody" | b"thead" | b"tfoot" | b"caption")
}

pub(super) fn is_item_wrapper(name: u64) -> bool {
    is_one_of!(name, b"div" | b"p" | b"address")
}

pub(super) fn is_heading(name: u64) -> bool {
    is_one_of!(name, b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6")
}
