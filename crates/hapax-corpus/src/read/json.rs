//! Reads a line of JSONL into a document.
//!
//! Decodes only the document's fields; the others are checked and skipped, and the line stays with the document
//! so that it can be written unchanged. Half of a surrogate pair (`"\ud83d"`) in a page or text becomes U+FFFD
//! instead of invalidating the line. Of repeated names the last one counts.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};

use crate::batch::Context;
use crate::document::{Body, Document, Entry, Kind, Reason};
use crate::error::{At, Error};
use crate::options::{FieldTable, Role};
use crate::original::Original;
use crate::timestamp::{NoSuchTime, Timestamp};

use super::flat::{Fields, Flat};
use super::lines::Line;

pub(crate) fn entry<'a>(context: &'a Context, line: Line<'a>) -> Result<Entry<'a>, Error> {
    let text = std::str::from_utf8(line.bytes).map_err(|error| Error::Json {
        path: context.path(),
        line: line.place.number,
        column: error.valid_up_to() + 1,
        message: "not valid UTF-8".to_owned(),
    })?;
    let mut picked = match flat_object(text, &context.table) {
        Some(picked) => picked,
        None => any_object(text, &context.table)
            .map_err(|error| json_error(context, line.place.number, &error))?,
    };
    if picked.is_null() {
        let id = picked.take(Role::Id).into_str();
        let name = id.or_else(|| picked.take(Role::Url).into_str());
        return Ok(Entry::Passed { reason: Reason::NoBody, place: line.place, name });
    }
    picked.into_document(context, &line, text).map(Entry::Document)
}

fn any_object<'a>(text: &'a str, table: &FieldTable) -> Result<Picked<'a>, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let picked = parser.deserialize_map(Object(table))?;
    parser.end().map(|()| picked)
}

/// Like [`any_object`] for common lines; `None` for all others.
fn flat_object<'a>(text: &'a str, table: &FieldTable) -> Option<Picked<'a>> {
    let mut picked = Picked::default();
    Fields::of(text)?.each(
        |name| table.iter().position(|(known, _)| **known == *name),
        |index, value| {
            let roles = index.map(|index| &table[index].1);
            let value = match (value, roles) {
                (Flat::Str(text), _) => Value::Str(text),
                (Flat::Skipped, _) | (Flat::Nested, None) => return Some(()),
                (Flat::Nested, Some(roles)) if is_body(roles) => return None,
                (Flat::Nested, Some(_)) => Value::Other,
                (Flat::Word(word), roles) => {
                    let mut parser = serde_json::Deserializer::from_str(word);
                    let value = match roles {
                        Some(roles) if is_body(roles) => AnyStr.deserialize(&mut parser),
                        _ => Scalar.deserialize(&mut parser),
                    };
                    value.and_then(|value| parser.end().map(|()| value)).ok()?
                }
            };
            if let Some(roles) = roles {
                picked.add(roles, value);
            }
            Some(())
        },
    )?;
    Some(picked)
}

fn json_error(context: &Context, line: u64, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    // serde_json ends its messages with a place, whose line number refers to this line only.
    let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
    Error::Json { path: context.path(), line, column: error.column().max(1), message }
}

/// A value for a field of a document.
#[derive(Default)]
enum Value<'a> {
    #[default]
    Absent,
    Str(Cow<'a, str>),
    Whole(i64),
    Number(f64),
    Other,
}

