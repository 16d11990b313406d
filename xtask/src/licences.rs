//! Checks the licences of the libraries that this project is built from.
//!
//! Every licence stated by `cargo metadata` must satisfy the list below, and `THIRD-PARTY.md` must list every library
//! with its licence. Tests, benchmarks and tools may use a few more licences, because they are not distributed. Does
//! not check whether a statement is true, or what else a package contains: C sources are listed by hand in
//! [`ALONGSIDE`].
//!
//! Source: SPDX specification 2.3, annex D, "SPDX license expressions".

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::Workspace;

/// The list of all libraries.
pub(crate) const FILE: &str = "THIRD-PARTY.md";
/// Packages that are distributed.
const HANDED_ON: [&str; 2] = ["hapax-cli", "hapax-python"];
/// Licences that require attribution at most.
const GOOD: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "bzip2-1.0.6",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// Accepted for undistributed code: changes to the library itself would have to be published.
const GOOD_FOR_TOOLS: [&str; 1] = ["MPL-2.0"];
/// Compiled-in sources that no manifest states.
const ALONGSIDE: [(&str, &str, &str); 3] = [
    ("libsqlite3-sys", "SQLite", "public domain"),
    ("psl", "the public suffix list, unchanged: publicsuffix.org/list", "MPL-2.0"),
    ("zstd-sys", "Zstandard", "BSD-3-Clause OR GPL-2.0-only; used under BSD-3-Clause"),
];

/// A library's name and licence expression.
type Library = (String, String);

#[derive(Debug, Default, PartialEq, Eq)]
struct Libraries {
    handed_on: BTreeSet<Library>,
    tools: BTreeSet<Library>,
}

/// Checks licences and the list; returns one line per problem. With `update` writes the list
/// instead of comparing it.
pub(crate) fn check(workspace: &Workspace, update: bool) -> Result<Vec<String>> {
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let output = workspace.cargo(arguments).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata = serde_json::from_slice(&output.stdout).context("`cargo metadata` is no JSON")?;
    let libraries = Libraries::of(&metadata)?;
    let mut wrong = libraries.refused();
    let file = workspace.root().join(FILE);
    let text = libraries.page();
    if update {
        fs::write(&file, text).with_context(|| format!("cannot write {FILE}"))?;
    } else if fs::read_to_string(&file).unwrap_or_default() != text {
        wrong.push("is not what `cargo xtask licences --update` writes".to_owned());
    }
    Ok(wrong)
}

impl Libraries {
    /// The libraries in the graph of `cargo metadata`, without those of the workspace.
    fn of(metadata: &Value) -> Result<Self> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut ours = Vec::new();
        let mut known = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let (id, name) = (text(&package["id"]), text(&package["name"]));
            if package["source"].is_null() {
                ours.push((id, name));
            } else {
                known.insert(id, (name, text(&package["license"])));
            }
        }
        let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let mut used = Vec::new();
            for other in list(&node["deps"]) {
                // Dependencies of tests are not distributed.
                let is_test = |kind: &Value| kind["kind"].as_str() == Some("dev");
                if !list(&other["dep_kinds"]).iter().all(is_test) {
                    used.push(text(&other["pkg"]));
                }
            }
            uses.insert(text(&node["id"]), used);
        }
        if known.is_empty() || uses.is_empty() {
            bail!("`cargo metadata` names no libraries");
        }
        let mut reached = BTreeSet::new();
        let is_start = |(_, name): &&(String, String)| HANDED_ON.contains(&name.as_str());
        let mut ahead: Vec<String> =
            ours.iter().filter(is_start).map(|(id, _)| id.clone()).collect();
        while let Some(id) = ahead.pop() {
            if reached.insert(id.clone()) {
                ahead.extend(uses.get(&id).cloned().unwrap_or_default());
            }
        }
        let mut libraries = Self::default();
        for (id, library) in known {
            match reached.contains(&id) {
                true => libraries.handed_on.insert(library),
                false => libraries.tools.insert(library),
            };
        }
        // Two versions of one library may be on both sides.
        libraries.tools.retain(|library| !libraries.handed_on.contains(library));
        Ok(libraries)
    }

    fn refused(&self) -> Vec<String> {
        let mut refused = Vec::new();
        for (libraries, more) in [(&self.handed_on, &[][..]), (&self.tools, &GOOD_FOR_TOOLS[..])] {
            for (name, licence) in libraries {
                let good = |id: &str| GOOD.contains(&id) || more.contains(&id);
                if !is_met(licence, &good) {
                    refused.push(format!("{name} stands under `{licence}`, which is not allowed"));
                }
            }
        }
        refused
    }

    fn page(&self) -> String {
        let mut text = "# Libraries of others\n\n\
            Written by `cargo xtask licences --update`, from what each library's manifest states; `cargo xtask tidy` fails when\n\
            this list or the list of allowed licences in `xtask/src/licences.rs` does not fit the dependencies.\n"
            .to_owned();
        let mut table = |title: &str, rows: Vec<(&str, &str)>| {
            text.push_str(&format!("\n## {title}\n\n| library | licence |\n|---|---|\n"));
            rows.iter().for_each(|(name, licence)| {
                text.push_str(&format!("| {name} | {licence} |\n"));
            });
        };
        fn rows(set: &BTreeSet<Library>) -> Vec<(&str, &str)> {
            set.iter().map(|(name, licence)| (name.as_str(), licence.as_str())).collect()
        }
        table("In the program and the Python package", rows(&self.handed_on));
        let holds = |name: &str| self.handed_on.iter().any(|(known, _)| known == name);
        let along = ALONGSIDE.iter().filter(|(within, ..)| holds(within));
        table(
            "C sources and data that come with them",
            along.map(|(_, name, of)| (*name, *of)).collect(),
        );
        table("Only in tests, benchmarks and tools", rows(&self.tools));
        text
    }
}

