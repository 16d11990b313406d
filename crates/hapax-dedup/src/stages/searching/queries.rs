//! A batch of queries: 8 bytes each, number and name, and sums on request.

use std::path::Path;

use hapax::fingerprint::{BitSums, Fingerprint};
use hapax::index::Query;

use super::super::LinesError;
use super::super::fingerprints::{Form, Listed, each};

#[derive(Debug, Default)]
pub struct Queries {
    fingerprints: Vec<u64>,
    /// Line, row or place in the file, from 1.
    numbers: Vec<u64>,
    names: Vec<u8>,
    name_ends: Vec<usize>,
    /// Empty, or one per query.
    sums: Vec<Option<Box<BitSums>>>,
    recipe: Option<String>,
    /// Number of pages without a fingerprint.
    pub without: u64,
}

impl Queries {
    /// Reads a file; `-` is standard input. Sums take half a kilobyte each.
    pub fn read(path: &Path, form: Form, keep_sums: bool) -> Result<Self, LinesError> {
        let mut queries = Self::default();
        each::<LinesError>(path, form, &mut |recipe, listed| {
            let Listed { number, name, fingerprint, sums, .. } = listed;
            if queries.recipe.is_none() {
                queries.recipe = recipe.map(str::to_owned);
            }
            let Some(fingerprint) = fingerprint else {
                queries.without += 1;
                return Ok(());
            };
            queries.fingerprints.push(fingerprint.to_bits());
            queries.numbers.push(number);
            queries.names.extend_from_slice(name.as_deref().unwrap_or_default());
            queries.name_ends.push(queries.names.len());
            if keep_sums {
                queries.sums.push(sums);
            }
            Ok(())
        })?;
        Ok(queries)
    }

    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints
    }

    /// A query for an engine.
    pub fn query(&self, query: usize) -> Query<'_> {
        let sums = self.sums.get(query).and_then(Option::as_deref);
        Query { fingerprint: Fingerprint::from_bits(self.fingerprints[query]), sums }
    }

    /// Whether any query has sums.
    pub fn any_sums(&self) -> bool {
        self.sums.iter().any(Option::is_some)
    }

    /// The recipe, if the file states one.
    pub fn recipe(&self) -> Option<&str> {
        self.recipe.as_deref()
    }

    /// The name of a query, if it has one.
    pub fn name(&self, query: usize) -> Option<&[u8]> {
        let start = query.checked_sub(1).map_or(0, |before| self.name_ends[before]);
        let name = &self.names[start..self.name_ends[query]];
        (!name.is_empty()).then_some(name)
    }

    /// Line, row or place in the file, from 1.
    pub fn number(&self, query: usize) -> u64 {
        self.numbers[query]
    }
}
