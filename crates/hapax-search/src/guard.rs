//! Panics of libraries that read files, as errors.
//!
//! The Parquet library and Tantivy panic on some damaged files; here that is an error like any
//! other. What kind of file it was is not known here.

/// Does what may panic on damaged data; `gave_up` makes the error of a panic.
pub(crate) fn guarded<T, E>(
    read: impl FnOnce() -> Result<T, E>,
    gave_up: impl FnOnce(String) -> E,
) -> Result<T, E> {
    // What a panic leaves half done is dropped with the reader.
    hapax_guard::guarded(read)
        .unwrap_or_else(|_| Err(gave_up("its reader gave up on damaged data".to_owned())))
}
