//! A repository in a folder on this machine.
//!
//! It is open, exclusively, as long as this value exists; events are read without opening all of it.

use super::{Description, Events, Pages, RepositoryError};
use crate::local::{self, Done};
use crate::prepare::Prepared;
use crate::wire::{
    Event, Group, GroupStatuses, PageDetail, RepositorySettings, RulesShown, Verdict,
};
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::live::GroupId;
use hapax::group::{Rules, Scope};
use hapax_store::{Action, IndexOrigin, Market, Reader, Repository, StoreError, read_events};
use std::path::PathBuf;

#[derive(Debug)]
pub struct Folder {
    pub store: Repository,
}

fn market(reader: &Reader, name: Option<&str>) -> Result<Option<Market>, RepositoryError> {
    Ok(name.map(|name| reader.market(name)).transpose()?)
}

impl Pages for Folder {
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, RepositoryError> {
        let actions: Vec<Action> = actions.into_iter().map(|it| it.action).collect();
        if let [Action::Observe(page)] = &actions[..] {
            let verdict = local::observe(&self.store, (**page).clone())?;
            return Ok(vec![Done::Verdict(Box::new(verdict))]);
        }
        Ok(local::apply(&self.store, actions)?)
    }

    fn check(&self, page: Prepared) -> Result<Verdict, RepositoryError> {
        match page.action {
            Action::Observe(page) => Ok(local::check(&self.store, &page)?),
            Action::Redirect { .. } | Action::Forget { .. } | Action::Score { .. } => {
                Err(RepositoryError::NotAPage)
            }
        }
    }

    fn key(&self) -> Option<&Key> {
        Some(self.store.key())
    }

    fn page(&self, url: &str, name: Option<&str>) -> Result<Option<PageDetail>, RepositoryError> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        Ok(local::page(&reader, url, market.as_ref())?)
    }

    fn group(
        &self,
        url: &str,
        name: Option<&str>,
    ) -> Result<Option<GroupStatuses>, RepositoryError> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        Ok(local::group(&reader, url, market.as_ref())?)
    }

    fn groups(
        &self,
        after: Option<u32>,
        limit: usize,
        least: u32,
        name: Option<&str>,
    ) -> Result<Vec<Group>, RepositoryError> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        let found = reader.groups(after.map(GroupId), limit, least, market.as_ref())?;
        Ok(found.into_iter().map(Group::from).collect())
    }

    fn expire(&mut self, before: u64) -> Result<u64, RepositoryError> {
        Ok(self.store.expire(before)?)
    }

    fn recheck(&mut self) -> Result<u64, RepositoryError> {
        Ok(self.store.recheck()?)
    }

    fn set_rules(&mut self, rules: Rules) -> Result<(), RepositoryError> {
        Ok(self.store.set_rules(rules)?)
    }

    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), RepositoryError> {
        Ok(self.store.set_market(name, rules)?)
    }

    fn rules(&self) -> Result<RulesShown, RepositoryError> {
        let RepositorySettings { rules, markets, .. } = self.store.settings().into();
        Ok(RulesShown { rules, markets })
    }

    fn recipe(&self) -> Result<RecipeId, RepositoryError> {
        Ok(self.store.settings().recipe)
    }

    fn scope(&self) -> Result<Scope, RepositoryError> {
        Ok(self.store.settings().scope)
    }

    fn describe(&self) -> Result<Description, RepositoryError> {
        Ok(Description {
            settings: self.store.settings().into(),
            stats: self.store.stats()?.into(),
            index_origin: match self.store.index_origin() {
                IndexOrigin::File | IndexOrigin::New => "from its file",
                IndexOrigin::Rebuilt { .. } => "built from the records",
            },
        })
    }
}

/// The events of a folder that is opened for every read, so that others can use it in between.
#[derive(Debug)]
pub struct FolderEvents(pub PathBuf);

impl Events for FolderEvents {
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, RepositoryError> {
        match read_events(&self.0, after, limit) {
            Ok(events) => Ok(Some(events.into_iter().map(Event::from).collect())),
            Err(StoreError::InUse { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn epoch(&self) -> Option<String> {
        None
    }
}
