//! Every single kind of broken data in the tables is detected by the check, and repaired if it follows from
//! other data, or else refused.

use crate::line::{assert_clean, create, empty, open, page};
use hapax_store::{Repair, Repository, StoreError, Unreadable, check_folder, repair_folder};
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};
use std::path::Path;

const PAGES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("pages");
const URLS: TableDefinition<'_, &str, u32> = TableDefinition::new("urls");
const NAMES: TableDefinition<'_, u32, &str> = TableDefinition::new("names");
const PLACES: TableDefinition<'_, u32, &[u8; 11]> = TableDefinition::new("places");
const GROUPS: TableDefinition<'_, u32, &[u8; 19]> = TableDefinition::new("groups");
const MEMBERS: TableDefinition<'_, u64, ()> = TableDefinition::new("members");
const SOURCES: TableDefinition<'_, u64, ()> = TableDefinition::new("sources");
const EVENTS: TableDefinition<'_, u64, &[u8; 21]> = TableDefinition::new("timed events");
const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");

const CONTENTS: TableDefinition<'_, &[u8; 28], ()> = TableDefinition::new("contents");

/// Three copies, two neighbours, an empty page, a redirect to a page and one to an unknown page, a
/// cycle.
fn filled(folder: &Path) {
    let store = create(folder);
    for (n, content) in [5, 5, 5, 9, 10].into_iter().enumerate() {
        store.observe(page(&format!("http://a/{n}"), content)).unwrap();
    }
    store.observe(empty("http://a/empty")).unwrap();
    store.redirect("http://a/moved", "http://a/0", None).unwrap();
    store.redirect("http://a/lost", "http://a/unseen", None).unwrap();
    store.redirect("http://a/round", "http://a/about", None).unwrap();
    store.redirect("http://a/about", "http://a/round", None).unwrap();
}

fn number(store: &Repository, url: &str) -> u32 {
    store.page(url).unwrap().unwrap().id.0
}

fn everything(store: &Repository) -> Vec<String> {
    let urls = ["0", "1", "2", "3", "4", "empty", "moved", "lost", "unseen", "round", "about"];
    let mut said = Vec::new();
    for url in urls.map(|name| format!("http://a/{name}")) {
        let group = store.group(&url).unwrap();
        let pages = group.map(|group| {
            let mut urls: Vec<String> = group.pages.into_iter().map(|(_, url)| url).collect();
            urls.sort();
            (group.winner_url, group.record.members, group.record.failing, urls)
        });
        let contents = store.page(&url).unwrap().map(|page| page.comparable.is_some());
        said.push(format!("{url} {contents:?} {pages:?}"));
    }
    said
}

fn broken(breaking: impl FnOnce(&WriteTransaction, &dyn Fn(&str) -> u32)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let store = open(folder.path());
    let names = ["0", "1", "2", "3", "4", "empty", "moved", "lost", "unseen", "round", "about"];
    let numbers: Vec<(String, u32)> =
        names.map(|name| (name.to_owned(), number(&store, &format!("http://a/{name}")))).into();
    drop(store);
    let db = Database::open(folder.path().join("pages.redb")).unwrap();
    let writing = db.begin_write().unwrap();
    let of = |name: &str| numbers.iter().find(|(known, _)| known == name).unwrap().1;
    breaking(&writing, &of);
    writing.commit().unwrap();
    folder
}

/// Breaks, checks, repairs, and compares with an intact repository.
fn mends(what: &str, breaking: impl FnOnce(&WriteTransaction, &dyn Fn(&str) -> u32)) -> Repair {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let expected = everything(&open(whole.path()));

    let folder = broken(breaking);
    let noticed = check_folder(folder.path()).map_or(true, |found| !found.is_clean());
    assert!(noticed, "{what}: the check says nothing");
    let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
    assert!(!repair.is_refused(), "{what}: {repair:#?}");
    assert!(repair.mended.count > 0, "{what}: {repair:#?}");
    assert!(repair.check.as_ref().unwrap().is_clean(), "{what}: {repair:#?}");
    let store = open(folder.path());
    assert_clean(&store);
    assert_eq!(everything(&store), expected, "{what}");
    store.observe(page("http://b", 5)).unwrap();
    drop(store);
    let again = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
    assert_eq!(again.mended.count, 0, "{what}, a second time: {again:#?}");
    repair
}

