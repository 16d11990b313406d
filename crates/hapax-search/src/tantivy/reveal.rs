//! Shows removed documents again, in memory only.

use std::collections::BTreeSet;

use super::{Error, TantivyIndex};
use crate::clean::Revealing;

impl Revealing for TantivyIndex {
    fn reveal(&mut self, names: &BTreeSet<String>) -> Result<(), Error> {
        match names.is_empty() {
            true => Ok(()),
            false => {
                let view = &mut self.view;
                Error::guarded(&self.path, || view.reveal(names))
            }
        }
    }
}
