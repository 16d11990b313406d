//! The web itself: any page, its truth and its text, from its number alone.
//!
//! ```text
//!   page number ─► place (family, copy) ─► family: language, topic, length, host, content
//!                                       └► copy:   kind of edit, amount, host
//!                 └► noise (date, counter, session) and links
//! ```
//!
//! Guarantees that every method is a pure function of the options and its arguments, in any order and from any
//! thread. Keeps one bit a page. Does not know how a page looks ([`crate::html`]) or where it is ([`crate::site`]).

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

/// Popularity of pages as link targets: Zipf with this exponent gives in-degrees with the
/// exponent 1 + 1/0.85 = 2.18.
const POPULARITY_EXPONENT: f64 = 0.85;
/// Share of the copies that stay on their original's host.
const STAYS_ON_HOST: f64 = 0.75;
/// 2026-01-01T00:00:00Z, the start of the crawl; it takes a week.
const CRAWL_START: u64 = 1_767_225_600;
const WEEK: u64 = 604_800;
/// The first words of the content are the heading.
const HEADING_WORDS: usize = 7;

/// A page as a crawler gets it, with what is true about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub index: u64,
    pub url: String,
    /// The whole document, UTF-8.
    pub html: String,
    /// The document's title, without escapes.
    pub title: String,
    /// When it was fetched, in seconds since 1970.
    pub fetched: u64,
    /// What is true about it.
    pub truth: Truth,
}

/// What is true about a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Pages with the same number here have the same original.
    pub family: u64,
    /// 0 for the original.
    pub copy: u32,
    /// What was done to the original.
    pub kind: EditKind,
    /// How much was done; [`EditKind`] says in which unit.
    pub amount: f64,
    /// What the family is written in.
    pub language: Language,
    /// Length of the original's content in words.
    pub words: u32,
}

impl Truth {
    /// The expected Jaccard similarity, over runs of five tokens, of this page's content and
    /// its original's. `None` where no formula is known (Thai, unless the content is equal).
    ///
    /// For words changed at rate e: p = (1-e)^5, J = p/(2-p). Insertions break four runs and
    /// not five, so real values lie slightly higher. For texts of few words the real values
    /// scatter widely.
    pub fn expected_jaccard5(&self) -> Option<f64> {
        edit::expected_jaccard5(self.kind, self.amount, self.words, self.language)
    }
}

/// Working memory that is reused from page to page. It changes no result.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) text: Vec<Token>,
    pub(crate) spare: Vec<Token>,
    pub(crate) heading: Vec<u32>,
    pub(crate) links: Vec<u64>,
    pub(crate) ranks: Vec<u32>,
}

/// What all pages of a family share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) language: Language,
    pub(crate) topic: u64,
    words: u32,
    host: u64,
}

/// Everything about a page that is known before a word is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) place: Place,
    pub(crate) family: Family,
    pub(crate) kind: EditKind,
    amount: f64,
    pub(crate) host: u64,
    /// Whose frame it has.
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
    /// The web these options describe. Takes about a millisecond.
    ///
    /// # Panics
    ///
    /// When an option is out of its range; the message names it.
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

    /// How many pages there are.
    pub fn len(&self) -> u64 {
        self.options.pages
    }

    pub fn is_empty(&self) -> bool {
        self.options.pages == 0
    }

    /// The page with this number. `index` must be below [`len`](Self::len), here and in every
    /// other method.
    pub fn page(&self, index: u64) -> Page {
        let mut page = Page::default();
        self.page_into(index, &mut page, &mut Scratch::default());
        page
    }

    /// Like [`page`](Self::page), into memory that is used again: no allocation once the
    /// buffers have grown.
    pub fn page_into(&self, index: u64, page: &mut Page, scratch: &mut Scratch) {
        let identity = self.identity(index);
        self.write_content(&identity, scratch);
        self.render(index, &identity, 0, page, scratch);
    }

    /// The pages with these numbers, one after the other.
    pub fn pages(&self, range: Range<u64>) -> impl Iterator<Item = Page> + '_ {
        let mut scratch = Scratch::default();
        range.map(move |index| {
            let mut page = Page::default();
            self.page_into(index, &mut page, &mut scratch);
            page
        })
    }

    /// The main content of a page as plain text: its paragraphs, one a line, without heading,
    /// frame, date and counter.
    pub fn text(&self, index: u64) -> String {
        let mut out = String::new();
        self.text_into(index, &mut out, &mut Scratch::default());
        out
    }

    /// Like [`text`](Self::text), into memory that is used again.
    pub fn text_into(&self, index: u64, out: &mut String, scratch: &mut Scratch) {
        let identity = self.identity(index);
        self.write_content(&identity, scratch);
        out.clear();
        crate::html::write_text(&scratch.text, self.pen(identity.family.language), out);
    }

    /// What is true about a page.
    pub fn truth(&self, index: u64) -> Truth {
        self.identity(index).truth()
    }

    /// The pages of a family, original first. `family` comes from a [`Truth`].
    pub fn members(&self, family: u64) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.layout.size(family)).map(move |copy| self.layout.page(Place { family, copy }))
    }

    /// How often a page is linked to, as a rank: 1 is the page with the most links (expected).
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
            // A mirror keeps the frame of what it mirrors.
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

    /// Writes a page's words, edited, into `scratch.text`.
    pub(crate) fn write_content(&self, identity: &Identity, scratch: &mut Scratch) {
        let Identity { place, family, kind, amount, .. } = *identity;
        self.write_original(place.family, &family, family.words, scratch);
        let seed = self.options.seed;
        let mut rng = Rng::keyed(seed, Purpose::Edit, place.family, u64::from(place.copy));
        let Scratch { text, spare, .. } = scratch;
        edit::apply((kind, amount), &self.words, family.topic, &mut rng, text, spare);
    }

    /// Writes the first `most` words of a family's original into `scratch.text`, and the words
    /// of its heading, which all copies keep, into `scratch.heading`.
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

    /// The page whose noise and links this one shows: itself, or what it mirrors exactly.
    pub(crate) fn looks_like(&self, index: u64, identity: &Identity) -> u64 {
        match identity.kind {
            EditKind::Exact => self.original(identity),
            _ => index,
        }
    }

    /// The page that is copy 0 of the same family.
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

/// A language and the way to write it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen<'a> {
    pub(crate) language: Language,
    pub(crate) speller: &'a Speller,
}
