//! Reads the regular parts of a page without the tokenizer: text without character references, and tags whose
//! attributes have the usual forms.
//!
//! Nearly all of a page is regular, and the state machine would look at each of its bytes. Has the same effect as
//! leaving it to the tokenizer, which gets everything else: comments, references, unusual tags, raw text.

use html5gum::{Emitter, State};

use super::PageEmitter;
use crate::page::cursor::{find_text_end, read_name, regular_attributes};
use crate::page::element::Element;
use crate::page::hidden::may_hide;
use crate::page::tag::Tag;

impl PageEmitter<'_> {
    /// Reads the tag whose name begins at `from`, if it is regular; returns the position of its
    /// `>`.
    #[inline]
    pub(super) fn read_regular_tag(&mut self, from: usize) -> Option<usize> {
        let (name_end, element, number) = read_name(self.input, from)?;
        let attributes = &mut self.gathered.attributes;
        let regular = if self.tag.is_end {
            regular_attributes(self.input, name_end, |_, _| true)
        } else {
            attributes.clear();
            let wanted = self.gathered.facts.wants_attributes(element)
                || self.gathered.blocks.is_some()
                    && (element.breaks_block() || element == Element::A)
                || element == Element::Style;
            let has_rules = !self.gathered.sheet.is_empty();
            regular_attributes(self.input, name_end, |name, value| {
                !(wanted || may_hide(name, has_rules)) || attributes.set(name, value)
            })
        }?;
        self.tag.element = Some((element, number));
        self.tag.self_closing = regular.self_closing;
        Some(regular.close)
    }

    /// Reads text and regular tags up to the first thing that needs the tokenizer, which is in its
    /// data state then. Returns the state that the last tag switches it to.
    pub(super) fn read_regular_markup(&mut self) -> Option<State> {
        loop {
            let start = self.at.get();
            let end = start + find_text_end(&self.input[start..])?;
            if start < end {
                self.at.set(end);
                self.emit_string(&self.input[start..end]);
            }
            let (is_end, name) = match self.input[end..] {
                [b'<', b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => (true, end + 2),
                [b'<', b'a'..=b'z' | b'A'..=b'Z', ..] => (false, end + 1),
                _ => return None,
            };
            self.tag = Tag { is_end, ..Tag::NONE };
            let close = self.read_regular_tag(name)?;
            self.at.set(close + 1);
            let state = self.finish_tag();
            if state.is_some() {
                return state;
            }
        }
    }
}
