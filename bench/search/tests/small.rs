//! The benchmark itself, on a graph so small that its answers are all that counts.

use std::process::Command;

#[test]
fn a_small_graph_is_ranked_and_checked() {
    let program = env!("CARGO_BIN_EXE_hapax-bench-search");
    let arguments = ["rank", "--pages", "500", "--links", "4000"];
    let done = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("500 pages, 4000 links"), "{done:?}");
}
