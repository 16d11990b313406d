//! Pages with known similarity: families of pages on a line, of which only neighbours match.
//!
//! Content `c` of a family matches `c - 1`, `c` and `c + 1` of it and nothing else: a step is three bits of the
//! fingerprint and 60 of 1024 of the sketch. Families are far from each other. The store's tests have one such line;
//! several here give many groups, with redirects between them.

use hapax::fingerprint::{ContentHash, Fingerprint, Recipe, RecipeId, Sketch};
use hapax_store::{Confirm, Observation, Settings, StoredComparable};

pub(crate) const FAMILIES: u32 = 4;
/// Pages per family.
pub(crate) const MEMBERS: u32 = 12;
/// Positions on a line.
pub(crate) const PLACES: u32 = 14;

/// A page's address; byte order equals the order of numbers.
pub(crate) fn url(page: u32) -> String {
    format!("http://f{}.example/{:02}", page / MEMBERS, page % MEMBERS)
}

/// The content of a page at a position of its family's line.
pub(crate) fn comparable(page: u32, place: u32) -> StoredComparable {
    let family = page / MEMBERS;
    let mut sketch = [0; 128];
    (0..60 * place as usize).for_each(|bit| sketch[bit / 8] |= 1 << (bit % 8));
    // Families use bits that no position on a line uses; any two differ in at least eight.
    let far = [0u64, 0xff, 0xff00, 0xffff][family as usize % 4];
    let bits = ((1u64 << (3 * place)) - 1) ^ (far << 45);
    let fingerprint = Fingerprint::from_bits(bits);
    StoredComparable { fingerprint, sketch: Sketch::from_bytes(&sketch), too_short: false }
}

/// A hash that distinguishes contents.
pub(crate) fn hash(page: u32, place: u32) -> ContentHash {
    ContentHash::of(&format!("{} {place}", page / MEMBERS))
}

/// The observation of a page; without a place it has no words.
pub(crate) fn observation(page: u32, place: Option<u32>, fetched: u64) -> Observation {
    let content = place.map_or_else(|| ContentHash::of(""), |place| hash(page, place));
    let comparable = place.map(|place| comparable(page, place));
    Observation { fetched: Some(fetched), ..Observation::of_parts(url(page), content, comparable) }
}

pub(crate) fn recipe() -> anyhow::Result<RecipeId> {
    Ok(Recipe::built_in("web-2")?.id(None))
}

/// Scores first, then the time of the fetch, which is random.
pub(crate) fn settings() -> anyhow::Result<Settings> {
    let rules = "score, earliest".parse()?;
    // These pages have no texts.
    Ok(Settings { rules, confirm: Confirm::Public, ..Settings::new(recipe()?) })
}
