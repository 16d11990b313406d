//! Queries and clicks of an artificial search log.
//!
//! An entry is one of the different queries, by Zipf with exponent 0.75. A query is about a page, drawn by the
//! popularity of link targets; its one to six words (2.3 on average) are the rarest of three drawn from the first 60
//! of the page's original. Clicks go to pages of that family with weight 1/position among the ten most popular; 30 %
//! of entries have none. Only query lengths and frequencies were compared with a real log, of 1997. Has no
//! misspellings, sessions, or clicks on other families.

use crate::rng::{Purpose, Rng};
use crate::web::{Scratch, Web};

pub(crate) const EXPONENT: f64 = 0.75;
/// Shares of queries with 1, 2, ... words, in percent.
const WORDS: [u32; 6] = [29, 34, 21, 9, 4, 3];
/// Shares of entries with 0, 1, ... clicks, in percent.
const CLICKS: [u32; 4] = [30, 50, 15, 5];
const FIRST_WORDS: u32 = 60;
const CLICKED_POSITIONS: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Number of the query; 0 is the most frequent one.
    pub id: u64,
    pub text: String,
    pub about: u64,
    /// The clicked pages, distinct and all in the family of `about`.
    pub clicks: Vec<u64>,
}

impl Web {
    /// Entry `entry` of the query log, which is infinite. The web must have pages.
    pub fn query(&self, entry: u64) -> Query {
        let mut rng = Rng::keyed(self.options.seed, Purpose::LogEntry, entry, 0);
        let id = self.query_popularity.draw(&mut rng);
        let (text, about) = self.distinct_query(id);
        let clicks = self.draw_clicks(about, &mut rng);
        Query { id, text, about, clicks }
    }

    /// The words of a query and the page it is about; `id` must be below the `queries` of the
    /// options.
    pub fn distinct_query(&self, id: u64) -> (String, u64) {
        let mut rng = Rng::keyed(self.options.seed, Purpose::Query, id, 0);
        let about = self.popular.apply(self.popularity.draw(&mut rng));
        let identity = self.identity(about);
        let mut scratch = Scratch::default();
        self.write_original(identity.place.family, &identity.family, FIRST_WORDS, &mut scratch);
        let first = &scratch.text;
        let mut chosen: Vec<u32> = Vec::new();
        for _ in 0..=rng.pick(&WORDS) {
            let rarest = (0..3)
                .map(|_| first[rng.below(first.len() as u64) as usize].rank())
                .fold(0, u32::max);
            if !chosen.contains(&rarest) {
                chosen.push(rarest);
            }
        }
        let pen = self.pen(identity.family.language);
        let mut text = String::new();
        for rank in chosen {
            if !text.is_empty() && pen.language.has_spaces() {
                text.push(' ');
            }
            pen.speller.spell(rank, &mut text);
        }
        (text, about)
    }

    fn draw_clicks(&self, about: u64, rng: &mut Rng) -> Vec<u64> {
        let mut members: Vec<u64> = self.members(self.truth(about).family).collect();
        members.sort_unstable_by_key(|&page| self.popularity(page));
        members.truncate(CLICKED_POSITIONS);
        // 2520 is divisible by every position up to ten.
        let weights: Vec<u32> =
            (1..=members.len() as u32).map(|position| 2520 / position).collect();
        let mut clicks = Vec::new();
        for _ in 0..rng.pick(&CLICKS) {
            let page = members[rng.pick(&weights)];
            if !clicks.contains(&page) {
                clicks.push(page);
            }
        }
        clicks
    }
}
