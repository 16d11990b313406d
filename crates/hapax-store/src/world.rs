//! Facts, comparison and search of pages over the tables.
//!
//! [`hapax::similarity`] decides what matches, and [`Confirm`] what else is required. Candidates from the index
//! are looked up in the records, so an index entry ahead of the tables does no harm.

use crate::codec;
use crate::confirm::Confirm;
use crate::contents::{self, in_scope};
use crate::error::{Fault, Outcome, of_search};
use crate::frames::{Own, host_of};
use crate::page::{Observation, PageData, StoredComparable};
use crate::settings::Settings;
use hapax::fingerprint::{ContentHash, MaxDistance, Sketch};
use hapax::group::live::{Kind, Near, PageId, Verdict, World};
use hapax::group::scope::same_domain;
use hapax::group::{PageFacts, ScopeKey};
use hapax::index::live::Snapshot;
use hapax::index::{HammingIndex, Query};
use hapax::similarity::{Evidence, Likeness, Matching, Policy};
use redb::ReadableTable;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Candidates of the index compared per requested match.
const CANDIDATES_PER_MATCH: usize = 4;

/// The data by which a page's content is compared.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    content: &'a ContentHash,
    comparable: &'a StoredComparable,
    keyed: Option<&'a Sketch>,
    own: Option<&'a Own>,
}

impl<'a> Side<'a> {
    /// `None` without content.
    pub(crate) fn of(page: &'a PageData) -> Option<Self> {
        let comparable = page.comparable.as_ref()?;
        let (keyed, own) = (page.keyed.as_ref(), page.own.as_ref());
        Some(Self { content: &page.content, comparable, keyed, own })
    }

    /// For a page as observed; `None` without content.
    pub(crate) fn seen(page: &'a Observation) -> Option<Self> {
        let comparable = page.comparable.as_ref()?;
        Some(Self { content: &page.content, comparable, keyed: page.keyed.as_ref(), own: None })
    }

    fn evidence(&self) -> Evidence<'a> {
        Evidence {
            fingerprint: self.comparable.fingerprint,
            sketch: Some(&self.comparable.sketch),
            content: Some(self.content),
            too_short: self.comparable.too_short,
        }
    }
}

/// The settings of a repository that decide what matches.
#[derive(Clone, Copy)]
pub(crate) struct Comparing {
    pub(crate) policy: Policy,
    confirm: Confirm,
}

impl Comparing {
    pub(crate) const fn by(settings: &Settings) -> Self {
        Self { policy: settings.policy, confirm: settings.confirm }
    }

    /// Calls `addresses` only if needed; its result is `None` for one and the same page.
    fn likeness(
        &self,
        a: Side<'_>,
        b: Side<'_>,
        addresses: impl Fn() -> Outcome<Option<(String, String)>>,
    ) -> Outcome<Likeness> {
        let public = self.policy.compare(&a.evidence(), &b.evidence());
        let one_domain = || Ok(addresses()?.is_none_or(|(a, b)| same_domain(&a, &b)));
        let likeness =
            self.confirm.confirmed(&self.policy, public, [a.keyed, b.keyed], one_domain)?;
        let differ = a.own.zip(b.own).is_some_and(|(a, b)| a.text.differs_from(&b.text));
        if likeness.matching == Matching::Near
            && differ
            && addresses()?.is_none_or(|(a, b)| host_of(&a) == host_of(&b))
        {
            return Ok(Likeness { matching: Matching::No, ..likeness });
        }
        Ok(likeness)
    }

    /// Whether the new content of a page nearly matches the old one. Then the page keeps its place
    /// in time: a date or counter in the text must not make it the newest of its copies.
    pub(crate) fn continues(&self, old: &PageData, new: &PageData) -> Outcome<bool> {
        let same = match (Side::of(old), Side::of(new)) {
            (Some(was), Some(is)) => self.likeness(was, is, || Ok(None))?.matches(),
            (None, None) => old.content == new.content,
            (Some(_), None) | (None, Some(_)) => false,
        };
        Ok(same && old.scope == new.scope)
    }
}

