//! `hapax search info`: what an index is and how much is in it.

use clap::Args;
use hapax_search::{Engine, Removing};
use serde::Serialize;

use super::failed;
use super::place::{Opened, Place};
use crate::failure::Failure;
use crate::output;
use crate::readable;

/// Describe an index
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,

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
    /// On disk; a database counts indexes and overhead too.
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<u64>,
    operation: Option<String>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let described = Described::of(&arguments.place.open()?)?;
    output::answer(arguments.json, &described, described.to_text().trim_end())
}

impl Described {
    fn of(index: &Opened) -> Result<Self, Failure> {
        Ok(match index {
            Opened::Folder(index) => {
                let totals = index.totals();
                Self {
                    recipe: index.recipe().to_owned(),
                    documents: totals.documents,
                    removed: totals.removed,
                    marked: totals.marked,
                    bytes: totals.bytes,
                    segments: Some(totals.segments),
                    operation: index.operation().map(str::to_owned),
                }
            }
            Opened::Database(index) => {
                let totals = index.totals().map_err(failed)?;
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
        })
    }

    fn to_text(&self) -> String {
        let all = (self.documents + self.removed).max(1);
        let mut text = format!(
            "recipe     {}\ndocuments  {}\nremoved    {} (`search restore` puts them back)\n\
             marked     {}\nsize       {}, {} bytes a document\n",
            self.recipe,
            readable::count(self.documents),
            readable::count(self.removed),
            readable::count(self.marked),
            readable::bytes(self.bytes),
            readable::count(self.bytes / all),
        );
        if let Some(segments) = self.segments {
            text.push_str(&format!("segments   {segments}\n"));
        }
        if let Some(operation) = &self.operation {
            text.push_str(&format!("changed by {}\n", readable::harmless(operation)));
        }
        text
    }
}
