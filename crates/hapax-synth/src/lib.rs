//! A synthetic web with known answers: pages with menus, noise and links in six artificial languages, 29 % of which
//! are copies edited in ten ways. Depends on no other crate.
//!
//! Every page is a pure function of the options and its number, so any slice can be generated again in any order.
//!
//! ```
//! use hapax_synth::{Web, WebOptions};
//!
//! let web = Web::new(WebOptions::new(7, 1_000_000));
//! let page = web.page(123_456);
//! assert!(page.html.contains("</html>"));
//! assert_eq!(web.index_of_url(&page.url), Some(123_456));
//! assert!(web.members(page.truth.family).any(|member| member == 123_456));
//! ```
//!
//! Guarantees the same bytes on every platform and in every later version; golden values in the tests check it. Is
//! not real text: words are drawn independently, so n-grams repeat less often than in real pages. Test scaling with
//! this, quality with real data. Start at [`WebOptions`] and [`Web`]; [`planted`], [`family_sums`], [`forge`],
//! [`hiding`] and [`TemplatedSite`] are separate.

mod bags;
mod edit;
mod forge;
mod hide;
mod html;
mod language;
mod layout;
mod links;
mod options;
mod permutation;
mod planted;
mod queries;
mod revisit;
mod rng;
mod site;
mod stable_math;
mod sums;
mod templated;
mod web;
mod words;
mod zipf;

pub use bags::Weighting;
pub use edit::{EditKind, EditMix};
pub use forge::{Forgery, forge};
pub use hide::{DISGUISES, Disguise, HIDING, hiding};
pub use language::{Language, LanguageMix};
pub use layout::BLOCK;
pub use options::{Length, WebOptions};
pub use permutation::Permutation;
pub use planted::{Planted, planted};
pub use queries::Query;
pub use revisit::{Temper, Visit};
pub use rng::{Rng, mix};
pub use sums::family_sums;
pub use templated::{SiteCopy, SitePage, TemplatedSite};
pub use web::{Page, Scratch, Truth, Web};
pub use zipf::Zipf;
