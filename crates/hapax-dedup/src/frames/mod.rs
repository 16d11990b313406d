//! Learns the frame of every host and the own text of every page.
//!
//! While pages are read, their [pieces](hapax::frame) go to temporary files, partitioned by host. Afterwards
//! the frame of every host is learned ([`count`]), several partitions at a time; a page's pieces outside the
//! frame are its own text.
//!
//! Linear in pages except for sorting; the result depends on the set of pages, not on order or threads. Pages
//! without a host or of a host with few pages get no own text and are compared as whole pages.

mod count;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hapax::fingerprint::ContentHash;
use hapax::frame::{OwnText, Piece, Seen, own_text};
use rayon::prelude::*;

pub(crate) use count::{HostPages, Own, PIECE, host_key, packed, text_key, unpacked};

use crate::error::Error;

/// Number of temporary files.
const PARTS: usize = 256;
/// Bytes buffered per partition before a write.
const BATCH_SIZE: usize = 1 << 16;
/// Number of hosts in the report.
pub(crate) const SHOWN: usize = 5;

/// The frame of a host, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFrame {
    /// The first page of the host that was read.
    pub(crate) page: u32,
    pub(crate) pages: u32,
    /// Hashes of the frame's pieces, ascending.
    pub(crate) pieces: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// By page; empty if no host has a frame.
    pub(crate) owns: Vec<Own>,
    /// The frames of the hosts with most pages.
    pub(crate) largest: Vec<HostFrame>,
    /// Number of hosts with a frame.
    pub(crate) hosts: u64,
}

/// What was learned about the hosts of one partition.
#[derive(Default)]
struct PartFrames {
    hosts: u64,
    owns: Vec<(u32, Own)>,
    largest: Vec<HostFrame>,
}

/// Collects the pieces of pages.
#[derive(Debug)]
pub(crate) struct Gathering {
    folder: PathBuf,
    /// On how many of `n` pages of a host a piece must occur to belong to the frame; `None` if `n`
    /// is too small.
    least: fn(u32) -> Option<u32>,
    parts: Vec<Part>,
    /// Number of pages per host.
    hosts: BTreeMap<u32, u32>,
}

#[derive(Debug, Default)]
struct Part {
    waiting: Vec<u8>,
    file: Option<File>,
}

impl Gathering {
    /// The temporary files are unnamed and vanish when this value is dropped.
    pub(crate) fn new(folder: &Path, least: fn(u32) -> Option<u32>) -> Self {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        Self { folder: folder.to_owned(), least, parts, hosts: BTreeMap::new() }
    }

    /// Adds the [packed](packed) pieces of the page at this position.
    pub(crate) fn add(
        &mut self,
        at: u32,
        url: &str,
        content: ContentHash,
        pieces: &[u8],
    ) -> Result<(), Error> {
        let host = host_key(url);
        if host == 0 {
            return Ok(());
        }
        *self.hosts.entry(host).or_default() += 1;
        let part = &mut self.parts[host as usize % PARTS];
        for number in [at, host, text_key(content), pieces.len() as u32] {
            part.waiting.extend(number.to_le_bytes());
        }
        part.waiting.extend_from_slice(pieces);
        if part.waiting.len() < BATCH_SIZE {
            return Ok(());
        }
        part.write(&self.folder).map_err(|error| Error::io("write to", &self.folder, error))
    }

    /// The own text of each of `pages` pages. Partitions are read by all threads of the current
    /// pool.
    pub(crate) fn learn(mut self, pages: usize) -> Result<Learned, Error> {
        let shown = self.largest();
        let parts = std::mem::take(&mut self.parts);
        let found = parts.into_par_iter().map(|part| self.learn_part(part, &shown));
        let found: Vec<PartFrames> =
            found.collect::<io::Result<_>>().map_err(|error| self.cannot_read(error))?;
        let mut learned = Learned::default();
        for part in found.into_iter().filter(|part| part.hosts > 0) {
            learned.hosts += part.hosts;
            learned.owns.resize(pages, Own::default());
            for (page, own) in part.owns {
                if let Some(at) = learned.owns.get_mut(page as usize) {
                    *at = own;
                }
            }
            learned.largest.extend(part.largest);
        }
        learned.largest.sort_unstable_by_key(|it| (std::cmp::Reverse(it.pages), it.page));
        Ok(learned)
    }