/// Number of pages to remember per query.
const REMEMBERED: usize = 16;

/// Pages read by a query, because a match is mostly read again as the winner.
#[derive(Default)]
pub(crate) struct Memory {
    pages: RefCell<Vec<(PageId, PageData)>>,
    names: RefCell<Vec<(PageId, String)>>,
}

fn remember<T>(list: &RefCell<Vec<(PageId, T)>>, page: PageId, what: impl FnOnce() -> T) {
    let mut list = list.borrow_mut();
    if list.len() < REMEMBERED {
        list.push((page, what()));
    }
}

fn recall<T: Clone>(list: &RefCell<Vec<(PageId, T)>>, page: PageId) -> Option<T> {
    list.borrow().iter().find(|(known, _)| *known == page).map(|(_, what)| what.clone())
}

/// Pages and their index at one moment.
pub(crate) struct Pages<'a, P, N, C> {
    pub(crate) pages: &'a P,
    pub(crate) names: &'a N,
    pub(crate) contents: &'a C,
    pub(crate) index: Snapshot,
    pub(crate) comparing: Comparing,
    /// A page whose record need not be read.
    pub(crate) recent: Option<&'a (PageId, PageData)>,
    /// Pages that need not be read twice, if nothing changes.
    pub(crate) memory: Option<&'a Memory>,
    /// Receives the pages near which the index has more entries than are compared.
    pub(crate) dense: Option<&'a RefCell<BTreeSet<PageId>>>,
}

pub(crate) fn page_data(
    pages: &impl ReadableTable<u32, &'static [u8]>,
    page: PageId,
) -> Outcome<PageData> {
    match pages.get(page.0)? {
        Some(row) => codec::read_page(page, row.value()),
        None => Err(Fault::Damaged(format!("page {page} has no record"))),
    }
}

pub(crate) fn name(names: &impl ReadableTable<u32, &'static str>, page: PageId) -> Outcome<String> {
    match names.get(page.0)? {
        Some(row) => Ok(row.value().to_owned()),
        None => Err(Fault::Damaged(format!("page {page} has no address"))),
    }
}

/// Replaces page numbers, which the engine uses, by addresses.
pub(crate) fn name_redirect(
    verdict: &mut Verdict,
    end: Option<PageId>,
    names: &impl ReadableTable<u32, &'static str>,
) -> Outcome<()> {
    if let (Kind::Redirect, Some(reason), Some(end)) = (verdict.kind, &mut verdict.reason, end) {
        reason.text = format!("it redirects to {}", name(names, end)?);
    }
    Ok(())
}

