//! The `hapax` program.
fn main() {}
