//! Confirms near matches under the repository's key.
//!
//! Fingerprints and sketches are public, so a page can be forged to have those of another. Every page recorded
//! with its text also has a sketch under the repository's random key, and two such pages are near-duplicates
//! only if these sketches agree, too. [`Confirm`] decides about pages without one. Equal texts need no
//! confirmation.
//!
//! The keyed estimate is never shown, because it would help to improve a forgery step by step.

use crate::error::{Fault, Outcome};
use hapax::fingerprint::{Key, Sketch};
use hapax::similarity::{Likeness, Matching, Policy};
use redb::TableDefinition;
use std::fmt;
use std::str::FromStr;

/// How to treat a near match if one page was recorded without its text, so that it has no sketch
/// under the repository's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// Pages of different domains do not match.
    #[default]
    Keyed,
    /// Public signatures suffice. They can be forged, so this is for pages that nobody would gain
    /// by removing.
    Public,
}

impl Confirm {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::Public => "public",
        }
    }

    /// The result of the public signatures, unless the keyed sketches refute it. Calls `one_domain`
    /// only if a keyed sketch is missing.
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

/// The text is not a value of `Confirm`.
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

/// A separate table, read only by [`read`] and by copies of the whole repository.
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

    /// Sketches that differ in this many of 1024 bins.
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
    fn matches_that_are_not_near_do_not_change() {
        let (one, other) = (sketch(0), sketch(500));
        for matching in [Matching::Exact, Matching::No] {
            let said = asked(Confirm::Keyed, matching, [Some(&one), Some(&other)], false);
            assert_eq!(said, matching);
        }
    }

    #[test]
    fn its_names_are_parsed() {
        for confirm in [Confirm::Keyed, Confirm::Public] {
            assert_eq!(confirm.to_string().parse(), Ok(confirm));
        }
        assert_eq!("no".parse::<Confirm>(), Err(ParseConfirmError));
    }
}