    fn learn_part(&self, mut part: Part, shown: &BTreeSet<u32>) -> io::Result<PartFrames> {
        let frames = self.frames(&mut part)?;
        let mut learned = PartFrames { hosts: frames.len() as u64, ..PartFrames::default() };
        if frames.is_empty() {
            return Ok(learned);
        }
        // Most pieces are in no frame; this filter rules them out faster than a search.
        let mut seen = Seen::default();
        for (host, frame) in &frames {
            frame.iter().for_each(|hash| _ = seen.insert(host ^ hash));
        }
        let mut largest: BTreeMap<u32, HostFrame> = BTreeMap::new();
        part.read(|page| {
            let Some(frame) = frames.get(&page.host) else { return };
            let is_own = |piece: &Piece| {
                !seen.contains(page.host ^ piece.hash) || frame.binary_search(&piece.hash).is_err()
            };
            let text = OwnText::of(unpacked(&page.pieces).filter(is_own));
            learned.owns.push((page.at, Own { host: page.host, text }));
            if shown.contains(&page.host) {
                largest.entry(page.host).or_insert_with(|| HostFrame {
                    page: page.at,
                    pages: self.hosts.get(&page.host).copied().unwrap_or(0),
                    pieces: frame.clone(),
                });
            }
        })?;
        learned.largest.extend(largest.into_values());
        Ok(learned)
    }

    pub(crate) fn all(mut self) -> Result<HostFrames, Error> {
        let parts = std::mem::take(&mut self.parts);
        let found = parts.into_par_iter().map(|mut part| self.frames(&mut part));
        let found: Vec<_> =
            found.collect::<io::Result<_>>().map_err(|error| self.cannot_read(error))?;
        Ok(HostFrames(found.into_iter().flatten().collect()))
    }

    /// The frames of the hosts of a partition that have one, each ascending.
    fn frames(&self, part: &mut Part) -> io::Result<BTreeMap<u32, Vec<u32>>> {
        let mut hosts: BTreeMap<u32, HostPages> = BTreeMap::new();
        part.read(|page| {
            let pages = self.hosts.get(&page.host).copied().unwrap_or(0);
            if (self.least)(pages).is_some() && HostPages::is_sampled(page.text, pages) {
                hosts.entry(page.host).or_default().add(page.text, &page.pieces);
            }
        })?;
        let frames = hosts.into_iter().map(|(host, pages)| (host, pages.frame(self.least)));
        Ok(frames.filter(|(_, frame)| !frame.is_empty()).collect())
    }

    /// The hosts with most pages.
    fn largest(&self) -> BTreeSet<u32> {
        let mut hosts: Vec<(u32, u32)> =
            self.hosts.iter().map(|(host, pages)| (*pages, *host)).collect();
        hosts.sort_unstable_by(|a, b| b.cmp(a));
        hosts.into_iter().take(SHOWN).map(|(_, host)| host).collect()
    }

    fn cannot_read(&self, error: io::Error) -> Error {
        Error::io("read a temporary file in", &self.folder, error)
    }
}

/// The frames of all hosts; 4 bytes per piece.
#[derive(Debug)]
pub(crate) struct HostFrames(BTreeMap<u32, Vec<u32>>);

impl HostFrames {
    /// The own text of a page at this address; `None` if it is short or the host has no frame.
    pub(crate) fn own_text(&self, url: &str, text: &str) -> Option<String> {
        let frame = self.0.get(&host_key(url))?;
        own_text(text, |hash| frame.binary_search(&hash).is_ok())
    }

