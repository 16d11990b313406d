//! A synthetic web with known answers.
//!
//! Pages with menus, noise and links, in six made-up languages. 29 % are copies of another
//! page, edited in ten ways. Every page is a pure function of the options and its number: any
//! slice can be made again, in any order, on any number of threads, and what is true about a
//! page is known without looking at another one.
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
//! # Reading order
//!
//! [`WebOptions`] says what can be chosen, [`Web`] what can be asked. Inside, from the ground
//! up: `rng`, `stable_math`, `zipf` and `permutation` make numbers; `words` and `language` make
//! text; `layout` and `edit` make families; `site`, `html` and `links` make pages; `web` puts
//! them together; `queries`, `revisit` and `bags` ask more of it. [`planted`], [`family_sums`],
//! [`forge`], [`hiding`] and [`TemplatedSite`] stand alone.
//!
//! # Promises
//!
//! Same options, same bytes, on every platform and in every later version: only integers and
//! those operations on floating-point numbers are used whose result is fixed to the last
//! bit. The golden values in the tests guard it. A change that moves them is a
//! change for everybody who wrote down a number measured on such a web.
//!
//! # What it is not
//!
//! Real text. Words are drawn independently, so n-grams repeat less than in real pages, and
//! there is no meaning. Scale on this, validate on real data.
//!
//! It depends on no other crate and knows no engine types: numbers, strings and vectors.

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