#[test]
fn a_sound_repository_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let before = everything(&open(folder.path()));
    let events = open(folder.path()).events(0, 1000).unwrap();
    let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
    assert_eq!((repair.mended.count, repair.lost.count), (0, 0), "{repair:#?}");
    assert_eq!(everything(&open(folder.path())), before);
    assert_eq!(open(folder.path()).events(0, 1000).unwrap(), events);
}

#[test]
fn addresses_come_from_each_other() {
    mends("no url", |tables, _| {
        tables.open_table(URLS).unwrap().remove("http://a/1").unwrap();
    });
    mends("no name", |tables, of| {
        tables.open_table(NAMES).unwrap().remove(of("1")).unwrap();
    });
    mends("a url leads to another page", |tables, of| {
        tables.open_table(URLS).unwrap().insert("http://a/1", of("3")).unwrap();
    });
    mends("a url of nobody", |tables, _| {
        tables.open_table(URLS).unwrap().insert("http://a/nobody", 4000).unwrap();
    });
}

#[test]
fn places_and_lists_come_from_each_other() {
    for name in ["1", "3", "empty", "moved", "lost", "unseen"] {
        mends(&format!("no place of {name}"), |tables, of| {
            tables.open_table(PLACES).unwrap().remove(of(name)).unwrap();
        });
    }
    mends("a place of no kind", |tables, of| {
        tables.open_table(PLACES).unwrap().insert(of("1"), &[77; 11]).unwrap();
    });
    mends("a place of a page without content that says otherwise", |tables, of| {
        tables.open_table(PLACES).unwrap().insert(of("empty"), &[0; 11]).unwrap();
    });
    mends("a member that is not listed", |tables, of| {
        let page = u64::from(of("1"));
        let mut members = tables.open_table(MEMBERS).unwrap();
        members.retain(|pair, ()| pair & 0xffff_ffff != page).unwrap();
    });
    mends("a member that is listed twice", |tables, of| {
        let page = u64::from(of("1"));
        tables.open_table(MEMBERS).unwrap().insert(77 << 32 | page, ()).unwrap();
    });
    mends("a redirect that is not listed", |tables, _| {
        tables.open_table(SOURCES).unwrap().retain(|_, ()| false).unwrap();
    });
    mends("a cycle without an end", |tables, of| {
        let mut places = tables.open_table(PLACES).unwrap();
        for (from, to) in [("round", "about"), ("about", "round")] {
            let mut bytes = [0; 11];
            bytes[0] = 6;
            bytes[1..5].copy_from_slice(&of(to).to_le_bytes());
            places.insert(of(from), &bytes).unwrap();
        }
    });
}

fn change_group(tables: &WriteTransaction, change: impl Fn(&mut [u8; 19])) {
    let mut groups = tables.open_table(GROUPS).unwrap();
    let largest = |(id, bytes): (u32, [u8; 19])| (bytes[4], id, bytes);
    let rows = groups.iter().unwrap().map(|row| row.unwrap());
    let rows = rows.map(|(id, bytes)| (id.value(), *bytes.value()));
    let (_, id, mut bytes) = rows.map(largest).max().unwrap();
    change(&mut bytes);
    groups.insert(id, &bytes).unwrap();
}

