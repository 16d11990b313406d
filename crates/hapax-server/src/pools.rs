//! Sets up the C library's allocator, so that memory does not grow without bound.
//!
//! glibc gives every thread a pool, up to eight per core, and free memory of one pool serves no other: pages of the repository's file are
//! read by one thread and dropped by another, so each pool grows to its maximum. Once a large block was freed, blocks of that size
//! come from the pools, too, and small ones settle where it was. With one pool, and large blocks always apart from it, memory stays
//! where it is. This can only be set before the process begins, so the service starts itself once more under the same process id.
//! Does nothing with another allocator, or where these are already set.

/// What is set: pools, bytes from which on a block is large, free bytes at the end of a pool that are given back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "1048576"),
];

/// Starts this program again, with the same arguments and these settings; returns where that is not needed or not possible.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn start_again() {
    use std::os::unix::process::CommandExt;
    let names = SETTINGS.iter().map(|(name, _)| *name);
    if names.chain(["GLIBC_TUNABLES"]).any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // It returns only when it failed.
    let error = command.args(arguments).envs(SETTINGS).exec();
    tracing::warn!(
        "memory may grow: cannot start again with other settings of the allocator: {error}"
    );
}

/// Does nothing: the allocator of this system has no such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn start_again() {}
