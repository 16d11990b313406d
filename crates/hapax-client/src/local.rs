//! Operations on a repository on this machine, with the answers of the service.
//!
//! Each function does what the service does for one request, without HTTP, for programs that open the folder
//! themselves.

use crate::wire::{GroupStatuses, PageDetail, Rows, Verdict};
use hapax_store::{Action, Effect, Market, Observation, Reader, Repository, StoreError};

/// The result of an [`Action`].
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// The new status of the page.
    Verdict(Box<Verdict>),
    /// Whether the page was known.
    Known(bool),
}

/// Applies actions in this order, all or none.
pub fn apply(store: &Repository, actions: Vec<Action>) -> Result<Vec<Done>, StoreError> {
    let urls: Vec<String> = actions.iter().map(|action| action.url().to_owned()).collect();
    let effects = store.apply(actions)?;
    let done = |(url, effect)| {
        Ok(match effect {
            Effect::Decided(decision) => {
                Done::Verdict(Box::new(Verdict::of(store, url, &decision, true)?))
            }
            Effect::Known(known) => Done::Known(known),
        })
    };
    urls.into_iter().zip(effects).map(done).collect()
}

/// Records an observed page, and searches the nearest page beyond the bound, too.
pub fn observe(store: &Repository, page: Observation) -> Result<Verdict, StoreError> {
    let decision = store.observe(page.clone())?;
    let mut verdict = Verdict::of(store, page.url.clone(), &decision, true)?;
    verdict.find_nearest(store, &page)?;
    Ok(verdict)
}

/// The verdict that this page would get. Changes nothing.
pub fn check(store: &Repository, page: &Observation) -> Result<Verdict, StoreError> {
    let decision = store.check(page)?;
    let mut verdict = Verdict::of(store, page.url.clone(), &decision, false)?;
    verdict.find_nearest(store, page)?;
    Ok(verdict)
}

/// Sets or clears a page's score; returns its new status, or `None` for an unknown address.
pub fn score(
    store: &Repository,
    url: &str,
    score: Option<f64>,
) -> Result<Option<Verdict>, StoreError> {
    if !store.score(url, score)? {
        return Ok(None);
    }
    let decision = store.reader().status(url, None)?;
    Ok(decision.map(|decision| Verdict::known(url.to_owned(), &decision)))
}

/// The data and status of a page, in a market if one is given; `None` for an unknown address.
pub fn page(
    reader: &Reader,
    url: &str,
    market: Option<&Market>,
) -> Result<Option<PageDetail>, StoreError> {
    let Some(page) = reader.page(url)? else { return Ok(None) };
    Ok(reader.status(url, market)?.map(|decision| PageDetail::new(page, &decision)))
}

/// The group of a page with the status of all its pages; `None` for an unknown address.
pub fn group(
    reader: &Reader,
    url: &str,
    market: Option<&Market>,
) -> Result<Option<GroupStatuses>, StoreError> {
    let Some(group) = reader.group(url, market)? else { return Ok(None) };
    let pages = reader.members(&group, market)?.into_iter();
    let rows = pages.map(|(page, decision)| Verdict::known(page.url, &decision)).collect();
    Ok(Some(GroupStatuses { group: group.into(), pages: Rows { rows, next: None } }))
}
