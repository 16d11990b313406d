//! Takes the queue of `hapax-store` as it is, with its locks exchanged for those of the scheduler.
//!
//! So nothing in the store knows that it is tested like this, and nothing else is tested.

use std::path::Path;
use std::{env, fs};

fn main() {
    let source = Path::new("../../crates/hapax-store/src/commit.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    let text = fs::read_to_string(source).expect("the queue's source is there");
    assert!(text.contains("use std::sync::"), "the queue has no locks any more");
    let kept: Vec<String> = text
        .lines()
        // A header belongs at the beginning of a file, and this becomes part of one.
        .filter(|line| !line.starts_with("//!"))
        .map(|line| line.replace("std::sync::", "shuttle::sync::"))
        .collect();
    let folder = env::var_os("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("commit.rs"), kept.join("\n")).expect("it can be written");
}
