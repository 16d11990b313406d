//! Checks the claims of segments against their contents before they are used.
//!
//! Tantivy allocates memory as claimed by a file, which may abort the process, and opens files in its own
//! threads, where a panic does. So these claims are checked first, and whatever a writer will open is opened
//! here, where a panic becomes an error.

use std::path::Path;

use tantivy::columnar::StrColumn;
use tantivy::error::DataCorruption;
use tantivy::index::SegmentComponent;
use tantivy::{Index, ReloadPolicy, SegmentReader};

use super::error::Error;
use super::schema::Fields;
use super::{columns, stored};

/// Refuses segment files with impossible claims. Must precede any other reading.
pub(super) fn check_files(folder: &Path, index: &Index) -> Result<(), Error> {
    columns::check(folder, index)?;
    stored::check(folder, index)
}

/// Opens everything that a writer will open in its own threads, where a panic would abort the
/// process.
pub(super) fn check_segments(index: &Index, fields: Fields) -> tantivy::Result<()> {
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    for segment in reader.searcher().segment_readers() {
        let documents = documents(segment, fields)?;
        texts(segment, "name", documents)?;
        texts(segment, "url", documents)?;
    }
    // Names are looked up there; other files are read by merges only, which are guarded.
    for segment in index.searchable_segment_metas()? {
        let terms = segment.relative_path(SegmentComponent::Terms);
        if !index.directory().validate_checksum(&terms)? {
            return Err(DataCorruption::new(terms, "it fails its checksum".to_owned()).into());
        }
    }
    Ok(())
}

/// A column of texts, with at most one per document; merges allocate memory for as many as it
/// claims.
pub(super) fn texts(
    reader: &SegmentReader,
    name: &str,
    documents: u32,
) -> tantivy::Result<Option<StrColumn>> {
    let column = reader.fast_fields().str(name)?;
    let claimed = column.as_ref().map_or(0, |column| column.num_terms());
    if claimed > documents as usize {
        let what = format!("it claims {claimed} texts in `{name}` of {documents} documents");
        return Err(DataCorruption::comment_only(what).into());
    }
    Ok(column)
}

/// The number of documents of a segment. This is only a claim, but a length is stored for each.
pub(super) fn documents(reader: &SegmentReader, fields: Fields) -> tantivy::Result<u32> {
    let stored = reader.get_fieldnorms_reader(fields.body)?.num_docs();
    match stored == reader.max_doc() {
        true => Ok(stored),
        false => {
            let what = format!("it claims {} documents and holds {stored}", reader.max_doc());
            Err(DataCorruption::comment_only(what).into())
        }
    }
}
