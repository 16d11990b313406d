//! Facts stated by the markup of a page: title, address, language, links.
//!
//! Addresses are stored as written until the whole page has been read, because a `<base>` applies to the whole
//! page wherever it is. The first title, base, canonical link, refresh and language count. An empty `href` is
//! not a link.
//!
//! Source: the HTML standard, "shared declarative refresh steps" for refresh values.

use std::ops::Range;

use url::Url;

use super::attributes::{Attribute, Attributes};
use super::document::{Link, Page, Refresh};
use super::element::Element;
use super::fold::Fold;
use super::options::Limits;
use super::urls::remove_urls;

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) title: Fold,
    pub(super) has_title: bool,
    base: Option<String>,
    canonical: Option<String>,
    refresh: Option<Refresh>,
    language: Option<String>,
    content_language: Option<String>,
    links: Vec<WrittenLink>,
    /// Addresses and texts of the links, concatenated.
    written: Vec<u8>,
    /// Start of the current link's text in the page's text.
    open_link: Option<usize>,
    too_many_links: bool,
    collect_links: bool,
    limits: Limits,
}

#[derive(Debug)]
struct WrittenLink {
    address: Range<usize>,
    words: Range<usize>,
    nofollow: bool,
}

impl Facts {
    pub(super) fn new(collect_links: bool, limits: &Limits) -> Self {
        Self {
            title: Fold::new(limits.max_title_bytes),
            has_title: false,
            base: None,
            canonical: None,
            refresh: None,
            language: None,
            content_language: None,
            links: Vec::new(),
            written: Vec::new(),
            open_link: None,
            too_many_links: false,
            collect_links,
            limits: limits.clone(),
        }
    }

    pub(super) fn reset(&mut self) {
        let buffer = self.title.finish();
        self.title.reset(buffer);
        self.has_title = false;
        self.base = None;
        self.canonical = None;
        self.refresh = None;
        self.language = None;
        self.content_language = None;
        self.links.clear();
        self.written.clear();
        self.open_link = None;
        self.too_many_links = false;
    }

    /// Whether attributes of this element state a fact.
    #[inline]
    pub(super) fn wants_attributes(&self, element: Element) -> bool {
        match element {
            Element::Html | Element::Base | Element::Link | Element::Meta => true,
            Element::A | Element::Area | Element::Frame => self.collect_links,
            _ => false,
        }
    }

    /// Handles a start tag. `text` is the page's text before it.
    pub(super) fn start_tag(&mut self, element: Element, attributes: &Attributes, text: &[u8]) {
        let get = |attribute| attributes.get(attribute).map(|value| value.trim_ascii());
        match element {
            Element::Html => set_first(&mut self.language, get(Attribute::Lang)),
            Element::Base => set_first(&mut self.base, get(Attribute::Href)),
            Element::Link if has_token(get(Attribute::Rel), b"canonical") => {
                set_first(&mut self.canonical, get(Attribute::Href));
            }
            Element::Meta => self.meta(
                get(Attribute::HttpEquiv).unwrap_or_default(),
                get(Attribute::Content).unwrap_or_default(),
            ),
            Element::A | Element::Area | Element::Frame if self.collect_links => {
                self.end_link(text);
                let source =
                    if element == Element::Frame { Attribute::Src } else { Attribute::Href };
                let address = get(source).unwrap_or_default();
                if address.is_empty() {
                    return;
                }
                if self.links.len() >= self.limits.max_links {
                    self.too_many_links = true;
                    return;
                }
                let start = self.written.len();
                self.written.extend_from_slice(address);
                let end = self.written.len();
                let nofollow = has_token(get(Attribute::Rel), b"nofollow");
                self.links.push(WrittenLink { address: start..end, words: end..end, nofollow });
                if element == Element::A {
                    self.open_link = Some(text.len());
                }
            }
            _ => {}
        }
    }

