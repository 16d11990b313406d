//! Parses the command line: `--name value` pairs and plain words.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The arguments after the command.
pub(crate) struct Arguments {
    named: BTreeMap<String, String>,
    /// Arguments without a name.
    pub(crate) plain: Vec<String>,
}

impl Arguments {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let (mut named, mut plain) = (BTreeMap::new(), Vec::new());
        let mut words = words;
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                None => plain.push(word),
                Some(name) => {
                    let value = words.next().with_context(|| format!("--{name} needs a value"))?;
                    named.insert(name.to_owned(), value);
                }
            }
        }
        Ok(Self { named, plain })
    }

    /// An optional value.
    pub(crate) fn given<T: FromStr>(&mut self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(text) = self.named.remove(name) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => bail!("--{name} {text} cannot be understood"),
        }
    }

    /// A required value.
    pub(crate) fn needed<T: FromStr>(&mut self, name: &str) -> anyhow::Result<T> {
        self.given(name)?.with_context(|| format!("--{name} is needed"))
    }

    /// Refuses unused names; returns the plain words.
    pub(crate) fn done(self) -> anyhow::Result<Vec<String>> {
        match self.named.keys().next() {
            Some(name) => bail!("--{name} is unknown"),
            None => Ok(self.plain),
        }
    }
}
