//! The pages: synthetic fingerprints for bulk, real HTML for the rest.

use anyhow::{Context, Result, ensure};
use hapax::fingerprint::{ContentHash, Fingerprint, Fingerprinter, Recipe, Sketch};
use hapax_client::wire::{PageInput, ReadySignature};
use hapax_store::{Confirm, Observation, Repository, Settings, StoredComparable};
use std::fs;
use std::path::{Path, PathBuf};

/// Words of every page.
pub(crate) const WORDS: u32 = 300;
/// Pages per commit while the repository is created, and per batch of the library.
pub(crate) const BATCH: u64 = 4096;

pub(crate) fn fingerprinter() -> Result<Fingerprinter> {
    Ok(Fingerprinter::new(Recipe::built_in("web-2")?, None)?)
}

fn scramble(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Every third page is a near copy of the page two before it.
pub(crate) fn is_copy(n: u64) -> bool {
    n % 3 == 2
}

pub(crate) fn url(n: u64) -> String {
    format!("https://www.host{}.example/section/{}/article-{n}.html", scramble(n) % 5000, n % 97)
}

fn comparable(n: u64) -> StoredComparable {
    let original = if is_copy(n) { n - 2 } else { n };
    let mut bits = scramble(original);
    let mut sketch = [0u8; 128];
    for (word, chunk) in (0u64..).zip(sketch.as_chunks_mut::<8>().0) {
        *chunk = scramble(original ^ word << 48).to_le_bytes();
    }
    if is_copy(n) {
        bits ^= 1 << (n % 64) | 1 << (n / 64 % 64);
        sketch[(n % 128) as usize] ^= 0b101;
    }
    let sketch = Sketch::from_bytes(&sketch);
    StoredComparable { fingerprint: Fingerprint::from_bits(bits), sketch, too_short: false }
}

fn hash(n: u64) -> ContentHash {
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&n.to_le_bytes());
    ContentHash::from_bytes(hash)
}

/// Page `n` for the library.
pub(crate) fn observation(n: u64) -> Observation {
    let mut seen = Observation::of_parts(url(n), hash(n), Some(comparable(n)));
    seen.words = WORDS;
    seen
}

/// Page `n` for the service, as JSON.
pub(crate) fn ready(n: u64, url: String, recipe: &str) -> Result<String> {
    json(url, n, WORDS, recipe)
}

/// Page `n` with the content of another one and this many words, as JSON.
pub(crate) fn version(n: u64, content: u64, words: u32, recipe: &str) -> Result<String> {
    json(url(n), content, words, recipe)
}

fn json(url: String, n: u64, words: u32, recipe: &str) -> Result<String> {
    let comparable = comparable(n);
    let signature = ReadySignature {
        recipe: recipe.to_owned(),
        fingerprint: Some(comparable.fingerprint.to_string()),
        sketch: Some(comparable.sketch.to_string()),
        content: hash(n).to_string(),
        words,
        too_short: false,
    };
    Ok(serde_json::to_string(&PageInput {
        url,
        signature: Some(signature),
        ..PageInput::default()
    })?)
}

pub(crate) fn repository(folder: &Path, pages: u64) -> Result<Repository> {
    // Ready signatures on many hosts, as from trusted crawlers.
    let settings = Settings::new(fingerprinter()?.recipe_id().clone());
    let settings = Settings { confirm: Confirm::Public, ..settings };
    let store = Repository::create(folder, settings)?;
    let mut n = 0;
    while n < pages {
        let end = pages.min(n + 5 * BATCH);
        store.observe_many((n..end).map(observation).collect())?;
        n = end;
    }
    Ok(store)
}

/// The repository in a folder, which is created with this many pages if it does not exist.
pub(crate) fn repository_in(folder: &Path, pages: u64) -> Result<Repository> {
    match folder.join("pages.redb").exists() {
        true => Ok(Repository::open(folder, None)?),
        false => repository(folder, pages),
    }
}

/// Real pages of about 20 KB.
pub(crate) fn real() -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/docs");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let about = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|file| (14_000..30_000).contains(&file.len()))
    };
    let pages =
        files.iter().filter(|path| about(path)).map(fs::read_to_string).filter_map(Result::ok);
    let pages: Vec<String> = pages.take(100).collect();
    ensure!(pages.len() >= 3, "too few pages of about 20 KB in {}", root.display());
    Ok(pages)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
