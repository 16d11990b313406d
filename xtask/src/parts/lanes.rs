//! Runs parts of the tests in lanes, so that a waiting part does not leave a core idle.
//!
//! One lane takes parts from the front of the list, others from the back; a part starts when the parts it depends on
//! have passed. After a failure no further part starts; running parts are finished. The caller supplies
//! the function that runs a part.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The lane of a part; determines where its output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Front,
    Back,
}

/// A part, for scheduling.
pub(super) struct Job {
    pub(super) name: &'static str,
    /// If these run as well, they must pass before this one starts.
    pub(super) after: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Waiting,
    Running,
    Passed,
    Failed,
}

/// Runs every job with `run`, which returns whether it passed.
pub(super) fn run(jobs: &[Job], lanes: &[Lane], run: impl Fn(usize, Lane) -> bool + Sync) {
    let status = Mutex::new(vec![Status::Waiting; jobs.len()]);
    let changed = Condvar::new();
    let (status, changed, run) = (&status, &changed, &run);
    thread::scope(|scope| {
        for &lane in lanes {
            scope.spawn(move || work(jobs, lane, status, changed, run));
        }
    });
}

fn work(
    jobs: &[Job],
    lane: Lane,
    status: &Mutex<Vec<Status>>,
    changed: &Condvar,
    run: &(impl Fn(usize, Lane) -> bool + Sync),
) {
    loop {
        let mut now = locked(status);
        let job = loop {
            if let Some(job) = next(jobs, &now, lane) {
                break job;
            }
            // Only a running part can make another one ready.
            if now.contains(&Status::Failed) || !now.contains(&Status::Running) {
                return;
            }
            now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
        };
        now[job] = Status::Running;
        drop(now);
        let passed = run(job, lane);
        locked(status)[job] = if passed { Status::Passed } else { Status::Failed };
        changed.notify_all();
    }
}

/// The next job of a lane; `None` if nothing is ready, or something failed.
fn next(jobs: &[Job], status: &[Status], lane: Lane) -> Option<usize> {
    if status.contains(&Status::Failed) {
        return None;
    }
    let passed = |name: &&str| {
        let place = jobs.iter().position(|job| job.name == *name);
        place.is_none_or(|place| status[place] == Status::Passed)
    };
    let ready = |&job: &usize| status[job] == Status::Waiting && jobs[job].after.iter().all(passed);
    match lane {
        Lane::Front => (0..jobs.len()).find(ready),
        Lane::Back => (0..jobs.len()).rev().find(ready),
    }
}

fn locked(status: &Mutex<Vec<Status>>) -> MutexGuard<'_, Vec<Status>> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Lane; 3] = [Lane::Front, Lane::Back, Lane::Back];

    fn jobs(list: &[(&'static str, &'static [&'static str])]) -> Vec<Job> {
        list.iter().map(|&(name, after)| Job { name, after }).collect()
    }

    /// The names of completed jobs, in order of completion.
    fn ran(jobs: &[Job], lanes: &[Lane], failing: &str) -> Vec<&'static str> {
        let ended = Mutex::new(Vec::new());
        run(jobs, lanes, |job, _| {
            ended.lock().unwrap().push(jobs[job].name);
            jobs[job].name != failing
        });
        ended.into_inner().unwrap()
    }

    #[test]
    fn one_lane_keeps_the_order_of_the_list() {
        let list = jobs(&[("a", &[]), ("b", &["a"]), ("c", &[]), ("d", &["c"])]);
        assert_eq!(ran(&list, &[Lane::Front], ""), ["a", "b", "c", "d"]);
    }

    #[test]
    fn lanes_start_from_both_ends_and_take_what_is_ready() {
        let list = jobs(&[("a", &[]), ("b", &["a"]), ("c", &[]), ("d", &["a"])]);
        let mut status = vec![Status::Waiting; 4];
        assert_eq!(next(&list, &status, Lane::Front), Some(0));
        assert_eq!(next(&list, &status, Lane::Back), Some(2));
        status[0] = Status::Running;
        status[2] = Status::Passed;
        assert_eq!(next(&list, &status, Lane::Back), None);
        status[0] = Status::Passed;
        assert_eq!(next(&list, &status, Lane::Front), Some(1));
        assert_eq!(next(&list, &status, Lane::Back), Some(3));
    }

    #[test]
    fn every_job_runs_once_and_after_its_dependencies() {
        let list =
            jobs(&[("a", &[]), ("b", &["d"]), ("c", &["b"]), ("d", &[]), ("e", &["a", "c"])]);
        for _ in 0..200 {
            let order = ran(&list, &ALL, "");
            assert_eq!(order.len(), list.len());
            let place = |name: &str| order.iter().position(|ran| *ran == name).unwrap();
            for job in &list {
                assert!(job.after.iter().all(|name| place(name) < place(job.name)), "{order:?}");
            }
        }
    }

    #[test]
    fn dependencies_outside_of_the_run_are_ignored() {
        assert_eq!(ran(&jobs(&[("b", &["a"])]), &ALL, ""), ["b"]);
    }

    #[test]
    fn nothing_starts_after_a_failure() {
        let list = jobs(&[("a", &[]), ("b", &["a"]), ("c", &["b"])]);
        assert_eq!(ran(&list, &ALL, "b"), ["a", "b"]);
    }
}
