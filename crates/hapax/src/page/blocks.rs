//! Splits a page's text into blocks, with the containers around each.
//!
//! A block is the text between two block-level tags. Stores only what [`content`](super::content) needs: the
//! share of link text, and the chain of *marked* containers around the block (`<nav>`, `<article>`,
//! `class="sidebar"`, ...). Finds an end tag without a start tag by counting, so a tag takes constant time on
//! average. Does not choose blocks.

use super::attributes::{Attribute, Attributes};
use super::element::Element;
use super::marks::{Mark, mark_of};

#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Range of its text: `start..end`, possibly with a space at the end.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Number of bytes in links.
    pub(super) link_bytes: usize,
    /// The innermost marked container; `None` without one.
    pub(super) container: Option<u32>,
}

/// An element with a mark about its contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    /// The next marked container outwards; always earlier in the list.
    pub(super) parent: Option<u32>,
    pub(super) mark: Mark,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    element: Element,
    container: Option<u32>,
}

/// Collects the blocks of one page.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    pub(super) containers: Vec<Container>,
    stack: Vec<Open>,
    /// How often each element is on the stack.
    open_count: [u32; Element::COUNT],
    start: usize,
    link_bytes: usize,
    link_start: Option<usize>,
    /// Marks only the current block, for elements that are not kept on the stack.
    own_container: Option<u32>,
}

/// A position to return to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    blocks: usize,
    start: usize,
    link_bytes: usize,
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            containers: Vec::new(),
            stack: Vec::new(),
            open_count: [0; Element::COUNT],
            start: 0,
            link_bytes: 0,
            link_start: None,
            own_container: None,
        }
    }

    /// Clears the previous page but keeps the memory.
    pub(super) fn reset(&mut self) {
        self.blocks.clear();
        self.containers.clear();
        self.stack.clear();
        *self = Self {
            blocks: std::mem::take(&mut self.blocks),
            containers: std::mem::take(&mut self.containers),
            stack: std::mem::take(&mut self.stack),
            ..Self::new()
        };
    }

    /// Handles a start tag after `length` bytes of text.
    pub(super) fn start_tag(&mut self, element: Element, attributes: &Attributes, length: usize) {
        if element == Element::A {
            self.end_link(length);
            self.link_start = attributes.get(Attribute::Href).map(|_| length);
            return;
        }
        if !element.breaks_block() {
            return;
        }
        self.cut(length);
        // The previous element's end tag may be missing.
        if matches!(element, Element::ListItem | Element::Td)
            && self.stack.last().is_some_and(|open| open.element == element)
        {
            self.pop();
        }
        let parent = self.container();
        let container = match mark_of(element, attributes) {
            None => parent,
            Some(mark) => {
                let index = u32::try_from(self.containers.len()).ok();
                if index.is_some() {
                    self.containers.push(Container { parent, mark });
                }
                index.or(parent)
            }
        };
        if element.is_container() {
            self.stack.push(Open { element, container });
            self.open_count[element as usize] += 1;
        } else {
            self.own_container = container;
        }
    }

    /// Handles an end tag after `length` bytes of text.
    pub(super) fn end_tag(&mut self, element: Element, length: usize) {
        if element == Element::A {
            self.end_link(length);
            return;
        }
        if !element.breaks_block() {
            return;
        }
        self.cut(length);
        if self.open_count[element as usize] > 0 {
            while self.pop() != Some(element) {}
        }
    }

    /// Ends the page, whose trimmed text has `length` bytes.
    pub(super) fn finish(&mut self, length: usize) {
        self.cut(length);
        if let Some(last) = self.blocks.last_mut() {
            last.end = last.end.min(length);
        }
    }

    pub(super) fn place(&self) -> Place {
        Place { blocks: self.blocks.len(), start: self.start, link_bytes: self.link_bytes }
    }

    /// Drops the blocks after `place`, because their text was dropped.
    pub(super) fn return_to(&mut self, place: Place) {
        self.blocks.truncate(place.blocks);
        self.start = place.start;
        self.link_bytes = place.link_bytes;
    }

    fn container(&self) -> Option<u32> {
        self.stack.last().and_then(|open| open.container)
    }

    fn pop(&mut self) -> Option<Element> {
        let element = self.stack.pop()?.element;
        self.open_count[element as usize] -= 1;
        Some(element)
    }

    fn end_link(&mut self, length: usize) {
        if let Some(start) = self.link_start.take() {
            self.link_bytes += length.saturating_sub(start);
        }
    }

    /// Ends the current block. A link may continue in the next one.
    fn cut(&mut self, length: usize) {
        let link_goes_on = self.link_start.is_some();
        self.end_link(length);
        if link_goes_on {
            self.link_start = Some(length);
        }
        let container = self.own_container.take().or(self.container());
        if length > self.start {
            self.blocks.push(Block {
                start: self.start,
                end: length,
                link_bytes: self.link_bytes,
                container,
            });
        }
        self.start = length;
        self.link_bytes = 0;
    }
}
