//! Limits the C library's allocator to two pools, so that memory does not grow without bound.
//!
//! glibc gives every thread a pool, up to eight per core, and free memory of one pool serves no other. Pages of the
//! repository's file are read by one thread and dropped by another, so each pool grows to its maximum: at a million
//! pages memory grew as long as it was watched. The number can only be set before the process begins, so the
//! service starts itself once more under the same process id. Does nothing with another allocator, or where the
//! number is already set.

/// Starts this program again, with the same arguments and few pools; returns where that is not needed or not possible.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn start_again_with_few() {
    use std::os::unix::process::CommandExt;
    const VARIABLE: &str = "MALLOC_ARENA_MAX";
    const POOLS: &str = "2";
    if [VARIABLE, "GLIBC_TUNABLES"].iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // It returns only when it failed.
    let error = command.args(arguments).env(VARIABLE, POOLS).exec();
    tracing::warn!("memory may grow: cannot start again with {VARIABLE}={POOLS}: {error}");
}

/// Does nothing: the allocator of this system has no such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn start_again_with_few() {}
