//! Turns the tokenizer's events into text and facts without building a tree.
//!
//! Everything that a browser would show becomes text, in source order, including text before `<body>` and after
//! `</body>` and MathML formulas. Text areas, buttons and options are left out only for main content. Does not
//! handle encodings, addresses in text, or main content.
//
// Not extracted as text:
// * comments, doctypes, attributes (`alt` and `title` too), `<title>`;
// * text hidden by the page's own markup (`hidden`);
// * contents of `script`, `style`, `noscript`, `iframe`, `noembed`, `noframes`; `noscript` is read if
//   it holds most of the page's text;
// * contents of `svg`, `template`, `object`, `applet`, `video`, `audio`, `canvas`, `datalist`, `rp`,
//   `annotation` and `annotation-xml`.
//
// Unclosed elements (some of them make browsers lose the rest of the page, but not this extractor):
// * An unclosed `svg` ends at the next tag that is HTML only, outside `foreignObject`.
// * The others of the last group, if still open at the end of the page, are read as if their tag
//   were missing. The skipped text is kept until then, so no second pass is needed.
// * `noscript`, `iframe`, `noembed`, `noframes`, `title`, `textarea` and `xmp` without an end tag
//   anywhere after them are read as if their tag were missing.
// * An unclosed `script`, `style` or comment takes the rest of the page, as in browsers.

mod regular;

use std::cell::Cell;
use std::convert::Infallible;

use html5gum::{Emitter, Error, State};
use memchr::memmem;

use super::attributes::{Attribute, Attributes};
use super::blocks::{Blocks, Place};
use super::cursor::find_end_tag;
use super::element::Element;
use super::facts::Facts;
use super::fold::Fold;
use super::hidden::{OpenElements, Separation, Sheet, effect_of, is_void, name_of};
use super::tag::Tag;

/// The rules for reading the markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Html,
    /// HTML in which `<br/>`-like tags close any element.
    Xhtml,
    /// No element is special, each separates words, and CDATA is text.
    Xml,
}

/// What is collected from one page; reused for its memory.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) text: Fold,
    pub(super) facts: Facts,
    pub(super) attributes: Attributes,
    /// `None` unless main content is requested.
    pub(super) blocks: Option<Blocks>,
    pub(super) open: OpenElements,
    pub(super) sheet: Sheet,
    pub(super) tally: Tally,
}

/// Counts about a page besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Bytes of hidden text, without white space.
    pub(super) hidden_bytes: usize,
    /// Bytes of markup inside `noscript`, or of its text if `noscript` is read.
    pub(super) noscript_bytes: usize,
    /// Whether a rule that may hide something came after text.
    pub(super) has_late_rules: bool,
}

/// Destination of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    Text,
    Title,
    Nowhere,
}

/// A region whose text is dropped if its end is found.
#[derive(Debug)]
struct Skip {
    element: Element,
    /// Number of open tags of this element.
    depth: usize,
    /// Number of open `foreignObject` tags inside an `svg`.
    foreign_html: usize,
    text_length: usize,
    link_count: usize,
    place: Option<Place>,
}

impl Skip {
    /// Whether this is inside an image, where names have other meanings than in HTML.
    fn is_foreign(&self) -> bool {
        self.element == Element::Svg && self.foreign_html == 0
    }
}

/// Handles the tokenizer's events.
pub(super) struct PageEmitter<'a> {
    input: &'a [u8],
    at: &'a Cell<usize>,
    syntax: Syntax,
    gathered: &'a mut Gathered,
    /// Whether regular tags are read here rather than by the tokenizer; `false` in tests only.
    shortcuts: bool,
    tag: Tag,
    /// Name of the raw text element whose end the tokenizer is looking for.
    raw: Option<&'static [u8]>,
    sink: Sink,
    skip: Option<Skip>,
    math_depth: usize,
    /// Raw text elements without an end tag in the rest of the page.
    never_closed: Vec<&'static [u8]>,
    /// Whether `noscript` is read like any other element.
    reads_noscript: bool,
    /// Length of the text at the start of the open `noscript`.
    noscript_start: Option<usize>,
}

