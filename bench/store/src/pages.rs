//! Pages that are ready to be observed, without text.
//!
//! A page is a function of its number, so that a collection can be generated again in any pieces.

use hapax::fingerprint::{ContentHash, Fingerprint, Recipe, Sketch};
use hapax_store::{Observation, Settings, StoredComparable};

pub(crate) fn scramble(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Every third page is within 2 bits of an earlier one, like mirrors.
pub(crate) fn page(n: u64) -> Observation {
    let copy = n % 3 == 2;
    let original = if copy { scramble(n) % n / 3 * 3 } else { n };
    let mut bits = scramble(original);
    let sketch = |salt: u64| {
        let mut sketch = [0u8; 128];
        for (word, chunk) in (salt..).zip(sketch.chunks_exact_mut(8)) {
            chunk.copy_from_slice(&scramble(original ^ word << 48).to_le_bytes());
        }
        if copy {
            sketch[(n % 128) as usize] ^= 0b101;
        }
        Sketch::from_bytes(&sketch)
    };
    if copy {
        bits ^= 1 << (n % 64) | 1 << (n / 64 % 64);
    }
    let host = scramble(n) % 5000;
    let url = format!("https://www.host{host}.example/section/{}/article-{n}.html", n % 97);
    let contents = StoredComparable {
        fingerprint: Fingerprint::from_bits(bits),
        sketch: sketch(0),
        too_short: false,
    };
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&n.to_le_bytes());
    Observation {
        keyed: Some(sketch(16)),
        words: 300,
        fetched: Some(1_700_000_000 + n),
        ..Observation::of_parts(url, ContentHash::from_bytes(hash), Some(contents))
    }
}

/// The defaults of a new repository, except for the rules.
pub(crate) fn settings() -> anyhow::Result<Settings> {
    // The reference is a batch, which has no order of recording.
    let rules = "score, https, canonical, static, shortest-url, earliest".parse()?;
    Ok(Settings { rules, ..Settings::new(Recipe::built_in("web-2")?.id(None)) })
}