    fn meta(&mut self, pragma: &[u8], content: &[u8]) {
        if pragma.eq_ignore_ascii_case(b"refresh") && self.refresh.is_none() {
            self.refresh = parse_refresh(&String::from_utf8_lossy(content));
        }
        // A list of languages does not describe the page as a whole.
        if pragma.eq_ignore_ascii_case(b"content-language") && !content.contains(&b',') {
            set_first(&mut self.content_language, Some(content));
        }
    }

    /// Ends the current link: its text is the text since its start tag.
    pub(super) fn end_link(&mut self, text: &[u8]) {
        let Some(start) = self.open_link.take() else { return };
        let words = text.get(start..).unwrap_or_default().trim_ascii();
        let words = cut_between_characters(words, self.limits.max_link_text_bytes);
        if let Some(link) = self.links.last_mut() {
            let at = self.written.len();
            self.written.extend_from_slice(words);
            link.words = at..self.written.len();
        }
    }

    /// Number of links, for [`drop_links`](Self::drop_links).
    pub(super) fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Drops all links after the first `count`, because they are in hidden parts.
    pub(super) fn drop_links(&mut self, count: usize) {
        if self.links.len() > count {
            self.links.truncate(count);
            self.open_link = None;
        }
    }

    /// Moves all facts into `page`, with addresses made absolute against `<base>` and `url`.
    pub(super) fn finish(&mut self, url: Option<&str>, text: &[u8], page: &mut Page) {
        self.end_link(text);
        let mut title = self.title.finish();
        remove_trailing_space(&mut title);
        page.title = (self.has_title && !title.is_empty())
            .then(|| String::from_utf8_lossy(&title).into_owned());
        self.title.reset(title);
        page.language = self.language.take().or(self.content_language.take());
        page.truncated |= self.too_many_links;

        let max = self.limits.max_url_bytes;
        let own = url.filter(|url| url.len() <= max).and_then(|url| Url::parse(url).ok());
        let base = match (self.base.take(), &own) {
            (Some(base), Some(own)) => own.join(&base).ok(),
            (Some(base), None) => Url::parse(&base).ok(),
            (None, _) => None,
        };
        let base = base.filter(is_web).or(own);
        let resolver = Resolver { base, max };
        page.canonical = self.canonical.take().and_then(|written| resolver.stated(written));
        page.refresh = self.refresh.take().map(|mut refresh| {
            refresh.url = refresh.url.and_then(|written| resolver.stated(written));
            refresh
        });
        self.finish_links(&resolver, &mut page.links);
    }

    fn finish_links(&mut self, resolver: &Resolver, links: &mut Vec<Link>) {
        for link in self.links.drain(..) {
            let address = String::from_utf8_lossy(&self.written[link.address]);
            let Some(url) = resolver.link(&address) else { continue };
            let mut words = self.written[link.words].to_vec();
            remove_urls(&mut words, |_| {});
            remove_trailing_space(&mut words);
            let text = String::from_utf8_lossy(&words).into_owned();
            links.push(Link { url, text, nofollow: link.nofollow });
        }
        keep_each_address_once(links);
    }
}

/// Keeps the first link to each address, with the first non-empty text.
fn keep_each_address_once(links: &mut Vec<Link>) {
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by(|&a, &b| links[a].url.cmp(&links[b].url).then(a.cmp(&b)));
    let mut repeated = vec![false; links.len()];
    let mut first = 0;
    for pair in 1..order.len() {
        let (kept, other) = (order[first], order[pair]);
        if links[kept].url != links[other].url {
            first = pair;
            continue;
        }
        repeated[other] = true;
        if links[kept].text.is_empty() {
            links[kept].text = std::mem::take(&mut links[other].text);
        }
        links[kept].nofollow &= links[other].nofollow;
    }
    let mut flags = repeated.into_iter();
    links.retain(|_| !flags.next().unwrap_or(false));
}

struct Resolver {
    base: Option<Url>,
    max: usize,
}

