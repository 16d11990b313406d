//! A repository behind a service.
//!
//! Texts are extracted here and fingerprinted by the service, which alone has the key that confirms matches. A
//! page gets the same verdict as in a folder.

use super::{Description, Events, Pages, RepositoryError};
use crate::client::{Client, LineOutcome, TOKEN_VARIABLE};
use crate::local::Done;
use crate::prepare::Prepared;
use crate::wire::{
    Event, Group, GroupStatuses, PageDetail, PageInput, RulesShown, SettingsShown, Verdict,
};
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::{Rules, Scope};
use hapax_store::{Action, Observation};
use std::time::Duration;

/// Maximum time to wait for an answer; new rules take a while in a large repository.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct Service {
    client: Client,
    settings: SettingsShown,
}

impl Service {
    /// Connects to the service at an address, with the given token or that of the environment.
    ///
    /// # Errors
    ///
    /// No service responds, or reading is not permitted.
    pub fn open(server: &str, token: Option<&str>) -> Result<Self, RepositoryError> {
        let client = Self::client(server, token);
        let settings = client.settings()?;
        Ok(Self { client, settings })
    }

    /// A client for the service at an address, with the given token or that of the environment.
    pub fn client(server: &str, token: Option<&str>) -> Client {
        let of_environment = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        Client::new(server, token.or(of_environment.as_deref()), LONGEST_WAIT)
    }

    /// Its events must be of the history with this epoch.
    #[must_use]
    pub fn continue_in(self, epoch: &str) -> Self {
        self.client.continue_in(epoch);
        self
    }

    fn unexpected(&self, what: &'static str) -> RepositoryError {
        RepositoryError::Strange { version: self.settings.version.clone(), what }
    }

    fn recorded(
        &self,
        lines: &mut Vec<PageInput>,
        done: &mut Vec<Done>,
    ) -> Result<(), RepositoryError> {
        // A single page also gets the nearest page beyond the bound.
        if let [alone] = &lines[..] {
            done.push(Done::Verdict(Box::new(self.client.observe(alone)?)));
            lines.clear();
            return Ok(());
        }
        let mut body = Vec::new();
        for line in lines.iter() {
            // Serialization cannot fail.
            let _ = serde_json::to_writer(&mut body, line);
            body.push(b'\n');
        }
        let (before, sent, mut failed) = (done.len(), lines.len(), None);
        for (answer, input) in self.client.batch(&body[..]).zip(lines.iter()) {
            let recorded = done.len() - before;
            let interrupted = |source| RepositoryError::Interrupted { source, recorded, sent };
            match answer.map_err(interrupted)?.outcome {
                LineOutcome::Done(verdict) => done.push(Done::Verdict(verdict)),
                LineOutcome::Failed { error } => {
                    failed.get_or_insert((input.url.clone(), error));
                }
            }
        }
        // A service records every page that it can.
        if let Some((url, error)) = failed {
            let recorded = done.len() - before;
            return Err(RepositoryError::Page { url, error, recorded, sent });
        }
        if done.len() - before != lines.len() {
            return Err(self.unexpected("fewer answers than lines"));
        }
        lines.clear();
        Ok(())
    }
}

/// A page in the service's format, with its text if there is one.
fn input(seen: &Observation, text: Option<String>, recipe: &RecipeId) -> PageInput {
    match text {
        Some(text) => PageInput::read(seen, text),
        None => PageInput::ready(seen, recipe),
    }
}

/// The addresses, if all actions are deletions.
fn all_forgotten(actions: &[Prepared]) -> Option<Vec<String>> {
    let url = |it: &Prepared| match &it.action {
        Action::Forget { url } => Some(url.clone()),
        Action::Observe(_) | Action::Redirect { .. } | Action::Score { .. } => None,
    };
    actions.iter().map(url).collect()
}

impl Pages for Service {
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, RepositoryError> {
        let recipe = self.recipe()?;
        let mut done = Vec::with_capacity(actions.len());
        let mut lines = Vec::new();
        if let Some(urls) = all_forgotten(&actions) {
            let unknown = self.client.forget_many(&urls)?;
            return Ok(urls.iter().map(|url| Done::Known(!unknown.contains(url))).collect());
        }
        for Prepared { action, text, .. } in actions {
            match action {
                Action::Observe(seen) => lines.push(input(&seen, text, &recipe)),
                Action::Redirect { from, to, fetched } => lines.push(PageInput {
                    url: from,
                    redirect: Some(to),
                    fetched,
                    ..PageInput::default()
                }),
                Action::Forget { url } => {
                    self.recorded(&mut lines, &mut done)?;
                    done.push(Done::Known(self.client.forget(&url)?));
                }
                Action::Score { url, score } => {
                    self.recorded(&mut lines, &mut done)?;
                    let page = self.client.score(&url, score)?;
                    done.push(Done::Known(page.is_some()));
                }
            }
        }
        self.recorded(&mut lines, &mut done)?;
        Ok(done)
    }

    fn check(&self, page: Prepared) -> Result<Verdict, RepositoryError> {
        let Action::Observe(seen) = page.action else {
            return Err(RepositoryError::NotAPage);
        };
        Ok(self.client.check(&input(&seen, page.text, &self.recipe()?))?)
    }

    fn key(&self) -> Option<&Key> {
        None
    }

    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, RepositoryError> {
        Ok(self.client.page(url, market)?)
    }

    fn group(
        &self,
        url: &str,
        market: Option<&str>,
    ) -> Result<Option<GroupStatuses>, RepositoryError> {
        Ok(self.client.page_group(url, market, self.settings.rows)?)
    }

    fn groups(
        &self,
        after: Option<u32>,
        limit: usize,
        least: u32,
        market: Option<&str>,
    ) -> Result<Vec<Group>, RepositoryError> {
        let after = after.map(|group| group.to_string());
        let limit = limit.min(self.settings.rows);
        Ok(self.client.groups_by_number(after.as_deref(), limit, least, market)?.rows)
    }

    fn expire(&mut self, before: u64) -> Result<u64, RepositoryError> {
        Ok(self.client.expire(before)?)
    }

    fn recheck(&mut self) -> Result<u64, RepositoryError> {
        Ok(self.client.recheck()?)
    }

    fn set_rules(&mut self, rules: Rules) -> Result<(), RepositoryError> {
        Ok(self.client.set_rules(&rules.to_string()).map(drop)?)
    }

    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), RepositoryError> {
        let rules = rules.map(|rules| rules.to_string());
        Ok(self.client.set_market(name, rules.as_deref())?)
    }

    fn rules(&self) -> Result<RulesShown, RepositoryError> {
        Ok(self.client.rules()?)
    }

    fn recipe(&self) -> Result<RecipeId, RepositoryError> {
        self.settings.repository.recipe.id.parse().map_err(|_| self.unexpected("its recipe"))
    }

    fn scope(&self) -> Result<Scope, RepositoryError> {
        self.settings.repository.scope.parse().map_err(|_| self.unexpected("its scope"))
    }

    fn describe(&self) -> Result<Description, RepositoryError> {
        Ok(Description {
            settings: self.client.settings()?.repository,
            stats: self.client.stats()?,
            index_origin: "of the service",
        })
    }
}

impl Events for Service {
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, RepositoryError> {
        let limit = limit.min(self.settings.rows);
        let found = self.client.events(after, limit, 0)?;
        Ok(Some(found.rows))
    }

    fn epoch(&self) -> Option<String> {
        self.client.epoch()
    }
}
