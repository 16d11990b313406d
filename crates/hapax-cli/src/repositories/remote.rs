//! A repository behind a service: the same questions, asked over HTTP.
//!
//! Texts are extracted here and fingerprinted there: the service alone has the key that confirms
//! matches. A page gets the same verdict as in a folder. Errors name the service and the way out.

use super::answers::Description;
use super::{Done, Events, Pages};
use crate::failure::Failure;
use crate::readable::{counted, harmless};
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::{Rules, Scope};
use hapax_client::client::{Client, ClientError, LineOutcome, TOKEN_VARIABLE};
use hapax_client::prepare::Prepared;
use hapax_client::wire::{
    Event, Group, GroupStatuses, PageDetail, PageInput, RulesShown, SettingsShown, Verdict,
};
use hapax_store::{Action, Observation};
use std::time::Duration;

/// The longest to wait for an answer. New rules for a large repository take a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// See the module header.
pub(crate) struct Remote {
    client: Client,
    settings: SettingsShown,
}

/// A client's error, with the way out that a user of this program has.
pub(crate) fn failure(error: ClientError) -> Failure {
    let hint = match &error {
        ClientError::Refused { code, .. } if code == "unauthorized" => {
            "; give the service's token with --token or in HAPAX_TOKEN"
        }
        ClientError::Refused { code, .. } if code == "forbidden" => {
            "; give a token that may write with --token or in HAPAX_TOKEN, or call from the \
             service's machine"
        }
        ClientError::Unreachable { .. } => {
            "; is `hapax serve` running there, and is this its address?"
        }
        ClientError::Strange { .. } => {
            "; give the address that `hapax serve` prints, and use a program and a service of the \
             same version"
        }
        _ => "",
    };
    // Its text has the cause already.
    let text = format!("{error}{hint}");
    Failure::Run(anyhow::anyhow!(harmless(&text).into_owned()))
}

/// For the service at an address, with the token given or that of the environment.
pub(crate) fn client(server: &str, token: Option<&str>) -> Client {
    let of_environment = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    Client::new(server, token.or(of_environment.as_deref()), PATIENCE)
}

impl Remote {
    /// Asks the service what it is.
    pub(crate) fn open(server: &str, token: Option<&str>) -> Result<Self, Failure> {
        let client = client(server, token);
        let settings = client.settings().map_err(failure)?;
        Ok(Self { client, settings })
    }

    fn strange(&self, what: &str) -> Failure {
        Failure::Run(anyhow::anyhow!(
            "the service, version {}, answers in a way that this program does not know ({what}); \
             use a program and a service of the same version",
            self.settings.version
        ))
    }

    fn recorded(&self, lines: &mut Vec<PageInput>, done: &mut Vec<Done>) -> Result<(), Failure> {
        let mut body = Vec::new();
        for line in lines.iter() {
            serde_json::to_writer(&mut body, line).map_err(anyhow::Error::new)?;
            body.push(b'\n');
        }
        // Alone, the page is also compared with what is beyond the bound.
        if let [alone] = &lines[..] {
            let verdict = self.client.observe(alone).map_err(failure)?;
            done.push(Done::Verdict(Box::new(verdict)));
            lines.clear();
            return Ok(());
        }
        let (before, mut failed) = (done.len(), None);
        let recorded = |done: &Vec<Done>| {
            format!("{} of the {} sent together", done.len() - before, counted_pages(lines))
        };
        for (answer, input) in self.client.batch(&body[..]).zip(lines.iter()) {
            let answer = answer.map_err(|error| {
                let known = recorded(done);
                Failure::Run(anyhow::anyhow!(
                    "{}; {known} are known to be recorded",
                    failure(error)
                ))
            })?;
            match answer.outcome {
                LineOutcome::Done(verdict) => done.push(Done::Verdict(verdict)),
                LineOutcome::Failed { error } => {
                    failed.get_or_insert((input.url.clone(), error));
                }
            }
        }
        // A service records every page that it can.
        if let Some((url, error)) = failed {
            return Err(Failure::Run(anyhow::anyhow!(
                "{}: {} ({}); {} were recorded",
                harmless(&url),
                harmless(&error.message),
                error.code,
                recorded(done)
            )));
        }
        if done.len() - before != lines.len() {
            return Err(self.strange("fewer answers than lines"));
        }
        lines.clear();
        Ok(())
    }
}

