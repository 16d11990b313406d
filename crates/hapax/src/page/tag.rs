//! The tag being read by the emitter.

use super::element::Element;
use super::hidden::name_of;

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) name: [u8; Element::MAX_NAME],
    /// More than `Element::MAX_NAME` if the name is too long to be known.
    pub(super) name_length: usize,
    pub(super) is_end: bool,
    pub(super) self_closing: bool,
    /// The element and its number, if the tag was regular.
    pub(super) element: Option<(Element, u64)>,
}

impl Tag {
    pub(super) const NONE: Self = Self {
        name: [0; Element::MAX_NAME],
        name_length: 0,
        is_end: false,
        self_closing: false,
        element: None,
    };

    pub(super) fn name(&self) -> &[u8] {
        self.name.get(..self.name_length).unwrap_or_default()
    }

    pub(super) fn element(&self) -> (Element, u64) {
        self.element.unwrap_or_else(|| {
            let number =
                if self.name_length > Element::MAX_NAME { u64::MAX } else { name_of(self.name()) };
            (Element::from_name(self.name()), number)
        })
    }
}
