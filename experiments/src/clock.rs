//! CPU time of the measuring thread.
//!
//! Wall time depends on the load of the machine. Records contain ratios within one run, and times only where the
//! paper has times.

use cpu_time::ThreadTime;

/// Runs `work` and says how many seconds of CPU this thread took.
pub(crate) fn cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = ThreadTime::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// The fastest of `times` runs, which was disturbed least; the result is that of the last run.
pub(crate) fn best_cpu<T>(times: u32, mut work: impl FnMut() -> T) -> (T, f64) {
    let (mut result, mut best) = cpu(&mut work);
    for _ in 1..times {
        let took;
        (result, took) = cpu(&mut work);
        best = best.min(took);
    }
    (result, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_several_runs_gives_the_result() {
        let mut runs = 0;
        let (last, seconds) = best_cpu(3, || {
            runs += 1;
            runs
        });
        assert_eq!(last, 3);
        assert!(seconds >= 0.0);
    }
}
