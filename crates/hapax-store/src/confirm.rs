//! Near matches confirmed under the repository's key.
//!
//! Fingerprint and sketch are public, so a page can be made that has another one's. Every page that
//! was recorded with its text also has a sketch under the repository's random key, and two such pages
//! are near-duplicates only if these sketches bear it out, too. What a page without one needs is
//! [`Confirm`]. Equal texts need no confirmation.
//!
//! The estimate under the key is shown to nobody: whoever saw it could improve a forgery step by step.

use crate::error::{Fault, Outcome};
use hapax::fingerprint::{Key, Sketch};
use hapax::similarity::{Likeness, Matching, Policy};
use redb::TableDefinition;
use std::fmt;
use std::str::FromStr;

/// What a near match needs if one of the pages was recorded without its text, so that there is no
/// sketch under the repository's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// Pages of different domains are no near-duplicates then.
    #[default]
    Keyed,
    /// Their public signatures are enough. They can be forged: for pages that nobody gains by
    /// removing.
    Public,
}

impl Confirm {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::Public => "public",
        }
    }

    /// What the public signatures say, unless the sketches under the key contradict. `one_domain` is
    /// asked only where a sketch is missing.
    pub(crate) fn confirmed(
        self,
        policy: &Policy,
        public: Likeness,
        keyed: [Option<&Sketch>; 2],
        one_domain: impl FnOnce() -> Outcome<bool>,
    ) -> Outcome<Likeness> {
        if public.matching != Matching::Near {
            return Ok(public);
        }
        let stands = match keyed {
            [Some(a), Some(b)] => policy.min_similarity.confirmed_by(&a.estimate(b)),
            _ => self == Self::Public || one_domain()?,
        };
        Ok(Likeness { matching: if stands { Matching::Near } else { Matching::No }, ..public })
    }
}

impl fmt::Display for Confirm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text does not say how matches are confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("matches are confirmed `keyed` or `public`")]
pub struct ParseConfirmError;

impl FromStr for Confirm {
    type Err = ParseConfirmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Keyed, Self::Public]
            .into_iter()
            .find(|it| it.name() == text)
            .ok_or(ParseConfirmError)
    }
}

/// A table of its own, which nothing but [`read`] and copies of the whole repository look at.
pub(crate) const SECRET: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("secret");

const KEY: &str = "key";

/// Writes a new random key.
pub(crate) fn make(transaction: &redb::WriteTransaction) -> Outcome<()> {
    let mut bytes = [0; 32];
    getrandom::getrandom(&mut bytes)
        .map_err(|error| Fault::from(redb::StorageError::Io(error.into())))?;
    transaction.open_table(SECRET)?.insert(KEY, bytes.as_slice())?;
    Ok(())
}

pub(crate) fn read(transaction: &redb::ReadTransaction) -> Outcome<Key> {
    let missing = || Fault::Damaged("it has no key".into());
    let table = transaction.open_table(SECRET).map_err(|error| match error {
        redb::TableError::TableDoesNotExist(_) => missing(),
        other => other.into(),
    })?;
    let row = table.get(KEY)?.ok_or_else(missing)?;
    Ok(Key::new(row.value()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax::fingerprint::sketch::BYTES;

    /// Sketches that differ in so many of 1024 bins.
    fn sketch(differing: usize) -> Sketch {
        let mut bytes = [0; BYTES];
        for bit in 0..differing {
            bytes[bit / 8] |= 1 << (bit % 8);
        }
        Sketch::from_bytes(&bytes)
    }

    fn asked(
        confirm: Confirm,
        matching: Matching,
        keyed: [Option<&Sketch>; 2],
        one_domain: bool,
    ) -> Matching {
        let public = Likeness { distance: 3, similarity: 0.9, matching };
        let policy = Policy::default();
        let said = confirm.confirmed(&policy, public, keyed, || Ok(one_domain)).unwrap();
        assert_eq!((said.distance, said.similarity), (3, 0.9), "shows public figures only");
        said.matching
    }

    #[test]
    fn two_sketches_under_the_key_decide_whatever_the_setting_and_the_domains() {
        let (same, copy, other) = (sketch(0), sketch(100), sketch(500));
        for confirm in [Confirm::Keyed, Confirm::Public] {
            for one_domain in [false, true] {
                let near = |it| asked(confirm, Matching::Near, [Some(&same), Some(it)], one_domain);
                assert_eq!((near(&copy), near(&other)), (Matching::Near, Matching::No));
            }
        }
    }

    #[test]
    fn without_one_the_setting_decides_across_domains() {
        let one = sketch(0);
        for keyed in [[None, None], [Some(&one), None], [None, Some(&one)]] {
            let near = |confirm, one_domain| asked(confirm, Matching::Near, keyed, one_domain);
            assert_eq!(near(Confirm::Keyed, false), Matching::No);
            assert_eq!(near(Confirm::Keyed, true), Matching::Near);
            assert_eq!(near(Confirm::Public, false), Matching::Near);
        }
    }

    #[test]
    fn what_is_not_near_stays_what_it_is() {
        let (one, other) = (sketch(0), sketch(500));
        for matching in [Matching::Exact, Matching::No] {
            let said = asked(Confirm::Keyed, matching, [Some(&one), Some(&other)], false);
            assert_eq!(said, matching);
        }
    }

    #[test]
    fn its_names_are_read_again() {
        for confirm in [Confirm::Keyed, Confirm::Public] {
            assert_eq!(confirm.to_string().parse(), Ok(confirm));
        }
        assert_eq!("no".parse::<Confirm>(), Err(ParseConfirmError));
    }
}
