//! Pages made to collide: equal fingerprints, equal buckets, similar addresses.
//!
//! The recipe's hash is public, so anybody can make a page with a chosen fingerprint. That may only cost time: the
//! last thousand of many such pages must not take much longer than the first. It must never group pages with
//! different texts.

use crate::Attack;
use crate::server::{Server, fingerprinter};
use anyhow::{Context, Result, ensure};
use hapax::fingerprint::Fingerprinter;
use std::fmt::Write;
use std::time::Duration;
use std::time::Instant;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "20,000 pages with one fingerprint, sketches apart",
        settings: &[],
        megabytes: 400,
        p99: Duration::MAX,
        run: one_fingerprint,
    },
    Attack {
        name: "20,000 pages with one fingerprint and one sketch",
        settings: &[],
        megabytes: 400,
        p99: Duration::MAX,
        run: one_content,
    },
    Attack {
        name: "20,000 pages in one bucket of a table",
        settings: &[],
        megabytes: 400,
        p99: Duration::MAX,
        run: one_bucket,
    },
    Attack {
        name: "20,000 pages in a chain, each near the next",
        settings: &[],
        megabytes: 400,
        p99: Duration::MAX,
        run: chain,
    },
    Attack {
        name: "20,000 addresses, alike for 4 KB",
        settings: &[],
        megabytes: 600,
        p99: Duration::MAX,
        run: addresses,
    },
    Attack {
        name: "20,000 redirects in a row",
        settings: &[],
        megabytes: 400,
        p99: Duration::MAX,
        run: redirects,
    },
    Attack {
        name: "a text forged to another's fingerprint",
        settings: &[],
        megabytes: 300,
        p99: Duration::MAX,
        run: forged,
    },
];

const PAGES: u64 = 20_000;
/// Lines per batch.
const BATCH: u64 = 1000;

const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn sketch(number: u64) -> String {
    (0..16).fold(String::new(), |mut text, word| {
        let _ = write!(text, "{:016x}", mixed(number * 16 + word));
        text
    })
}

/// A page as a line: its address, fingerprint, sketch and content.
fn line(recipe: &str, url: &str, fingerprint: u64, sketch: &str, content: u64) -> String {
    format!(
        "{{\"url\":\"{url}\",\"signature\":{{\"recipe\":\"{recipe}\",\"fingerprint\":\"{fingerprint:016x}\",\
         \"sketch\":\"{sketch}\",\"content\":\"{content:032x}\"}}}}\n"
    )
}

/// Sends all pages in batches; compares the slowest batch with the first.
fn sent(server: &Server, each: impl Fn(u64) -> String) -> Result<String> {
    let (mut first, mut slowest) = (0.0, 0.0f64);
    for batch in 0..PAGES / BATCH {
        let body: String = (batch * BATCH..(batch + 1) * BATCH).map(&each).collect();
        let start = Instant::now();
        let (status, answer) =
            server.post("/v1/pages/batch", "application/x-ndjson", body.as_bytes())?;
        let answer = String::from_utf8_lossy(&answer);
        ensure!(status == 200 && !answer.contains("\"error\""), "{status} {answer:.300}");
        let took = start.elapsed().as_secs_f64();
        if batch == 0 {
            first = took;
        }
        slowest = slowest.max(took);
    }
    let page = |seconds: f64| seconds * 1e6 / BATCH as f64;
    Ok(format!("a page {:.0} µs at first, {:.0} µs at worst", page(first), page(slowest)))
}

fn recipe() -> Result<String> {
    Ok(fingerprinter()?.recipe_id().to_string())
}

fn url(number: u64) -> String {
    format!("http://h{}.example/{number}", number % 97)
}

fn one_fingerprint(server: &Server) -> Result<String> {
    let recipe = recipe()?;
    sent(server, |n| line(&recipe, &url(n), 0x0123_4567_89ab_cdef, &sketch(n), n))
}

