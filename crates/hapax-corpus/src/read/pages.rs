//! Reads files that are one document each.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::batch::Context;
use crate::document::{Body, Content, Document, Entry, FileId, Kind, Place};
use crate::error::{At, Error};
use crate::options::{Format, Limits};
use crate::origin::Origin;
use crate::original::Original;
use crate::source::Files;
use crate::window::Window;

use super::lines::Line;

/// Number of files of a store to request ahead.
const AHEAD: usize = 16;

/// Reads the files on demand, those of a store ahead of time.
pub(crate) fn entries<'a>(
    files: &'a Files,
    context: &'a Context,
    ids: std::ops::Range<u32>,
    format: Option<Format>,
) -> impl Iterator<Item = Result<Entry<'a>, Error>> {
    let mut following = ids.clone();
    let mut ahead = VecDeque::new();
    ids.map(move |id| {
        let id = FileId(id);
        let name = files.name(id);
        let room = AHEAD - ahead.len();
        let origins = following.by_ref().take(room).map(|it| files.origin(FileId(it)));
        ahead.extend(origins.map(|origin| origin.and_then(Origin::ahead)));
        let mut window = files
            .open_begun(id, ahead.pop_front().flatten())?
            .window(&context.options.limits)
            .map_err(|cause| Error::io("read", &name, cause))?;
        let format = format.or_else(|| files.page_format(id)).unwrap_or(Format::Html);
        whole(context, name, id, &mut window, format)
    })
}

/// A whole file as one document with this id.
pub(crate) fn whole<'a>(
    context: &Context,
    name: String,
    file: FileId,
    window: &mut Window,
    format: Format,
) -> Result<Entry<'a>, Error> {
    let bytes = read_all(window, &name, &context.options.limits)?;
    let length = bytes.len() as u32;
    let place = Place { file, number: 1, member: 0, within: 0, length };
    let kind = if format == Format::Text { Kind::Text } else { Kind::Html };
    let content = match (kind, String::from_utf8(bytes)) {
        (Kind::Text, Ok(text)) => Content::Str(Cow::Owned(text)),
        (_, Ok(text)) => Content::Bytes(Cow::Owned(text.into_bytes())),
        (_, Err(error)) => Content::Bytes(Cow::Owned(error.into_bytes())),
    };
    Ok(Entry::Document(Document {
        id: Cow::Owned(name),
        url: None,
        body: Body { kind, content },
        content_type: None,
        score: None,
        fetched: None,
        language: None,
        http_language: None,
        http_link: None,
        place,
        original: Original::File,
    }))
}

fn read_all(window: &mut Window, name: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    loop {
        if window.data.len() > limits.record() {
            return Err(Error::TooLong {
                path: name.to_owned(),
                at: At::File,
                part: "a document",
                limit: limits.record() as u64,
                knob: "record",
            });
        }
        if !window.more() {
            break;
        }
    }
    if window.ended() {
        return Ok(std::mem::take(&mut window.data));
    }
    Err(window.recover(name).unwrap_or_else(|| Error::Damaged {
        path: name.to_owned(),
        at: At::File,
        what: "the file cannot be read to its end".to_owned(),
    }))
}

/// A line of text as a document.
pub(crate) fn line<'a>(context: &'a Context, line: Line<'a>) -> Result<Entry<'a>, Error> {
    let content = match std::str::from_utf8(line.bytes) {
        Ok(text) => Content::Str(Cow::Borrowed(text)),
        Err(_) => Content::Bytes(Cow::Borrowed(line.bytes)),
    };
    Ok(Entry::Document(Document {
        id: Cow::Owned(context.fallback_id(line.place.number)),
        url: None,
        body: Body { kind: Kind::Text, content },
        content_type: None,
        score: None,
        fetched: None,
        language: None,
        http_language: None,
        http_link: None,
        place: line.place,
        original: Original::Nothing,
    }))
}
