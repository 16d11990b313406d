//! Holds what is remembered of every page between the two readings of the inputs.
//!
//! A page is a content hash, a fingerprint, two sketches and the facts that winner rules use: 221 bytes plus
//! its names, in columns, and 40 bytes more if frames are known. [`Pages::bytes`] counts them. Does not compare
//! pages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax::fingerprint::{ContentHash, Fingerprint, ShortSketch, Sketch, short_sketch};
use hapax::group::{PageFacts, ScopeKey};
use hapax::similarity::Evidence;

use crate::frames::Own;
use crate::strings::Strings;

/// Whether a page can be compared by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// Has enough words for near matches.
    Comparable = 0,
    /// Has fewer words than the recipe needs; matches exact copies only.
    TooShort = 1,
    /// Has text but no words; matches exact copies only.
    NoWords = 2,
    /// Has no text; matches nothing and is kept.
    Empty = 3,
    /// Neither HTML nor text; matches byte-for-byte copies only.
    NotText = 4,
    /// In a language that was not asked for; matches nothing and is kept.
    OtherLanguage = 5,
}

impl Status {
    pub const ALL: [Self; 6] = [
        Self::Comparable,
        Self::TooShort,
        Self::NoWords,
        Self::Empty,
        Self::NotText,
        Self::OtherLanguage,
    ];

    /// Whether the page matches nothing and is always kept.
    pub const fn stays(self) -> bool {
        matches!(self, Self::Empty | Self::OtherLanguage)
    }
}

/// A page to add to [`Pages`].
#[derive(Clone, Debug, PartialEq)]
pub struct NewPage {
    pub id: String,
    /// Address; empty without one.
    pub url: String,
    /// Target of `rel=canonical`, if any.
    pub canonical: Option<String>,
    /// Equal exactly for equal texts.
    pub content: ContentHash,
    pub status: Status,
    /// 0 without words.
    pub fingerprint: Fingerprint,
    /// All zeros without words.
    pub sketch: Sketch,
    /// Sketch under the key of the job; `None` without words or without a key.
    pub short: Option<ShortSketch>,
    /// Quality; larger is better.
    pub score: Option<f64>,
    /// Seconds since 1970.
    pub fetched: Option<i64>,
    pub words: u32,
    /// Pages match only within a scope.
    pub scope: ScopeKey,
    /// Whether fingerprint and sketches are those of the page's own text instead of the whole page.
    pub alone: bool,
}

/// All pages of a corpus, in corpus order, numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Empty for pages whose address is their id.
    ids: Strings,
    urls: Strings,
    contents: Vec<ContentHash>,
    fingerprints: Vec<Fingerprint>,
    sketches: Vec<Sketch>,
    /// Empty until a page has one; all zeros for a page without.
    shorts: Vec<ShortSketch>,
    statuses: Vec<Status>,
    /// NaN if unknown.
    scores: Vec<f64>,
    /// [`UNKNOWN_TIME`] if unknown.
    fetched: Vec<i64>,
    words: Vec<u32>,
    /// Empty while all pages are in one scope.
    scopes: Vec<ScopeKey>,
    /// Empty while no host has a frame.
    owns: Vec<Own>,
    /// Which pages are signed by their own text; empty while none is.
    alone: Vec<bool>,
    /// Pages that name a canonical URL.
    canonicals: BTreeMap<u32, Box<str>>,
    canonical_bytes: usize,
}

const UNKNOWN_TIME: i64 = i64::MIN;
/// A real sketch has this value with probability 2^-256.
const NO_SHORT: [u8; short_sketch::BYTES] = [0; short_sketch::BYTES];

impl Pages {
    /// Positions are 32 bits and one of them is reserved.
    pub const MOST: usize = u32::MAX as usize - 1;

