//! Turns a record of an archive into a document, a fact, or nothing. ARC records are responses. For the formats
//! see [`records`](super::records).
//!
//! | record | becomes |
//! |---|---|
//! | response, 2xx | document, body decoded |
//! | response, 3xx with a `Location` | redirect fact |
//! | response, other status | passed, or a document with `keep_error_pages` |
//! | response without an HTTP header | document of the stated type, like a resource |
//! | resource, conversion (WET) | document of the stated type |
//! | revisit of another address | revisit fact, or a redirect if the server redirected |
//! | everything else | passed |

use std::borrow::Cow;
use std::str;

use url::Url;

use crate::batch::Context;
use crate::document::{Body, Content, Document, Entry, Fact, Kind, Place, Reason};
use crate::error::{At, Error};
use crate::options::WarcId;
use crate::original::{Archived, Original};
use crate::timestamp::Timestamp;

use super::arc::ArcLine;
use super::headers::{Headers, split_line};
use super::http::Response;
use super::records::{Frame, Records, Style};

/// Decodes one record of a batch.
pub(crate) fn entry<'a>(
    context: &Context,
    records: &'a Records,
    frame: &Frame,
) -> Result<Entry<'a>, Error> {
    let chunk = &records.chunk;
    let length = frame.header + frame.block;
    let place = chunk.place(context.file, frame.number, frame.start, length);
    let bytes = &chunk.data[frame.start..frame.start + length];
    let packed = chunk.own_member(frame.start, frame.end);
    let record =
        Record { context, place, bytes, header: frame.header, packed, at: chunk.at(place) };
    match records.style {
        Style::Warc => record.warc(),
        Style::Arc => record.arc(),
    }
}

struct Record<'a, 'c> {
    context: &'c Context,
    place: Place,
    bytes: &'a [u8],
    header: usize,
    packed: Option<(u64, u64)>,
    at: At,
}

/// The metadata of a document in the archive's own header.
struct About<'a> {
    url: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    content_type: Option<Cow<'a, str>>,
    fetched: Option<Timestamp>,
    language: Option<Cow<'a, str>>,
    style: Style,
}

impl<'a> About<'a> {
    /// The id or address of a record that is not a document.
    fn name(self) -> Option<Cow<'a, str>> {
        self.url.or(self.id)
    }
}

/// The archived HTTP response.
struct Served<'a> {
    /// Offset of the body in the block.
    header: usize,
    content_type: Option<Cow<'a, str>>,
    language: Option<Cow<'a, str>>,
    link: Option<Cow<'a, str>>,
    body: Cow<'a, [u8]>,
}

