//! What reaches standard error, seen from outside: each case runs in a child process.

use std::process::{Command, Output};

/// Names the case that the child runs.
const CASE: &str = "HAPAX_GUARD_CASE";

/// Runs the test `name` again, as a child that executes its case.
fn child(name: &str) -> Output {
    let program = std::env::current_exe().expect("the test knows its program");
    let arguments = ["--exact", name, "--nocapture", "--test-threads", "1"];
    Command::new(program).args(arguments).env(CASE, name).output().expect("it can be started")
}

fn is_child(name: &str) -> bool {
    std::env::var(CASE).is_ok_and(|case| case == name)
}

#[test]
fn a_caught_panic_is_an_error_and_prints_nothing() {
    const NAME: &str = "a_caught_panic_is_an_error_and_prints_nothing";
    if is_child(NAME) {
        assert_eq!(hapax_guard::guarded(|| 7), Ok(7));
        let error = hapax_guard::guarded(|| -> u8 { panic!("line one\nline {}", 2) });
        assert_eq!(error, Err("line one line 2".to_owned()));
        let inner = hapax_guard::guarded(|| {
            assert!(hapax_guard::guarded(|| panic!("inner")).is_err());
            panic!("outer")
        });
        assert_eq!(inner, Err::<(), _>("outer".to_owned()));
        return;
    }
    let output = child(NAME);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
}

#[test]
fn any_other_panic_still_prints_its_line() {
    const NAME: &str = "any_other_panic_still_prints_its_line";
    if is_child(NAME) {
        let _ = hapax_guard::guarded(|| panic!("caught"));
        let other = std::thread::spawn(|| panic!("on another thread"));
        let _ = hapax_guard::guarded(|| other.join());
        panic!("on this thread");
    }
    let output = child(NAME);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{errors}");
    assert!(!errors.contains("caught"), "{errors}");
    assert!(errors.contains("on another thread") && errors.contains("on this thread"), "{errors}");
}

#[test]
fn a_thread_whose_library_catches_its_panics_prints_nothing() {
    const NAME: &str = "a_thread_whose_library_catches_its_panics_prints_nothing";
    if is_child(NAME) {
        hapax_guard::silence_threads("merge_");
        hapax_guard::silence_threads("merge_");
        for (name, text) in [("merge_1", "caught elsewhere"), ("emerge_1", "not caught")] {
            let thread = std::thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || panic!("{text}")).expect("it can be started");
            assert!(thread.join().is_err());
        }
        return;
    }
    let output = child(NAME);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("caught elsewhere") && errors.contains("not caught"), "{errors}");
}
