//! A repository in a folder of this machine.
//!
//! It is open, and nobody else's, as long as this value lives; events are read without opening all
//! of it. Errors name the folder or file and what a user of this program can do about it.

use super::answers::Description;
use super::{Done, Events, Pages};
use crate::failure::Failure;
use hapax::fingerprint::{Key, RecipeId};
use hapax::group::live::GroupId;
use hapax::group::{Rules, Scope};
use hapax_client::local;
use hapax_client::prepare::Prepared;
use hapax_client::wire::{
    Event, Group, GroupStatuses, PageDetail, RepositorySettings, RulesShown, Verdict,
};
use hapax_store::{Action, IndexOrigin, Market, Reader, Repository, StoreError, read_events};
use std::path::{Path, PathBuf};

/// Groups that are read together.
const PIECE: usize = 1000;

/// See the module header.
pub(crate) struct Local {
    pub(crate) store: Repository,
}

/// A store's error, with the way out that a user of this program has.
pub(crate) fn failure(error: StoreError) -> Failure {
    let hint = match &error {
        StoreError::Missing { file } if file.parent().is_some_and(Path::is_file) => {
            "; a repository is a folder, and this is a file"
        }
        StoreError::Missing { .. } => "; `hapax page add STORE --create` makes one",
        StoreError::OtherSetting { setting: "rules", .. } => {
            "; `hapax group rules STORE --set RULES` changes the rules of one that is there"
        }
        StoreError::InUse { .. } => " (`hapax export STORE --snapshot DIR` makes one)",
        _ => "",
    };
    // Its text has the cause already.
    let text = format!("{error}{hint}");
    Failure::Run(anyhow::anyhow!(crate::readable::harmless(&text).into_owned()))
}

impl Local {
    /// Opens what is there, and says so when its index had to be built again.
    pub(crate) fn open(folder: &Path) -> Result<Self, Failure> {
        let store = Repository::open(folder, None).map_err(failure)?;
        if let IndexOrigin::Rebuilt { why } = store.index_origin() {
            crate::progress::say(&format!(
                "note: the index was built from the records: {}",
                crate::readable::harmless(why)
            ));
        }
        Ok(Self { store })
    }
}

fn market(reader: &Reader, name: Option<&str>) -> Result<Option<Market>, Failure> {
    name.map(|name| reader.market(name).map_err(failure)).transpose()
}

impl Pages for Local {
    fn apply(&mut self, actions: Vec<Prepared>) -> Result<Vec<Done>, Failure> {
        let actions: Vec<Action> = actions.into_iter().map(|it| it.action).collect();
        if let [Action::Observe(page)] = &actions[..] {
            let verdict = local::observe(&self.store, (**page).clone()).map_err(failure)?;
            return Ok(vec![Done::Verdict(Box::new(verdict))]);
        }
        local::apply(&self.store, actions).map_err(failure)
    }

    fn check(&self, page: Prepared) -> Result<Verdict, Failure> {
        match page.action {
            Action::Observe(page) => local::check(&self.store, &page).map_err(failure),
            Action::Redirect { .. } | Action::Forget { .. } | Action::Score { .. } => {
                Err(Failure::Run(anyhow::anyhow!("only a page can be checked")))
            }
        }
    }

    fn key(&self) -> Option<&Key> {
        Some(self.store.key())
    }

    fn page(&self, url: &str, name: Option<&str>) -> Result<Option<PageDetail>, Failure> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        local::page(&reader, url, market.as_ref()).map_err(failure)
    }

    fn group(&self, url: &str, name: Option<&str>) -> Result<Option<GroupStatuses>, Failure> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        local::group(&reader, url, market.as_ref()).map_err(failure)
    }

    fn groups(
        &self,
        after: Option<u32>,
        limit: u64,
        least: u32,
        name: Option<&str>,
        visit: &mut dyn FnMut(&Group) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let reader = self.store.reader();
        let market = market(&reader, name)?;
        let (mut after, mut left) = (after.map(GroupId), limit);
        while left > 0 {
            let piece = left.min(PIECE as u64) as usize;
            let found = reader.groups(after, piece, least, market.as_ref()).map_err(failure)?;
            let Some(last) = found.last() else { break };
            after = Some(last.id);
            left -= found.len() as u64;
            for group in found {
                visit(&group.into())?;
            }
        }
        Ok(())
    }

    fn expire(&mut self, before: u64) -> Result<u64, Failure> {
        self.store.expire(before).map_err(failure)
    }

    fn set_rules(&mut self, rules: Rules) -> Result<(), Failure> {
        self.store.set_rules(rules).map_err(failure)
    }

    fn set_market(&mut self, name: &str, rules: Option<Rules>) -> Result<(), Failure> {
        self.store.set_market(name, rules).map_err(failure)
    }

    fn rules(&self) -> Result<RulesShown, Failure> {
        let RepositorySettings { rules, markets, .. } = self.store.settings().into();
        Ok(RulesShown { rules, markets })
    }

    fn recipe(&self) -> Result<RecipeId, Failure> {
        Ok(self.store.settings().recipe)
    }

    fn scope(&self) -> Result<Scope, Failure> {
        Ok(self.store.settings().scope)
    }

    fn describe(&self) -> Result<Description, Failure> {
        Ok(Description {
            settings: self.store.settings().into(),
            stats: self.store.stats().map_err(failure)?.into(),
            index_origin: match self.store.index_origin() {
                IndexOrigin::File | IndexOrigin::New => "from its file",
                IndexOrigin::Rebuilt { .. } => "built from the records",
            },
        })
    }
}

/// The events of a folder that is opened for every look, so that others can use it in between.
pub(crate) struct LocalEvents(pub(crate) PathBuf);

impl Events for LocalEvents {
    fn next(&mut self, after: u64, limit: usize) -> Result<Option<Vec<Event>>, Failure> {
        match read_events(&self.0, after, limit) {
            Ok(events) => Ok(Some(events.into_iter().map(Event::from).collect())),
            Err(StoreError::InUse { .. }) => Ok(None),
            Err(error) => Err(failure(error)),
        }
    }
}
