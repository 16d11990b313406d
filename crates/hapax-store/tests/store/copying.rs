//! Increments, backups and standbys.

use crate::line::{FARTHEST, assert_clean, create, open, page};
use hapax_store::backups::{self, Place};
use hapax_store::increment::verify;
use hapax_store::lineage::Position;
use hapax_store::{Observation, Repository, Role, StoreError, Texts, receive};
use proptest::prelude::*;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn url(n: u32) -> String {
    format!("http://a/{n:02}")
}

/// The increment for a copy at this position, or everything.
fn copied(store: &Repository, after: Option<&Position>, texts: Option<&Texts>) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.increment(after, texts).unwrap().write(&mut bytes).unwrap();
    bytes
}

fn received(folder: &Path, bytes: &[u8], role: Role) -> Result<(), StoreError> {
    let whole: io::Result<Box<dyn Read + '_>> = Ok(Box::new(bytes));
    receive(folder, &mut std::iter::once(whole), role).map(drop)
}

/// An up-to-date standby of a repository.
pub(crate) fn standby(store: &Repository, folder: &Path) -> Repository {
    received(folder, &copied(store, None, None), Role::Standby).unwrap();
    open(folder)
}

pub(crate) fn catch_up(store: &Repository, copy: &Repository) -> usize {
    let increment = copied(store, Some(&copy.position(None).unwrap()), None);
    copy.apply_increment(&mut increment.as_slice(), None).unwrap();
    increment.len()
}

/// All rows, as a receiver gets them.
pub(crate) fn rows(store: &Repository) -> Vec<u8> {
    let whole = copied(store, None, None);
    let header = u32::from_le_bytes(whole[8..12].try_into().unwrap()) as usize;
    // Without the header, which has the time, and the checksum, which covers it.
    whole[12 + header..whole.len() - 16].to_vec()
}

#[derive(Clone, Debug)]
enum Step {
    Observe { page: u32, content: u32 },
    Many { first: u32 },
    Redirect { from: u32, to: u32 },
    Forget { page: u32 },
    Score { page: u32, score: f64 },
    Rules { shortest: bool },
    Market { there: bool },
    DropEvents { back: u64 },
    CatchUp,
}

fn step() -> impl Strategy<Value = Step> {
    const PAGES: u32 = 12;
    prop_oneof![
        6 => (0..PAGES, 0..FARTHEST).prop_map(|(page, content)| Step::Observe { page, content }),
        1 => (0..PAGES).prop_map(|first| Step::Many { first }),
        2 => (0..PAGES, 0..PAGES).prop_map(|(from, to)| Step::Redirect { from, to }),
        2 => (0..PAGES).prop_map(|page| Step::Forget { page }),
        1 => (0..PAGES, 0..3u8).prop_map(|(page, score)| Step::Score { page, score: score.into() }),
        1 => any::<bool>().prop_map(|shortest| Step::Rules { shortest }),
        1 => any::<bool>().prop_map(|there| Step::Market { there }),
        1 => (0..20u64).prop_map(|back| Step::DropEvents { back }),
        3 => Just(Step::CatchUp),
    ]
}

fn take(store: &Repository, step: &Step) {
    match *step {
        Step::Observe { page: n, content } => _ = store.observe(page(&url(n), content)).unwrap(),
        Step::Many { first } => {
            let pages = (0..5).map(|n| page(&url(first + n), n)).collect::<Vec<Observation>>();
            store.observe_many(pages).unwrap();
        }
        Step::Redirect { from, to } if from != to => {
            store.redirect(&url(from), &url(to), None).unwrap();
        }
        Step::Forget { page } => _ = store.forget(&url(page)).unwrap(),
        Step::Score { page, score } => _ = store.score(&url(page), Some(score)).unwrap(),
        Step::Rules { shortest } => {
            let rules = if shortest { "shortest-url" } else { "first-recorded" };
            store.set_rules(rules.parse().unwrap()).unwrap();
        }
        Step::Market { there } => {
            let rules = there.then(|| "shortest-url".parse().unwrap());
            store.set_market("de", rules).unwrap();
        }
        Step::DropEvents { back } => {
            let last = store.stats().unwrap().last_event;
            store.drop_events(last.saturating_sub(back)).unwrap();
        }
        Step::Redirect { .. } | Step::CatchUp => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A complete copy is the reference.
    #[test]
    fn a_copy_that_follows_any_operations_has_the_rows_of_a_new_copy(
        before in prop::collection::vec(step(), 0..8),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = create(folder.path());
        before.iter().for_each(|step| take(&store, step));
        let copy = standby(&store, other.path());
        for step in &steps {
            take(&store, step);
            if matches!(step, Step::CatchUp) {
                catch_up(&store, &copy);
                prop_assert!(rows(&copy) == rows(&store), "after {:?}", step);
            }
        }
        catch_up(&store, &copy);
        prop_assert!(rows(&copy) == rows(&store));
        prop_assert_eq!(copy.events(0, 1000).unwrap(), store.events(0, 1000).unwrap());
        prop_assert_eq!(copy.settings(), store.settings());
        assert_clean(&copy);
        // The index in memory fits the rows.
        let asked = page("http://b", 3);
        let said = |of: &Repository| of.check(&asked).unwrap();
        prop_assert_eq!(said(&copy), said(&store));
        drop(copy);
        assert_clean(&open(other.path()));
    }
}

#[test]
fn an_increment_has_what_changed_and_not_the_rest() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    let all = 2000;
    store.observe_many((0..all).map(|n| page(&url(n), n % 14)).collect()).unwrap();
    let whole = copied(&store, None, None).len();
    let copy = standby(&store, other.path());
    for n in 0..all / 100 {
        store.observe(page(&url(n * 100), (n + 1) % 14)).unwrap();
    }
    let changed = catch_up(&store, &copy);
    assert!(changed * 20 < whole, "{changed} bytes of {whole} for 1 % of the pages");
    assert!(catch_up(&store, &copy) < 2000, "nothing has changed");
}