impl Resolver {
    fn resolve(&self, written: &str) -> Option<Url> {
        match &self.base {
            Some(base) => base.join(written).ok(),
            None => Url::parse(written).ok(),
        }
    }

    fn link(&self, written: &str) -> Option<String> {
        let mut url = self.resolve(written).filter(is_web)?;
        url.set_fragment(None);
        let url = String::from(url);
        (url.len() <= self.max).then_some(url)
    }

    /// An address that the page states about itself; kept as written if there is no base to resolve
    /// it against.
    fn stated(&self, written: String) -> Option<String> {
        match self.resolve(&written) {
            Some(url) => {
                is_web(&url).then(|| String::from(url)).filter(|url| url.len() <= self.max)
            }
            None => self.base.is_none().then_some(written),
        }
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Stores the value unless there is one already or it is empty.
fn set_first(place: &mut Option<String>, value: Option<&[u8]>) {
    if let Some(value) = value
        && place.is_none()
        && !value.is_empty()
    {
        *place = Some(String::from_utf8_lossy(value).into_owned());
    }
}

fn has_token(value: Option<&[u8]>, token: &[u8]) -> bool {
    value
        .unwrap_or_default()
        .split(u8::is_ascii_whitespace)
        .any(|word| word.eq_ignore_ascii_case(token))
}

/// Parses a value such as `5`, `0; url=/next` or `3,'/next'`.
fn parse_refresh(value: &str) -> Option<Refresh> {
    let value = value.trim_ascii_start();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let after = value[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if digits == 0 && !value.starts_with('.') {
        return None;
    }
    let delay_seconds = match &value[..digits] {
        "" => 0,
        digits => digits.parse().unwrap_or(u32::MAX),
    };
    if !after.is_empty()
        && !after.starts_with([';', ','])
        && !after.starts_with(|c: char| c.is_ascii_whitespace())
    {
        return None;
    }
    let after = after.trim_ascii_start();
    let mut url = after.strip_prefix([';', ',']).unwrap_or(after).trim_ascii_start();
    if url.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("url"))
        && let Some(rest) = url[3..].trim_ascii_start().strip_prefix('=')
    {
        url = rest.trim_ascii_start();
    }
    if let Some(quote @ ('"' | '\'')) = url.chars().next() {
        url = &url[1..];
        url = url.split(quote).next().unwrap_or(url);
    }
    let url = url.trim_ascii();
    Some(Refresh { delay_seconds, url: (!url.is_empty()).then(|| url.to_owned()) })
}

fn cut_between_characters(text: &[u8], max: usize) -> &[u8] {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while end > 0 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

fn remove_trailing_space(text: &mut Vec<u8>) {
    if text.last() == Some(&b' ') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_values_are_read_as_browsers_read_them() {
        let read =
            |value: &str| parse_refresh(value).map(|refresh| (refresh.delay_seconds, refresh.url));
        let to = |url: &str| Some(url.to_owned());
        for (value, expected) in [
            ("5", Some((5, None))),
            (" 0; url=/next", Some((0, to("/next")))),
            ("0;URL='/a b'", Some((0, to("/a b")))),
            ("3.7 , \"x\" tail", Some((3, to("x")))),
            ("1 http://example.org/", Some((1, to("http://example.org/")))),
            (".5;url=u", Some((0, to("u")))),
            ("99999999999", Some((u32::MAX, None))),
            ("2;url", Some((2, to("url")))),
            ("", None),
            ("x", None),
            ("5x", None),
            ("-1", None),
        ] {
            assert_eq!(read(value), expected, "{value}");
        }
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut_between_characters("aé中".as_bytes(), 2), b"a");
        assert_eq!(cut_between_characters("aé中".as_bytes(), 5), "aé".as_bytes());
        assert_eq!(cut_between_characters("aé".as_bytes(), 9), "aé".as_bytes());
    }
}
