//! The same join with limited memory.

use anyhow::ensure;
use hapax::join::{Joined, OneThread, PairOptions, Record, SpilledPairs};

use crate::clock::{self, Spent, timed};
use crate::files::{Files, read_numbers, write_numbers};

/// Frees everything else first, so that the peak is the join's own.
pub(crate) fn run(
    fingerprints: Vec<u64>,
    expected: Joined<u32>,
    options: &PairOptions,
    megabytes: usize,
    in_memory: Spent,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("fingerprints");
    write_numbers(&path, &fingerprints)?;
    drop(fingerprints);
    let digest = |sum: u64, a: u32, b: u32, distance: u8| {
        let edge = u64::from(a) << 32 | u64::from(b);
        (sum ^ edge ^ u64::from(distance)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    };
    let wanted = expected.edges().fold(0, |sum, e| digest(sum, e.a, e.b, e.distance));
    drop(expected);

    clock::forget_peak();
    let before = clock::resident_bytes();
    let mut files = Files::new()?;
    let (sum, spent) = timed(|| -> anyhow::Result<u64> {
        let executor = OneThread;
        let mut join = SpilledPairs::new(options.clone(), megabytes << 20, &mut files, &executor)?;
        let mut id = 0u32;
        let mut failed = Ok(());
        read_numbers(&path, 1 << 14, |numbers| {
            for &fingerprint in numbers {
                if failed.is_ok() {
                    failed = join.push(Record { fingerprint, id });
                }
                id += 1;
            }
            failed.is_ok()
        })?;
        failed?;
        let mut sum = 0;
        join.finish(|e| {
            sum = digest(sum, e.a, e.b, e.distance);
            Ok(())
        })?;
        Ok(sum)
    });
    ensure!(sum? == wanted, "out of core, other edges come out, or in another order");
    let peak = (clock::peak_bytes() - before) as f64 / f64::from(1 << 20);
    println!(
        "out of core  {:.3} s CPU, {:.3} s wall, {:.2} times in memory; the same edges in the same order",
        spent.cpu.as_secs_f64(),
        spent.wall.as_secs_f64(),
        spent.cpu.as_secs_f64() / in_memory.cpu.as_secs_f64(),
    );
    println!(
        "             peak {peak:.1} MiB of {megabytes} allowed, {:.0} MB written",
        files.written as f64 * 1e-6
    );
    Ok(())
}