#[test]
fn an_increment_that_is_cut_or_changed_leaves_a_copy_as_it_was() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe_many((0..20).map(|n| page(&url(n), n % 14)).collect()).unwrap();
    let copy = standby(&store, other.path());
    store.observe_many((10..30).map(|n| page(&url(n), n % 9)).collect()).unwrap();
    store.forget(&url(3)).unwrap();
    let increment = copied(&store, Some(&copy.position(None).unwrap()), None);
    let (before, asked) = (rows(&copy), copy.check(&page("http://b", 3)).unwrap());
    for cut in (0..increment.len()).step_by(97) {
        let refused = copy.apply_increment(&mut &increment[..cut], None);
        assert!(matches!(refused, Err(StoreError::Copy { .. })), "{cut}: {refused:?}");
    }
    for at in (0..increment.len()).step_by(61) {
        let mut damaged = increment.clone();
        damaged[at] ^= 4;
        copy.apply_increment(&mut damaged.as_slice(), None).unwrap_err();
    }
    assert!(rows(&copy) == before);
    assert_eq!(copy.check(&page("http://b", 3)).unwrap(), asked);
    assert_clean(&copy);
    copy.apply_increment(&mut increment.as_slice(), None).unwrap();
    assert!(rows(&copy) == rows(&store));
}

#[test]
fn a_complete_copy_that_is_truncated_or_changed_is_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe_many((0..20).map(|n| page(&url(n), n % 14)).collect()).unwrap();
    let whole = copied(&store, None, None);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], &damaged] {
        received(other.path(), bytes, Role::Primary).unwrap_err();
        assert_eq!(other.path().read_dir().unwrap().count(), 0, "nothing is left");
    }
    received(other.path(), &whole, Role::Primary).unwrap();
    let again = received(other.path(), &whole, Role::Primary);
    assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
}

#[test]
fn a_standby_takes_no_writes_until_it_is_promoted_and_the_old_primary_none_after() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe(page(&url(1), 1)).unwrap();
    let copy = standby(&store, other.path());
    store.is_followed_by(Some(&copy.position(None).unwrap())).unwrap();
    store.observe(page(&url(2), 2)).unwrap();
    catch_up(&store, &copy);
    let refused = copy.observe(page(&url(3), 3)).unwrap_err();
    assert!(matches!(refused, StoreError::NotPrimary { role: Role::Standby, .. }), "{refused}");
    drop(copy);
    let copy = open(other.path());
    assert_eq!(copy.role(), Role::Standby);
    assert!(copy.as_of().unwrap().is_some());
    // Acknowledged, and lost, because it was not in any increment.
    store.observe(page(&url(4), 4)).unwrap();
    drop(store);
    let shared = copy.stats().unwrap().last_event;
    copy.promote().unwrap();
    copy.observe(page(&url(3), 3)).unwrap();

    let old = open(folder.path());
    assert_eq!(old.role(), Role::Waiting);
    let refused = old.observe(page(&url(5), 5)).unwrap_err();
    assert!(matches!(refused, StoreError::NotPrimary { role: Role::Waiting, .. }), "{refused}");
    // It has a commit that the new primary never had, so it cannot follow.
    let refused = copy.increment(Some(&old.position(None).unwrap()), None).err();
    assert!(matches!(refused, Some(StoreError::OtherHistory { .. })), "{refused:?}");
    let lineage = copy.lineage().unwrap();
    let epoch = old.position(None).unwrap().epoch;
    let lost = old.stats().unwrap().last_event;
    assert_eq!(lineage.follows(epoch, shared), Ok(()));
    assert_eq!(lineage.follows(epoch, lost), Err(Some(shared)));
    // Promoted, it takes writes again, with its own history.
    old.promote().unwrap();
    old.observe(page(&url(5), 5)).unwrap();
    drop(old);
    assert_eq!(open(folder.path()).role(), Role::Primary, "nobody has followed since");
}

