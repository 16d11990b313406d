//! Makes rows of signatures from a part of a corpus. The row of counts comes last, so an incomplete part is
//! detected.
//!
//! | column | holds |
//! |---|---|
//! | `part`, `number` | part of the source, and number of the document in it from 0 |
//! | `kind` | 0 a document, 1 a redirect, 2 a revisit, 3 the counts of the part, 4 a record that was passed over |
//! | `file`, `record` | where the document was read |
//! | `bucket` | equal for documents that may be exact copies or share a fingerprint; null if it can match nothing; for kind 4 the `number` of its redirect or revisit |
//! | `status` | whether it can be compared ([`Status`]); for kind 4 the number of documents before it in the part |
//! | `says` | canonical URL other than its own; target of a redirect; counts as JSON; why a record was passed over |
//! | `page` | the signature; the address of a redirect; the id of a record that was passed over |
//! | `host`, `text`, `pieces` | of a document with a host, if frames are learned: see [`frames`](mod@super::frames) |

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder, Int64Builder, StringBuilder};
use arrow_array::{RecordBatch, StringArray};
use hapax::group::PageFacts;
use hapax::group::facts::CanonicalStatus;
use hapax_corpus::{Entry, Fact, FileId, Part, Source};
use serde_json::json;

use super::rows::{Rows, batch, numbers};
use super::{Steps, mixed};
use crate::columns;
use crate::error::Error;
use crate::facts::without_fragment;
use crate::frames::{host_key, packed, text_key};
use crate::pages::{NewPage, Status};
use crate::passed_over::{PassedOver, PassedRecord};
use crate::read::ReadCounts;
use crate::signature::Signer;
use crate::signatures::page_bytes;

const KIND: &str = "signature";
/// Prefix of the counts of passed-over records, before the reason.
const PASSED: &str = "passed_over_";
/// Approximate rows per batch.
const BATCH_SIZE: usize = 4096;

/// Iterates over the batches of signatures of one part.
pub struct PartSignatures {
    part: usize,
    batches: Part,
    files: Vec<String>,
    signer: Signer,
    /// The path that is read, and the name to report instead.
    renamed: Option<(String, String)>,
    documents: i64,
    facts: i64,
    passed: i64,
    named: u64,
    own_ids: u64,
    counts: ReadCounts,
    complaints: Vec<String>,
    done: bool,
}

columns! {
    struct Columns of SignatureRow<'a> {
        number: i64 => Int64Builder, append_value;
        kind: i64 => Int64Builder, append_value;
        file: Cow<'a, str> => StringBuilder, append_value;
        record: Option<i64> => Int64Builder, append_option;
        bucket: Option<i64> => Int64Builder, append_option;
        status: Option<i64> => Int64Builder, append_option;
        says: Option<Cow<'a, str>> => StringBuilder, append_option;
        page: Option<Cow<'a, [u8]>> => BinaryBuilder, append_option;
        host: Option<i64> => Int64Builder, append_option;
        text: Option<i64> => Int64Builder, append_option;
        pieces: Option<Vec<u8>> => BinaryBuilder, append_option;
    }
}

impl Steps {
    /// Reads a part of a source. `renamed` is a path to read and the name to report instead.
    ///
    /// # Panics
    ///
    /// The source has no such part.
    pub fn signature(
        &self,
        source: &Source,
        part: usize,
        number: usize,
        renamed: Option<(String, String)>,
    ) -> PartSignatures {
        PartSignatures {
            part: number,
            batches: source.part(part),
            files: source.files().collect(),
            signer: Signer::new(&self.options, None),
            renamed,
            documents: 0,
            facts: 0,
            passed: 0,
            named: 0,
            own_ids: 0,
            counts: ReadCounts::default(),
            complaints: Vec::new(),
            done: false,
        }
    }

    /// The names that engines compare: for every document its address without fragment, its address
    /// if any, its id if different from the address, and the content that exact copies share.
    pub fn names(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let loaded = rows.pages(|_| true)?;
        let pages = &loaded.pages;
        let all = 0..pages.len() as u32;
        let address: StringArray =
            all.clone().map(|page| Some(without_fragment(pages.address(page)))).collect();
        let url: StringArray =
            all.clone().map(|page| Some(pages.url(page)).filter(|url| !url.is_empty())).collect();
        let own = |page| Some(pages.id(page)).filter(|_| !pages.is_named_by_url(page));
        let own_id: StringArray = all.clone().map(own).collect();
        let mut content = BinaryBuilder::new();
        for page in all {
            match pages.content(page) {
                Some(hash) => content.append_value(hash.to_bytes()),
                None => content.append_value([]),
            }
        }
        batch(
            KIND,
            vec![
                ("position", numbers(loaded.positions.clone())),
                ("address", Arc::new(address)),
                ("url", Arc::new(url)),
                ("own_id", Arc::new(own_id)),
                ("content", Arc::new(content.finish())),
            ],
        )
    }
}

