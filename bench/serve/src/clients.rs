//! Clients that ask at once and remember how long each answer took.
//!
//! Requests are made before the clock starts; every answer is looked at, and a wrong one ends the run.

use crate::wire::Connection;
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many a second, and how long each took, in milliseconds, sorted.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    took: Vec<f32>,
}

impl Measured {
    /// Answers that took so many milliseconds each, in so long.
    pub(crate) fn new(mut took: Vec<f32>, seconds: f64) -> Self {
        took.sort_by(f32::total_cmp);
        Self { rate: took.len() as f64 / seconds, took }
    }

    pub(crate) fn one(rate: f64, seconds: f64) -> Self {
        Self { rate, took: vec![(seconds * 1e3) as f32] }
    }

    pub(crate) fn quantile(&self, share: f64) -> f32 {
        let place = (self.took.len() as f64 * share).ceil() as usize;
        self.took.get(place.saturating_sub(1)).copied().unwrap_or(f32::NAN)
    }
}

/// Asks from all connections at once, each for itself, for a while.
pub(crate) fn measure(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    requests: &[Vec<u8>],
    expected: &[u8],
) -> Result<Measured> {
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let took = std::thread::scope(|scope| -> Result<Vec<f32>> {
        let threads: Vec<_> = (0..connections)
            .map(|thread| {
                let over = &over;
                scope.spawn(move || -> Result<Vec<f32>> {
                    let mut connection = Connection::open(address)?;
                    let mut took = Vec::new();
                    let mut n = thread * 31;
                    while !over.load(Ordering::Relaxed) {
                        let asked = Instant::now();
                        let status = connection.ask(&requests[n % requests.len()])?;
                        took.push(asked.elapsed().as_secs_f32() * 1e3);
                        must_be(&connection, status, expected)?;
                        n += 1;
                    }
                    Ok(took)
                })
            })
            .collect();
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().ok().context("a thread panicked")??);
        }
        Ok(all)
    });
    Ok(Measured::new(took?, start.elapsed().as_secs_f64()))
}

/// An answer must be good and have this in it.
pub(crate) fn must_be(connection: &Connection, status: u16, expected: &[u8]) -> Result<()> {
    let body = &connection.body;
    // From the end, where it is: the client's work is measured too.
    let right = body.windows(expected.len()).rev().any(|part| part == expected);
    ensure!(status == 200 && right, "{status}: {}", String::from_utf8_lossy(body));
    Ok(())
}
