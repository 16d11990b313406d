//! Takes the queue of `hapax-store` as it is, with its locks exchanged for those of the scheduler.
//!
//! So nothing in the store knows that it is tested like this, and nothing else is tested.

use std::path::Path;
use std::{env, fs};

const LOCKS: &str = "use std::sync::{";

fn main() {
    let source = Path::new("../../crates/hapax-store/src/commit.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    let text = fs::read_to_string(source).expect("the queue's source is there");
    let (before, rest) = text.split_once(LOCKS).expect("the queue's locks are named in one line");
    let (names, after) = rest.split_once("};").expect("the line ends");
    // What a poisoned lock gives is the same for both.
    let locks: Vec<&str> = names.split(", ").filter(|name| *name != "PoisonError").collect();
    let locks =
        format!("use shuttle::sync::{{{}}};\nuse std::sync::PoisonError;", locks.join(", "));
    // A header belongs at the beginning of a file, and this becomes part of one.
    let before: Vec<&str> = before.lines().filter(|line| !line.starts_with("//!")).collect();
    let text = [&before.join("\n"), "\n", &locks, after].concat();
    let folder = env::var_os("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("commit.rs"), text).expect("it can be written");
}
