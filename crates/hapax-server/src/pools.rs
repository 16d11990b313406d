//! Configures the C library's allocator, so that memory does not grow without bound.
//!
//! glibc gives threads separate pools, up to eight per core, and free memory of one pool serves no other: file
//! pages are read by one thread and dropped by another, so each pool grows to its maximum. Once a large block
//! was freed, blocks of that size come from the pools, too, and fragment them. With one pool, and large blocks
//! always allocated separately, memory stays constant. This can only be set before the process starts, so the
//! service re-executes itself under the same process id. Does nothing with another allocator, or if these
//! variables are set already.

/// Number of pools, minimum size of a separately allocated block, and free bytes at the end of a
/// pool to return to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "262144"),
    ("MALLOC_TRIM_THRESHOLD_", "1048576"),
];

/// Restarts this program with the same arguments and these settings; returns if that is unnecessary
/// or impossible.
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
    // Returns only on failure.
    let error = command.args(arguments).envs(SETTINGS).exec();
    tracing::warn!(
        "memory may grow: cannot start again with other settings of the allocator: {error}"
    );
}

/// Does nothing: this system's allocator has no such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn start_again() {}