impl<'a> PageEmitter<'a> {
    pub(super) fn new(
        input: &'a [u8],
        at: &'a Cell<usize>,
        syntax: Syntax,
        shortcuts: bool,
        reads_noscript: bool,
        gathered: &'a mut Gathered,
    ) -> Self {
        Self {
            input,
            at,
            syntax,
            gathered,
            shortcuts,
            tag: Tag::NONE,
            raw: None,
            sink: Sink::Text,
            skip: None,
            math_depth: 0,
            never_closed: Vec::new(),
            reads_noscript,
            noscript_start: None,
        }
    }

    #[inline]
    fn begin_tag(&mut self, is_end: bool) {
        self.tag.name_length = 0;
        self.tag.is_end = is_end;
        self.tag.self_closing = false;
        self.tag.element = None;
        let look_ahead = self.raw.is_none() && self.shortcuts;
        match look_ahead.then(|| self.read_regular_tag(self.at.get() - 1)).flatten() {
            // The tokenizer reads the `>`.
            Some(close) => self.at.set(close),
            None => self.gathered.attributes.clear(),
        }
    }

    fn finish_tag(&mut self) -> Option<State> {
        let (element, name) = self.tag.element();
        if self.tag.is_end {
            self.end_tag(element, name);
            None
        } else {
            self.start_tag(element, name)
        }
    }

    fn start_tag(&mut self, element: Element, name: u64) -> Option<State> {
        if self.syntax == Syntax::Xml {
            self.gathered.text.separate();
            return None;
        }
        let closes_itself = self.tag.self_closing && self.syntax == Syntax::Xhtml;
        if let Some(skip) = &mut self.skip {
            let foreign = skip.is_foreign();
            if foreign && element.breaks_out_of_foreign() {
                self.drop_skipped();
            } else {
                if skip.element != Element::Svg {
                    self.open_element(element, name, closes_itself);
                }
                let Some(skip) = &mut self.skip else { return None };
                let nests = !(closes_itself || (self.tag.self_closing && foreign));
                if nests && element == skip.element {
                    skip.depth += 1;
                } else if nests && skip.element == Element::Svg && element == Element::ForeignObject
                {
                    skip.foreign_html += 1;
                } else if nests && (!foreign || matches!(element, Element::Script | Element::Style))
                {
                    return self.start_inside_skip(element);
                }
                return None;
            }
        }
        match self.open_element(element, name, closes_itself) {
            Separation::Always => self.gathered.text.separate(),
            Separation::Usual if element.separates() => self.gathered.text.separate(),
            Separation::Usual | Separation::Never => {}
        }
        if element == Element::Inline || closes_itself {
            return None;
        }
        let Gathered { text, attributes, blocks, .. } = &mut *self.gathered;
        if let Some(blocks) = blocks {
            blocks.start_tag(element, attributes, text.len());
        }
        let is_control = matches!(element, Element::Button | Element::Select);
        if element.is_skipped() || (is_control && self.gathered.blocks.is_some()) {
            // An `svg` is foreign from its own tag on, so a slash closes it.
            if !(element == Element::Svg && self.tag.self_closing) {
                self.skip = Some(Skip {
                    element,
                    depth: 1,
                    foreign_html: 0,
                    text_length: self.gathered.text.len(),
                    link_count: self.gathered.facts.link_count(),
                    place: self.gathered.blocks.as_ref().map(Blocks::place),
                });
            }
            return None;
        }
        match element {
            Element::Plaintext => {
                self.raw = Some(b"plaintext");
                return Some(State::PlainText);
            }
            Element::Math => self.math_depth += usize::from(!self.tag.self_closing),
            _ if element.breaks_out_of_foreign() => self.math_depth = 0,
            _ => {}
        }
        if let Some(name) = element.raw_text_name() {
            return self.start_raw_text(element, name);
        }
        let Gathered { text, facts, attributes, .. } = &mut *self.gathered;
        facts.start_tag(element, attributes, text.bytes());
        None
    }