#[test]
fn an_old_primary_that_lost_nothing_follows_the_new_one() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe(page(&url(1), 1)).unwrap();
    let copy = standby(&store, other.path());
    copy.promote().unwrap();
    copy.observe(page(&url(2), 2)).unwrap();
    store.become_standby().unwrap();
    catch_up(&copy, &store);
    assert!(rows(&copy) == rows(&store));
    assert_eq!(store.lineage().unwrap(), copy.lineage().unwrap());
}

#[test]
fn a_copy_of_another_repository_is_refused() {
    let [a, b, c] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (store, other) = (create(a.path()), create(b.path()));
    store.observe(page(&url(1), 1)).unwrap();
    other.observe(page(&url(1), 1)).unwrap();
    let copy = standby(&store, c.path());
    let position = copy.position(None).unwrap();
    other.increment(None, None).unwrap();
    assert!(matches!(other.increment(Some(&position), None), Err(StoreError::OtherHistory { .. })));
    let whole = copied(&other, None, None);
    let refused = copy.apply_increment(&mut whole.as_slice(), None).unwrap_err();
    assert!(matches!(refused, StoreError::OtherHistory { .. }), "{refused}");
    // A snapshot that takes writes has its own history.
    let snapshot = c.path().join("snapshot");
    store.snapshot(&snapshot).unwrap();
    let snapshot = open(&snapshot);
    snapshot.observe(page(&url(2), 2)).unwrap();
    assert!(store.increment(Some(&snapshot.position(None).unwrap()), None).is_err());
}

fn back_up(store: &Repository, place: &PathBuf, name: &str, texts: Option<&Texts>) -> u64 {
    let taken = backups::take(place, name, false, &mut |after, out| {
        let increment = store.increment(after, texts).map_err(io::Error::other)?;
        increment.write(out).map(drop).map_err(io::Error::other)
    });
    taken.unwrap().bytes
}

#[test]
fn a_backup_made_under_a_clock_that_was_ahead_hides_no_later_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("backups");
    let clock = Arc::new(AtomicU64::new(1_800_000_000));
    let now = clock.clone();
    let store = create(&folder.path().join("seen"));
    let store = store.with_clock(move || now.load(Ordering::Relaxed));
    let mut expected = Vec::new();
    let times = [1_800_000_000, 253_402_300_799, 1_800_000_100, 0, 1_800_000_200];
    for (n, time) in (0..).zip(times) {
        clock.store(time, Ordering::Relaxed);
        store.observe(page(&url(n), n)).unwrap();
        expected.push(format!("b{n}"));
        back_up(&store, &place, &format!("b{n}"), None);
        let names: Vec<String> =
            backups::list(&place).unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, expected, "at {time}");
    }
    let restored = folder.path().join("restored");
    assert_eq!(backups::restore(&place, None, &restored).unwrap().0.name, "b4");
    assert!(open(&restored).page(&url(4)).unwrap().is_some());
}

