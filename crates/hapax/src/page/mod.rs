//! Extracts the visible text from the bytes of a page.
//!
//! An [`Extractor`] detects the kind and encoding of the bytes, decodes them, drops what is not shown and folds
//! the rest into words separated by single spaces. It also finds title, canonical URL, refresh, language and
//! out-links.
//!
//! ```
//! use hapax::page::{Hints, Extractor, ExtractOptions};
//!
//! let mut extractor = Extractor::new(ExtractOptions::default());
//! let page = extractor.extract(
//!     b"<title>Tea</title><p>Green&nbsp;tea <a href=/shop>from <b>our</b> shop</a>, see www.example.org.",
//!     &Hints::default(),
//! )?;
//! assert_eq!(page.text, "Green tea from our shop, see .");
//! assert_eq!(page.title.as_deref(), Some("Tea"));
//! # Ok::<(), hapax::page::PageError>(())
//! ```
//!
//! Guarantees that any bytes end in a [`Page`] or a [`PageError`], in linear time and memory bounded by
//! [`Limits`], without tree or recursion. The result depends on bytes, hints and options only. Does not handle
//! words, external style sheets or scripts: text hidden only by these is kept.
//!
//! Source: Khan and Ali 2015, section III.F, for what is removed; the HTML standard for how pages are read.

mod attributes;
mod blocks;
mod charset;
mod content;
mod cursor;
mod document;
mod element;
mod emitter;
mod facts;
mod fold;
mod hidden;
mod joiners;
mod marks;
mod options;
mod prescan;
mod sniff;
mod tag;
#[cfg(test)]
mod tests;
mod urls;

use std::borrow::Cow;
use std::cell::Cell;

use html5gum::Tokenizer;

pub use document::{EncodingSource, Kind, Link, Page, PageError, Refresh};
pub use options::{Body, Document, Extent, ExtractOptions, Hints, Limits};

use attributes::Attributes;
use blocks::Blocks;
use charset::Charset;
use cursor::Cursor;
use emitter::{Gathered, PageEmitter, Syntax, Tally};
use facts::Facts;
use fold::Fold;
use hidden::{OpenElements, Sheet};

/// Minimum bytes of text in `noscript` to be a page's text. Less is usually a request to enable
/// scripts, which many pages share.
const MIN_NOSCRIPT_BYTES: usize = 1_000;

/// Larger buffers are not kept for the next page: few pages need such, but each thread would keep one.
const MOST_KEPT: usize = 512 << 10;

/// Extracts text from pages one after another, reusing its buffers.
#[derive(Debug)]
pub struct Extractor {
    options: ExtractOptions,
    gathered: Gathered,
    decoded: String,
    page: Page,
    shortcuts: bool,
}

impl Extractor {
    pub fn new(options: ExtractOptions) -> Self {
        let limits = &options.limits;
        Self {
            gathered: Gathered {
                text: Fold::new(limits.max_text_bytes),
                facts: Facts::new(options.collect_links, limits),
                attributes: Attributes::new(limits.max_url_bytes),
                blocks: (options.extent == Extent::MainContent).then(Blocks::new),
                open: OpenElements::new(),
                sheet: Sheet::default(),
                tally: Tally::default(),
            },
            decoded: String::new(),
            page: Page::default(),
            shortcuts: true,
            options,
        }
    }

    pub fn options(&self) -> &ExtractOptions {
        &self.options
    }

    /// Extracts the text of a document in any form.
    ///
    /// # Errors
    ///
    /// [`PageError::Unsupported`] if the bytes are neither markup nor text.
    pub fn document(&mut self, document: &Document<'_>) -> Result<&Page, PageError> {
        let hints = Hints { content_type: document.content_type, url: document.url };
        match document.body {
            Body::Html(html) => self.extract_html(html, &hints),
            Body::Text(text) => self.extract_text(text),
            Body::Bytes(bytes) => self.extract(bytes, &hints),
        }
    }

