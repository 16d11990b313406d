//! The fuzz targets with libFuzzer: one program, whose target is named by `HAPAX_FUZZ_TARGET`.
//!
//! `cargo xtask fuzz` builds it with libFuzzer's counters, gives it seeds and a dictionary, and prints its progress.
//! A panic ends it, and the input is stored, except for panics of libraries that our crates catch and turn into
//! errors.
#![no_main]

use hapax_fuzz::Target;
use std::sync::LazyLock;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("HAPAX_FUZZ_TARGET").expect("HAPAX_FUZZ_TARGET names a target");
    hapax_fuzz::target(&name).expect("there is no such target")
});

fn end_on_panics_of_our_own() {
    hapax_fuzz::see_all_panics();
    std::panic::set_hook(Box::new(|panic| {
        if !hapax_fuzz::is_caught(panic) {
            eprintln!("{panic}\n{}", std::backtrace::Backtrace::force_capture());
            std::process::abort();
        }
    }));
}

libfuzzer_sys::fuzz_target!(
    init: end_on_panics_of_our_own(),
    |data: &[u8]| (TARGET.run)(data)
);
