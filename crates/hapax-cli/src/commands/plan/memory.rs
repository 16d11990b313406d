//! The memory that this machine has for a program.

use std::fs::read_to_string;

/// The smaller of the installed memory and the limit of the control group; `None` if the system
/// does not say.
pub(crate) fn of_this_machine() -> Option<u64> {
    let installed = read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let allowed = limits.iter().filter_map(|path| read_to_string(path).ok()?.trim().parse().ok());
    installed.into_iter().chain(allowed).min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_in_kibibytes() {
        let text = "MemTotal:       24638556 kB\nMemFree:        1 kB\n";
        assert_eq!(total(text), Some(24_638_556 * 1024));
        assert_eq!(total("MemTotal: many kB"), None);
        assert_eq!(total(""), None);
    }
}