    pub fn len(&self) -> usize {
        self.contents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// Appends a page.
    pub fn push(&mut self, page: &NewPage) {
        let position = self.len() as u32;
        self.ids.push(if page.id == page.url { "" } else { &page.id });
        self.urls.push(&page.url);
        self.contents.push(page.content);
        self.fingerprints.push(page.fingerprint);
        self.sketches.push(page.sketch);
        if page.short.is_some() || !self.shorts.is_empty() {
            let none = ShortSketch::from_bytes(&NO_SHORT);
            self.shorts.resize(position as usize, none);
            self.shorts.push(page.short.unwrap_or(none));
        }
        self.statuses.push(page.status);
        self.scores.push(page.score.unwrap_or(f64::NAN));
        self.fetched.push(page.fetched.unwrap_or(UNKNOWN_TIME));
        self.words.push(page.words);
        if page.scope != ScopeKey::ALL || !self.scopes.is_empty() {
            self.scopes.resize(position as usize, ScopeKey::ALL);
            self.scopes.push(page.scope);
        }
        if page.alone || !self.alone.is_empty() {
            self.alone.resize(position as usize, false);
            self.alone.push(page.alone);
        }
        if let Some(canonical) = &page.canonical {
            self.canonicals.insert(position, canonical.as_str().into());
            self.canonical_bytes += canonical.len() + size_of::<(u32, Box<str>)>();
        }
    }

    pub fn id(&self, page: u32) -> &str {
        match self.ids.get(page as usize) {
            "" => self.url(page),
            id => id,
        }
    }

    /// Whether the page is identified by its address alone. An address may occur twice.
    pub fn is_named_by_url(&self, page: u32) -> bool {
        self.ids.get(page as usize).is_empty()
    }

    /// Empty without an address.
    pub fn url(&self, page: u32) -> &str {
        self.urls.get(page as usize)
    }

    /// The address, or the id without one.
    pub fn address(&self, page: u32) -> &str {
        match self.url(page) {
            "" => self.id(page),
            url => url,
        }
    }

    /// What exact copies share; `None` for a page that matches nothing.
    pub fn content(&self, page: u32) -> Option<ContentHash> {
        (!self.status(page).stays()).then(|| self.contents[page as usize])
    }

    pub fn status(&self, page: u32) -> Status {
        self.statuses[page as usize]
    }

    /// Meaningless unless the page is [`Status::Comparable`].
    pub fn fingerprint(&self, page: u32) -> Fingerprint {
        self.fingerprints[page as usize]
    }

    /// Meaningless unless the page is [`Status::Comparable`].
    pub fn sketch(&self, page: u32) -> &Sketch {
        &self.sketches[page as usize]
    }

    /// The sketch under the key of the job.
    #[inline]
    pub fn short(&self, page: u32) -> Option<&ShortSketch> {
        self.shorts.get(page as usize).filter(|it| it.to_bytes() != NO_SHORT)
    }

    /// What similarity is computed from; meaningless unless the page is [`Status::Comparable`].
    /// Does not cover exact copies, which are found first.
    #[inline]
    pub(crate) fn evidence(&self, page: u32) -> Evidence<'_> {
        Evidence::differing(self.fingerprint(page), self.sketch(page))
    }

    /// Sets the own text of each page, by position; empty if no host has a frame.
    pub(crate) fn set_owns(&mut self, owns: Vec<Own>) {
        self.owns = owns;
    }

    /// The own text of a page; `None` if its host has no frame.
    pub(crate) fn own(&self, page: u32) -> Option<&Own> {
        self.owns.get(page as usize).filter(|own| own.host != 0)
    }

    /// Whether both pages are of one host with a frame and have different own texts.
    #[inline]
    pub(crate) fn own_texts_differ(&self, a: u32, b: u32) -> bool {
        self.own(a).zip(self.own(b)).is_some_and(|(a, b)| a.differs_from(b))
    }

    /// Whether fingerprint and sketches are those of the own text.
    #[inline]
    pub(crate) fn is_alone(&self, page: u32) -> bool {
        self.alone.get(page as usize).copied().unwrap_or(false)
    }

    /// Estimated share of the smaller own text that the other contains; `None` unless both are of
    /// one host with a frame.
    pub(crate) fn own_shared(&self, a: u32, b: u32) -> Option<f32> {
        let (a, b) = self.own(a).zip(self.own(b)).filter(|(a, b)| a.host == b.host)?;
        a.text.shared(&b.text)
    }

    /// Bucket key of the own text in a pass; 0 without a frame.
    pub(crate) fn own_bucket(&self, page: u32, pass: usize) -> u64 {
        self.own(page).map_or(0, |own| own.bucket(pass))
    }