#[test]
fn backups_restore_by_name_with_texts_and_only_whole_ones_count() {
    let folder = tempfile::tempdir().unwrap();
    let (store, place) = (create(&folder.path().join("seen")), folder.path().join("backups"));
    let texts = Texts::open(&folder.path().join("seen"), 1 << 20).unwrap();
    store.observe_many((0..300).map(|n| page(&url(n), n % 14)).collect()).unwrap();
    texts.put(&url(1), "one".into());
    texts.put(&url(2), "two".into());
    texts.remove("http://never");
    wait_for(|| texts.get(&url(2)).is_some());
    let first = back_up(&store, &place, "first", Some(&texts));
    store.observe(page(&url(7), 9)).unwrap();
    texts.put(&url(1), "one, changed".into());
    texts.remove(&url(2));
    wait_for(|| texts.get(&url(2)).is_none());
    let second = back_up(&store, &place, "second", Some(&texts));
    assert!(second * 20 < first, "{second} of {first}");
    let state = rows(&store);
    store.forget(&url(8)).unwrap();
    back_up(&store, &place, "third", Some(&texts));
    assert!(matches!(
        backups::take(&place, "third", false, &mut |_, _| Ok(())),
        Err(StoreError::Backup { .. })
    ));

    // The rest of an interrupted backup is not a backup.
    let cut = backups::take(&place, "cut", false, &mut |_, out| {
        out.write_all(b"HPXINCR1").and(Err(io::Error::other("the line went dead")))
    });
    assert!(cut.unwrap_err().to_string().contains("the line went dead"));
    let short = backups::take(&place, "short", false, &mut |after, out| {
        out.write_all(&copied(&store, after, None)[..100])
    });
    assert!(short.unwrap_err().to_string().contains("ends before its end"));
    std::fs::write(place.join("killed.hapax-backup.new"), b"HPXINCR1").unwrap();
    let names = |place: &PathBuf| -> Vec<String> {
        backups::list(place).unwrap().into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names(&place), ["first", "second", "third"]);

    let restored = folder.path().join("restored");
    let (backup, found) = backups::restore(&place, Some("second"), &restored).unwrap();
    assert_eq!((backup.name.as_str(), found.pages), ("second", 300));
    let copy = open(&restored);
    assert_eq!(copy.role(), Role::Primary);
    assert!(copy.page(&url(8)).unwrap().is_some());
    let text = Texts::open(&restored, 1 << 20).unwrap();
    assert_eq!(text.get(&url(1)).as_deref(), Some("one, changed"));
    assert_eq!(text.get(&url(2)), None);
    assert_same_but_for_epochs(&rows(&copy), &state);
    copy.observe(page(&url(999), 3)).unwrap();
    assert_clean(&copy);

    let latest = folder.path().join("latest");
    assert_eq!(backups::restore(&place, None, &latest).unwrap().0.name, "third");
    assert_eq!(open(&latest).page(&url(8)).unwrap(), None);

    // A chain with a missing or damaged part is refused.
    let unknown = backups::restore(&place, Some("fourth"), &folder.path().join("x")).unwrap_err();
    assert!(unknown.to_string().contains("first, second, third"), "{unknown}");
    let file = place.join("second.hapax-backup");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    backups::restore(&place, None, &folder.path().join("x")).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    let hole = backups::restore(&place, None, &folder.path().join("x")).unwrap_err();
    assert!(hole.to_string().contains("`third` builds on"), "{hole}");
    assert!(!folder.path().join("x").join("pages.redb").exists());
    backups::restore(&place, Some("first"), &folder.path().join("x")).unwrap();
}

/// Texts are written by their own thread.
fn wait_for(done: impl Fn() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("the texts were never written");
}

/// Ignores epochs, because a restored repository begins a new one.
fn assert_same_but_for_epochs(a: &[u8], b: &[u8]) {
    let without = |rows: &[u8]| {
        let at = rows.windows(7).position(|at| at == b"lineage").unwrap();
        let end = at + rows[at..].windows(3).position(|at| at == b"max").unwrap();
        [&rows[..at - 4], &rows[end..]].concat()
    };
    assert!(without(a) == without(b));
}

#[test]
fn when_the_log_does_not_reach_back_a_copy_gets_everything() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(folder.path());
    store.observe(page(&url(1), 1)).unwrap();
    let copy = standby(&store, other.path());
    store.observe(page(&url(2), 2)).unwrap();
    drop(store);
    // As by an older version: a commit that is not in the log.
    forget_log(folder.path());
    let store = open(folder.path());
    let increment = store.increment(Some(&copy.position(None).unwrap()), None).unwrap();
    assert_eq!(increment.header().from, None);
    let mut bytes = Vec::new();
    increment.write(&mut bytes).unwrap();
    assert_eq!(verify(&mut bytes.as_slice()).unwrap().header.from, None);
    copy.apply_increment(&mut bytes.as_slice(), None).unwrap();
    assert!(rows(&copy) == rows(&store));
    assert_clean(&copy);
}

fn forget_log(folder: &Path) {
    let db = redb::Database::open(folder.join(hapax_store::FILE)).unwrap();
    let writing = db.begin_write().unwrap();
    let changes = redb::TableDefinition::<u64, &[u8]>::new("changes");
    writing.open_table(changes).unwrap().retain(|_, _| false).unwrap();
    writing.commit().unwrap();
    drop(db);
    let _ = std::fs::remove_file(folder.join("pages.sums"));
}

#[test]
fn a_place_without_backups_is_said_to_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("none");
    assert_eq!(Place::names(&place).unwrap(), Vec::<String>::new());
    let restored = |name| backups::restore(&place, name, &folder.path().join("x")).unwrap_err();
    let refused = restored(None);
    assert!(refused.to_string().contains("there is no backup in this place"), "{refused}");
    for name in ["", ".hidden", "a/b", "a b"] {
        assert!(backups::take(&place, name, false, &mut |_, _| Ok(())).is_err(), "{name}");
    }
}