/// Whether accepted licences satisfy a licence expression; `false` for an invalid expression.
fn is_met(expression: &str, good: &dyn Fn(&str) -> bool) -> bool {
    // Old manifests use a slash for `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any_of(&words, &mut at, good) == Some(true) && at == words.len()
}

fn any_of(words: &[&str], at: &mut usize, good: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = all_of(words, at, good)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all_of(words, at, good)?;
    }
    Some(met)
}

fn all_of(words: &[&str], at: &mut usize, good: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = one(words, at, good)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, good)?;
    }
    Some(met)
}

fn one(words: &[&str], at: &mut usize, good: &dyn Fn(&str) -> bool) -> Option<bool> {
    let word = *words.get(*at)?;
    *at += 1;
    match word {
        "(" => {
            let met = any_of(words, at, good)?;
            *at += 1;
            (words.get(*at - 1) == Some(&")")).then_some(met)
        }
        ")" | "OR" | "AND" | "WITH" => None,
        id if words.get(*at) == Some(&"WITH") => {
            *at += 2;
            Some(good(&format!("{id} WITH {}", words.get(*at - 1)?)))
        }
        id => Some(good(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_or_needs_one_choice_and_an_and_needs_all() {
        let good = |id: &str| matches!(id, "MIT" | "ISC" | "Apache-2.0 WITH LLVM-exception");
        for met in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only/MIT",
            "GPL-3.0-only / MIT",
            "MIT AND ISC",
            "(GPL-3.0-only OR MIT) AND ISC",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
            "GPL-2.0-only AND X OR MIT",
        ] {
            assert!(is_met(met, &good), "{met}");
        }
        for unmet in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "Apache-2.0",
            "MIT WITH something",
            "(MIT",
            "MIT)",
            "MIT OR",
            "OR MIT",
            "MIT ISC",
            "mit",
        ] {
            assert!(!is_met(unmet, &good), "{unmet}");
        }
    }

    fn metadata(library: &str, kind: Value) -> Value {
        serde_json::json!({
            "packages": [
                {"id": "p", "name": "hapax-cli", "source": null, "license": "MIT"},
                {"id": "a", "name": "alpha", "source": "registry", "license": library},
                {"id": "b", "name": "beta", "source": "registry", "license": "MIT"},
            ],
            "resolve": {"nodes": [
                {"id": "p", "deps": [{"pkg": "a", "dep_kinds": [{"kind": kind}]}]},
                {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": null}]}]},
                {"id": "b", "deps": []},
            ]},
        })
    }

    #[test]
    fn what_is_distributed_is_distinguished_from_what_only_tests_use() {
        let built = Libraries::of(&metadata("MPL-2.0", Value::Null)).unwrap();
        assert_eq!((built.handed_on.len(), built.tools.len()), (2, 0));
        assert_eq!(built.refused(), ["alpha stands under `MPL-2.0`, which is not allowed"]);
        let tested = Libraries::of(&metadata("MPL-2.0", "dev".into())).unwrap();
        assert_eq!((tested.handed_on.len(), tested.tools.len()), (0, 2));
        assert_eq!(tested.refused(), [""; 0]);
        assert!(tested.page().contains("| alpha | MPL-2.0 |\n"));
    }

    #[test]
    fn a_library_without_a_statement_is_refused_and_no_library_is_an_error() {
        let silent = Libraries::of(&metadata("", Value::Null)).unwrap();
        assert_eq!(silent.refused().len(), 1);
        assert!(Libraries::of(&serde_json::json!({})).is_err());
    }
}