    /// Extracts a page of unknown kind and encoding.
    ///
    /// # Errors
    ///
    /// [`PageError::Unsupported`] if the bytes are neither markup nor text.
    pub fn extract(&mut self, bytes: &[u8], hints: &Hints<'_>) -> Result<&Page, PageError> {
        self.clear();
        let limit = self.options.limits.max_input_bytes;
        let cut = bytes.len() > limit;
        let bytes = &bytes[..bytes.len().min(limit)];
        let charset = charset::charset_of(bytes, hints.content_type, hints.url);
        let recognised = sniff::recognise(bytes, hints.content_type, charset.is_utf16())?;
        self.page.truncated = cut;
        self.page.encoding = charset.encoding.name();
        self.page.encoding_source = charset.source;

        let mut decoded = std::mem::take(&mut self.decoded);
        let text = decode(bytes, &charset, cut, &mut decoded);
        match recognised.kind {
            Kind::Html => self.read_markup(text, recognised.syntax, hints),
            Kind::Text => self.read_text(text),
        }
        self.decoded = decoded;
        Ok(&self.page)
    }

    /// Extracts decoded HTML.
    ///
    /// # Errors
    ///
    /// Never fails today; the signature is that of [`extract`](Self::extract).
    pub fn extract_html(&mut self, html: &str, hints: &Hints<'_>) -> Result<&Page, PageError> {
        self.clear();
        let html = self.within_limit(html);
        self.read_markup(html, Syntax::Html, hints);
        Ok(&self.page)
    }

    /// Extracts plain text: addresses are removed and white space is folded.
    ///
    /// # Errors
    ///
    /// Never fails today; the signature is that of [`extract`](Self::extract).
    pub fn extract_text(&mut self, text: &str) -> Result<&Page, PageError> {
        self.clear();
        let text = self.within_limit(text);
        self.read_text(text);
        Ok(&self.page)
    }

    /// Clears the previous page, even if the next one is refused.
    fn clear(&mut self) {
        let mut buffer = std::mem::take(&mut self.page.text).into_bytes();
        if buffer.capacity() > MOST_KEPT {
            buffer = Vec::new();
        }
        if self.decoded.capacity() > MOST_KEPT {
            self.decoded = String::new();
        }
        self.restart(buffer);
        self.gathered.sheet.reset();
        let mut links = std::mem::take(&mut self.page.links);
        links.clear();
        let mut addresses = std::mem::take(&mut self.page.addresses);
        addresses.clear();
        self.page = Page { links, addresses, encoding: "UTF-8", ..Page::default() };
    }

    /// Starts reading the current page from its first byte.
    fn restart(&mut self, buffer: Vec<u8>) {
        self.gathered.text.reset(buffer);
        self.gathered.facts.reset();
        self.gathered.open.reset();
        self.gathered.tally = Tally::default();
        if let Some(blocks) = &mut self.gathered.blocks {
            blocks.reset();
        }
    }

