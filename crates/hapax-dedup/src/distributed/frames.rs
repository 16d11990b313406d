//! Distributed steps that learn the frames of hosts and the own texts of pages.
//!
//! Each step works on one host at a time: rows must be sorted by host, and a frame must come before the pages
//! that are compared with it. Another order is an error.
//!
//! ```text
//!   host, text, pages, pieces --frame_sample--> the pages that are counted --learn_frames--> host, pages, frame
//!   frames, then the pages of each host --own_texts--> position, host, own
//! ```
//!
//! | column | holds |
//! |---|---|
//! | `host`, `text` | equal for pages of one host, for pages of one text |
//! | `pages` | number of pages of the host |
//! | `pieces` | the packed pieces of a page; of a frame its hashes, 4 bytes each, ascending |
//! | `own` | 40 bytes: the page's own text, beyond the frame |

use arrow_array::builder::{BinaryBuilder, Int64Builder};
use arrow_array::{Array, BinaryArray, Int64Array, RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;
use hapax::frame::{MIN_PAGES, OwnText, Piece, least_pages};

use super::Steps;
use super::rows::{Rows, batch};
use crate::columns;
use crate::error::Error;
use crate::frames::{HostPages, Own, SHOWN, unpacked};
use crate::report::ShownFrame;

const KIND: &str = "page of a host";

impl Steps {
    /// A host with fewer pages gets no frame.
    pub const MIN_FRAME_PAGES: u32 = MIN_PAGES;

    /// Number of hosts in the report: those with most pages, ties to the largest `host`.
    pub const SHOWN_HOSTS: usize = SHOWN;

    /// The rows that are counted for the frame: of a large host a sample, chosen by text.
    pub fn frame_sample(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let given = Rows::of(rows, KIND);
        let (texts, pages) = (given.numbers("text")?, given.numbers("pages")?);
        let sampled = |row: &usize| HostPages::is_sampled(texts[*row] as u32, pages[*row] as u32);
        let places = (0..given.len()).filter(sampled).map(|row| row as u64);
        take_record_batch(rows, &UInt64Array::from_iter_values(places))
            .map_err(|error| given.wrong(error.to_string()))
    }

    /// Learns frames from rows with `host`, `text`, `pages` and `pieces`, one host after the other.
    pub fn learn_frames(&self) -> LearnFrames {
        LearnFrames::default()
    }

    /// Finds own texts from rows with `host`, `position` and `pieces`. A row without a position is
    /// the frame of the pages after it.
    pub fn own_texts(&self) -> OwnTexts {
        OwnTexts::default()
    }

    /// A frame as the report shows it, on the text of the page at `url`; JSON.
    pub fn shown_frame(&self, url: &str, pages: u32, text: &str, frame: &[u8]) -> String {
        let frame: Vec<u32> = hashes(frame).collect();
        let shown = ShownFrame::on(url, pages, text, &frame);
        serde_json::to_string(&shown).unwrap_or_default()
    }
}

/// Learns frames from pages sorted by host.
#[derive(Debug, Default)]
pub struct LearnFrames {
    /// The current host and its number of pages.
    current: Option<(i64, i64)>,
    counted: HostPages,
    last: i64,
}

impl LearnFrames {
    /// The frames of all hosts that end in these rows: `host`, `pages`, `pieces`.
    ///
    /// # Errors
    ///
    /// The rows lack a column or are not sorted by host.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let [hosts, texts, pages] = ["host", "text", "pages"].map(|name| rows.numbers(name));
        let (hosts, texts, pages) = (hosts?, texts?, pages?);
        let pieces: &BinaryArray = rows.column("pieces")?;
        let mut frames = FrameRows::default();
        for row in 0..rows.len() {
            let host = (hosts[row], pages[row]);
            if self.current.is_none_or(|it| it.0 != host.0) {
                self.close(&mut frames);
                if host.0 <= self.last {
                    return Err(rows.wrong("rows are not sorted by host"));
                }
                self.last = host.0;
                self.current = Some(host);
            }
            self.counted.add(texts[row] as u32, pieces.value(row));
        }
        batch("frame", frames.finish())
    }

    /// The frame of the last host; call after the last batch.
    pub fn finish(&mut self) -> Result<RecordBatch, Error> {
        let mut frames = FrameRows::default();
        self.close(&mut frames);
        batch("frame", frames.finish())
    }

    fn close(&mut self, frames: &mut FrameRows) {
        let counted = std::mem::take(&mut self.counted);
        let Some((host, pages)) = self.current.take() else { return };
        let frame = counted.frame(least_pages);
        if !frame.is_empty() {
            let pieces = frame.into_iter().flat_map(u32::to_le_bytes).collect();
            frames.push(FrameRow { host, pages, pieces });
        }
    }
}

