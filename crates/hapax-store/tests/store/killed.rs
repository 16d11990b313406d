//! A process killed at any moment keeps what it acknowledged.
//!
//! The test runs its own binary again, which observes pages and prints every acknowledged address, and kills it
//! after a random number of them.

use crate::line::{FARTHEST, assert_clean, create, open, page};
use hapax_store::Repository;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "HAPAX_STORE_KILLED_FOLDER";
const ROUND: &str = "HAPAX_STORE_KILLED_ROUND";

/// Number of cycles; for hundreds of them use `hapax-bench-store kill`, or set `HAPAX_STORE_KILLS`.
fn cycles() -> u32 {
    std::env::var("HAPAX_STORE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

fn url(round: u32, thread: u32, n: u32) -> String {
    format!("http://{round}.example/{thread}/{n}")
}

#[test]
#[ignore = "what the child of the test below does"]
fn child_of_the_kill_test() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let round: u32 = std::env::var(ROUND).unwrap().parse().unwrap();
    let store = open(Path::new(&folder));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let store = &store;
            scope.spawn(move || work(store, round, thread));
        }
    });
}

fn acknowledge(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nack {text}").unwrap();
    out.flush().unwrap();
}

fn work(store: &Repository, round: u32, thread: u32) {
    for n in 0.. {
        let url_of = |n| url(round, thread, n);
        if n % 5 == 4 {
            let urls: Vec<String> = (0..20).map(|more| url_of(1_000_000 + 20 * n + more)).collect();
            let pages = urls.iter().enumerate();
            let pages = pages.map(|(more, url)| page(url, more as u32 % FARTHEST)).collect();
            store.observe_many(pages).unwrap();
            urls.iter().for_each(|url| acknowledge(url));
        } else {
            store.observe(page(&url_of(n), n * 7 % FARTHEST)).unwrap();
            acknowledge(&url_of(n));
        }
        if n % 7 == 6 {
            store.redirect(&url_of(n - 1), &url_of(n + 1), None).unwrap();
        }
        if n % 11 == 10 {
            store.score(&url_of(n), Some(f64::from(n))).unwrap();
        }
    }
}

#[test]
fn what_was_acknowledged_survives_the_end_of_the_process_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    drop(create(folder.path()));
    let mut acknowledged: Vec<String> = Vec::new();
    // Any distribution will do; the scheduler decides the exact moment.
    let seed = std::env::var("HAPAX_STORE_SEED").ok().and_then(|text| text.parse().ok());
    let mut random: u64 = seed.unwrap_or(0x9e37_79b9_7f4a_7c15);
    println!("HAPAX_STORE_SEED={random}");
    for round in 0..cycles() {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let answers = (random >> 33) % 200;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "killed::child_of_the_kill_test", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard = 0;
        while heard < answers {
            let line = lines.next().expect("the child works until it is killed").unwrap();
            if let Some(url) = line.strip_prefix("ack ") {
                acknowledged.push(url.to_owned());
                heard += 1;
            }
        }
        // SIGKILL on Unix.
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines printed before the end count, too; the last one may be truncated.
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let whole = rest.len().saturating_sub(1);
        acknowledged.extend(
            rest[..whole].iter().filter_map(|line| line.strip_prefix("ack ")).map(str::to_owned),
        );

        let store = open(folder.path());
        for url in &acknowledged {
            assert!(
                store.page(url).unwrap().is_some(),
                "{url} was acknowledged in round <= {round}"
            );
        }
        assert_clean(&store);
    }
    assert!(!acknowledged.is_empty());
}
