//! The effect of a run on an index, and how it is undone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::engine::{Change, Removing};

/// What is done with duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Marked as duplicates, but still found.
    Marked,
    /// Removed from all results.
    Removed,
}

impl Effect {
    fn change(self) -> Change {
        match self {
            Self::Marked => Change::Mark,
            Self::Removed => Change::Remove,
        }
    }

    fn inverse(self) -> Change {
        match self {
            Self::Marked => Change::Unmark,
            Self::Removed => Change::Restore,
        }
    }
}

/// An engine that can show removed documents as if they had not been removed.
pub trait Revealing: Removing {
    /// Shows removed documents again, in this process only and until the next change. Ignores
    /// unknown names.
    fn reveal(&mut self, names: &BTreeSet<String>) -> Result<(), Self::Error>;
}

/// Makes `wanted` the set of documents with this effect, given the current set. Undoes first, so
/// that at no time more documents are affected than before or after.
pub(super) fn bring<E: Removing>(
    engine: &mut E,
    before: Option<(Effect, &BTreeSet<String>)>,
    wanted: Option<(Effect, &BTreeSet<String>)>,
    operation: &str,
) -> Result<u64, E::Error> {
    let mut changed = 0;
    if let Some((effect, names)) = before {
        let stays = |name: &&String| {
            wanted.is_some_and(|(other, wanted)| other == effect && wanted.contains(*name))
        };
        let back: Vec<String> = names.iter().filter(|name| !stays(name)).cloned().collect();
        if !back.is_empty() {
            changed +=
                engine.change(effect.inverse(), &back, &format!("{operation}, taking back"))?;
        }
    }
    if let Some((effect, names)) = wanted {
        let names: Vec<String> = names.iter().cloned().collect();
        changed += engine.change(effect.change(), &names, operation)?;
    }
    Ok(changed)
}
