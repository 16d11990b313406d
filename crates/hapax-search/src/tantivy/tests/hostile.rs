//! Untrusted and damaged indexes.
//!
//! Nothing outside the folder is touched, and nothing panics, whatever the files contain. Files with valid
//! checksums are tested in `forged`.

use std::fs;
use std::path::Path;

use super::super::*;
use super::{build, few, options};

fn managed_with(folder: &Path, path: &str) {
    let list = folder.join(".managed.json");
    let mut names: Vec<String> = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    names.push(path.to_owned());
    fs::write(&list, serde_json::to_vec(&names).unwrap()).unwrap();
}

#[test]
fn an_index_that_lists_files_elsewhere_deletes_none_of_them() {
    let place = tempfile::tempdir().unwrap();
    drop(build(&place, &few()));
    let index = place.path().join("index");
    let victim = place.path().join("precious");
    fs::write(&victim, "mine").unwrap();
    let sound = fs::read(index.join(".managed.json")).unwrap();
    let absolute = victim.to_str().unwrap();
    for path in [absolute, "../precious", "./../precious", "a/../../precious", ""] {
        managed_with(&index, path);
        let refused = Writer::open(&index, options()).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{path}: {refused}");
        assert!(refused.to_string().contains(".managed.json"), "{refused}");
        assert!(matches!(TantivyIndex::open(&index), Err(Error::Damaged { .. })), "{path}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        fs::write(index.join(".managed.json"), &sound).unwrap();
    }
    // A list by Tantivy is accepted, even with missing and foreign files.
    managed_with(&index, "gone.idx");
    fs::write(index.join("unused.idx"), "x").unwrap();
    managed_with(&index, "unused.idx");
    Writer::open(&index, options()).unwrap().compact().unwrap();
    assert!(!index.join("unused.idx").exists());
    assert!(victim.exists());
}

#[cfg(unix)]
#[test]
fn links_in_place_of_locks_and_lists_are_not_followed() {
    let place = tempfile::tempdir().unwrap();
    drop(build(&place, &few()));
    let index = place.path().join("index");
    let elsewhere = place.path().join("elsewhere");
    for name in [".tantivy-writer.lock", ".tantivy-meta.lock", ".managed.json"] {
        let path = index.join(name);
        let kept = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(Writer::open(&index, options()), Err(Error::Damaged { .. })), "{name}");
        assert!(!elsewhere.exists(), "{name}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
    Writer::open(&index, options()).unwrap();
}

#[test]
fn a_commit_can_only_refer_to_a_list_in_its_folder() {
    let place = tempfile::tempdir().unwrap();
    let mut made = build(&place, &few());
    made.remove(&["http://a.test/1".to_owned()], "job").unwrap();
    let index = place.path().join("index");
    let meta = fs::read_to_string(index.join("meta.json")).unwrap();
    let at = meta.find("status-").unwrap();
    let name = &meta[at..at + meta[at..].find(".json").unwrap() + ".json".len()];
    // The same bytes, so that the checksum is valid.
    for other in ["../status-elsewhere.json", "elsewhere.json", "status-/../../elsewhere.json"] {
        let elsewhere = index.join(other);
        if elsewhere.parent().is_some_and(Path::exists) {
            fs::copy(index.join(name), &elsewhere).unwrap();
        }
        fs::write(index.join("meta.json"), meta.replace(name, other)).unwrap();
        let refused = TantivyIndex::open(&index).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{other}: {refused}");
        assert!(matches!(Writer::open(&index, options()), Err(Error::Damaged { .. })), "{other}");
    }
    fs::write(index.join("meta.json"), &meta).unwrap();
    TantivyIndex::open(&index).unwrap();
    #[cfg(unix)]
    {
        fs::rename(index.join(name), place.path().join("list")).unwrap();
        std::os::unix::fs::symlink(place.path().join("list"), index.join(name)).unwrap();
        assert!(matches!(TantivyIndex::open(&index), Err(Error::Damaged { .. })));
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_not_called_damaged() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    drop(build(&place, &few()));
    let index = place.path().join("index");
    for name in ["meta.json", ".managed.json"] {
        let path = index.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&path).is_ok() {
            return; // The superuser reads everything.
        }
        let refused = TantivyIndex::open(&index).unwrap_err();
        assert!(matches!(refused, Error::Unreadable { .. }), "{name}: {refused}");
        assert!(refused.to_string().contains(name), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

#[test]
fn errors_of_the_system_are_extracted_from_those_of_the_library() {
    use ::tantivy::TantivyError;
    use ::tantivy::directory::error::{LockError, OpenReadError};
    use std::io;

    let denied = || io::Error::from_raw_os_error(13);
    let of = |error: TantivyError| Error::tantivy(Path::new("index"), error);
    let read = OpenReadError::wrap_io_error(denied(), "meta.json".into());
    let Error::Unreadable { path, source } = of(read.into()) else { panic!("not unreadable") };
    assert_eq!((path.as_path(), source.raw_os_error()), (Path::new("index/meta.json"), Some(13)));
    let cut = OpenReadError::wrap_io_error(io::ErrorKind::UnexpectedEof.into(), "a.idx".into());
    assert!(matches!(of(cut.into()), Error::Damaged { .. }));
    let lock = |error| of(TantivyError::LockFailure(error, None));
    assert!(matches!(lock(LockError::wrap_io_error(denied())), Error::Io { .. }));
    assert!(matches!(lock(LockError::LockBusy), Error::Locked { .. }));
}

/// With any change in any file, an index returns results or an error.
#[test]
fn a_damaged_index_gives_results_or_an_error_and_never_a_panic() {
    let place = tempfile::tempdir().unwrap();
    let mut made = build(&place, &few());
    made.remove(&["http://a.test/1".to_owned()], "job").unwrap();
    drop(made);
    let index = place.path().join("index");
    let mut writer = Writer::open(&index, WriterOptions::smallest()).unwrap();
    writer.put(&few()[1]).unwrap();
    writer.finish().unwrap();
    let mut files: Vec<_> =
        fs::read_dir(&index).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let (mut tried, mut refused) = (0, 0);
    for file in files {
        let sound = fs::read(&file).unwrap();
        let step = (sound.len() / 60).max(1);
        for at in (0..sound.len()).step_by(step) {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] ^= change;
                replace(&file, &bytes);
                tried += 1;
                refused += usize::from(everything(&index).is_err());
            }
        }
        for cut in [0, sound.len() / 2, sound.len().saturating_sub(1)] {
            replace(&file, &sound[..cut]);
            tried += 1;
            refused += usize::from(everything(&index).is_err());
        }
        replace(&file, &sound);
    }
    everything(&index).unwrap();
    assert!(refused * 10 > tried, "{refused} of {tried} changes");
}

/// Files are memory-mapped, so a changed file must replace the old one.
pub(super) fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

pub(super) fn everything(path: &Path) -> Result<(), Error> {
    let index = TantivyIndex::open(path)?;
    for query in ["cheap flights the", "\"cheap flights\" site:a.test", "数据库 -猫 lang:en"] {
        let (found, _) = index.scored(query, 10, &|_| false)?;
        let ids: Vec<DocumentId> = found.iter().map(|result| result.id).collect();
        index.fingerprints(&ids)?;
        index.facts(&ids)?;
        index.excerpts(&ids)?;
    }
    Ok(())
}
