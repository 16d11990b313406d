//! Writes and reads mappings as TOML.
//!
//! Input may be invalid: an unknown field, another format, a later version or inconsistent numbers are errors.

use serde::{Deserialize, Serialize};

use super::PartitionError;
use super::bounds::{Bounds, Deviations};
use super::dictionary::Dictionary;
use super::grid::{Cells, Runs};
use super::mapping::{Mapping, Part};

/// The value of `format`.
const FORMAT: &str = "hapax-partition";
/// The version that is written, and the only one so far.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MappingFile {
    format: String,
    version: u32,
    /// The recipe of the words.
    recipe: String,
    dimensions: usize,
    machines: u32,
    tau: f64,
    rho: f64,
    epsilon: f64,
    delta: f64,
    /// The first cell of each machine except the first.
    starts: Vec<usize>,
    language: Vec<PartFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    code: String,
    pages: u64,
    /// Left ends of the intervals, per dimension.
    intervals: Vec<Vec<u32>>,
    /// Placed words, per dimension: hashes as 16 hexadecimal digits separated by spaces.
    words: Vec<String>,
}

/// Detects another format or a later version before the rest is parsed.
#[derive(Deserialize)]
struct Opening {
    format: Option<String>,
    version: Option<u32>,
}

impl Mapping {
    /// Returns the mapping as TOML.
    pub fn to_toml(&self) -> String {
        let file = MappingFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            recipe: self.recipe().to_owned(),
            dimensions: self.dimensions(),
            machines: self.runs().machines(),
            tau: self.bounds().tau(),
            rho: self.bounds().rho(),
            epsilon: self.deviations().epsilon,
            delta: self.deviations().delta,
            starts: self.runs().starts().to_vec(),
            language: self.parts().iter().map(PartFile::of).collect(),
        };
        let body = toml::to_string(&file).unwrap_or_default();
        format!(
            "# A mapping of pages to machines by their lengths, made by `hapax partition learn`.\n\
             # It holds for the Jaccard similarity of shingles, not for distances of fingerprints.\n{body}"
        )
    }

    /// Reads a mapping from TOML.
    ///
    /// # Errors
    ///
    /// The text is not a mapping, has a later version, or is inconsistent.
    pub fn from_toml(text: &str) -> Result<Self, PartitionError> {
        let wrong = |error: toml::de::Error| PartitionError::File {
            reason: error.to_string().trim_end().to_owned(),
        };
        let opening: Opening = toml::from_str(text).map_err(wrong)?;
        if opening.format.as_deref() != Some(FORMAT) {
            let reason = format!("it does not say format = \"{FORMAT}\": not a mapping of pages");
            return Err(PartitionError::File { reason });
        }
        match opening.version {
            Some(VERSION) => {}
            Some(found) => return Err(PartitionError::Version { found, newest: VERSION }),
            None => {
                return Err(PartitionError::File { reason: "it has no version".to_owned() });
            }
        }
        let file: MappingFile = toml::from_str(text).map_err(wrong)?;
        let bounds = Bounds::new(file.tau, file.rho)?;
        let deviations = Deviations { epsilon: file.epsilon, delta: file.delta };
        let runs = Runs::new(file.starts)?;
        let parts: Result<Vec<Part>, PartitionError> =
            file.language.iter().map(PartFile::part).collect();
        let mapping = Self::new(file.recipe, bounds, deviations, parts?, runs)?;
        let said = (file.dimensions, file.machines);
        let found = (mapping.dimensions(), mapping.runs().machines());
        if said != found {
            let reason = format!(
                "it says {} dimensions and {} machines and holds {} and {}",
                said.0, said.1, found.0, found.1
            );
            return Err(PartitionError::File { reason });
        }
        Ok(mapping)
    }
}

impl PartFile {
    fn of(part: &Part) -> Self {
        let hexadecimal = |words: Vec<u64>| {
            let words: Vec<String> = words.iter().map(|word| format!("{word:016x}")).collect();
            words.join(" ")
        };
        Self {
            code: part.language.clone(),
            pages: part.pages,
            intervals: part.cells.intervals().to_vec(),
            words: part.dictionary.placed().into_iter().map(hexadecimal).collect(),
        }
    }

    fn part(&self) -> Result<Part, PartitionError> {
        let word = |text: &str| {
            u64::from_str_radix(text, 16).map_err(|_| PartitionError::File {
                reason: format!("`{text}` among the words is not a hash of 16 hexadecimal digits"),
            })
        };
        let words: Result<Vec<Vec<u64>>, PartitionError> = self
            .words
            .iter()
            .map(|words| words.split_ascii_whitespace().map(word).collect())
            .collect();
        Ok(Part {
            language: self.code.clone(),
            pages: self.pages,
            dictionary: Dictionary::from_placed(&words?)?,
            cells: Cells::new(self.intervals.clone())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::tests::{pages, settings};
    use super::*;

    #[test]
    fn a_written_mapping_reads_back_equal() {
        let pages = pages(1000);
        for dimensions in 1..=3 {
            let mapping = Mapping::learn(&pages, "web-2:abc", &settings(dimensions, 16)).unwrap();
            let text = mapping.to_toml();
            assert!(text.len() < 200_000, "{} bytes", text.len());
            assert_eq!(Mapping::from_toml(&text).unwrap(), mapping);
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_file() {
        let mapping = Mapping::learn(&pages(300), "web-2:abc", &settings(2, 4)).unwrap();
        let text = mapping.to_toml();
        let changed = |from: &str, to: &str| {
            assert!(text.contains(from), "{from} is not in {text}");
            Mapping::from_toml(&text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        for (from, to, said) in [
            ("hapax-partition\"", "hapax-other\"", "not a mapping of pages"),
            ("version = 1", "version = 9", "version 9 is newer than 1"),
            ("version = 1", "", "no version"),
            ("machines = 4", "machines = 5", "says 2 dimensions and 5 machines"),
            ("tau = 0.8", "tau = 8.0", "a similarity of 8"),
            ("tau = 0.8", "tau = 0.8\ncolour = 1", "colour"),
            ("intervals = [[0", "intervals = [[3", "intervals of dimension 1"),
            ("code = \"\"", "code = \"zz\"", "part for the rest"),
            ("words = [\"", "words = [\"xyz ", "`xyz` among the words"),
        ] {
            let error = changed(from, to);
            assert!(error.contains(said), "{error}");
        }
        assert!(Mapping::from_toml("{").is_err());
        assert!(Mapping::from_toml(&text[..text.len() / 2]).is_err());
    }
}
