//! Invalid and damaged files of a repository.

use crate::line::{assert_clean, create, open, page, recipe};
use hapax::fingerprint::Recipe;
use hapax_store::{IndexOrigin, Repository, StoreError, check_folder};
use redb::TableDefinition;
use std::fs;
use std::path::Path;

const FILE: &str = "pages.redb";

fn filled(folder: &Path) {
    let store = create(folder);
    store.observe_many((0..14).map(|n| page(&format!("http://a/{n}"), n)).collect()).unwrap();
}

fn refused(folder: &Path) -> StoreError {
    Repository::open(folder, Some(&recipe())).unwrap_err()
}

#[test]
fn a_second_handle_is_refused_and_names_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&*folder.path().to_string_lossy()));
    drop(store);
    open(folder.path());
}

#[test]
fn creating_over_a_repository_is_refused_and_opening_none_is_too() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    filled(folder.path());
    let error = Repository::create(folder.path(), crate::line::settings()).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert_clean(&open(folder.path()));
}

#[test]
fn another_recipe_is_refused_with_both_names() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let other = Recipe::built_in("stream-words").unwrap().id(None);
    let error = Repository::open(folder.path(), Some(&other)).unwrap_err().to_string();
    assert!(error.contains("web-2") && error.contains("stream-words"), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let db = redb::Database::open(folder.path().join(FILE)).unwrap();
    let writing = db.begin_write().unwrap();
    const META: TableDefinition<'_, &str, &str> = TableDefinition::new("meta");
    writing.open_table(META).unwrap().insert("format", "6").unwrap();
    writing.commit().unwrap();
    drop(db);
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::Newer { found: 6, known: 5, .. }), "{error}");
    assert!(error.to_string().contains(FILE));
}

#[test]
fn foreign_empty_and_short_files_are_refused_by_name_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    let short = whole[..whole.len() / 2].to_vec();
    for bytes in [vec![], b"not a store, but some text".to_vec(), vec![7; 100_000], short] {
        fs::write(&file, &bytes).unwrap();
        let error = refused(folder.path());
        assert!(error.to_string().contains(FILE), "{error}");
    }
    let other = redb::Database::create(folder.path().join("other")).unwrap();
    drop(other);
    fs::copy(folder.path().join("other"), &file).unwrap();
    let error = refused(folder.path());
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    fs::write(&file, &whole).unwrap();
    assert_clean(&open(folder.path()));
}

#[test]
fn a_missing_or_damaged_index_is_rebuilt_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join("index.segment");
    let whole = fs::read(&file).unwrap();
    let mut damaged: Vec<Option<Vec<u8>>> = vec![None, Some(vec![]), Some(whole[..50].to_vec())];
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        damaged.push(Some(bytes));
    }
    for bytes in damaged {
        match bytes {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let store = open(folder.path());
        let IndexOrigin::Rebuilt { why } = store.index_origin() else {
            panic!("a damaged index was used");
        };
        assert!(why.contains("index.segment"), "{why}");
        assert_clean(&store);
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(*open(folder.path()).index_origin(), IndexOrigin::File);
}

#[test]
fn an_index_of_an_earlier_commit_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join("index.segment");
    let old = fs::read(&file).unwrap();
    open(folder.path()).observe(page("http://b", 3)).unwrap();
    fs::write(&file, &old).unwrap();
    let store = open(folder.path());
    assert!(matches!(store.index_origin(), IndexOrigin::Rebuilt { .. }));
    assert_clean(&store);
}

/// redb panics on some damage, even on closing; callers see an error or nothing.
#[test]
fn a_damaged_store_is_opened_asked_and_closed_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
    for at in used.iter().step_by(used.len() / 300 + 1) {
        for change in [0x04, 0xff] {
            let mut bytes = whole.clone();
            bytes[*at] ^= change;
            fs::write(&file, &bytes).unwrap();
            if let Ok(store) = Repository::open(folder.path(), None) {
                let _ = store.group("http://a/3");
                let _ = store.observe(page("http://b", 3));
                drop(store);
            }
        }
    }
}

/// A flipped bit is detected by the full check, or is in an unused part of the file.
#[test]
fn a_flipped_bit_in_the_store_never_passes_for_data() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join(FILE);
    let whole = fs::read(&file).unwrap();
    let healthy = check_folder(folder.path()).unwrap();
    assert!(healthy.is_clean());
    let used: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
    let mut noticed = 0;
    for at in used.iter().step_by(used.len() / 24 + 1) {
        let mut bytes = whole.clone();
        bytes[*at] ^= 4;
        fs::write(&file, &bytes).unwrap();
        match check_folder(folder.path()) {
            Ok(found) if found == healthy => {}
            Ok(found) => {
                assert!(!found.is_clean());
                noticed += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains(FILE), "{error}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > 0);
    fs::write(&file, &whole).unwrap();
    assert_clean(&open(folder.path()));
}
