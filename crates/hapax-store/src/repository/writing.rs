//! Writes to a repository: pages seen, redirected, forgotten, scored; rules and markets.
//!
//! Everything goes through one queue: callers that wait at the same time share a commit, and an operation
//! returns when it is on disk. A list of actions is one commit or none.

use super::*;
use crate::session::Undo;
use std::io;

impl Repository {
    /// Records an observed page. Returns when everything about it is on disk.
    pub fn observe(&self, page: Observation) -> Result<Decision, StoreError> {
        good_url(&page.url)?;
        self.decide(Op::Page(Action::Observe(Box::new(page))))
    }

    /// Records observed pages, in this order, as one commit.
    pub fn observe_many(&self, pages: Vec<Observation>) -> Result<Vec<Decision>, StoreError> {
        pages.iter().try_for_each(|page| good_url(&page.url))?;
        let observe = |page| Op::Page(Action::Observe(Box::new(page)));
        let ops = pages.into_iter().map(observe).collect();
        let decided = |answer| match answer {
            Answer::Decided(decision) => Some(*decision),
            Answer::Counted(_) => None,
        };
        Ok(self.submit(ops)?.into_iter().filter_map(decided).collect())
    }

    /// Applies actions on pages, in this order, as one commit.
    pub fn apply(&self, actions: Vec<Action>) -> Result<Vec<Effect>, StoreError> {
        actions.iter().try_for_each(good_action)?;
        let answers = self.submit(actions.into_iter().map(Op::Page).collect())?;
        Ok(answers.into_iter().map(Effect::from).collect())
    }

    /// As [`apply`](Self::apply) for concurrent callers: all in one commit or, if that fails, each
    /// in its own, so that only the faulty one fails.
    pub fn apply_each(&self, lists: Vec<Vec<Action>>) -> Vec<Result<Vec<Effect>, StoreError>> {
        let check = |actions: Vec<Action>| {
            actions.iter().try_for_each(good_action)?;
            Ok(actions.into_iter().map(Op::Page).collect::<Job>())
        };
        let checked: Vec<Result<Job, StoreError>> = lists.into_iter().map(check).collect();
        let jobs: Vec<Job> = checked.iter().filter_map(|job| job.as_ref().ok()).cloned().collect();
        let done = if jobs.is_empty() { Vec::new() } else { self.submit_all(jobs) };
        let mut done = done.into_iter();
        let answer = |job: Result<Job, StoreError>| {
            job.and_then(|_| done.next().unwrap_or_else(|| Err(self.lost())))
                .map(|answers| answers.into_iter().map(Effect::from).collect())
        };
        checked.into_iter().map(answer).collect()
    }

    /// Records that a page redirects.
    pub fn redirect(
        &self,
        from: &str,
        to: &str,
        fetched: Option<u64>,
    ) -> Result<Decision, StoreError> {
        good_redirect(from, to)?;
        self.decide(Op::Page(Action::Redirect { from: from.into(), to: to.into(), fetched }))
    }

    /// Deletes a page; returns whether it was known.
    pub fn forget(&self, url: &str) -> Result<bool, StoreError> {
        Ok(self.forget_many(vec![url.into()])? > 0)
    }

    /// Deletes pages as one commit; returns how many were known.
    pub fn forget_many(&self, urls: Vec<String>) -> Result<u64, StoreError> {
        self.count(Op::Forget(urls))
    }

    /// Sets a page's score; returns whether the page is known.
    pub fn score(&self, url: &str, score: Option<f64>) -> Result<bool, StoreError> {
        Ok(self.count(Op::Page(Action::Score { url: url.into(), score }))? > 0)
    }

    /// Deletes every page last fetched before this time; keeps pages without a time. Returns their
    /// number.
    pub fn expire(&self, before: u64) -> Result<u64, StoreError> {
        self.count(Op::Expire { before })
    }

    /// Decides again about pages that were compared under an older frame of their host than their
    /// own text was computed with, in several commits. Returns their number.
    pub fn recheck(&self) -> Result<u64, StoreError> {
        // Small, because writes of others wait for the commit under way.
        const BATCH_SIZE: usize = 64;
        let due = self.query(View::due)?;
        due.chunks(BATCH_SIZE).map(|some| self.count(Op::Recheck(some.to_vec()))).sum()
    }

    /// Sets the rules; every group elects its winner again.
    pub fn set_rules(&self, rules: Rules) -> Result<(), StoreError> {
        self.count(Op::SetRules(rules)).map(drop)
    }

    /// Sets the rules of a market, by which winners of groups can be queried, or removes it
    /// (`None`). Does not change the groups.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadMarket`], or as [`observe`](Self::observe).
    pub fn set_market(&self, name: &str, rules: Option<Rules>) -> Result<(), StoreError> {
        good_market(name)?;
        self.count(Op::SetMarket { name: name.into(), rules }).map(drop)
    }

    /// Drops the events up to and including this number; returns their number.
    pub fn drop_events(&self, up_to: u64) -> Result<u64, StoreError> {
        self.count(Op::DropEvents { up_to })
    }

    fn decide(&self, op: Op) -> Result<Decision, StoreError> {
        match self.submit(vec![op])?.pop() {
            Some(Answer::Decided(decision)) => Ok(*decision),
            Some(Answer::Counted(_)) | None => Err(self.lost()),
        }
    }