fn one_content(server: &Server) -> Result<String> {
    let recipe = recipe()?;
    sent(server, |n| line(&recipe, &url(n), 0x0123_4567_89ab_cdef, &sketch(1), 7))
}

/// The upper half of the bits is equal, the lower half random: more than six bits apart.
fn one_bucket(server: &Server) -> Result<String> {
    let recipe = recipe()?;
    let bits = |n: u64| 0xaaaa_5555_0000_0000 | (mixed(n) & 0xffff_ffff);
    sent(server, |n| line(&recipe, &url(n), bits(n), &sketch(n), n))
}

/// Neighbours differ in one bit of the fingerprint and a few of the sketch.
fn chain(server: &Server) -> Result<String> {
    let recipe = recipe()?;
    let bits = |n: u64| (0..n % 4096).fold(0u64, |all, step| all ^ 1 << (mixed(step) % 64));
    let near = |n: u64| {
        let mut bytes = [0u8; 128];
        (0..(n % 17) * 60).for_each(|bit| bytes[bit as usize / 8] |= 1 << (bit % 8));
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    sent(server, |n| line(&recipe, &url(n), bits(n), &near(n), n))
}

fn addresses(server: &Server) -> Result<String> {
    let recipe = recipe()?;
    let long = "a/".repeat(2000);
    let url = |n: u64| format!("http://x.example/{long}{n:08}");
    sent(server, |n| line(&recipe, &url(n), mixed(n), &sketch(n), n))
}

fn redirects(server: &Server) -> Result<String> {
    let each = |n: u64| format!("{{\"url\":\"{}\",\"redirect\":\"{}\"}}\n", url(n), url(n + 1));
    sent(server, each)
}

/// Adds words to a text until its fingerprint is within three bits of the victim's.
fn forge(by: &mut Fingerprinter, text: &str, victim: u64) -> Result<(String, u32)> {
    let mut forged = text.to_owned();
    let mut far = |text: &str| -> Result<(u32, i64)> {
        let comparable = by.text(text)?.comparable.context("no fingerprint")?;
        let sums = *comparable.sums.as_array();
        // How far each wrong bit is from the wanted value.
        let wrong = (0..64).map(|bit| {
            let wanted = victim >> bit & 1 == 1;
            if (sums[bit] > 0) == wanted { 0 } else { sums[bit].abs() + 1 }
        });
        Ok(((comparable.fingerprint.to_bits() ^ victim).count_ones(), wrong.sum()))
    };
    let (mut distance, mut cost) = far(&forged)?;
    let mut number = 0;
    while distance > 3 && number < 20_000 {
        number += 1;
        let longer = format!("{forged} {:x}", mixed(number));
        let (nearer, cheaper) = far(&longer)?;
        if cheaper < cost {
            (forged, distance, cost) = (longer, nearer, cheaper);
        }
    }
    Ok((forged, distance))
}

fn forged(server: &Server) -> Result<String> {
    let mut by = fingerprinter()?;
    let words = |seed: u64| -> String {
        (0..60).map(|n| format!("{:x} ", mixed(seed * 1000 + n) % 5000)).collect()
    };
    let (honest, other) = (words(1), words(2));
    let victim = by.text(&honest)?.comparable.context("no fingerprint")?.fingerprint.to_bits();
    let (forged, distance) = forge(&mut by, &other, victim)?;
    let page = |url: &str, text: &str| format!("{{\"url\":\"{url}\",\"text\":\"{text}\"}}");
    let ask = |body: String| server.post("/v1/pages", "application/json", body.as_bytes());
    ask(page("http://victim/", &honest))?;
    let (status, answer) = ask(page("http://forger/", &forged))?;
    let answer = String::from_utf8_lossy(&answer);
    ensure!(
        status == 200 && answer.contains("\"verdict\":\"new\""),
        "the forgery was taken: {answer}"
    );
    Ok(format!("200; {distance} bits apart, yet a page of its own"))
}
