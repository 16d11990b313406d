//! How a page changes from week to week.
//!
//! Every page has a constant temper, and its edits accumulate. Each week 1.5 % of the remaining pages are deleted,
//! and 0.2 % of the remaining copies become a redirect to their original. The shares follow published observations
//! and were not measured here: Ntoulas, Cho and Olston 2004; Fetterly et al. 2003. Copies change independently, which
//! is harder for grouping than reality. Links do not change.
//!
//! | temper | share | what happens |
//! |---|---|---|
//! | `Still` | 50 % | nothing |
//! | `Ticking` | 20 % | date, counter and session change every week |
//! | `Tended` | 22 % | in one week of ten 0.2 to 2 % of the words are edited, with new date and counter |
//! | `Lively` | 8 % | every week a passage of 5 to 15 % is replaced, with new date and counter |

use crate::edit::{self, EditKind};
use crate::rng::{Purpose, Rng};
use crate::stable_math::log_uniform;
use crate::web::{Identity, Page, Scratch, Web};

/// Shares of the tempers in percent, in the order of [`Temper`].
const TEMPERS: [u32; 4] = [50, 20, 22, 8];
const TENDED_A_WEEK: f64 = 0.1;
const GONE_A_WEEK: f64 = 0.015;
const MOVED_A_WEEK: f64 = 0.002;

/// How often and how much a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    Still,
    /// Date, counter and session every week.
    Ticking,
    /// 0.2 to 2 % of the words, in one week of ten.
    Tended,
    /// A passage of 5 to 15 % is replaced every week.
    Lively,
}

/// The result of fetching an address again.
#[derive(Clone, Debug, PartialEq)]
pub enum Visit {
    Page(Page),
    /// A redirect to this page, the family's original, which may itself be deleted by now.
    Moved(u64),
    Gone,
}

impl Web {
    /// The page `week` weeks after the first crawl. Week 0 is [`page`](Self::page). The truth of
    /// the page stays that of week 0. Cost grows linearly with `week`.
    pub fn revisit(&self, index: u64, week: u32) -> Visit {
        let identity = self.identity(index);
        match self.fate(index, &identity, week) {
            Fate::Gone => return Visit::Gone,
            Fate::Moved => return Visit::Moved(self.original(&identity)),
            Fate::Lasting => {}
        }
        let mut scratch = Scratch::default();
        self.write_content(&identity, &mut scratch);
        let mut changed = 0;
        for now in 1..=week {
            if self.change(index, &identity, now, &mut scratch) {
                changed = now;
            }
        }
        let mut page = Page::default();
        self.render(index, &identity, changed, &mut page, &mut scratch);
        page.fetched = self.fetched(index, week);
        Visit::Page(page)
    }

    pub fn temper(&self, index: u64) -> Temper {
        let mut rng = Rng::keyed(self.options.seed, Purpose::ChangeClass, index, 0);
        [Temper::Still, Temper::Ticking, Temper::Tended, Temper::Lively][rng.pick(&TEMPERS)]
    }

    fn fate(&self, index: u64, identity: &Identity, week: u32) -> Fate {
        let mut rng = Rng::keyed(self.options.seed, Purpose::ChangeClass, index, 1);
        for _ in 0..week {
            if rng.chance(GONE_A_WEEK) {
                return Fate::Gone;
            }
            if rng.chance(MOVED_A_WEEK) && identity.place.copy > 0 {
                return Fate::Moved;
            }
        }
        Fate::Lasting
    }

    /// Applies the edits of week `now` to the text; `false` if nothing changes.
    fn change(&self, index: u64, identity: &Identity, now: u32, scratch: &mut Scratch) -> bool {
        let mut rng = Rng::keyed(self.options.seed, Purpose::Change, index, u64::from(now));
        let topic = identity.family.topic;
        let Scratch { text, spare, .. } = scratch;
        match self.temper(index) {
            Temper::Still => false,
            Temper::Ticking => true,
            Temper::Tended => {
                let tended = rng.chance(TENDED_A_WEEK);
                if tended {
                    let edit = (EditKind::LightEdit, log_uniform(&mut rng, 0.002, 0.02));
                    edit::apply(edit, &self.words, topic, &mut rng, text, spare);
                }
                tended
            }
            Temper::Lively => {
                let share = 0.05 + 0.1 * rng.unit();
                for kind in [EditKind::BlockDeleted, EditKind::BlockInserted] {
                    edit::apply((kind, share), &self.words, topic, &mut rng, text, spare);
                }
                true
            }
        }
    }
}

enum Fate {
    Lasting,
    Moved,
    Gone,
}