impl<'a> Record<'a, '_> {
    fn warc(&self) -> Result<Entry<'a>, Error> {
        let headers = Headers::after_first_line(&self.bytes[..self.header]);
        let kind = headers.get("WARC-Type").unwrap_or_default().to_ascii_lowercase();
        let about = About {
            url: headers.get("WARC-Target-URI").map(without_brackets).filter(|url| !url.is_empty()),
            id: headers.get("WARC-Record-ID").map(without_brackets),
            content_type: headers.get("Content-Type"),
            fetched: headers.get("WARC-Date").and_then(|date| Timestamp::parse(&date)),
            language: headers.get("WARC-Identified-Content-Language"),
            style: Style::Warc,
        };
        match kind.as_str() {
            "response" => self.response(about),
            "resource" | "conversion" => Ok(self.document(about, None)),
            "revisit" => Ok(self.revisit(about, headers)),
            "continuation" => Ok(self.passed(Reason::Continuation, about.name())),
            _ => Ok(self.passed(Reason::NotAPage, about.name())),
        }
    }

    fn arc(&self) -> Result<Entry<'a>, Error> {
        let Some(line) = ArcLine::parse(split_line(&self.bytes[..self.header]).0) else {
            return Ok(self.passed(Reason::NotAPage, None));
        };
        if ["filedesc:", "dns:", "warcinfo:"].iter().any(|it| line.url.starts_with(it)) {
            return Ok(self.passed(Reason::NotAPage, Some(line.url)));
        }
        self.response(About {
            url: Some(line.url),
            id: None,
            content_type: line.content_type.map(Cow::Borrowed),
            fetched: Timestamp::parse(line.date),
            language: None,
            style: Style::Arc,
        })
    }

    fn response(&self, about: About<'a>) -> Result<Entry<'a>, Error> {
        let options = &self.context.options;
        let block = &self.bytes[self.header..];
        let Some(response) = Response::parse(block, options.limits.header) else {
            return Ok(self.document(about, None));
        };
        if let Some(fact) = self.redirect(&about, &response) {
            return Ok(Entry::Fact(fact));
        }
        let good = (200..300).contains(&response.status);
        let wanted = good || (options.keep_error_pages && response.status >= 400);
        if !wanted {
            return Ok(self.passed(Reason::Status(response.status), about.name()));
        }
        let body = response.decoded_body(options.limits.body).map_err(|_| Error::TooLong {
            path: self.context.path(),
            at: self.at,
            part: "a body",
            limit: options.limits.body as u64,
            knob: "body",
        })?;
        let header = |name| response.headers.get(name);
        let served = Served {
            header: response.header,
            content_type: header("Content-Type"),
            language: header("Content-Language"),
            link: header("Link"),
            body,
        };
        Ok(self.document(about, Some(served)))
    }

    fn redirect(&self, about: &About<'_>, response: &Response<'_>) -> Option<Fact> {
        if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let from = about.url.as_deref()?;
        let location = response.headers.get("Location").filter(|it| !it.is_empty())?;
        let to = Url::parse(from).ok()?.join(&location).ok()?.into();
        Some(Fact::Redirect { from: from.to_owned(), to, place: self.place })
    }

    fn revisit(&self, about: About<'a>, headers: Headers<'_>) -> Entry<'a> {
        let block = &self.bytes[self.header..];
        let response = Response::parse(block, self.context.options.limits.header);
        if let Some(fact) = response.and_then(|response| self.redirect(&about, &response)) {
            return Entry::Fact(fact);
        }
        let of = headers.get("WARC-Refers-To-Target-URI").map(without_brackets);
        match (&about.url, of) {
            (Some(from), Some(to)) if *from != to => Entry::Fact(Fact::Revisit {
                from: from.clone().into_owned(),
                to: to.into_owned(),
                place: self.place,
            }),
            _ => self.passed(Reason::Revisit, about.name()),
        }
    }

    fn document(&self, about: About<'a>, served: Option<Served<'a>>) -> Entry<'a> {
        let Served { header: http, content_type, language: http_language, link: http_link, body } =
            served.unwrap_or_else(|| Served {
                header: 0,
                content_type: about.content_type,
                language: None,
                link: None,
                body: Cow::Borrowed(&self.bytes[self.header..]),
            });
        let mut body = Body::from_server(content_type.as_deref(), body);
        if let (Kind::Text, Content::Bytes(Cow::Borrowed(bytes))) = (body.kind, &body.content) {
            // WET and most texts are UTF-8, and checking now is cheaper than detecting later.
            if let Ok(text) = str::from_utf8(bytes) {
                body.content = Content::Str(Cow::Borrowed(text));
            }
        }
        let id = match (self.context.options.warc_id, about.style) {
            (WarcId::Record, Style::Warc) => about.id.or_else(|| about.url.clone()),
            _ => about.url.clone().or(about.id),
        };
        let archived = Archived {
            bytes: Cow::Borrowed(self.bytes),
            header: self.header,
            http,
            packed: self.packed,
        };
        Entry::Document(Document {
            id: id.unwrap_or_else(|| Cow::Owned(self.context.fallback_id(self.place.number))),
            url: about.url,
            body,
            content_type,
            score: None,
            fetched: about.fetched,
            language: about.language,
            http_language,
            http_link,
            place: self.place,
            original: match about.style {
                Style::Warc => Original::Warc(archived),
                Style::Arc => Original::Arc(archived),
            },
        })
    }

    fn passed(&self, reason: Reason, name: Option<Cow<'a, str>>) -> Entry<'a> {
        Entry::Passed { reason, place: self.place, name }
    }
}

/// Some writers put the address in `<...>`, like record ids.
fn without_brackets(value: Cow<'_, str>) -> Cow<'_, str> {
    match value.strip_prefix('<').and_then(|it| it.strip_suffix('>')) {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => value,
    }
}