    /// Records the element as open, with its effect.
    #[inline]
    fn open_element(&mut self, element: Element, name: u64, closes_itself: bool) -> Separation {
        let Gathered { attributes, open, sheet, .. } = &mut *self.gathered;
        let effect = effect_of(element, name, attributes, sheet);
        // Skipped raw text has no text inside; images have other rules.
        let is_left_out = element.raw_text_name().is_some()
            && !matches!(element, Element::Textarea | Element::Xmp)
            || element == Element::Svg;
        let slash_closes = self.tag.self_closing && self.math_depth > 0;
        let holds = !(closes_itself || slash_closes || is_left_out || is_void(element, name));
        open.start(element, name, effect, holds)
    }

    /// Inside a skipped region only raw text and links matter, in case the region has no end.
    fn start_inside_skip(&mut self, element: Element) -> Option<State> {
        if element.separates() {
            self.gathered.text.separate();
        }
        if matches!(element, Element::A | Element::Area | Element::Frame) {
            let Gathered { text, facts, attributes, .. } = &mut *self.gathered;
            facts.start_tag(element, attributes, text.bytes());
        }
        let name = element.raw_text_name()?;
        self.start_raw_text(element, name)
    }

    fn start_raw_text(&mut self, element: Element, name: &'static [u8]) -> Option<State> {
        let from = self.at.get();
        let end = if self.never_closed.contains(&name) {
            None
        } else {
            find_end_tag(self.input, from, name)
        };
        let Some(end) = end else {
            if matches!(element, Element::Textarea | Element::Xmp) {
                self.gathered.open.end(element, name_of(name));
            }
            if !self.never_closed.contains(&name) {
                self.never_closed.push(name);
            }
            if matches!(element, Element::Script | Element::Style) {
                self.at.set(self.input.len());
            }
            return None;
        };
        let state = match element {
            Element::Title => {
                let facts = &mut self.gathered.facts;
                let first = self.skip.is_none() && !facts.has_title;
                facts.has_title |= first;
                self.sink = if first { Sink::Title } else { Sink::Nowhere };
                State::RcData
            }
            Element::Textarea => {
                self.sink = if self.gathered.blocks.is_some() { Sink::Nowhere } else { Sink::Text };
                State::RcData
            }
            Element::Xmp => State::RawText,
            // Only a comment inside a script can invalidate its end tag.
            Element::Script if memmem::find(&self.input[from..end], b"<!--").is_some() => {
                self.sink = Sink::Nowhere;
                State::ScriptData
            }
            Element::Noscript if self.reads_noscript => {
                self.noscript_start = Some(self.gathered.text.len());
                return None;
            }
            _ => {
                self.step_over(element, from, end);
                return None;
            }
        };
        self.raw = Some(name);
        Some(state)
    }

