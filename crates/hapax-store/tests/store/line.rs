//! Pages on a line: content `c` matches `c - 1`, `c` and `c + 1`, and nothing else.
//!
//! Fingerprints are 3 bits apart per step, sketches 60 of 1024: similarity 0.88 at one step, 0.77 at two.

use hapax::fingerprint::{ContentHash, Fingerprint, Recipe, RecipeId, Sketch};
use hapax_store::{Confirm, Observation, Repository, Settings, StoredComparable};
use std::path::Path;

pub(crate) const FARTHEST: u32 = 14;

pub(crate) fn fingerprint(content: u32) -> Fingerprint {
    Fingerprint::from_bits((1 << (3 * content)) - 1)
}

pub(crate) fn contents(content: u32) -> StoredComparable {
    let mut sketch = [0; 128];
    for bit in 0..60 * content as usize {
        sketch[bit / 8] |= 1 << (bit % 8);
    }
    StoredComparable {
        fingerprint: fingerprint(content),
        sketch: Sketch::from_bytes(&sketch),
        too_short: false,
    }
}

pub(crate) fn page(url: &str, content: u32) -> Observation {
    let hash = ContentHash::of(&content.to_string());
    Observation::of_parts(url, hash, Some(contents(content)))
}

pub(crate) fn empty(url: &str) -> Observation {
    Observation::of_parts(url, ContentHash::of(""), None)
}

pub(crate) fn recipe() -> RecipeId {
    Recipe::built_in("web-2").unwrap().id(None)
}

pub(crate) fn settings() -> Settings {
    let rules = "score".parse().unwrap();
    // These pages have no texts.
    Settings { rules, confirm: Confirm::Public, ..Settings::new(recipe()) }
}

pub(crate) fn create(folder: &Path) -> Repository {
    Repository::create(folder, settings()).unwrap()
}

pub(crate) fn open(folder: &Path) -> Repository {
    Repository::open(folder, Some(&recipe())).unwrap()
}

pub(crate) fn assert_clean(store: &Repository) {
    let found = store.verify().unwrap();
    assert!(found.is_clean(), "{found:#?}");
}