impl<P, N, C> Pages<'_, P, N, C>
where
    P: ReadableTable<u32, &'static [u8]>,
    N: ReadableTable<u32, &'static str>,
    C: ReadableTable<&'static contents::Key, ()>,
{
    fn data(&self, page: PageId) -> Outcome<Cow<'_, PageData>> {
        match self.recent {
            Some((recent, data)) if *recent == page => return Ok(Cow::Borrowed(data)),
            Some(_) | None => {}
        }
        if let Some(known) = self.memory.and_then(|memory| recall(&memory.pages, page)) {
            return Ok(Cow::Owned(known));
        }
        page_data(self.pages, page).map(Cow::Owned)
    }

    pub(crate) fn name(&self, page: PageId) -> Outcome<String> {
        let Some(memory) = self.memory else { return name(self.names, page) };
        if let Some(known) = recall(&memory.names, page) {
            return Ok(known);
        }
        let read = name(self.names, page)?;
        remember(&memory.names, page, || read.clone());
        Ok(read)
    }

    /// The page's record; `None` if it is missing or damaged.
    pub(crate) fn readable(&self, page: PageId) -> Outcome<Option<PageData>> {
        let row = self.pages.get(page.0)?;
        Ok(row.and_then(|row| codec::read_page(page, row.value()).ok()))
    }

    /// The similarity of two pages with content. Reads their addresses only if needed.
    pub(crate) fn likeness_of(
        &self,
        (a, one): (PageId, &PageData),
        (b, other): (PageId, &PageData),
    ) -> Outcome<Likeness> {
        let none = |page: PageId| Fault::Damaged(format!("page {page} has no content to compare"));
        let one = Side::of(one).ok_or_else(|| none(a))?;
        let other = Side::of(other).ok_or_else(|| none(b))?;
        self.comparing.likeness(one, other, || Ok(Some((self.name(a)?, self.name(b)?))))
    }

    /// The pages other than `but` that match this content in this scope, nearest first: `limit` of
    /// those with the same content, and then of [`candidates`](Self::candidates). Reads the address
    /// only if needed.
    pub(crate) fn near_content(
        &self,
        side: Side<'_>,
        url: impl Fn() -> Outcome<String>,
        scope: ScopeKey,
        but: Option<PageId>,
        limit: usize,
    ) -> Outcome<Vec<Near>> {
        let mut near = Vec::new();
        let mut compare = |page: PageId, equal: bool| -> Outcome<bool> {
            // The index may be ahead of the snapshot of the tables.
            let Some(row) = self.pages.get(page.0)? else { return Ok(true) };
            let data = codec::read_page(page, row.value())?;
            let Some(its) = Side::of(&data) else { return Ok(true) };
            if data.scope != scope || (data.content == *side.content) != equal {
                return Ok(true);
            }
            let addresses = || Ok(Some((url()?, self.name(page)?)));
            let likeness = self.comparing.likeness(side, its, addresses)?;
            if likeness.matches() {
                near.push(Near { page, likeness });
                if let Some(memory) = self.memory {
                    remember(&memory.pages, page, || data);
                }
            }
            Ok(near.len() < limit)
        };
        let equal = contents::equal(self.contents, scope, side.content, limit.saturating_add(1))?;
        let mut open = true;
        for page in equal.into_iter().filter(|page| Some(*page) != but) {
            open = compare(page, true)?;
            if !open {
                break;
            }
        }
        if open {
            for page in self.candidates(side, scope, but, limit)? {
                if !compare(page, false)? {
                    break;
                }
            }
        }
        near.sort_unstable_by_key(|near| (near.likeness.distance, near.page));
        Ok(near)
    }

    /// The pages to compare with this content: all within the bound, nearest first. If these are
    /// more than [`CANDIDATES_PER_MATCH`] for each of `limit` matches, half as many of the nearest,
    /// then of the earliest pages, then of those that share a band of the sketch.
    fn candidates(
        &self,
        side: Side<'_>,
        scope: ScopeKey,
        but: Option<PageId>,
        limit: usize,
    ) -> Outcome<Vec<PageId>> {
        let query = Query::from(in_scope(side.comparable.fingerprint, scope));
        let most = limit.saturating_mul(CANDIDATES_PER_MATCH);
        let (mut nearest, mut earliest) = (Smallest::of(most), Smallest::of(most / 2));
        let mut found = 0;
        let searched =
            self.index.visit_batch(&[query], self.comparing.policy.within, &mut |_, m| {
                if but != Some(PageId(m.id as u32)) {
                    found += 1;
                    nearest.add((m.distance, m.id as u32));
                    earliest.add(m.id as u32);
                }
                ControlFlow::Continue(())
            });
        searched.map_err(of_search)?;
        let mut pages: Vec<u32> = nearest.sorted().into_iter().map(|(_, page)| page).collect();
        if found > most {
            if let (Some(dense), Some(page)) = (self.dense, but) {
                dense.borrow_mut().insert(page);
            }
            pages.truncate(most / 2);
            pages.extend(earliest.sorted());
            let each = (most / 2).div_ceil(contents::BANDS);
            for band in contents::bands(&side.comparable.sketch) {
                let sharing = contents::under(self.contents, scope, band, each)?;
                pages.extend(sharing.iter().map(|page| page.0));
            }
            let mut seen = BTreeSet::new();
            pages.retain(|&page| but != Some(PageId(page)) && seen.insert(page));
        }
        Ok(pages.into_iter().map(PageId).collect())
    }
}

