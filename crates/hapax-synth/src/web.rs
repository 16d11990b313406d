//! The web: any page, its truth and its text, computed from its number alone.
//!
//! ```text
//!   page number ─► place (family, copy) ─► family: language, topic, length, host, content
//!                                       └► copy:   kind of edit, amount, host
//!                 └► noise (date, counter, session) and links
//! ```
//!
//! Every method is a pure function of the options and its arguments, in any order and on any thread. Memory is one
//! bit per page. Does not handle markup ([`crate::html`]) and addresses ([`crate::site`]).

use std::ops::Range;
use std::sync::OnceLock;

use crate::edit::{self, EditKind};
use crate::language::{Language, Speller};
use crate::layout::{Layout, Place};
use crate::options::WebOptions;
use crate::permutation::Permutation;
use crate::rng::{Purpose, Rng, key};
use crate::site::Sites;
use crate::stable_math::log_normal;
use crate::words::{TOPICS, Token, Words};
use crate::zipf::Zipf;

/// Zipf exponent of pages as link targets; gives in-degrees with the exponent 1 + 1/0.85 = 2.18.
const POPULARITY_EXPONENT: f64 = 0.85;
/// Share of the copies that are on their original's host.
const STAYS_ON_HOST: f64 = 0.75;
/// 2026-01-01T00:00:00Z, the start of the crawl; it takes a week.
const CRAWL_START: u64 = 1_767_225_600;
const WEEK: u64 = 604_800;
/// Number of first words of the content that form the heading.
const HEADING_WORDS: usize = 7;

/// A page as fetched by a crawler, with its truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub index: u64,
    pub url: String,
    /// The whole document.
    pub html: String,
    /// The document's title, without escapes.
    pub title: String,
    /// Seconds since 1970.
    pub fetched: u64,
    pub truth: Truth,
}

/// The known facts about a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Pages with equal numbers have the same original.
    pub family: u64,
    /// 0 for the original.
    pub copy: u32,
    pub kind: EditKind,
    /// Amount of the edit, in the unit stated at [`EditKind`].
    pub amount: f64,
    pub language: Language,
    /// Number of words of the original's content.
    pub words: u32,
}

impl Truth {
    /// The expected Jaccard similarity, over runs of five tokens, of this page's content and its
    /// original's. `None` if no formula is known (Thai, unless the content is equal).
    ///
    /// For words changed at rate e: p = (1-e)^5, J = p/(2-p). Insertions break four runs and not
    /// five, so true values are slightly higher. For short texts they vary widely.
    pub fn expected_jaccard5(&self) -> Option<f64> {
        edit::expected_jaccard5(self.kind, self.amount, self.words, self.language)
    }
}

/// Buffers that are reused for many pages, without effect on results.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) text: Vec<Token>,
    pub(crate) spare: Vec<Token>,
    pub(crate) heading: Vec<u32>,
    pub(crate) links: Vec<u64>,
    pub(crate) ranks: Vec<u32>,
}

/// Properties shared by all pages of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) language: Language,
    pub(crate) topic: u64,
    words: u32,
    host: u64,
}

/// The properties of a page that do not depend on its words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) place: Place,
    pub(crate) family: Family,
    pub(crate) kind: EditKind,
    amount: f64,
    pub(crate) host: u64,
    /// The host whose frame it has.
    pub(crate) frame: u64,
}

#[derive(Debug)]
pub struct Web {
    pub(crate) options: WebOptions,
    pub(crate) words: Words,
    pub(crate) sites: Sites,
    pub(crate) popularity: Zipf,
    pub(crate) popular: Permutation,
    pub(crate) query_popularity: Zipf,
    layout: Layout,
    spellers: [OnceLock<Speller>; Language::ALL.len()],
}

impl Web {
    /// Creates the web with these options in about a millisecond.
    ///
    /// # Panics
    ///
    /// Panics if an option is out of range, and names it.
    pub fn new(options: WebOptions) -> Self {
        options.check();
        let WebOptions { seed, pages, .. } = options;
        Self {
            words: Words::new(seed),
            sites: Sites::new(seed, pages),
            popularity: Zipf::new(pages.max(1), POPULARITY_EXPONENT),
            popular: Permutation::new(pages, key(seed, Purpose::Popularity, 0, 0)),
            query_popularity: Zipf::new(options.queries, crate::queries::EXPONENT),
            layout: Layout::new(seed, pages, options.families_with_copies),
            spellers: Default::default(),
            options,
        }
    }

    pub fn options(&self) -> &WebOptions {
        &self.options
    }

    /// Number of pages.
    pub fn len(&self) -> u64 {
        self.options.pages
    }

    pub fn is_empty(&self) -> bool {
        self.options.pages == 0
    }

    /// The page with this number. Here and in every other method, `index` must be below
    /// [`len`](Self::len).
    pub fn page(&self, index: u64) -> Page {
        let mut page = Page::default();
        self.page_into(index, &mut page, &mut Scratch::default());
        page
    }

    /// Like [`page`](Self::page), but reuses memory: allocates only until the buffers have grown.
    pub fn page_into(&self, index: u64, page: &mut Page, scratch: &mut Scratch) {
        let identity = self.identity(index);
        self.write_content(&identity, scratch);
        self.render(index, &identity, 0, page, scratch);
    }

