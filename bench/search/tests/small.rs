//! Runs the benchmark on a small graph to check its answers.

use std::process::Command;

#[test]
fn a_small_graph_is_ranked_and_checked() {
    let program = env!("CARGO_BIN_EXE_hapax-bench-search");
    let arguments = ["rank", "--pages", "500", "--links", "4000"];
    let done = Command::new(program).args(arguments).output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && output.contains("500 pages, 4000 links"), "{done:?}");
}