/// The smallest values among many.
struct Smallest<T> {
    most: usize,
    values: Vec<T>,
}

impl<T: Ord> Smallest<T> {
    const fn of(most: usize) -> Self {
        Self { most, values: Vec::new() }
    }

    fn add(&mut self, value: T) {
        self.values.push(value);
        if self.values.len() >= self.most.saturating_mul(2).max(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.values.len() > self.most {
            self.values.select_nth_unstable(self.most);
            self.values.truncate(self.most);
        }
    }

    fn sorted(mut self) -> Vec<T> {
        self.cut();
        self.values.sort_unstable();
        self.values
    }
}

/// Maximum distance of the nearest page, and the number of fingerprints within it whose sketches
/// are compared.
const NEAREST_WITHIN: MaxDistance = MaxDistance::new(24).unwrap();
const NEAREST_COMPARED: usize = 128;
/// In larger repositories, only the bound of the index is searched.
const NEAREST_SCANNED: usize = 1 << 24;
/// Sketches of unrelated pages are as similar as this.
const NEAREST_SIMILARITY: f32 = 0.1;

impl<P, N, C> Pages<'_, P, N, C>
where
    P: ReadableTable<u32, &'static [u8]>,
    N: ReadableTable<u32, &'static str>,
    C: ReadableTable<&'static contents::Key, ()>,
{
    /// The page other than `but` of this scope that is most similar to this content, whether it
    /// matches or not.
    pub(crate) fn most_like(
        &self,
        side: Side<'_>,
        scope: ScopeKey,
        but: Option<PageId>,
    ) -> Outcome<Option<Near>> {
        let policy = &self.comparing.policy;
        let bound = match self.index.len() <= NEAREST_SCANNED {
            true => NEAREST_WITHIN,
            false => policy.within,
        };
        let fingerprint = in_scope(side.comparable.fingerprint, scope);
        let mut best: Option<Near> = None;
        for found in self.index.nearest(fingerprint, bound, NEAREST_COMPARED) {
            let page = PageId(found.id as u32);
            let Some(data) = self.readable(page)?.filter(|_| Some(page) != but) else { continue };
            let Some(its) = Side::of(&data).filter(|_| data.scope == scope) else { continue };
            // By public data only, because the result is shown and decides nothing.
            let likeness = policy.compare(&side.evidence(), &its.evidence());
            let better = best.is_none_or(|best| likeness.similarity > best.likeness.similarity);
            if likeness.similarity >= NEAREST_SIMILARITY && better {
                best = Some(Near { page, likeness });
            }
        }
        Ok(best)
    }
}

impl<P, N, C> World for Pages<'_, P, N, C>
where
    P: ReadableTable<u32, &'static [u8]>,
    N: ReadableTable<u32, &'static str>,
    C: ReadableTable<&'static contents::Key, ()>,
{
    type Error = Fault;

    fn facts(&self, page: PageId) -> Outcome<PageFacts<'_>> {
        let data = self.data(page)?;
        Ok(PageFacts {
            url: Cow::Owned(self.name(page)?),
            // Addresses are unique, and a number would reveal the order of arrival.
            id: 0,
            score: data.score,
            first_seen: data.first_seen,
            recorded: data.recorded,
            domain_place: None,
            words: data.words,
            canonical: data.canonical.clone().map(Cow::Owned),
            named_canonical: data.named_canonical,
        })
    }

    fn compare(&self, a: PageId, b: PageId) -> Outcome<Likeness> {
        let (one, other) = (self.data(a)?, self.data(b)?);
        self.likeness_of((a, &one), (b, &other))
    }

    fn near(&self, page: PageId, limit: usize) -> Outcome<Vec<Near>> {
        let data = self.data(page)?;
        let Some(side) = Side::of(&data) else { return Ok(Vec::new()) };
        self.near_content(side, || self.name(page), data.scope, Some(page), limit)
    }

    fn scope(&self, page: PageId) -> Outcome<ScopeKey> {
        Ok(self.data(page)?.scope)
    }
}
