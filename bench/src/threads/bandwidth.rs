//! Measures the bandwidth of copying memory, to compare with a stage's bytes.

use std::thread;
use std::time::Instant;

/// Source bytes of all threads together: larger than the caches of a shared host.
const BYTES: usize = 512 << 20;
const ROUNDS: usize = 3;

/// Best rate of bytes read and written per second with this many threads.
pub(crate) fn copying(threads: usize) -> f64 {
    let each = BYTES / threads;
    // Written once, so that the system has allocated the memory.
    let mut buffers: Vec<_> = (0..threads).map(|_| (vec![1u8; each], vec![2u8; each])).collect();
    let mut best: f64 = 0.0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        thread::scope(|scope| {
            for (from, to) in &mut buffers {
                scope.spawn(|| to.copy_from_slice(std::hint::black_box(from)));
            }
        });
        let moved = (2 * each * threads) as f64;
        best = best.max(moved / start.elapsed().as_secs_f64());
        for (from, to) in &mut buffers {
            std::mem::swap(from, to);
        }
    }
    best
}