    fn within_limit<'t>(&mut self, text: &'t str) -> &'t str {
        let limit = self.options.limits.max_input_bytes;
        self.page.truncated = text.len() > limit;
        &text[..text.floor_char_boundary(limit)]
    }

    fn read_markup(&mut self, html: &str, syntax: Syntax, hints: &Hints<'_>) {
        self.run(html, syntax, false);
        if self.gathered.tally.has_late_rules {
            // They also apply to the text before them.
            self.gathered.sheet.complete();
            let buffer = self.gathered.text.finish();
            self.restart(buffer);
            self.run(html, syntax, false);
        }
        let script_bytes = self.gathered.tally.noscript_bytes;
        self.finish_markup(hints);
        if script_bytes > self.page.text.len().max(MIN_NOSCRIPT_BYTES) {
            self.read_noscript(html, syntax, hints);
        }
    }

    /// The page as shown without scripts, if `noscript` contains most of its text.
    fn read_noscript(&mut self, html: &str, syntax: Syntax, hints: &Hints<'_>) {
        self.restart(Vec::new());
        self.run(html, syntax, true);
        let inside = self.gathered.tally.noscript_bytes;
        if inside >= MIN_NOSCRIPT_BYTES && inside > self.gathered.text.len().saturating_sub(inside)
        {
            self.page.links.clear();
            self.page.addresses.clear();
            self.finish_markup(hints);
        }
    }

    fn run(&mut self, html: &str, syntax: Syntax, reads_noscript: bool) {
        let at = Cell::new(0);
        let input = html.as_bytes();
        let emitter = PageEmitter::new(
            input,
            &at,
            syntax,
            self.shortcuts,
            reads_noscript,
            &mut self.gathered,
        );
        let Ok(()) = Tokenizer::new_with_emitter(Cursor::new(input, &at), emitter).finish();
    }

    fn finish_markup(&mut self, hints: &Hints<'_>) {
        let Gathered { text, facts, blocks, tally, .. } = &mut self.gathered;
        facts.finish(hints.url, text.bytes(), &mut self.page);
        self.page.hidden_bytes = tally.hidden_bytes;
        self.page.truncated |= text.is_full();
        let mut bytes = text.finish();
        if let Some(title) = self.page.title.as_deref()
            && self.options.extent == Extent::Page
        {
            bytes.splice(0..0, title.bytes().chain([b' ']));
        }
        if let Some(blocks) = blocks {
            blocks.finish(bytes.len());
            content::keep_main_content(blocks, &mut bytes, &content::TUNING);
        }
        self.finish_text(bytes);
    }

    fn read_text(&mut self, text: &str) {
        self.page.kind = Kind::Text;
        self.gathered.text.push(text.as_bytes());
        self.page.truncated |= self.gathered.text.is_full();
        let folded = self.gathered.text.finish();
        self.finish_text(folded);
    }

    fn finish_text(&mut self, mut text: Vec<u8>) {
        joiners::remove_needless(&mut text);
        let addresses = &mut self.page.addresses;
        urls::remove_urls(&mut text, |address| {
            addresses.push_str(&String::from_utf8_lossy(address));
            addresses.push(' ');
        });
        if text.last() == Some(&b' ') {
            text.pop();
        }
        // Only complete characters were copied, so nothing is replaced.
        self.page.text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
}

/// The kind of a page and its decoded contents, before extraction, for passing pages on. Leaves out
/// bytes beyond [`Limits::max_input_bytes`].
///
/// # Errors
///
/// [`PageError::Unsupported`] if the bytes are neither markup nor text.
pub fn decoded<'b>(bytes: &'b [u8], hints: &Hints<'_>) -> Result<(Kind, Cow<'b, str>), PageError> {
    let limit = Limits::default().max_input_bytes;
    let cut = bytes.len() > limit;
    let bytes = &bytes[..bytes.len().min(limit)];
    let charset = charset::charset_of(bytes, hints.content_type, hints.url);
    let kind = sniff::recognise(bytes, hints.content_type, charset.is_utf16())?.kind;
    if charset.encoding == encoding_rs::UTF_8
        && let Ok(text) = str::from_utf8(&bytes[charset.mark_length..])
    {
        return Ok((kind, Cow::Borrowed(text)));
    }
    let mut buffer = String::new();
    let text = decode(bytes, &charset, cut, &mut buffer).to_owned();
    Ok((kind, Cow::Owned(text)))
}

/// The decoded text of `bytes`: borrowed if it is UTF-8, otherwise in `buffer`.
fn decode<'t>(bytes: &'t [u8], charset: &Charset, cut: bool, buffer: &'t mut String) -> &'t str {
    let bytes = &bytes[charset.mark_length..];
    if charset.encoding == encoding_rs::UTF_8 {
        match str::from_utf8(bytes) {
            Ok(text) => return text,
            Err(error) if cut && error.error_len().is_none() => {
                return str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            }
            Err(_) => {}
        }
    }
    buffer.clear();
    charset::decode_into(bytes, charset.encoding, cut, buffer);
    buffer
}
