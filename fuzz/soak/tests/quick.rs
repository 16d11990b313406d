//! A short soak test: a fixed number of lives with two seeds.

use std::process::Command;

#[test]
fn a_repository_under_faults_agrees_with_the_model() {
    for seed in ["1", "2"] {
        let output = Command::new(env!("CARGO_BIN_EXE_hapax-soak"))
            .args(["run", "--lives", "30", "--seed", seed])
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{why}");
        assert!(said.contains("none lost"), "{said}");
    }
}