columns! {
    struct FrameRows of FrameRow {
        host: i64 => Int64Builder, append_value;
        pages: i64 => Int64Builder, append_value;
        pieces: Vec<u8> => BinaryBuilder, append_value;
    }
}

columns! {
    struct OwnRows of OwnRow {
        position: i64 => Int64Builder, append_value;
        host: i64 => Int64Builder, append_value;
        own: Vec<u8> => BinaryBuilder, append_value;
    }
}

/// Finds own texts of pages sorted by host, each host's frame first.
#[derive(Debug, Default)]
pub struct OwnTexts {
    host: Option<i64>,
    frame: Vec<u32>,
}

impl OwnTexts {
    /// The own texts of pages: `position`, `host`, `own`.
    ///
    /// # Errors
    ///
    /// The rows lack a column, or a page comes before its frame.
    pub fn next(&mut self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = Rows::of(rows, KIND);
        let hosts = rows.numbers("host")?;
        let positions: &Int64Array = rows.column("position")?;
        let pieces: &BinaryArray = rows.column("pieces")?;
        let mut own = OwnRows::default();
        for (row, &of) in hosts.iter().enumerate() {
            if positions.is_null(row) {
                self.host = Some(of);
                self.frame = hashes(pieces.value(row)).collect();
                continue;
            }
            if self.host != Some(of) {
                return Err(rows.wrong("a page came before the frame of its host"));
            }
            let is_own = |piece: &Piece| self.frame.binary_search(&piece.hash).is_err();
            let text = OwnText::of(unpacked(pieces.value(row)).filter(is_own));
            let bytes = Own { host: of as u32, text }.to_bytes().to_vec();
            own.push(OwnRow { position: positions.value(row), host: of, own: bytes });
        }
        batch("own text", own.finish())
    }
}