/// A value for each role, with the position of its name in the list of names.
#[derive(Default)]
struct Picked<'a> {
    values: [(Value<'a>, usize); Role::ALL.len()],
    /// Whether there was a body field with null.
    null_body: bool,
}

impl<'a> Picked<'a> {
    /// Offers the value of a field with these roles, each with its rank.
    fn add(&mut self, roles: &[(Role, usize)], value: Value<'a>) {
        if matches!(value, Value::Absent) {
            self.null_body |= is_body(roles);
            return;
        }
        let Some((&(last, rank), others)) = roles.split_last() else { return };
        for &(role, rank) in others {
            let copy = match &value {
                Value::Str(text) => Value::Str(text.clone()),
                Value::Whole(number) => Value::Whole(*number),
                Value::Number(number) => Value::Number(*number),
                Value::Absent | Value::Other => Value::Other,
            };
            self.offer(role, rank, copy);
        }
        self.offer(last, rank, value);
    }

    fn offer(&mut self, role: Role, rank: usize, value: Value<'a>) {
        let slot = &mut self.values[role as usize];
        if matches!(slot.0, Value::Absent) || rank <= slot.1 {
            *slot = (value, rank);
        }
    }

    fn is_null(&self) -> bool {
        let absent = |role: Role| matches!(self.values[role as usize].0, Value::Absent);
        self.null_body && absent(Role::Html) && absent(Role::Text)
    }

    fn take(&mut self, role: Role) -> Value<'a> {
        std::mem::take(&mut self.values[role as usize].0)
    }

    fn into_document(
        mut self,
        context: &Context,
        line: &Line<'a>,
        text: &'a str,
    ) -> Result<Document<'a>, Error> {
        let body = match (self.take(Role::Html), self.take(Role::Text)) {
            (Value::Str(html), _) => Body::str(Kind::Html, html),
            (_, Value::Str(text)) => Body::str(Kind::Text, text),
            _ => return Err(missing_body(context, line, text)),
        };
        let url = self.take(Role::Url).into_str();
        let id = self.take(Role::Id).into_str().or_else(|| url.clone());
        let score = match self.take(Role::Score) {
            Value::Whole(number) => Some(number as f64),
            Value::Number(number) => Some(number),
            Value::Str(text) => text.trim().parse().ok(),
            Value::Absent | Value::Other => None,
        };
        let fetched = match self.take(Role::Fetched) {
            Value::Whole(number) => Some(Timestamp::from_number(number)),
            Value::Number(number) => Some(Timestamp::from_number(number as i64)),
            Value::Str(text) => Timestamp::of_field(&text).map_err(|NoSuchTime| {
                Error::no_such_time(context.path(), At::Line(line.place.number), &text)
            })?,
            Value::Absent | Value::Other => None,
        };
        Ok(Document {
            id: id.unwrap_or_else(|| Cow::Owned(context.fallback_id(line.place.number))),
            url,
            body,
            content_type: None,
            score: score.filter(|score| !score.is_nan()),
            fetched,
            language: self.take(Role::Language).into_str(),
            http_language: None,
            http_link: None,
            place: line.place,
            original: Original::Json(Cow::Borrowed(text)),
        })
    }
}

impl<'a> Value<'a> {
    fn into_str(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Str(text) => Some(text),
            Self::Whole(number) => Some(Cow::Owned(number.to_string())),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            Self::Absent | Self::Other => None,
        }
    }
}

fn missing_body(context: &Context, line: &Line<'_>, text: &str) -> Error {
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text).unwrap_or_default();
    let found: Vec<String> = keys.iter().take(40).map(|(key, _)| key.clone()).collect();
    Error::Missing {
        path: context.path(),
        at: At::Line(line.place.number),
        wanted: context.options.fields.body_names(),
        found: if found.is_empty() { "none".to_owned() } else { found.join(", ") },
    }
}

fn is_body(roles: &[(Role, usize)]) -> bool {
    roles.iter().any(|(role, _)| matches!(role, Role::Html | Role::Text))
}

struct Object<'t>(&'t FieldTable);

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Picked<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = Picked::default();
        while let Some(known) = map.next_key_seed(Key(self.0))? {
            let Some(index) = known else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let roles = &self.0[index].1;
            let value = match is_body(roles) {
                true => map.next_value_seed(AnyStr)?,
                false => map.next_value_seed(Scalar)?,
            };
            picked.add(roles, value);
        }
        Ok(picked)
    }
}

/// The position of a name in the table.
struct Key<'t>(&'t FieldTable);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|(known, _)| known.as_bytes() == name))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        self.visit_bytes(name.as_bytes())
    }
}

/// A string, possibly with half surrogates, or null.
struct AnyStr;

impl<'de> DeserializeSeed<'de> for AnyStr {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for AnyStr {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Absent)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Value::Str(Cow::Owned(match String::from_utf8(bytes.to_vec()) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })))
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        // The check alone is several times faster than the repair.
        Ok(Value::Str(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        }))
    }
}

/// A string or number; anything else counts as nothing.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalar {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Absent)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Value::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        // Exact as text, which matters for ids.
        Ok(i64::try_from(number)
            .map_or_else(|_| Value::Str(Cow::Owned(number.to_string())), Value::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Str(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Str(Cow::Borrowed(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(map)?;
        Ok(Value::Other)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_seq(seq)?;
        Ok(Value::Other)
    }
}
