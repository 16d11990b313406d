//! A full disk: a child process runs under a limit on file sizes, so that its writes fail as on a full disk.

use crate::line::{assert_clean, create, empty, open, page};
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "HAPAX_STORE_FULL_FOLDER";

fn long_url(n: u32) -> String {
    format!("http://a/{n}/{}", "x".repeat(8000))
}

#[test]
#[ignore = "what the child of the test below does"]
fn child_of_the_full_disk_test() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = open(Path::new(&folder));
    for n in 0..100_000 {
        match store.observe(empty(&long_url(n))) {
            Ok(_) => println!("\nack {n}"),
            Err(error) => {
                println!("\nfailed {error}");
                let again = store.observe(empty(&long_url(n + 1))).unwrap_err();
                println!("\nagain {again}");
                // All acknowledged data can be read.
                for known in 0..n {
                    assert!(store.page(&long_url(known)).unwrap().is_some(), "{known}");
                }
                println!("\nread {n}");
                return;
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path()).observe(page("http://a", 3)).unwrap();
    // In blocks of 512 or 1024 bytes, depending on the shell.
    let limited = "trap '' XFSZ; ulimit -f 16384; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "full_disk::child_of_the_full_disk_test", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let lines = |start: &'static str| said.lines().filter_map(move |line| line.strip_prefix(start));
    for start in ["failed ", "again "] {
        let error = lines(start).next().unwrap_or_else(|| panic!("{said}"));
        assert!(error.contains("pages.redb"), "{error}");
    }
    let acknowledged: Vec<u32> = lines("ack ").map(|n| n.parse().unwrap()).collect();
    assert!(!acknowledged.is_empty());
    let read: Vec<usize> = lines("read ").map(|n| n.parse().unwrap()).collect();
    assert_eq!(read, [acknowledged.len()], "{said}");

    let store = open(folder.path());
    for n in &acknowledged {
        assert!(store.page(&long_url(*n)).unwrap().is_some(), "page {n}");
    }
    assert_clean(&store);
    store.observe(page("http://c", 4)).unwrap();
    assert_eq!(store.group("http://a").unwrap().unwrap().pages.len(), 2);
}