#[test]
fn groups_come_from_their_members() {
    mends("no group", |tables, _| {
        tables.open_table(GROUPS).unwrap().retain(|id, _| id != 0).unwrap();
    });
    mends("a group of nobody", |tables, _| {
        tables.open_table(GROUPS).unwrap().insert(4000, &[1; 19]).unwrap();
    });
    mends("a wrong count", |tables, _| change_group(tables, |bytes| bytes[4] += 1));
    mends("a wrong count of checks", |tables, _| change_group(tables, |bytes| bytes[8] -= 1));
    mends("a winner from elsewhere", |tables, of| {
        change_group(tables, |bytes| bytes[..4].copy_from_slice(&of("3").to_le_bytes()));
    });
    mends("a worse winner", |tables, of| {
        change_group(tables, |bytes| bytes[..4].copy_from_slice(&of("2").to_le_bytes()));
    });
    mends("a wrong radius", |tables, of| {
        let (mut groups, three) = (tables.open_table(GROUPS).unwrap(), of("3"));
        let row = groups.iter().unwrap().map(|row| row.unwrap());
        let mut rows = row.map(|(id, bytes)| (id.value(), *bytes.value()));
        let (id, mut bytes) = rows.find(|(_, bytes)| bytes[..4] == three.to_le_bytes()).unwrap();
        drop(rows);
        bytes[18] = 0;
        groups.insert(id, &bytes).unwrap();
    });
    mends("a false check", |tables, of| {
        let mut places = tables.open_table(PLACES).unwrap();
        let mut bytes = *places.get(of("2")).unwrap().unwrap().value();
        assert_eq!(bytes[0], 1, "it matches its winner");
        bytes[0] = 2;
        places.insert(of("2"), &bytes).unwrap();
    });
}

#[test]
fn counters_come_from_what_is_used() {
    for name in ["next page", "next group", "next recorded", "last event"] {
        mends(name, |tables, _| {
            tables.open_table(COUNTERS).unwrap().insert(name, 1).unwrap();
        });
    }
    mends("no counters", |tables, _| {
        tables.open_table(COUNTERS).unwrap().retain(|_, _| false).unwrap();
    });
}

#[test]
fn events_that_contradict_are_dropped_and_their_numbers_go_on() {
    type Breaking = fn(&WriteTransaction);
    let breakings: [(&str, Breaking); 3] = [
        ("a gap", |tables| drop(tables.open_table(EVENTS).unwrap().remove(3).unwrap())),
        ("no kind", |tables| drop(tables.open_table(EVENTS).unwrap().insert(3, &[9; 21]).unwrap())),
        ("another story", |tables| {
            let mut bytes = [0; 21];
            bytes[0] = 5;
            tables.open_table(EVENTS).unwrap().insert(1, &bytes).unwrap();
        }),
    ];
    for (what, breaking) in breakings {
        let folder = broken(|tables, _| breaking(tables));
        let last = {
            let db = Database::open(folder.path().join("pages.redb")).unwrap();
            let reading = redb::ReadableDatabase::begin_read(&db).unwrap();
            let events = reading.open_table(EVENTS).unwrap();
            let (last, _) = events.last().unwrap().unwrap();
            last.value()
        };
        let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
        assert!(
            repair.mended.details.iter().any(|detail| detail.contains("events")),
            "{repair:#?}"
        );
        assert!(repair.check.unwrap().is_clean(), "{what}");
        let store = open(folder.path());
        assert!(store.events(0, 10).unwrap().is_empty());
        store.observe(page("http://b", 1)).unwrap();
        assert_eq!(store.events(0, 10).unwrap()[0].sequence, last + 1, "{what}");
    }
}

#[test]
fn records_that_nothing_leads_to_are_removed() {
    let folder = broken(|tables, of| {
        tables.open_table(URLS).unwrap().remove("http://a/1").unwrap();
        tables.open_table(NAMES).unwrap().remove(of("1")).unwrap();
    });
    let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
    assert!(repair.check.unwrap().is_clean());
    let store = open(folder.path());
    assert_eq!(store.group("http://a/0").unwrap().unwrap().record.members, 2);
    assert!(store.observe(page("http://a/1", 5)).unwrap().verdict.removable());
    assert_clean(&store);
}

