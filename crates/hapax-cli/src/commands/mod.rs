//! The commands, one file or folder each.
//!
//! The `Arguments` of a command are what the user typed; its `run` checks them before it reads any page, so that bad
//! arguments fail at once.

pub(crate) mod apply;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod dedup;
pub(crate) mod eval;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod fingerprint;
pub(crate) mod fingerprint_files;
pub(crate) mod group;
pub(crate) mod groups;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod near;
pub(crate) mod page;
pub(crate) mod pairs;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod query_dedup;
pub(crate) mod rank;
pub(crate) mod recipe;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod train;

use crate::arguments::Command;
use crate::failure::Failure;

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Dedup(arguments) => dedup::run(&arguments),
        Command::Apply(arguments) => apply::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Fingerprint(arguments) => fingerprint::run(&arguments),
        Command::Pairs(arguments) => pairs::run(&arguments),
        Command::Groups(arguments) => groups::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Near(arguments) => near::run(&arguments),
        Command::Page(arguments) => page::run(&arguments),
        Command::Group(arguments) => group::run(&arguments),
        Command::Events(arguments) => events::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Partition(arguments) => partition::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::QueryDedup(arguments) => query_dedup::run(&arguments),
        Command::Rank(arguments) => rank::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
        Command::Recipe(arguments) => recipe::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
