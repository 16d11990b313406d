//! Concurrent clients that record the latency of each answer.
//!
//! Requests are prepared before the clock starts. Every answer is checked, and a wrong one ends the run.

use crate::wire::Connection;
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Answers per second, and sorted latencies in milliseconds.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    took: Vec<f32>,
}

impl Measured {
    /// From the latencies of answers and the duration in seconds.
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

/// Sends requests on all connections independently for some time.
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

/// Checks the status of an answer and that it contains `expected`.
pub(crate) fn must_be(connection: &Connection, status: u16, expected: &[u8]) -> Result<()> {
    let body = &connection.body;
    // Searches from the end, where it is, because the client's work is measured too.
    let right = body.windows(expected.len()).rev().any(|part| part == expected);
    ensure!(status == 200 && right, "{status}: {}", String::from_utf8_lossy(body));
    Ok(())
}
