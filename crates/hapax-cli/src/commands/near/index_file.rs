//! An index file and the names beside it.

use super::names::{Names, is_names};
use super::records::read_all;
use crate::failure::Failure;
use crate::readable;
use hapax::fingerprint::RecipeId;
use hapax::index::segment::SegmentView;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Stands in the file of an index whose fingerprints stated no recipe.
const UNSTATED: &str = "unstated:0000000000000000";

/// Where the names of an index lie.
pub(super) fn names_path(index: &Path) -> PathBuf {
    let mut name: OsString = index.as_os_str().to_owned();
    name.push(".names");
    PathBuf::from(name)
}

/// The recipe to write into an index.
///
/// # Errors
///
/// None in practice: the constant is a recipe's id.
pub(super) fn recipe_or_unstated(recipe: Option<&RecipeId>) -> Result<RecipeId, Failure> {
    match recipe {
        Some(recipe) => Ok(recipe.clone()),
        None => Ok(UNSTATED.parse().map_err(anyhow::Error::new)?),
    }
}

/// The recipe an index states, if it does.
pub(super) fn stated<'a>(view: &SegmentView<'a>) -> Option<&'a str> {
    (view.recipe() != UNSTATED).then(|| view.recipe())
}

/// Lays a view over the bytes of an index file.
///
/// # Errors
///
/// They are none; the file is named.
pub(super) fn view<'a>(path: &Path, bytes: &'a [u8]) -> Result<SegmentView<'a>, Failure> {
    if is_names(bytes) {
        return Err(Failure::Run(anyhow::anyhow!(
            "{} holds the names of an index; give the index itself, without .names",
            readable::path(path)
        )));
    }
    SegmentView::open(bytes)
        .map_err(|error| Failure::Run(anyhow::Error::new(error).context(readable::path(path))))
}

/// The names beside an index; nothing when there is no such file.
///
/// # Errors
///
/// The file is there and cannot be used.
pub(super) fn names(index: &Path, view: &SegmentView<'_>) -> Result<Option<Names>, Failure> {
    let path = names_path(index);
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let names = Names::open(read_all(&path)?, view.identity());
    names
        .map(Some)
        .map_err(|wrong| Failure::Run(anyhow::anyhow!("{}: {wrong}", readable::path(&path))))
}
