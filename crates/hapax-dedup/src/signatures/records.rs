//! Encodes the records of a batch for the tables, beyond its pages. Redirects and revisits are in the batch, in
//! the same order.
//!
//! | field | bytes |
//! |---|---|
//! | number of documents; for each: file, number in the file | 4; 4, 8 |
//! | number of other records; for each: documents before it, kind (0 fact, 1 in a file, 2 in a named file) | 4; 4, 1 |
//! | - unless a fact: file, reason for passing it over, explanation | 4 or text, 1, text |
//! | - unless a fact: name, number in the file | 1 or 1 and text, 1 or 1 and 8 |

use std::borrow::Cow;

use hapax_corpus::{Entry, FileId, Place};

use super::batch::{Cursor, put_text};
use crate::passed_over::{PassedOver, PassedRecord};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchRecords {
    /// File and record number of every document.
    pub(crate) places: Vec<(FileId, u64)>,
    /// Records that are not documents, each with the number of documents of the batch before it.
    pub(crate) passed: Vec<(u32, Passed)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The next redirect or revisit of the batch.
    Fact,
    Record(PassedRecord<'static>),
}

impl BatchRecords {
    pub(crate) fn document(&mut self, place: &Place) {
        self.places.push((place.file, place.number));
    }

    pub(crate) fn passed(&mut self, entry: &Entry<'_>, record: PassedRecord<'_>) {
        let passed = match entry {
            Entry::Fact(_) => Passed::Fact,
            _ => Passed::Record(record.into_owned()),
        };
        self.passed.push((self.places.len() as u32, passed));
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12 * self.places.len() + 8);
        bytes.extend((self.places.len() as u32).to_le_bytes());
        for (file, number) in &self.places {
            bytes.extend(file.0.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.passed.len() as u32).to_le_bytes());
        for (before, passed) in &self.passed {
            bytes.extend(before.to_le_bytes());
            let Passed::Record(record) = passed else {
                bytes.push(0);
                continue;
            };
            match &record.file {
                Ok(file) => {
                    bytes.push(1);
                    bytes.extend(file.0.to_le_bytes());
                }
                Err(name) => {
                    bytes.push(2);
                    put_text(&mut bytes, name);
                }
            }
            bytes.push(record.why as u8);
            put_text(&mut bytes, &record.reason);
            bytes.push(u8::from(record.name.is_some()));
            record.name.iter().for_each(|name| put_text(&mut bytes, name));
            bytes.push(u8::from(record.record.is_some()));
            record.record.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    /// `None` if the bytes are not records.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Cursor::new(bytes);
        let place = |from: &mut Cursor<'_>| Some((FileId(from.u32()?), from.u64()?));
        let places = (0..from.u32()?).map(|_| place(&mut from)).collect::<Option<_>>()?;
        let passed = (0..from.u32()?).map(|_| passed(&mut from)).collect::<Option<_>>()?;
        from.is_empty().then_some(Self { places, passed })
    }
}

fn passed(from: &mut Cursor<'_>) -> Option<(u32, Passed)> {
    let before = from.u32()?;
    let file = match from.u8()? {
        0 => return Some((before, Passed::Fact)),
        1 => Ok(FileId(from.u32()?)),
        2 => Err(from.text()?.to_owned()),
        _ => return None,
    };
    let why = from.u8()?;
    let why = PassedOver::ALL.into_iter().find(|it| *it as u8 == why)?;
    let reason = Cow::Owned(from.text()?.to_owned());
    let name = from.optional(|from| from.text().map(|name| Cow::Owned(name.to_owned())))?;
    let record = from.optional(Cursor::u64)?;
    Some((before, Passed::Record(PassedRecord { why, reason, name, file, record })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> BatchRecords {
        let record = |file, name: Option<&'static str>, record| {
            Passed::Record(PassedRecord {
                why: PassedOver::Damaged,
                reason: "damaged: half of it".into(),
                name: name.map(Cow::Borrowed),
                file,
                record,
            })
        };
        BatchRecords {
            places: vec![(FileId(3), 1), (FileId(4), 9)],
            passed: vec![
                (0, Passed::Fact),
                (1, record(Ok(FileId(3)), Some("http://a.test/"), None)),
                (2, record(Err("東.jsonl".to_owned()), None, Some(7))),
            ],
        }
    }

    #[test]
    fn records_come_back_as_they_went() {
        for records in [records(), BatchRecords::default()] {
            assert_eq!(BatchRecords::from_bytes(&records.to_bytes()), Some(records));
        }
    }

    #[test]
    fn cut_or_changed_bytes_do_not_panic() {
        let bytes = records().to_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(BatchRecords::from_bytes(&bytes[..cut]), None, "{cut}");
            let mut changed = bytes.clone();
            changed[cut] ^= 0x81;
            let _ = BatchRecords::from_bytes(&changed);
        }
    }
}