    pub(super) fn count(&self, op: Op) -> Result<u64, StoreError> {
        match self.submit(vec![op])?.pop() {
            Some(Answer::Counted(count)) => Ok(count),
            Some(Answer::Decided(_)) | None => Err(self.lost()),
        }
    }

    fn lost(&self) -> StoreError {
        let what = "whoever wrote this commit did not finish".into();
        Fault::Damaged(what).at(&self.file)
    }

    fn submit(&self, ops: Vec<Op>) -> JobResult {
        self.submit_all(vec![ops]).pop().unwrap_or_else(|| Err(self.lost()))
    }

    /// Through the queue, so that callers with many commits in sequence let others in between.
    fn submit_all(&self, jobs: Vec<Job>) -> Vec<JobResult> {
        self.queue.submit(jobs, |lists| self.run_lists(lists), Vec::new)
    }

    fn run_lists(&self, lists: Vec<Vec<Job>>) -> Vec<Vec<JobResult>> {
        let lens: Vec<usize> = lists.iter().map(Vec::len).collect();
        let mut done = self.run(lists.into_iter().flatten().collect()).into_iter();
        lens.into_iter().map(|len| done.by_ref().take(len).collect()).collect()
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs all jobs in one commit; if that fails, each in its own, so that only the faulty one
    /// fails.
    fn run(&self, jobs: Vec<Job>) -> Vec<JobResult> {
        let mut writer = self.writer();
        match self.transact(&mut writer, &jobs) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(fault) if jobs.len() == 1 => vec![Err(self.refusal(fault))],
            Err(fault) if recovery::is_of_disk(&fault) => {
                let text = fault.at(&self.file).to_string();
                let again = || Fault::from(redb::Error::Io(io::Error::other(text.clone())));
                let error = |_| Err(self.refusal(again()));
                jobs.iter().map(error).collect()
            }
            Err(_) => {
                let alone = |job| {
                    let answers = self.transact(&mut writer, &[job]);
                    let mut answers = answers.map_err(|fault| self.refusal(fault))?;
                    Ok(answers.pop().unwrap_or_default())
                };
                jobs.into_iter().map(alone).collect()
            }
        }
    }

    fn transact(&self, writer: &mut Writer, jobs: &[Job]) -> Outcome<Vec<Vec<Answer>>> {
        if self.watch.damage.get().is_some() {
            return Err(recovery::closed());
        }
        if self.role() != Role::Primary {
            return Err(Fault::NotPrimary(self.role()));
        }
        let done = self.reopened(writer).and_then(|()| self.attempt(writer, jobs));
        self.refused.store(done.as_ref().is_err_and(recovery::is_of_disk), Ordering::Relaxed);
        // So that readers need not wait for the next write.
        let _ = self.reopened(writer);
        done
    }

    fn attempt(&self, writer: &mut Writer, jobs: &[Job]) -> Outcome<Vec<Vec<Answer>>> {
        let db = writer.db.as_ref().ok_or_else(recovery::closed)?;
        let begun = guarded(|| Ok(db.begin_write()?));
        writer.failed |= begun.as_ref().is_err_and(recovery::is_of_disk);
        let transaction = begun?;
        let at = (self.clock)();
        let mut undo = Vec::new();
        let done = guarded(|| {
            let Writer { settings, counters, logging, .. } = &*writer;
            let changed = logging.then(Default::default);
            let mut session = Session::open(
                &transaction,
                settings,
                *counters,
                &self.index,
                &mut undo,
                at,
                changed,
            )?;
            let answers: Outcome<Vec<Vec<Answer>>> =
                jobs.iter().map(|job| job.iter().map(|op| session.run(op)).collect()).collect();
            Ok((answers?, session.finish()?))
        });
        self.committed(writer, transaction, undo, done)
    }

    /// Commits the changes, or drops them and restores the index; then publishes the result to
    /// readers.
    pub(super) fn committed<T>(
        &self,
        writer: &mut Writer,
        transaction: redb::WriteTransaction,
        undo: Undo,
        done: Outcome<(T, (Counters, Settings))>,
    ) -> Outcome<T> {
        let committed = match done {
            Ok(done) => {
                let committed = guarded(|| Ok(transaction.commit()?));
                writer.failed |= committed.is_err();
                committed.map(|()| done)
            }
            Err(fault) => {
                writer.failed |= guarded(|| Ok(transaction.abort()?)).is_err();
                Err(fault)
            }
        };
        let (answers, (counters, settings)) = match committed {
            Ok(done) => done,
            Err(fault) => {
                writer.failed |= matches!(fault, Fault::Store(_));
                for (page, fingerprint) in undo.into_iter().rev() {
                    set_index(&self.index, page, fingerprint)?;
                }
                return Err(fault);
            }
        };
        (writer.counters, writer.settings) = (counters, settings);
        let db = writer.db.as_ref().ok_or_else(recovery::closed)?;
        let view = take_view(db, &self.index, &writer.settings, counters)?;
        self.record_cached(db);
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        self.merger.wake();
        Ok(answers)
    }
}

/// Refuses addresses that cannot be stored.
fn good_action(action: &Action) -> Result<(), StoreError> {
    match action {
        Action::Observe(page) => good_url(&page.url),
        Action::Redirect { from, to, .. } => good_redirect(from, to),
        Action::Forget { .. } | Action::Score { .. } => Ok(()),
    }
}
