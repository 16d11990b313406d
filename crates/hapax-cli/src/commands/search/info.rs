//! `hapax search info`: describes an index and its contents.

use clap::Args;
use hapax_search::{Removing, Totals};
use serde::Serialize;

use super::failed;
use super::place::{Opened, PlaceArguments};
use crate::failure::Failure;
use crate::output;
use crate::readable;

/// Describe an index
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax search info --index index")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Described {
    recipe: String,
    documents: u64,
    removed: u64,
    marked: u64,
    /// Size on disk; for a database with indexes and overhead.
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<u64>,
    operation: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let described = Described::of(&arguments.place.place()?.open(None)?)?;
    output::answer(arguments.json, &described, &described.to_text())
}

impl Described {
    fn of(index: &Opened) -> Result<Self, Failure> {
        Ok(match index {
            Opened::Folder(index) => {
                let totals = index.totals();
                Self { segments: Some(totals.segments), ..Self::new(&**index, totals) }
            }
            Opened::Database(index) => Self::new(&**index, index.totals().map_err(failed)?),
        })
    }

    fn new(index: &impl Removing, totals: Totals) -> Self {
        Self {
            recipe: index.recipe().to_owned(),
            documents: totals.documents,
            removed: totals.removed,
            marked: totals.marked,
            bytes: totals.bytes,
            segments: None,
            operation: index.operation().map(str::to_owned),
        }
    }

    fn to_text(&self) -> String {
        let all = (self.documents + self.removed).max(1);
        let removed = readable::count(self.removed);
        let size = readable::bytes(self.bytes);
        let mut rows = vec![
            ("recipe", self.recipe.clone()),
            ("documents", readable::count(self.documents)),
            ("removed", format!("{removed} (`search restore` puts them back)")),
            ("marked", readable::count(self.marked)),
            ("size", format!("{size}, {} bytes a document", readable::count(self.bytes / all))),
        ];
        rows.extend(self.segments.map(|segments| ("segments", segments.to_string())));
        let operation = self.operation.as_deref().map(readable::harmless);
        rows.extend(operation.map(|operation| ("changed", format!("by {operation}"))));
        output::columns(&rows)
    }
}
