//! Few pools of memory, so that what the process has stays what it uses.
//!
//! The C library's allocator gives every thread a pool, up to eight for each core, and memory that one pool has free serves
//! no other. Pages of the repository's file are read by whichever thread needs them and dropped by another, so each pool
//! grows to the most it ever held: at a million pages memory grew for as long as it was watched. With two pools it does
//! not. The number can only be set before the process begins: it starts itself once more, under the same number, as soon as it
//! knows that it is to serve.
//!
//! Does nothing where the allocator is another, or where the number is set already.

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
