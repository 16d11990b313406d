//! Fuzz targets: one function for each kind of outside data.
//!
//! A [`Target`] takes any bytes and panics if a guarantee is broken: a parser panics, an encoding does not
//! round-trip, a damaged file is accepted. [`damage`] turns bytes into changes to a valid file; [`mutate`] makes
//! inputs without libFuzzer. Three callers run the same functions:
//!
//! | caller | inputs | command |
//! |---|---|---|
//! | the tests of this package | every seed and every finding of former runs | `cargo xtask test unit` |
//! | the program of this package | seeds and a fixed number of their mutations | `cargo xtask test fuzz` |
//! | libFuzzer | inputs guided by coverage | `cargo xtask fuzz` |
#![expect(clippy::unwrap_used, reason = "a target that cannot go on has found something")]

pub mod addresses;
pub mod archives;
pub mod damage;
pub mod files;
pub mod mutate;
pub mod page;
pub mod requests;
pub mod settings;
pub mod stores;
pub mod words;

/// A kind of outside data, with its checks.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub about: &'static str,
    /// Panics if a check fails.
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Dictionary of meaningful pieces in inputs of this kind.
    pub pieces: &'static [&'static str],
    /// Number of mutated inputs in a smoke run, which takes about two seconds.
    pub rounds: u32,
}

pub const TARGETS: &[Target] = &[
    page::EXTRACT,
    page::CHARSET,
    words::SEGMENT,
    words::QUERY,
    words::LOG,
    addresses::ADDRESS,
    archives::WARC,
    archives::JSONL,
    archives::PARQUET,
    files::HPX,
    files::SEGMENT_FILE,
    files::TABLES,
    stores::STORE,
    settings::RECIPE,
    settings::POLICY,
    settings::CONFIG,
    settings::RULES,
    requests::PAGE_JSON,
    requests::HTTP,
];

pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Splits off the first byte, which chooses among variants.
pub(crate) fn choice(data: &[u8]) -> (usize, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest))
}

/// Seeds of each variant and text.
pub(crate) fn chosen(variants: u8, texts: &[&str]) -> Vec<Vec<u8>> {
    let each = |text: &&str| -> Vec<Vec<u8>> {
        (0..variants).map(|variant| [&[variant], text.as_bytes()].concat()).collect()
    };
    texts.iter().flat_map(each).collect()
}

/// A folder for files of one input, in memory if the system supports that.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap()
}

/// Whether a panic comes from a library whose panics our crates catch and turn into errors: redb,
/// or the Parquet reader.
pub fn is_caught(panic: &std::panic::PanicHookInfo<'_>) -> bool {
    let libraries = ["/redb-", "/parquet-", "/arrow-"];
    panic.location().is_some_and(|at| libraries.iter().any(|name| at.file().contains(name)))
}

/// Makes the hook that is set next see caught panics, too, because a panic of our own code is a
/// finding anywhere. [`hapax_guard`] sets its silent hook once, on first use.
pub fn see_all_panics() {
    let _ = hapax_guard::guarded(|| ());
}

/// Stored inputs of former runs, by name; empty without the folder.
///
/// # Errors
///
/// A file cannot be read.
pub fn findings(folder: &std::path::Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((name, std::fs::read(&path)?));
    }
    found.sort();
    Ok(found)
}
