//! Repairs a repository from its redundant data, and refuses to guess what cannot be derived.
//!
//! | damaged | restored from |
//! |---|---|
//! | the index | the page records |
//! | addresses (`urls`, `names`) | each other |
//! | rows by content hash (`contents`) | the page records |
//! | places | `members` and `sources`, else the page's content is grouped anew |
//! | `members`, `sources` | the places |
//! | groups: counts, winners, checks | their members and the rules |
//! | pages of one text that are both kept | are merged |
//! | counters | the highest number that is used |
//! | unreachable records | removed |
//! | events that skip a number or contradict the groups | not restorable: all are dropped, and numbering continues |
//!
//! A file with damaged pages is replaced by a new one with every readable row, and kept as
//! `pages.redb.damaged`. An unreadable or missing page record, or a redirect whose target is lost, cannot be
//! derived: nothing is changed unless the caller allows dropping these pages. Everything is written in one
//! commit, groups are verified by the usual operations, and everything is checked again. Takes about 40 bytes
//! of memory per page.

mod bookkeeping;
mod mend;
mod salvage;
mod survey;

use crate::blocks;
use crate::copies;
use crate::disk::{self, Disk, RealDisk};
use crate::error::{StoreError, guarded};
use crate::index_file;
use crate::integrity::Integrity;
use crate::opening;
use crate::repository::{IndexOrigin, Repository};
use crate::tables;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use survey::Survey;

/// What to do with pages whose record cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Refuse,
    /// Drop them; a crawler will find them again.
    Forget,
}

/// Number of findings, and descriptions of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub count: u64,
    /// Descriptions of the first findings.
    pub details: Vec<String>,
}

/// Maximum number of findings described individually.
const MAX_DETAILS: usize = 50;

impl Findings {
    fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.details.len() < MAX_DETAILS {
            self.details.push(what());
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What was repaired.
    pub mended: Findings,
    /// What cannot be restored: dropped, or the reason why nothing was changed.
    pub lost: Findings,
    /// The result of a check afterwards; `None` if nothing was changed because of `lost`.
    pub check: Option<Integrity>,
}

impl Repair {
    pub const fn is_refused(&self) -> bool {
        self.check.is_none()
    }
}

/// Repairs a repository that is not open; see the module header.
///
/// # Errors
///
/// It cannot be opened at all, or a disk error.
pub fn repair_folder(folder: &Path, unreadable: Unreadable) -> Result<Repair, StoreError> {
    let file = folder.join(tables::FILE);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    // Without the saved checksums, everything is verified.
    removed(&folder.join(blocks::FILE))?;
    let new = file.with_added_extension("new");
    let opened = bookkeeping::drop_damaged(&file, &disk)
        .and_then(|dropped| Ok((dropped, open_checked(&file, &disk)?)));
    let (dropped, (db, sound), salvage) = match opened {
        Ok((dropped, opened)) => (dropped, opened, None),
        Err(StoreError::Damaged { .. }) => {
            let salvage = salvage::save(&file, &new, &disk)?;
            (false, open_checked(&new, &disk)?, Some(salvage))
        }
        Err(other) => return Err(other),
    };
    let at = if salvage.is_some() { &new } else { &file };
    let settings = opening::read_settings(&db, at)?;
    let mut survey = guarded(|| Survey::of(&db)).map_err(|fault| fault.at(at))?;
    if dropped || !sound {
        survey.mended.add(|| "the file's own bookkeeping".into());
    }
    if let Some(salvage) = &salvage {
        salvage.tables.details.iter().for_each(|table| survey.mended.add(|| table.clone()));
        if salvage.tables.count == 0 {
            survey.mended.add(|| "the file's length or header".into());
        }
        let nameless = salvage.lost_pages.saturating_sub(survey.lost.count);
        if nameless > 0 {
            survey.lost.add(|| format!("{nameless} pages, their addresses too"));
            survey.lost.count += nameless - 1;
        }
    }
    if survey.lost.count > 0 && unreadable == Unreadable::Refuse {
        drop(db);
        if salvage.is_some() {
            removed(&new)?;
        }
        return Ok(Repair { mended: Findings::default(), lost: survey.lost, check: None });
    }
    let index = folder.join(index_file::FILE);
    if let Err(why) = index_file::load(&*disk, folder, &settings, &survey.counters)
        && index.exists()
    {
        survey.mended.add(|| format!("the index was built again: {why}"));
    }
    guarded(|| mend::write(&db, &mut survey)).map_err(|fault| fault.at(at))?;
    guarded(|| copies::begin_anew(&db)).map_err(|fault| fault.at(at))?;
    drop(db);
    if salvage.is_some() {
        let kept = salvage::kept_as(&file);
        let swapped =
            disk::rename(&*disk, &file, &kept).and_then(|()| disk::rename(&*disk, &new, &file));
        swapped.map_err(|source| StoreError::Disk { file: file.clone(), source })?;
        survey.mended.add(|| format!("the damaged file is kept: {}", kept.display()));
    }
    // The index does not fit the changed records.
    removed(&index)?;
    let store = Repository::open(folder, None)?;
    debug_assert!(matches!(store.index_origin(), IndexOrigin::Rebuilt { .. }));
    let Survey { mut mended, lost, mut ungrouped, mut groups, .. } = survey;
    let before = store.verify()?;
    for &group in &before.wrong_groups {
        if groups.insert(group) {
            mended.add(|| format!("group {group}: its winner, or who matches it"));
        }
    }
    for &page in &before.twins {
        ungrouped.push(page);
        mended.add(|| format!("page {page} had the text of another page that is kept"));
    }
    if !groups.is_empty() || !ungrouped.is_empty() {
        store.regroup(groups.into_iter().collect(), ungrouped)?;
    }
    let mut check = store.verify()?;
    if check.wrong_events {
        let last = store.stats()?.last_event;
        store.drop_events(last)?;
        mended.add(|| {
            format!(
                "events up to {last} contradicted the groups and were dropped; whoever follows \
                 them must read the groups again"
            )
        });
        check = store.verify()?;
    }
    Ok(Repair { mended, lost, check: Some(check) })
}

/// Opens a file, and returns whether redb's own tables were intact.
fn open_checked(
    file: &Path,
    disk: &Arc<dyn Disk>,
) -> Result<(opening::OpenFile, bool), StoreError> {
    let mut db = opening::open_file(file, disk, Arc::default(), opening::CACHE_BYTES)?;
    let sound = guarded(|| Ok(db.check_integrity()?)).map_err(|fault| fault.at(file))?;
    Ok((db, sound))
}

fn removed(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(StoreError::Disk { file: file.to_owned(), source })
        }
        _ => Ok(()),
    }
}
