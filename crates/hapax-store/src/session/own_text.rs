//! Own texts of pages, within a transaction.
//!
//! A recorded page counts for its host's frame. A new version of the frame updates the own texts of the host's
//! stored pages; decisions do not change until they are rechecked.

use super::Session;
use crate::codec;
use crate::error::{Fault, Outcome, of_groups};
use crate::frames::{self, Own, OwnShown, host_of};
use crate::page::{Observation, PageData};
use crate::world::{Pages, name, page_data};
use hapax::group::live::{GroupState, PageId};
use redb::ReadableTable;

impl Session<'_, '_> {
    /// Counts the text for the frame of its host, and returns its own text.
    pub(super) fn own_text(&mut self, page: PageId, seen: &Observation) -> Outcome<Option<Own>> {
        let (Some(learning), Some(host)) = (&mut self.learning, host_of(&seen.url)) else {
            return Ok(None);
        };
        if seen.comparable.is_none() {
            return Ok(None);
        }
        let renewed = learning.count(host, page, seen.content, &seen.pieces)?;
        let frame = frames::frame(&learning.hosts, &learning.frames, host)?;
        for (part, key) in learning.touched.drain(..) {
            self.groups.state_mut().touch(part, key);
        }
        for (other, text, own) in renewed {
            // Skips pages with another text by now, and removed ones.
            let Some(old) =
                self.pages.get(other.0)?.map(|row| codec::read_page(other, row.value()))
            else {
                continue;
            };
            let old = old?;
            if other == page || !text.is_of(old.content) || old.comparable.is_none() {
                continue;
            }
            let compared_under = old.own.map_or(0, |own| own.compared_under);
            let new = PageData { own: Some(Own { compared_under, ..own }), ..old.clone() };
            self.put_page(other, Some(&old), &new)?;
        }
        Ok(frame.map(|frame| frame.own(&seen.pieces, frame.version())))
    }

    /// Decides again about pages by their current own texts; returns their number.
    pub(super) fn recheck(&mut self, pages: &[PageId]) -> Outcome<u64> {
        let mut due = Vec::new();
        for &page in pages {
            let read = self.pages.get(page.0)?.map(|row| codec::read_page(page, row.value()));
            let Some(old) = read.transpose()?.filter(PageData::is_due) else { continue };
            let own = old.own.map(|own| Own { compared_under: own.version, ..own });
            self.put_page(page, Some(&old), &PageData { own, ..old.clone() })?;
            due.push(page);
        }
        for &page in &due {
            let Some((group, _)) = self.groups.place(page).map_err(of_groups)? else { continue };
            // Other members are compared with their winner when it is their turn.
            let record = self.groups.state().group(group)?;
            if record.is_some_and(|record| record.winner == page) {
                self.groups.verify(&world!(self), group).map_err(of_groups)?;
            }
            self.groups.regroup(&world!(self), page).map_err(of_groups)?;
        }
        Ok(due.len() as u64)
    }

    pub(super) fn own_shown(
        &self,
        page: PageId,
        winner: Option<(PageId, &str)>,
    ) -> Outcome<Option<OwnShown>> {
        let own = |page: PageId| page_data(&self.pages, page).map(|data| data.own);
        let (page, url) = (own(page)?, name(&self.names, page)?);
        let winner = winner.map(|(winner, url)| Ok::<_, Fault>((own(winner)?, url))).transpose()?;
        let winner = winner.as_ref().map(|(own, url)| (own.as_ref(), *url));
        Ok(OwnShown::of((page.as_ref(), &url), winner))
    }
}
