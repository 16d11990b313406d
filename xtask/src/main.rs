//! The project's own tooling.
fn main() {}