#[test]
fn data_that_cannot_be_derived_is_reported_and_dropped_only_on_request() {
    let breakings: [fn(&WriteTransaction, u32); 2] = [
        |tables, page| {
            let mut pages = tables.open_table(PAGES).unwrap();
            let mut bytes = pages.get(page).unwrap().unwrap().value().to_vec();
            bytes[70] ^= 16;
            pages.insert(page, bytes.as_slice()).unwrap();
        },
        |tables, page| drop(tables.open_table(PAGES).unwrap().remove(page).unwrap()),
    ];
    for breaking in breakings {
        let folder = broken(|tables, of| {
            breaking(tables, of("1"));
            // Repairable, but nothing is repaired if anything is refused.
            tables.open_table(URLS).unwrap().remove("http://a/3").unwrap();
        });
        let found = check_folder(folder.path());
        assert!(found.map_or(true, |found| !found.is_clean()));
        let file = folder.path().join("pages.redb");
        let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
        assert!(repair.is_refused());
        assert_eq!((repair.mended.count, repair.lost.count), (0, 1), "{repair:#?}");
        assert!(repair.lost.details[0].contains("http://a/1"), "{repair:#?}");
        let db = Database::open(&file).unwrap();
        let reading = redb::ReadableDatabase::begin_read(&db).unwrap();
        assert!(reading.open_table(URLS).unwrap().get("http://a/3").unwrap().is_none());
        drop((reading, db));

        let repair = repair_folder(folder.path(), Unreadable::Forget).unwrap();
        assert!(repair.check.as_ref().unwrap().is_clean(), "{repair:#?}");
        let store = open(folder.path());
        assert_eq!(store.page("http://a/1").unwrap(), None);
        assert!(store.page("http://a/3").unwrap().is_some());
        assert_eq!(store.group("http://a/0").unwrap().unwrap().record.members, 2);
        store.observe(page("http://a/1", 5)).unwrap();
        assert_eq!(store.group("http://a/0").unwrap().unwrap().record.members, 3);
        assert_clean(&store);
    }
}

/// redb's own tables list the free pages of the file; wrong ones aborted the process on closing.
#[test]
fn damaged_bookkeeping_is_refused_before_use_and_repaired() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let expected = everything(&open(whole.path()));
    let sound = std::fs::read(whole.path().join("pages.redb")).unwrap();
    let (mut refused, mut mended) = (0, 0);
    // A bit in every used part of the file.
    let used = (512..sound.len()).step_by(97).filter(|&at| sound[at] != 0);
    for at in used {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        std::fs::write(folder.path().join("pages.redb"), bytes).unwrap();
        let Err(error) = Repository::open(folder.path(), None) else { continue };
        if !matches!(error, StoreError::Bookkeeping { .. }) {
            continue;
        }
        assert!(error.to_string().contains("`hapax inspect --repair`"), "{error}");
        refused += 1;
        assert!(check_folder(folder.path()).is_err(), "{at}");
        let repair = repair_folder(folder.path(), Unreadable::Refuse).unwrap();
        assert!(repair.check.as_ref().is_some_and(|check| check.is_clean()), "{at}: {repair:#?}");
        assert!(repair.mended.details.iter().any(|it| it.contains("bookkeeping")), "{repair:#?}");
        assert_eq!(everything(&open(folder.path())), expected, "{at}");
        mended += 1;
    }
    assert!(refused > 3 && mended == refused, "{mended} of {refused}");
}

#[test]
fn nothing_is_changed_where_bookkeeping_and_settings_are_damaged() {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let sound = std::fs::read(whole.path().join("pages.redb")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.redb");
    let opens_with = |places: &[usize]| {
        let mut bytes = sound.clone();
        places.iter().for_each(|&at| bytes[at] ^= 0x10);
        std::fs::write(&file, bytes).unwrap();
        Repository::open(folder.path(), None).map(drop)
    };
    let used: Vec<usize> = (512..sound.len()).step_by(97).filter(|&at| sound[at] != 0).collect();
    let own = |at: &usize| matches!(opens_with(&[*at]), Err(StoreError::Bookkeeping { .. }));
    let (own, others): (Vec<usize>, Vec<usize>) = used.into_iter().partition(own);
    let both: Vec<usize> = own.into_iter().take(1).chain(others).collect();
    assert!(both.len() > 3);
    assert!(opens_with(&both).is_err());
    let before = std::fs::read(&file).unwrap();
    let error = repair_folder(folder.path(), Unreadable::Refuse).unwrap_err().to_string();
    assert!(error.contains("its settings or its key cannot be read"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is changed");
}

#[test]
fn rows_of_contents_come_from_the_records() {
    mends("rows by which pages are found by their contents", |writing, _| {
        let mut table = writing.open_table(CONTENTS).unwrap();
        let first = *table.first().unwrap().unwrap().0.value();
        table.remove(&first).unwrap();
        table.insert(&[7; 28], ()).unwrap();
    });
}
