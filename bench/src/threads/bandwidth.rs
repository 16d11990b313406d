//! How fast memory is copied: what a stage's bytes are compared with.

use std::thread;
use std::time::Instant;

/// What all threads together copy from: more than caches hold of a host that others use, too.
const BYTES: usize = 512 << 20;
const ROUNDS: usize = 3;

/// Bytes a second that so many threads read and write, at their best.
pub(crate) fn copying(threads: usize) -> f64 {
    let each = BYTES / threads;
    // Written once, so that the system has given the memory.
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