fn hashes(frame: &[u8]) -> impl Iterator<Item = u32> {
    frame.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::collections::BTreeMap;

    use hapax::fingerprint::{ContentHash, Fingerprinter};
    use proptest::prelude::*;

    use super::*;
    use crate::distributed::rows::numbers;
    use crate::frames::{Gathering, host_key, packed, text_key};
    use crate::options::Options;

    /// Own texts as an engine would compute them: rows counted, sampled, sorted and merged.
    fn learned(pages: &[(String, Vec<Piece>)], steps: &Steps) -> BTreeMap<i64, Own> {
        let mut hosts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (at, (url, _)) in (0..).zip(pages) {
            hosts.entry(i64::from(host_key(url))).or_default().push(at);
        }
        hosts.remove(&0);
        let rows = |host: i64, positions: &[i64], frame: Option<&[u8]>| {
            let of = |at: &i64| packed(&pages[*at as usize].1);
            let first = frame.map(<[u8]>::to_vec);
            let pieces = first.clone().into_iter().chain(positions.iter().map(of));
            let position =
                first.map(|_| None).into_iter().chain(positions.iter().map(|it| Some(*it)));
            let position: Int64Array = position.collect();
            let text = |at: Option<i64>| {
                at.map_or(0, |at| i64::from(text_key(content(&pages[at as usize].1))))
            };
            let (text, count) = (position.iter().map(text).collect(), positions.len() as i64);
            let columns: Vec<(&str, arrow_array::ArrayRef)> = vec![
                ("host", numbers(vec![host; position.len()])),
                ("text", numbers(text)),
                ("pages", numbers(vec![count; position.len()])),
                ("pieces", Arc::new(pieces.map(Some).collect::<BinaryArray>())),
                ("position", Arc::new(position)),
            ];
            batch(KIND, columns).unwrap()
        };
        let (mut learn, mut owns) = (steps.learn_frames(), BTreeMap::new());
        let mut frames = Vec::new();
        for (host, positions) in &hosts {
            let counted = steps.frame_sample(&rows(*host, positions, None)).unwrap();
            frames.push(learn.add(&counted).unwrap());
        }
        frames.push(learn.finish().unwrap());
        for frame in frames {
            let frame = Rows::of(&frame, "frame");
            let pieces: &BinaryArray = frame.column("pieces").unwrap();
            for (row, host) in frame.numbers("host").unwrap().iter().enumerate() {
                // Spread over several tasks.
                for some in hosts[host].chunks(3000) {
                    let found = steps.own_texts().next(&rows(*host, some, Some(pieces.value(row))));
                    let found = found.unwrap();
                    let found = Rows::of(&found, "own text");
                    let own: &BinaryArray = found.column("own").unwrap();
                    for (row, position) in found.numbers("position").unwrap().iter().enumerate() {
                        owns.insert(*position, found.own(Some(own), row).unwrap());
                    }
                }
            }
        }
        owns
    }

    fn content(pieces: &[Piece]) -> ContentHash {
        ContentHash::of(&format!("{pieces:?}"))
    }

    fn check(pages: &[(String, Vec<Piece>)]) -> usize {
        let steps = Steps::new(Options::new(Fingerprinter::default())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut gathering = Gathering::new(folder.path(), least_pages);
        for (at, (url, pieces)) in (0..).zip(pages) {
            gathering.add(at, url, content(pieces), &packed(pieces)).unwrap();
        }
        let expected = gathering.learn(pages.len()).unwrap().owns;
        let expected: BTreeMap<i64, Own> =
            (0..).zip(expected).filter(|(_, own)| own.host != 0).collect();
        assert_eq!(learned(pages, &steps), expected);
        expected.len()
    }

    fn page(host: usize, at: usize, words: usize) -> (String, Vec<Piece>) {
        let own = (0..words).map(|word| 1_000 + (at * 31 + word) as u32 % 70_000);
        let frame = (0..40).map(|word| word * 10 + host as u32);
        let piece = |hash: u32| Piece { hash, words: (hash % 7) as u8 };
        (format!("http://h{host}.test/{at}"), frame.chain(own).map(piece).collect())
    }

    #[test]
    fn a_host_of_any_size_has_the_frame_that_one_machine_learns() {
        let mut pages: Vec<_> = (0..9000).map(|at| page(0, at, 3)).collect();
        pages.extend((0..7).map(|at| page(1, at, 3)));
        pages.push(("no-host".to_owned(), page(0, 0, 3).1));
        assert_eq!(check(&pages), 9000);
    }

    proptest! {
        #[test]
        fn any_hosts_have_the_frames_that_one_machine_learns(
            hosts in prop::collection::vec((0usize..5, 0usize..60, 0usize..9), 1..120),
        ) {
            let pages: Vec<_> = hosts.into_iter().map(|(host, at, words)| page(host, at, words)).collect();
            check(&pages);
        }
    }

    #[test]
    fn rows_in_another_order_are_an_error_that_says_so() {
        let steps = Steps::new(Options::new(Fingerprinter::default())).unwrap();
        let rows = |host: i64| {
            let one = |number: i64| numbers(vec![number]);
            let pieces: BinaryArray = [Some(vec![0u8; 5])].into_iter().collect();
            let columns = vec![
                ("host", one(host)),
                ("text", one(1)),
                ("pages", one(9)),
                ("position", one(0)),
                ("pieces", Arc::new(pieces) as arrow_array::ArrayRef),
            ];
            batch(KIND, columns).unwrap()
        };
        let mut learn = steps.learn_frames();
        learn.add(&rows(7)).unwrap();
        let error = learn.add(&rows(3)).unwrap_err().to_string();
        assert!(error.contains("not sorted by host"), "{error}");
        let error = steps.own_texts().next(&rows(7)).unwrap_err().to_string();
        assert!(error.contains("came before the frame"), "{error}");
    }
}