    pub fn scope(&self, page: u32) -> ScopeKey {
        self.scopes.get(page as usize).copied().unwrap_or(ScopeKey::ALL)
    }

    /// Number of words of text.
    pub fn words(&self, page: u32) -> u32 {
        self.words[page as usize]
    }

    /// Pages that name a canonical URL, with that URL.
    pub fn canonicals(&self) -> impl Iterator<Item = (u32, &str)> {
        self.canonicals.iter().map(|(page, canonical)| (*page, &**canonical))
    }

    /// The facts that winner rules compare, except whether another page names this one as
    /// canonical.
    pub fn facts(&self, page: u32) -> PageFacts<'_> {
        let (score, fetched) = (self.scores[page as usize], self.fetched[page as usize]);
        PageFacts {
            url: Cow::Borrowed(self.address(page)),
            id: u64::from(page),
            score: (!score.is_nan()).then_some(score),
            first_seen: u64::try_from(fetched).ok(),
            recorded: Some(u64::from(page)),
            domain_place: None,
            words: self.words[page as usize],
            canonical: self.canonicals.get(&page).map(|it| Cow::Borrowed(&**it)),
            named_canonical: false,
        }
    }

    /// The page as it was added.
    pub fn get(&self, page: u32) -> NewPage {
        let (score, fetched) = (self.scores[page as usize], self.fetched[page as usize]);
        NewPage {
            id: self.id(page).to_owned(),
            url: self.url(page).to_owned(),
            canonical: self.canonicals.get(&page).map(|it| it.to_string()),
            content: self.contents[page as usize],
            status: self.status(page),
            fingerprint: self.fingerprint(page),
            sketch: *self.sketch(page),
            short: self.short(page).copied(),
            score: (!score.is_nan()).then_some(score),
            fetched: (fetched != UNKNOWN_TIME).then_some(fetched),
            words: self.words(page),
            scope: self.scope(page),
            alone: self.is_alone(page),
        }
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.ids.bytes()
            + self.urls.bytes()
            + size_of_val(&self.contents[..])
            + size_of_val(&self.fingerprints[..])
            + size_of_val(&self.sketches[..])
            + size_of_val(&self.shorts[..])
            + size_of_val(&self.statuses[..])
            + size_of_val(&self.scores[..])
            + size_of_val(&self.fetched[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.scopes[..])
            + size_of_val(&self.owns[..])
            + size_of_val(&self.alone[..])
            + self.canonical_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(id: &str, url: &str) -> NewPage {
        NewPage {
            id: id.to_owned(),
            url: url.to_owned(),
            canonical: None,
            content: ContentHash::of(id),
            status: Status::Comparable,
            fingerprint: Fingerprint::from_bits(7),
            sketch: Sketch::from_bytes(&[3; 128]),
            short: None,
            score: None,
            fetched: Some(-5),
            words: 12,
            scope: ScopeKey::ALL,
            alone: false,
        }
    }

    #[test]
    fn a_page_comes_back_as_it_went_in() {
        let mut pages = Pages::default();
        let given = [
            page("http://a.test/", "http://a.test/"),
            NewPage {
                scope: ScopeKey(9),
                alone: true,
                score: Some(0.5),
                ..page("seventeen", "http://b.test/")
            },
            NewPage { canonical: Some("http://c.test/".to_owned()), ..page("eighteen", "") },
            NewPage {
                short: Some(ShortSketch::from_bytes(&[5; 32])),
                ..page("nineteen", "http://d.test/")
            },
            page("twenty", ""),
        ];
        given.iter().for_each(|page| pages.push(page));
        for (position, page) in (0..).zip(&given) {
            assert_eq!(&pages.get(position), page);
        }
        assert!(pages.is_named_by_url(0) && !pages.is_named_by_url(1));
        assert_eq!(pages.address(2), "eighteen");
    }

    #[test]
    fn a_page_takes_221_bytes_and_its_names() {
        let mut pages = Pages::default();
        let short = Some(ShortSketch::from_bytes(&[5; 32]));
        pages.push(&NewPage { short, ..page("http://a.test/", "http://a.test/") });
        assert_eq!(pages.bytes(), 221 + "http://a.test/".len());
    }
}