impl PartSignatures {
    fn name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.renamed.as_ref().and_then(|(from, to)| Some((name.strip_prefix(from)?, to))) {
            Some((rest, to)) => Cow::Owned(format!("{to}{rest}")),
            None => Cow::Borrowed(name),
        }
    }

    fn file(&self, file: FileId) -> Cow<'_, str> {
        self.name(self.files.get(file.0 as usize).map_or("", String::as_str))
    }

    fn page(&mut self, rows: &mut Columns, page: &NewPage, file: FileId, record: u64) {
        let own = if page.url.is_empty() { &page.id } else { &page.url };
        let url = Cow::Borrowed(own.as_str());
        let canonical = page.canonical.as_deref().map(Cow::Borrowed);
        let facts = PageFacts { url, canonical, ..PageFacts::default() };
        let elsewhere = facts.canonical_status() == CanonicalStatus::Elsewhere;
        let names = page.canonical.as_deref().filter(|_| elsewhere).map(without_fragment);
        let host = host_key(&page.url);
        let pieces = self.signer.pieces().map(packed);
        let pieces = pieces.filter(|_| page.status == Status::Comparable && host != 0);
        rows.push(SignatureRow {
            number: self.documents,
            kind: 0,
            file: self.file(file),
            record: Some(record as i64),
            bucket: bucket(page).map(u64::cast_signed),
            status: Some(page.status as i64),
            says: names.map(Cow::Borrowed),
            page: Some(page_bytes(page).into()),
            host: pieces.is_some().then_some(i64::from(host)),
            text: pieces.is_some().then(|| i64::from(text_key(page.content))),
            pieces,
        });
        self.documents += 1;
        self.named += u64::from(names.is_some());
        self.own_ids += u64::from(page.id != page.url);
    }

    fn fact(&mut self, rows: &mut Columns, fact: &Fact) {
        let (kind, place) = match fact {
            Fact::Redirect { place, .. } => (1, place),
            Fact::Revisit { place, .. } => (2, place),
        };
        let (from, to) = fact.addresses();
        rows.push(SignatureRow {
            number: self.facts,
            kind,
            file: self.file(place.file),
            record: Some(place.number as i64),
            says: Some(to.into()),
            page: Some(from.as_bytes().into()),
            ..SignatureRow::default()
        });
        self.facts += 1;
    }

    /// A redirect or revisit has its own row after this one; this one counts if it leads to no
    /// document.
    fn passed(&mut self, rows: &mut Columns, passed: &PassedRecord<'_>, fact: bool) {
        let file = match &passed.file {
            Ok(file) => self.file(*file),
            Err(name) => self.name(name),
        };
        rows.push(SignatureRow {
            number: self.passed,
            kind: 4,
            page: Some(passed.called(&file).as_bytes().into()),
            file,
            record: passed.record.map(u64::cast_signed),
            bucket: fact.then_some(self.facts),
            status: Some(self.documents),
            says: Some(passed.reason.as_ref().into()),
            ..SignatureRow::default()
        });
        self.passed += 1;
    }

    fn counted(&mut self, rows: &mut Columns) {
        let ReadCounts { body_bytes, archived, rows: table_rows, hides_most, passed_over } =
            &self.counts;
        let mut said = json!({
            "documents": self.documents, "facts": self.facts, "named": self.named,
            "own_ids": self.own_ids, "body_bytes": body_bytes, "archived": archived,
            "rows": table_rows, "hides_most": hides_most, "complaints": self.complaints,
        });
        for why in PassedOver::ALL {
            let count = passed_over.get(&why).copied().unwrap_or(0);
            said[format!("{PASSED}{}", why.name())] = count.into();
        }
        rows.push(SignatureRow {
            kind: 3,
            file: self.files.first().map_or("".into(), |file| self.name(file)),
            record: Some(0),
            says: Some(said.to_string().into()),
            ..SignatureRow::default()
        });
    }

    /// The next batch; `None` at the end of the part.
    ///
    /// # Errors
    ///
    /// A bad record, unless the options skip bad records.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if self.done {
            return Ok(None);
        }
        let mut rows = Columns::default();
        while rows.number.len() < BATCH_SIZE {
            let Some(mut source) = self.batches.next() else {
                self.done = true;
                self.counted(&mut rows);
                break;
            };
            for entry in source.entries() {
                let entry = entry?;
                if let Some(passed) = PassedRecord::of(&entry) {
                    *self.counts.passed_over.entry(passed.why).or_default() += entry.records();
                    self.passed(&mut rows, &passed, matches!(entry, Entry::Fact(_)));
                }
                match entry {
                    Entry::Document(document) => {
                        let mut page = self.signer.page(&document);
                        self.counts.add(&document, &self.signer);
                        if let Cow::Owned(id) = self.name(&page.id) {
                            page.id = id;
                        }
                        let place = document.place;
                        self.page(&mut rows, &page, place.file, place.number);
                    }
                    Entry::Fact(fact) => self.fact(&mut rows, &fact),
                    Entry::Passed { .. } => {}
                    Entry::Bad(bad) => {
                        if self.complaints.len() < 8 {
                            self.complaints.push(bad.to_string());
                        }
                    }
                }
            }
        }
        let part = numbers(vec![self.part as i64; rows.number.len()]);
        let mut columns = vec![("part", part)];
        columns.extend(rows.finish());
        batch(KIND, columns).map(Some)
    }
}

/// Exact copies share a fingerprint, so one key brings both together. Pages that have no usable
/// fingerprint are keyed by content, because there may be very many without words. `None` if the
/// page matches nothing.
fn bucket(page: &NewPage) -> Option<u64> {
    if page.status.stays() {
        return None;
    }
    if page.status == Status::Comparable {
        return Some(mixed(&[page.scope.0, 1, page.fingerprint.to_bits()]));
    }
    let (low, high) = page.content.to_bytes().split_first_chunk().map_or((0, 0), |(low, rest)| {
        let high = rest.first_chunk().copied().map_or(0, u64::from_le_bytes);
        (u64::from_le_bytes(*low), high)
    });
    Some(mixed(&[page.scope.0, 2, low, high]))
}
