//! `summary.json`: what was read, what stays, what goes, under which settings.
//!
//! Nothing in it depends on the time, the machine or the number of threads; `run.json` has what
//! does.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax::group::Outcome;
use serde::{Deserialize, Serialize};

use super::kept::kept_name;
use crate::decide::Decision;
use crate::options::{KeptFormat, Options};
use crate::pages::Status;
use crate::passed_over::PassedCounts;
use crate::read::{Corpus, ReadCounts};

/// The whole job in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Records that were read: documents, and those that were passed over.
    pub records: u64,
    /// Documents that were read: those that stay and those that go.
    pub documents: u64,
    pub body_bytes: u64,
    /// Documents that stay.
    pub kept: u64,
    /// Documents that go because another has the same text.
    pub exact: u64,
    /// Documents that go because another has nearly the same text.
    pub near: u64,
    /// Of these, documents that go because an earlier job kept the other.
    pub known: u64,
    /// Documents that stay because their texts did not bear out what their signatures said.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Groups of two documents or more.
    pub groups: u64,
    /// Documents in the largest of them.
    pub largest_group: u64,
    /// Groups whose documents match some of another group, but not its winner.
    pub related_groups: u64,
    /// Groups by the number of their documents.
    pub group_sizes: BTreeMap<u64, u64>,
    /// Near-duplicates by the bits between them and their winner.
    pub distances: BTreeMap<u8, u64>,
    /// Near-duplicates by similarity with their winner, in hundredths, rounded down.
    pub similarities: BTreeMap<u8, u64>,
    /// What decided for winners.
    pub decided_by: BTreeMap<Cow<'static, str>, u64>,
    /// Hosts whose frame was learned from their pages.
    #[serde(default)]
    pub framed_hosts: u64,
    /// Documents with so little text that only exact copies of them are found.
    pub too_short: u64,
    /// Documents that hide more text than they show: compared by what they show.
    #[serde(default)]
    pub hides_most: u64,
    /// Documents with text but without words.
    pub without_words: u64,
    /// Documents without any text. They stay.
    pub empty: u64,
    /// Documents that are neither HTML nor text.
    pub not_text: u64,
    /// Documents in languages that were not asked for. They stay.
    pub other_languages: u64,
    /// Addresses that redirect to a document.
    pub redirects: u64,
    /// Addresses that were found to have a document's content.
    pub revisits: u64,
    /// Records that are not documents, by reason.
    pub passed_over: PassedCounts,
    /// Pairs that the fingerprints proposed.
    pub candidate_pairs: u64,
    /// Pairs whose sketches were compared.
    pub compared_pairs: u64,
    pub confirmed_pairs: u64,
    /// Documents in dense clusters of nearly equal ones.
    pub dense: u64,
    /// Documents that share a fingerprint with many others and a text with none: compared with few.
    pub collisions: u64,
    /// Documents with so many others near them that not all were compared.
    pub saturated: u64,
    /// Within how many bits, where there are such documents.
    pub saturated_within: Option<u32>,
    /// Or the chance of finding a partner at the least similarity, where sketches proposed.
    pub saturated_chance: Option<f64>,
    pub settings: Settings,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Name and digest of the recipe.
    pub recipe: String,
    pub within: u32,
    /// Jaccard similarity of shingles.
    pub min_similarity: f64,
    /// What the texts had to confirm: `no`, `keyed` or `exact`.
    #[serde(default)]
    pub confirm: Cow<'static, str>,
    /// Whether pages of one host were compared by what they say beyond its frame, too (`on`), by nothing
    /// else (`own`), or not (`off`).
    #[serde(default)]
    pub frames: Cow<'static, str>,
    /// Words in a shingle.
    pub shingle: usize,
    /// The winner rules.
    pub keep: String,
    /// Who was compared with whom.
    pub scope: String,
    /// In which languages; empty for all.
    pub languages: Vec<String>,
    /// The name of the file with the kept documents; of several, a pattern.
    pub kept: String,
    /// The inputs as they were given, without credentials.
    pub inputs: Vec<String>,
    /// The output folders of earlier jobs, as they were given.
    pub against: Vec<String>,
}