    /// The pages with these numbers, in order.
    pub fn pages(&self, range: Range<u64>) -> impl Iterator<Item = Page> + '_ {
        let mut scratch = Scratch::default();
        range.map(move |index| {
            let mut page = Page::default();
            self.page_into(index, &mut page, &mut scratch);
            page
        })
    }

    /// The main content of a page as plain text: its paragraphs, one per line, without heading,
    /// frame, date and counter.
    pub fn text(&self, index: u64) -> String {
        let mut out = String::new();
        self.text_into(index, &mut out, &mut Scratch::default());
        out
    }

    /// Like [`text`](Self::text), but reuses memory.
    pub fn text_into(&self, index: u64, out: &mut String, scratch: &mut Scratch) {
        let identity = self.identity(index);
        self.write_content(&identity, scratch);
        out.clear();
        crate::html::write_text(&scratch.text, self.pen(identity.family.language), out);
    }

    pub fn truth(&self, index: u64) -> Truth {
        self.identity(index).truth()
    }

    /// The pages of a family, original first. `family` comes from a [`Truth`].
    pub fn members(&self, family: u64) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.layout.size(family)).map(move |copy| self.layout.page(Place { family, copy }))
    }

    /// Rank by expected number of incoming links: 1 is the most linked page.
    pub fn popularity(&self, index: u64) -> u64 {
        self.popular.invert(index) + 1
    }

    pub(crate) fn identity(&self, index: u64) -> Identity {
        assert!(index < self.len(), "page {index} of a web of {} pages", self.len());
        let place = self.layout.place(index);
        let family = self.family(place.family);
        let mut identity = Identity {
            place,
            family,
            kind: EditKind::Original,
            amount: 0.0,
            host: family.host,
            frame: family.host,
        };
        if place.copy > 0 {
            let seed = self.options.seed;
            let mut rng = Rng::keyed(seed, Purpose::Copy, place.family, u64::from(place.copy));
            let kind = EditKind::COPIES[rng.pick(&self.options.edits.weights())];
            identity.kind = kind;
            identity.amount = edit::draw_amount(kind, family.words, &mut rng);
            if kind == EditKind::OtherTemplate {
                identity.host = self.sites.draw_other(family.host, &mut rng);
            } else if !rng.chance(STAYS_ON_HOST) {
                identity.host = self.sites.draw(&mut rng);
            }
            // A mirror keeps the frame of its original.
            if !matches!(kind, EditKind::Exact | EditKind::Refreshed) {
                identity.frame = identity.host;
            }
        }
        identity
    }

    fn family(&self, family: u64) -> Family {
        let mut rng = Rng::keyed(self.options.seed, Purpose::Family, family, 0);
        let length = self.options.length;
        Family {
            language: Language::ALL[rng.pick(&self.options.languages.weights())],
            topic: rng.below(TOPICS),
            host: self.sites.draw(&mut rng),
            words: log_normal(
                &mut rng,
                length.mu,
                length.sigma,
                u64::from(length.least),
                u64::from(length.most),
            ) as u32,
        }
    }

    /// Writes the edited words of a page into `scratch.text`.
    pub(crate) fn write_content(&self, identity: &Identity, scratch: &mut Scratch) {
        let Identity { place, family, kind, amount, .. } = *identity;
        self.write_original(place.family, &family, family.words, scratch);
        let seed = self.options.seed;
        let mut rng = Rng::keyed(seed, Purpose::Edit, place.family, u64::from(place.copy));
        let Scratch { text, spare, .. } = scratch;
        edit::apply((kind, amount), &self.words, family.topic, &mut rng, text, spare);
    }

    /// Writes the first `most` words of a family's original into `scratch.text`, and the words of
    /// its heading, which all copies share, into `scratch.heading`.
    pub(crate) fn write_original(
        &self,
        number: u64,
        family: &Family,
        most: u32,
        scratch: &mut Scratch,
    ) {
        let mut rng = Rng::keyed(self.options.seed, Purpose::Content, number, 0);
        scratch.text.clear();
        let count = family.words.min(most) as usize;
        self.words.compose(family.topic, count, &mut rng, &mut scratch.text);
        scratch.heading.clear();
        scratch.heading.extend(scratch.text.iter().take(HEADING_WORDS).map(|token| token.rank()));
    }

    /// The page with the noise and links of this one: itself, or the original of an exact copy.
    pub(crate) fn looks_like(&self, index: u64, identity: &Identity) -> u64 {
        match identity.kind {
            EditKind::Exact => self.original(identity),
            _ => index,
        }
    }

    /// Copy 0 of the same family.
    pub(crate) fn original(&self, identity: &Identity) -> u64 {
        self.layout.page(Place { copy: 0, ..identity.place })
    }

    pub(crate) fn pen(&self, language: Language) -> Pen<'_> {
        let speller = self.spellers[language as usize].get_or_init(|| Speller::new(language));
        Pen { language, speller }
    }

    pub(crate) fn fetched(&self, index: u64, week: u32) -> u64 {
        let within = Rng::keyed(self.options.seed, Purpose::Noise, index, u64::MAX).below(WEEK);
        CRAWL_START + within + WEEK * u64::from(week)
    }
}

impl Identity {
    pub(crate) fn truth(&self) -> Truth {
        Truth {
            family: self.place.family,
            copy: self.place.copy,
            kind: self.kind,
            amount: self.amount,
            language: self.family.language,
            words: self.family.words,
        }
    }
}

/// A language with its spelling and the vocabulary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen<'a> {
    pub(crate) language: Language,
    pub(crate) speller: &'a Speller,
}
