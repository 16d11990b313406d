//! Removed documents shown again, to this process alone.

use std::collections::BTreeSet;

use super::{Error, PostgresIndex};
use crate::clean::Revealing;

impl Revealing for PostgresIndex {
    fn reveal(&mut self, names: &BTreeSet<String>) -> Result<(), Error> {
        self.revealed.extend(names.iter().cloned());
        Ok(())
    }
}