impl Summary {
    /// Counts.
    pub fn of(
        corpus: &Corpus,
        decision: &Decision<'_>,
        options: &Options,
        format: KeptFormat,
        inputs: &[String],
    ) -> Self {
        let pages = &corpus.pages;
        let ReadCounts { body_bytes, passed_over, hides_most, .. } = &corpus.counts;
        let passed: u64 = passed_over.values().sum();
        let effort = decision.effort();
        let status = |wanted: Status| {
            (0..pages.len() as u32).filter(|&page| pages.status(page) == wanted).count() as u64
        };
        let revisits = decision.addresses().iter().filter(|it| it.revisit).count() as u64;
        let mut summary = Self {
            records: pages.len() as u64 + passed,
            documents: pages.len() as u64,
            body_bytes: *body_bytes,
            kept: 0,
            exact: 0,
            near: 0,
            known: 0,
            unconfirmed: decision.unconfirmed_count() as u64,
            groups: 0,
            largest_group: 0,
            related_groups: decision.families().iter().map(|it| u64::from(it.stars)).sum(),
            group_sizes: BTreeMap::new(),
            distances: BTreeMap::new(),
            similarities: BTreeMap::new(),
            decided_by: BTreeMap::new(),
            framed_hosts: corpus.framed_hosts,
            too_short: status(Status::TooShort),
            hides_most: *hides_most,
            without_words: status(Status::NoWords),
            empty: status(Status::Empty),
            not_text: status(Status::NotText),
            other_languages: status(Status::OtherLanguage),
            redirects: decision.addresses().len() as u64 - revisits,
            revisits,
            passed_over: passed_over.clone(),
            candidate_pairs: effort.candidates,
            compared_pairs: effort.compared,
            confirmed_pairs: effort.confirmed,
            dense: effort.dense,
            collisions: effort.collisions,
            saturated: effort.saturated,
            saturated_within: effort.saturated_within,
            saturated_chance: effort.saturated_chance,
            settings: Settings::of(options, format, inputs),
        };
        for group in decision.groups() {
            let size = group.documents().count() as u64;
            summary.groups += 1;
            summary.largest_group = summary.largest_group.max(size);
            *summary.group_sizes.entry(size).or_default() += 1;
            for page in group.documents().skip(1) {
                summary.count_removed(decision, page);
            }
        }
        for page in decision.known() {
            summary.known += 1;
            summary.count_removed(decision, page);
        }
        summary.kept = summary.documents - summary.exact - summary.near;
        summary
    }

    fn count_removed(&mut self, decision: &Decision<'_>, page: u32) {
        let verdict = decision.verdict(page);
        match verdict.outcome {
            // Documents never redirect: only addresses without one do.
            Outcome::Kept | Outcome::Redirect => return,
            Outcome::Exact => self.exact += 1,
            Outcome::Near => {
                self.near += 1;
                *self.distances.entry(verdict.distance).or_default() += 1;
                let hundredths = (f64::from(verdict.similarity) * 100.0).floor() as u8;
                *self.similarities.entry(hundredths).or_default() += 1;
            }
        }
        if let Some(reason) = decision.reason(page) {
            *self.decided_by.entry(Cow::Borrowed(reason.rule)).or_default() += 1;
        }
    }

    /// Records that are not documents.
    pub fn passed(&self) -> u64 {
        self.passed_over.values().sum()
    }

    /// Documents that go.
    pub fn removed(&self) -> u64 {
        self.exact + self.near
    }
}

impl Settings {
    fn of(options: &Options, format: KeptFormat, inputs: &[String]) -> Self {
        Self {
            recipe: options.fingerprinter.recipe_id().to_string(),
            within: options.policy.within.bits(),
            min_similarity: options.policy.min_similarity.jaccard(),
            confirm: options.confirm.name().into(),
            frames: options.frames.name().into(),
            shingle: options.fingerprinter.recipe().sketch_shingle.words(),
            keep: options.keep.to_string(),
            scope: options.scope.to_string(),
            languages: options.languages.clone(),
            kept: kept_name(format, options.layout),
            inputs: crate::job::shown(inputs),
            against: crate::job::shown(options.against.iter().map(|it| it.to_string_lossy())),
        }
    }
}