    pub(crate) fn hosts(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A page as a temporary file stores it.
#[derive(Default)]
struct Gathered {
    at: u32,
    host: u32,
    /// Key of the text, equal for equal texts.
    text: u32,
    /// Packed pieces.
    pieces: Vec<u8>,
}

impl Part {
    fn write(&mut self, folder: &Path) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(folder)?),
        };
        file.write_all(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Calls `see` for every page that was added.
    fn read(&mut self, mut see: impl FnMut(&Gathered)) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
        }
        let written: Box<dyn Read + '_> = match &self.file {
            Some(file) => Box::new(BufReader::with_capacity(BATCH_SIZE, file)),
            None => Box::new(io::empty()),
        };
        let mut all = written.chain(&self.waiting[..]);
        let mut page = Gathered::default();
        let mut start = [0; 16];
        loop {
            match all.read_exact(&mut start) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                other => other?,
            }
            let [at, host, text, length] = [0, 1, 2, 3]
                .map(|i| start.as_chunks::<4>().0.get(i).map_or(0, |it| u32::from_le_bytes(*it)));
            page.pieces.resize(length as usize, 0);
            all.read_exact(&mut page.pieces)?;
            (page.at, page.host, page.text) = (at, host, text);
            see(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::frame::least_pages;

    fn learn(pages: &[(String, Vec<u32>)], order: impl Iterator<Item = usize>) -> Learned {
        let folder = tempfile::tempdir().unwrap();
        let mut gathering = Gathering::new(folder.path(), least_pages);
        for at in order {
            let (url, hashes) = &pages[at];
            // Hashes above two million stand for numbers.
            let piece = |&hash: &u32| Piece { hash, words: if hash < 2_000_000 { 2 } else { 0 } };
            let pieces: Vec<Piece> = hashes.iter().map(piece).collect();
            let content = ContentHash::of(&format!("{hashes:?}"));
            gathering.add(at as u32, url, content, &packed(&pieces)).unwrap();
        }
        gathering.learn(pages.len()).unwrap()
    }

    #[test]
    fn pieces_on_many_pages_of_a_host_are_its_frame_in_any_order() {
        let shared: Vec<u32> = (0..2000).collect();
        let page = |host: &str, at: u32| {
            let own = [1_000_000 + at, 2_000_000 + at];
            (format!("http://{host}/{at}"), shared.iter().copied().chain(own).collect::<Vec<u32>>())
        };
        let mut pages: Vec<_> = (0..40).map(|at| page("many.test", at)).collect();
        pages.extend((0..7).map(|at| page("few.test", at)));
        pages.push(("no-host".to_owned(), shared.clone()));
        let learned = learn(&pages, 0..pages.len());
        assert_eq!(learned.hosts, 1);
        assert_eq!(learned.largest[0].pieces, shared);
        assert_eq!((learned.largest[0].pages, learned.largest.len()), (40, 1));
        for (at, own) in learned.owns.iter().enumerate() {
            assert_eq!(own.text.words(), if at < 40 { 2 } else { 0 }, "{at}");
        }
        assert!(learned.owns[0].differs_from(&learned.owns[1]));
        assert!(!learned.owns[0].differs_from(&learned.owns[41]));
        let backwards = learn(&pages, (0..pages.len()).rev());
        assert_eq!(backwards.owns, learned.owns);
    }

    #[test]
    fn exact_copies_are_counted_once_and_a_large_host_is_sampled() {
        let mut pages: Vec<_> =
            (0..30).map(|at| (format!("http://a.test/{at}"), vec![1, 2, 3])).collect();
        assert!(learn(&pages, 0..pages.len()).owns.is_empty());
        pages = (0..20_000).map(|at| (format!("http://b.test/{at}"), vec![1, 2, 9 + at])).collect();
        let learned = learn(&pages, 0..pages.len());
        assert_eq!(learned.largest[0].pieces, [1, 2]);
        assert!(learned.owns.iter().all(|own| own.text.words() == 2));
    }
}