/// A page as the service takes it, with its text if there is one.
fn input(seen: &Observation, text: Option<String>, recipe: &RecipeId) -> PageInput {
    match text {
        Some(text) => PageInput::read(seen, text),
        None => PageInput::ready(seen, recipe),
    }
}

fn counted_pages(lines: &[PageInput]) -> String {
    counted(lines.len() as u64, "page")
}

/// The addresses, when all that happened is that pages are gone.
fn all_forgotten(actions: &[Prepared]) -> Option<Vec<String>> {
    let url = |it: &Prepared| match &it.action {
        Action::Forget { url } => Some(url.clone()),
        Action::Observe(_) | Action::Redirect { .. } | Action::Score { .. } => None,
    };
    actions.iter().map(url).collect()
}

impl Pages for Remote {
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, Failure> {
        let recipe = self.recipe()?;
        let mut done = Vec::with_capacity(actions.len());
        let mut lines = Vec::new();
        if let Some(urls) = all_forgotten(&actions) {
            let unknown = self.client.forget_many(&urls).map_err(failure)?;
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
                    done.push(Done::Known(self.client.forget(&url).map_err(failure)?));
                }
                Action::Score { url, score } => {
                    self.recorded(&mut lines, &mut done)?;
                    let page = self.client.score(&url, score).map_err(failure)?;
                    done.push(Done::Known(page.is_some()));
                }
            }
        }
        self.recorded(&mut lines, &mut done)?;
        Ok(done)
    }

    fn check(&self, page: Prepared) -> Result<Verdict, Failure> {
        let Action::Observe(seen) = page.action else {
            return Err(Failure::Run(anyhow::anyhow!("only a page can be checked")));
        };
        self.client.check(&input(&seen, page.text, &self.recipe()?)).map_err(failure)
    }

    fn key(&self) -> Option<&Key> {
        None
    }

    fn page(&self, url: &str, market: Option<&str>) -> Result<Option<PageDetail>, Failure> {
        self.client.page(url, market).map_err(failure)
    }

    fn group(&self, url: &str, market: Option<&str>) -> Result<Option<GroupStatuses>, Failure> {
        self.client.page_group(url, market, self.settings.rows).map_err(failure)
    }

    fn groups(
        &self,
        after: Option<u32>,
        limit: u64,
        least: u32,
        market: Option<&str>,
        visit: &mut dyn FnMut(&Group) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut after, mut left) = (after.map(|group| group.to_string()), limit);
        while left > 0 {
            let piece = left.min(self.settings.rows as u64) as usize;
            let found = self.client.groups_by_number(after.as_deref(), piece, least, market);
            let found = found.map_err(failure)?;
            left = left.saturating_sub(found.rows.len() as u64);
            for row in found.rows {
                visit(&row)?;
            }
            after = match found.next {
                Some(next) => Some(next),
                None => break,
            };
        }
        Ok(())
    }

    fn expire(&mut self, before: u64) -> Result<u64, Failure> {
        self.client.expire(before).map_err(failure)
    }

    fn set_rules(&mut self, rules: Rules) -> Result<(), Failure> {
        self.client.set_rules(&rules.to_string()).map(drop).map_err(failure)
    }

    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), Failure> {
        let rules = rules.map(|rules| rules.to_string());
        self.client.set_market(name, rules.as_deref()).map_err(failure)
    }

    fn rules(&self) -> Result<RulesShown, Failure> {
        self.client.rules().map_err(failure)
    }

    fn recipe(&self) -> Result<RecipeId, Failure> {
        self.settings.repository.recipe.id.parse().map_err(|_| self.strange("its recipe"))
    }

    fn scope(&self) -> Result<Scope, Failure> {
        self.settings.repository.scope.parse().map_err(|_| self.strange("its scope"))
    }

    fn describe(&self) -> Result<Description, Failure> {
        Ok(Description {
            settings: self.client.settings().map_err(failure)?.repository,
            stats: self.client.stats().map_err(failure)?,
            index_origin: "of the service",
        })
    }
}

impl Events for Remote {
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, Failure> {
        let limit = limit.min(self.settings.rows);
        let found = self.client.events(after, limit, 0).map_err(failure)?;
        Ok(Some(found.rows))
    }
}
