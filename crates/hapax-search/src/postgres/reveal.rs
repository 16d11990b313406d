//! Shows removed documents again, in this process only.

use std::collections::BTreeSet;

use super::{Error, PostgresIndex};
use crate::clean::Revealing;

impl Revealing for PostgresIndex {
    fn reveal(&mut self, names: &BTreeSet<String>) -> Result<(), Error> {
        self.revealed.extend(names.iter().cloned());
        Ok(())
    }
}
