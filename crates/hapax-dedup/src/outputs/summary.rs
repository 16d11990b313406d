//! `summary.json`: counts and settings of a job.
//!
//! Nothing in it depends on the time, the machine or the number of threads; what does is in `run.json`.
//! Programs read the field names, so they change only with a note in the changelog.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hapax::group::Outcome;
use hapax::group::scope::SUFFIXES;
use serde::{Deserialize, Serialize};

use super::kept::kept_name;
use crate::decide::Decision;
use crate::options::{KeptFormat, Options};
use crate::pages::Status;
use crate::passed_over::PassedCounts;
use crate::read::{Corpus, ReadCounts};

/// The counts and settings of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Records read: documents and passed-over records.
    pub records: u64,
    /// Documents read: kept and removed.
    pub documents: u64,
    pub body_bytes: u64,
    pub kept: u64,
    /// Documents removed because another has the same text.
    pub exact: u64,
    /// Documents removed because another has nearly the same text.
    pub near: u64,
    /// Removed documents whose winner was kept by an earlier job.
    pub known: u64,
    /// Documents kept because exact confirmation refuted their match.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Groups of two or more documents.
    pub groups: u64,
    /// Number of documents in the largest group.
    pub largest_group: u64,
    /// Groups with documents that match some of another group, but not its winner.
    pub related_groups: u64,
    /// Number of groups by size.
    pub group_sizes: BTreeMap<u64, u64>,
    /// Near-duplicates by distance to their winner in bits.
    pub distances: BTreeMap<u8, u64>,
    /// Near-duplicates by similarity to their winner in hundredths, rounded down.
    pub similarities: BTreeMap<u8, u64>,
    /// Removed documents by the rule that chose their winner.
    pub decided_by: BTreeMap<Cow<'static, str>, u64>,
    /// Hosts with a learned frame.
    #[serde(default)]
    pub framed_hosts: u64,
    /// Documents with too few words for a near match; only exact copies are found.
    pub too_short: u64,
    /// Documents with more hidden than visible text; the visible text is compared.
    #[serde(default)]
    pub hides_most: u64,
    /// Documents with text but without words.
    pub without_words: u64,
    /// Documents without any text; they are kept.
    pub empty: u64,
    /// Documents that are neither HTML nor text.
    pub not_text: u64,
    /// Documents in languages that were not asked for; they are kept.
    pub other_languages: u64,
    /// Addresses that redirect to a document.
    pub redirects: u64,
    /// Addresses whose revisit record leads to a document.
    pub revisits: u64,
    /// Records that are not documents, by reason.
    pub passed_over: PassedCounts,
    pub candidate_pairs: u64,
    pub compared_pairs: u64,
    pub confirmed_pairs: u64,
    /// Documents in dense clusters.
    pub dense: u64,
    /// Documents with the same fingerprint as many others and different text; each was compared
    /// with few of them.
    pub collisions: u64,
    /// Documents with too many chance matches to compare all of them.
    pub saturated: u64,
    /// Bound in bits for saturated documents; `None` if the bound was not narrowed.
    pub saturated_within: Option<u32>,
    /// Probability that sketches propose a pair of the minimum similarity; `None` if fingerprints
    /// proposed.
    pub saturated_chance: Option<f64>,
    pub settings: Settings,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Name and digest of the recipe.
    pub recipe: String,
    pub within: u32,
    /// Minimum Jaccard similarity of the shingle sets.
    pub min_similarity: f64,
    /// What had to be confirmed: `no`, `keyed` or `exact`.
    #[serde(default)]
    pub confirm: Cow<'static, str>,
    /// Whether pages of one host were also compared by their own texts (`on`), own texts alone
    /// decided (`own`), or frames were not learned (`off`).
    #[serde(default)]
    pub frames: Cow<'static, str>,
    /// Words per shingle.
    pub shingle: usize,
    pub keep: String,
    /// Which pages may match each other.
    pub scope: String,
    /// The list of public suffixes that says which addresses have one owner.
    #[serde(default)]
    pub suffixes: Cow<'static, str>,
    /// Languages that were compared; empty for all.
    pub languages: Vec<String>,
    /// File name of the kept documents; for several files, a pattern.
    pub kept: String,
    /// As given, without credentials.
    pub inputs: Vec<String>,
    /// As given.
    pub against: Vec<String>,
}

impl Summary {
    /// Counts what a job decided.
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
            // Unreachable for documents: only addresses without a document redirect.
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

    /// Number of records that are not documents.
    pub fn passed(&self) -> u64 {
        self.passed_over.values().sum()
    }

    /// Number of removed documents.
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
            suffixes: SUFFIXES.into(),
            languages: options.languages.clone(),
            kept: kept_name(format, options.layout),
            inputs: crate::job::shown(inputs),
            against: crate::job::shown(options.against.iter().map(|it| it.to_string_lossy())),
        }
    }
}
