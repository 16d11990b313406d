//! Copies the queue of `hapax-store` and replaces its locks with those of the scheduler, so that the store needs no
//! code for this test.

use std::path::Path;
use std::{env, fs};

const LOCKS: &str = "use std::sync::{";

fn main() {
    let source = Path::new("../../crates/hapax-store/src/commit.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    let text = fs::read_to_string(source).expect("the queue's source is there");
    let (before, rest) = text.split_once(LOCKS).expect("the queue's locks are named in one line");
    let (names, after) = rest.split_once("};").expect("the line ends");
    // The value of a poisoned lock has the same type for both.
    let locks: Vec<&str> = names.split(", ").filter(|name| *name != "PoisonError").collect();
    let locks =
        format!("use shuttle::sync::{{{}}};\nuse std::sync::PoisonError;", locks.join(", "));
    // The copy becomes part of another file, where an inner doc comment is invalid.
    let before: Vec<&str> = before.lines().filter(|line| !line.starts_with("//!")).collect();
    let text = [&before.join("\n"), "\n", &locks, after].concat();
    let folder = env::var_os("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("commit.rs"), text).expect("it can be written");
}
