//! Runs code with locks under a scheduler that tries many interleavings of its threads.
//!
//! Uses the source of the group commit (`crates/hapax-store/src/commit.rs`) with its locks replaced:
//! [shuttle](https://docs.rs/shuttle) chooses the next thread at every lock and wait, finds deadlocks and lost
//! wake-ups, and repeats a failing order. Tries all orders of two threads, and many thousand random ones of more. Not
//! covered: weaker memory orders, which the code does not use, and a commit that panics.

#[cfg(test)]
mod queue {
    mod commit {
        include!(concat!(env!("OUT_DIR"), "/commit.rs"));
    }

    use commit::Queue;
    use shuttle::sync::{Arc, Mutex};
    use shuttle::thread;

    /// The committed jobs, in commit order.
    #[derive(Default)]
    struct Disk {
        jobs: Vec<(u32, u32)>,
        commits: u32,
    }

    /// Each thread submits jobs and checks after each answer that the job is committed.
    fn every_job_is_answered_after_its_commit(threads: u32, jobs: u32) {
        let queue: Arc<Queue<(u32, u32), Option<usize>>> = Arc::new(Queue::new());
        let disk = Arc::new(Mutex::new(Disk::default()));
        let writing = Arc::new(Mutex::new(()));
        let handles: Vec<_> = (0..threads)
            .map(|number| {
                let (queue, disk, writing) = (queue.clone(), disk.clone(), writing.clone());
                thread::spawn(move || {
                    for job in 0..jobs {
                        let run = |together: Vec<(u32, u32)>| {
                            let alone = writing.try_lock().expect("two write at once");
                            thread::yield_now();
                            let mut disk = disk.lock().unwrap();
                            let first = disk.jobs.len();
                            disk.jobs.extend(&together);
                            disk.commits += 1;
                            drop(alone);
                            (first..first + together.len()).map(Some).collect()
                        };
                        let place = queue.submit((number, job), run, || None);
                        let place = place.expect("a job was lost");
                        assert_eq!(disk.lock().unwrap().jobs[place], (number, job));
                    }
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        let disk = disk.lock().unwrap();
        assert_eq!(disk.jobs.len() as u32, threads * jobs, "each job once");
        assert!(disk.commits <= threads * jobs);
        for number in 0..threads {
            let own = disk.jobs.iter().filter(|(thread, _)| *thread == number).map(|(_, job)| *job);
            assert!(own.eq(0..jobs), "a thread's jobs are out of order");
        }
    }

    #[test]
    fn all_orders_of_two_threads_answer_every_job_after_its_commit() {
        shuttle::check_dfs(|| every_job_is_answered_after_its_commit(2, 1), Some(30_000));
    }

    #[test]
    fn many_orders_of_four_threads_answer_every_job_after_its_commit() {
        shuttle::check_random(|| every_job_is_answered_after_its_commit(4, 3), 5_000);
        shuttle::check_pct(|| every_job_is_answered_after_its_commit(4, 3), 5_000, 3);
    }
}