    fn step_over(&mut self, element: Element, from: usize, end: usize) {
        self.at.set(end);
        let Gathered { attributes, sheet, tally, text, .. } = &mut *self.gathered;
        let inside = &self.input[from..end];
        match element {
            Element::Noscript => tally.noscript_bytes += inside.len(),
            Element::Style
                if self.skip.as_ref().is_none_or(|skip| skip.element != Element::Template) =>
            {
                let seen = text.len() > 0 || tally.hidden_bytes > 0;
                let before = if seen { &self.input[..from] } else { &[] };
                tally.has_late_rules |=
                    sheet.read(inside, attributes.get(Attribute::Media), before);
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, element: Element, name: u64) {
        if self.syntax == Syntax::Xml {
            self.gathered.text.separate();
            return;
        }
        self.raw = None;
        self.sink = Sink::Text;
        if element == Element::Noscript
            && let Some(start) = self.noscript_start.take()
        {
            self.gathered.tally.noscript_bytes += self.gathered.text.len().saturating_sub(start);
        }
        let is_image = element == Element::Svg
            || self.skip.as_ref().is_some_and(|skip| skip.element == Element::Svg);
        let separation = if is_image && !element.breaks_out_of_foreign() {
            Separation::Usual
        } else {
            self.gathered.open.end(element, name)
        };
        let separates = separation == Separation::Usual && element.separates();
        if let Some(skip) = &mut self.skip {
            if element == skip.element {
                skip.depth -= 1;
                if skip.depth == 0 {
                    self.drop_skipped();
                }
                return;
            }
            if skip.element == Element::Svg && element == Element::ForeignObject {
                skip.foreign_html = skip.foreign_html.saturating_sub(1);
                return;
            }
            if !(skip.is_foreign() && element.breaks_out_of_foreign()) {
                if separates {
                    self.gathered.text.separate();
                }
                return;
            }
            self.drop_skipped();
        }
        if separates {
            self.gathered.text.separate();
        }
        if let Some(blocks) = &mut self.gathered.blocks {
            blocks.end_tag(element, self.gathered.text.len());
        }
        match element {
            Element::A => self.gathered.facts.end_link(self.gathered.text.bytes()),
            Element::Math => self.math_depth = self.math_depth.saturating_sub(1),
            _ => {}
        }
    }

    fn drop_skipped(&mut self) {
        if let Some(skip) = self.skip.take() {
            self.gathered.text.truncate(skip.text_length);
            self.gathered.facts.drop_links(skip.link_count);
            if let (Some(blocks), Some(place)) = (&mut self.gathered.blocks, skip.place) {
                blocks.return_to(place);
            }
        }
    }
}

impl Emitter for PageEmitter<'_> {
    type Token = Infallible;

    #[inline]
    fn emit_string(&mut self, run: &[u8]) {
        // After `&` and the like the tokenizer hands over one byte it has looked at. If it is the
        // first byte of a longer character, it is given back, to arrive with the others.
        if let [0x80..=0xff] = run {
            self.at.set(self.at.get() - 1);
            return;
        }
        match self.sink {
            Sink::Text if self.gathered.open.hides() => {
                let seen = run.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
                self.gathered.tally.hidden_bytes += seen;
            }
            Sink::Text => self.gathered.text.push(run),
            Sink::Title => self.gathered.facts.title.push(run),
            Sink::Nowhere => {}
        }
    }

    #[inline]
    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    #[inline]
    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    #[inline]
    fn push_tag_name(&mut self, piece: &[u8]) {
        if self.tag.element.is_none() {
            let end = self.tag.name_length + piece.len();
            if let Some(place) = self.tag.name.get_mut(self.tag.name_length..end) {
                place.copy_from_slice(piece);
                self.tag.name_length = end;
            } else {
                self.tag.name_length = Element::MAX_NAME + 1;
            }
        }
    }

    #[inline]
    fn emit_current_tag(&mut self) -> Option<State> {
        if self.tag.element.is_none() {
            self.gathered.attributes.finish();
        }
        let state = self.finish_tag();
        if state.is_some() || !self.shortcuts { state } else { self.read_regular_markup() }
    }

    fn set_self_closing(&mut self) {
        self.tag.self_closing = true;
    }

    fn init_attribute(&mut self) {
        self.gathered.attributes.open();
    }

    fn push_attribute_name(&mut self, piece: &[u8]) {
        self.gathered.attributes.push_name(piece);
    }

    fn init_attribute_value(&mut self) {
        self.gathered.attributes.push_value(b"");
    }

    fn push_attribute_value(&mut self, piece: &[u8]) {
        self.gathered.attributes.push_value(piece);
    }

    /// Also decides whether a `</title>` inside a script is text, so it must be exact.
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && self.raw.is_some_and(|name| name == self.tag.name())
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.syntax == Syntax::Xml
            || self.math_depth > 0
            || self.skip.as_ref().is_some_and(Skip::is_foreign)
    }

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
