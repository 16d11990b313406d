//! Turns panics of libraries that read files into errors.
//!
//! The Parquet library and Tantivy panic on some damaged files. Does not know the kind of file.

/// Runs code that may panic on damaged data; `gave_up` makes the error for a panic.
pub(crate) fn guarded<T, E>(
    read: impl FnOnce() -> Result<T, E>,
    gave_up: impl FnOnce(String) -> E,
) -> Result<T, E> {
    // Anything left inconsistent by a panic is dropped with the reader.
    hapax_guard::guarded(read)
        .unwrap_or_else(|_| Err(gave_up("its reader gave up on damaged data".to_owned())))
}
