//! Runs an evaluation: documents and truth in, a [`Report`] out. Predictions come from the job itself. Documents are
//! read once per recipe; every distance and similarity is a decision of its own.
//!
//! ```text
//!   documents --hapax_dedup::read_corpus--> pages --hapax_dedup::decide--> predictions --+
//!   truth file --resolve ids--> known pairs, partition ---------------------------------+--> report
//!   documents again --exact runs of five tokens--> similarity of removed pairs ---------+
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use hapax::fingerprint::{Fingerprinter, MaxDistance};
use hapax::similarity::{MinSimilarity, Policy};
use hapax_corpus::{Kind, Source};
use hapax_dedup::{Corpus, Earlier, Frames, Options, Pages, Threads, Watch, decide, read_corpus};

use crate::connect::Sets;
use crate::curves::{self, Measured};
use crate::error::Error;
use crate::metrics::Score;
use crate::metrics::bootstrap::{self, Sums};
use crate::metrics::counts::PairScores;
use crate::metrics::groups::GroupScores;
use crate::prediction::Prediction;
use crate::reference::{FEWEST, RunSet};
use crate::report::{LabelRow, RemovedScores, Report, Run, TruthSummary, WrongPair};
use crate::truth::known::{Known, Meaning, members, some_pairs};
use crate::truth::{Truth, free};

#[derive(Debug)]
pub struct Evaluation {
    /// Files, folders or globs.
    pub inputs: Vec<String>,
    /// The truth and the name of its file; `None` to use labels that the crawl contains.
    pub truth: Option<(Truth, String)>,
    pub meaning: Meaning,
    /// Graded pairs with at least this similarity are duplicates.
    pub alike: f64,
    /// The recipes to compare; errors are shown for the first.
    pub recipes: Vec<Fingerprinter>,
    /// The maximum distances to compare.
    pub within: Vec<MaxDistance>,
    /// The minimum similarities to compare.
    pub min_similarity: Vec<MinSimilarity>,
    /// Predictions of other programs: a name and a table of groups.
    pub others: Vec<(String, PathBuf)>,
    /// Whether to compute the exact similarity of removed pairs, which reads the documents again.
    pub exact: bool,
    /// Number of wrong pairs to keep of each kind.
    pub worst: usize,
    /// All other settings of reading and deciding.
    pub options: Options,
}

/// More removed pairs than this are sampled evenly for the exact similarity.
const MOST_REMOVED: usize = 50_000;
/// Maximum number of member pairs that are measured per group.
const MOST_MEMBER_PAIRS: usize = 1_000;

impl Evaluation {
    /// The defaults of the job.
    pub fn new(inputs: Vec<String>, fingerprinter: Fingerprinter) -> Self {
        let options = Options::new(fingerprinter.clone());
        Self {
            inputs,
            truth: None,
            meaning: Meaning::default(),
            alike: 0.9,
            recipes: vec![fingerprinter],
            within: vec![options.policy.within],
            min_similarity: vec![options.policy.min_similarity],
            others: Vec::new(),
            exact: true,
            worst: 6,
            options,
        }
    }

    /// Sets the use of frames and the bounds that go with it.
    pub fn use_frames(&mut self, frames: Frames) {
        self.options.use_frames(frames);
        let policy = &self.options.policy;
        (self.within, self.min_similarity) = (vec![policy.within], vec![policy.min_similarity]);
    }

    /// Runs the evaluation.
    ///
    /// # Errors
    ///
    /// Documents or truth cannot be read, or no id of the truth is a document.
    pub fn run(&self, watch: &mut dyn Watch) -> Result<Report, Error> {
        let mut report = Report { inputs: self.inputs.clone(), ..Report::default() };
        for (number, recipe) in self.recipes.iter().enumerate() {
            let mut options = self.options.clone();
            options.fingerprinter = recipe.clone();
            let corpus = read_corpus(&self.inputs, &options, watch)?;
            let pages = &corpus.pages;
            let known = self.known(pages)?;
            if number == 0 {
                report.documents = pages.len() as u64;
                report.truth = self.summary(&known);
            }
            let mut answers = Vec::new();
            for &within in &self.within {
                for &least in &self.min_similarity {
                    options.policy = Policy { within, min_similarity: least };
                    let prediction = predicted(&corpus, &options)?;
                    let settings = Some((within.bits(), least.jaccard()));
                    let name = recipe.recipe_id().name().to_owned();
                    answers.push(Answer { name, settings, prediction });
                }
            }
            if number == 0 {
                for (name, path) in &self.others {
                    let prediction = Prediction::read(path, pages)?;
                    answers.push(Answer { name: name.clone(), settings: None, prediction });
                }
            }
            let exact = match self.exact {
                true => Exact::of(&self.inputs, &options, &answers)?,
                false => Exact::default(),
            };
            let measured: Vec<Measured> =
                known.pairs.iter().map(|pair| Measured::of(pages, pair.a, pair.b)).collect();
            for answer in &answers {
                let scorer = Scorer { pages, known: &known, measured: &measured, exact: &exact };
                let run = scorer.run(answer, self.worst);
                report.runs.push(run);
            }
        }
        Ok(report)
    }

    fn known(&self, pages: &Pages) -> Result<Known, Error> {
        let Some((truth, name)) = &self.truth else {
            let labels = Truth::Pairs(free::labels(pages));
            return Ok(Known::of(&labels, pages, &self.meaning, self.alike));
        };
        let known = Known::of(truth, pages, &self.meaning, self.alike);
        if known.pairs.is_empty() && known.complete.is_empty() && known.missing > 0 {
            return Err(Error::UnknownDocuments {
                path: name.clone(),
                first: truth.first_id().unwrap_or_default().to_owned(),
                document: pages.id(0).to_owned(),
            });
        }
        Ok(known)
    }

    fn summary(&self, known: &Known) -> TruthSummary {
        let duplicates = known.pairs.iter().filter(|pair| pair.duplicate == Some(true)).count();
        let others = known.pairs.iter().filter(|pair| pair.duplicate == Some(false)).count();
        TruthSummary {
            file: self.truth.as_ref().map(|(_, name)| name.clone()),
            duplicates: duplicates as u64,
            others: others as u64,
            ignored: (known.pairs.len() - duplicates - others) as u64,
            groups: known.partition.as_ref().map(|it| members(it).len() as u64),
            missing: known.missing,
            unmatched_labels: self.meaning.unmatched(&known.labels),
            labels: known.labels.clone(),
            graded: known.graded,
            alike: self.alike,
        }
    }
}

/// The label of pairs of a removed document and its representative.
const REMOVED: &str = "removed";

/// The prediction of the job with these options.
fn predicted(corpus: &Corpus, options: &Options) -> Result<Prediction, Error> {
    let threads = Threads::new(options.threads)?;
    // A name that nobody can guess, because every user can write to the folder for temporary files.
    let scratch = tempfile::tempdir().map_err(|source| Error::Io {
        what: "create a folder in",
        path: std::env::temp_dir().display().to_string(),
        source,
    })?;
    let earlier = Earlier::default();
    let scratch = scratch.path();
    let decision = decide(&corpus.pages, &corpus.facts, &earlier, options, &threads, scratch)?;
    Ok(Prediction::of(&decision))
}

/// A prediction with its source, and distance and similarity if that is the job.
struct Answer {
    name: String,
    settings: Option<(u32, f64)>,
    prediction: Prediction,
}

/// Exact similarities of removed pairs.
#[derive(Debug, Default)]
struct Exact(BTreeMap<u32, RunSet>);

impl Exact {
    /// Reads the documents again and keeps the runs of documents in removed pairs.
    fn of(inputs: &[String], options: &Options, answers: &[Answer]) -> Result<Self, Error> {
        let mut wanted: BTreeMap<u32, RunSet> = BTreeMap::new();
        for answer in answers {
            for (page, winner) in sampled(&answer.prediction.removed) {
                wanted.insert(page, RunSet::default());
                wanted.insert(winner, RunSet::default());
            }
        }
        let source = Source::open(inputs, options.read.clone())?;
        let mut number = 0;
        for mut batch in source.batches() {
            for document in batch.documents() {
                let document = document?;
                if let Some(runs) = wanted.get_mut(&number) {
                    let text = String::from_utf8_lossy(document.body.content.as_bytes());
                    *runs = match document.body.kind {
                        Kind::Html => RunSet::of_html(&text),
                        Kind::Text | Kind::Other => RunSet::of_text(&text),
                    };
                }
                number += 1;
            }
        }
        Ok(Self(wanted))
    }

    /// Similarity of two documents; `None` if one of them has fewer than [`FEWEST`] runs.
    fn jaccard(&self, a: u32, b: u32) -> Option<f64> {
        let (a, b) = (self.0.get(&a)?, self.0.get(&b)?);
        (a.len() >= FEWEST && b.len() >= FEWEST).then(|| a.jaccard(b))
    }
}

fn sampled(removed: &[(u32, u32)]) -> impl Iterator<Item = (u32, u32)> {
    removed.iter().copied().step_by(removed.len().div_ceil(MOST_REMOVED).max(1))
}

struct Scorer<'a> {
    pages: &'a Pages,
    known: &'a Known,
    measured: &'a [Measured],
    exact: &'a Exact,
}

impl Scorer<'_> {
    fn run(&self, Answer { name, settings, prediction }: &Answer, worst: usize) -> Run {
        let settings = *settings;
        let (pages, known) = (self.pages, self.known);
        let blocks = self.blocks(prediction);
        let block = |page: u32| blocks[page as usize];
        let scored = known.pairs.iter().filter_map(|pair| {
            let together = prediction.together(pair.a, pair.b);
            pair.duplicate.map(|duplicate| (block(pair.a), duplicate, together))
        });
        let pairs = (!known.pairs.is_empty()).then(|| PairScores::of(scored));
        let complete = |page: u32| known.graded || known.complete.binary_search(&page).is_ok();
        let groups = known
            .partition
            .as_ref()
            .map(|partition| GroupScores::of(partition, &prediction.group, &blocks, complete));
        let ladder = curves::ladder(
            &known.pairs,
            self.measured,
            |pair| known.graded || pair.duplicate == Some(true),
            |a, b| prediction.together(a, b),
        );
        let (beyond, member_pairs) = settings.map_or((0, 0), |it| self.beyond(prediction, it));
        Run {
            name: name.to_owned(),
            within: settings.map(|it| it.0),
            min_similarity: settings.map(|it| it.1),
            removed: prediction.removed.len() as u64,
            exact_copies: prediction.exact,
            groups: members(&prediction.group).len() as u64,
            largest_group: prediction.largest(),
            beyond_bound: settings.map(|_| beyond as f64 / member_pairs.max(1) as f64),
            pairs,
            resolved: self.resolved(prediction, &blocks),
            group_scores: groups,
            labels: self.labels(prediction),
            removed_pairs: self.removed(prediction, &blocks),
            ladder,
            curves: match settings {
                Some(_) => curves::curves(&known.pairs, self.measured),
                None => Vec::new(),
            },
            distances: settings.map(|_| curves::distances(&known.pairs, self.measured)),
            worst: self.worst(prediction, worst),
            documents: pages.len() as u64,
        }
    }

    /// Pairs of duplicates of which at most one document is kept.
    fn resolved(&self, prediction: &Prediction, blocks: &[u32]) -> Score {
        let mut removed = vec![false; self.pages.len()];
        prediction.removed.iter().for_each(|(page, _)| removed[*page as usize] = true);
        let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
        let mut duplicates = 0;
        for pair in self.known.pairs.iter().filter(|pair| pair.duplicate == Some(true)) {
            duplicates += 1;
            let block = sums.entry(blocks[pair.a as usize]).or_default();
            block[0] += f64::from(u8::from(removed[pair.a as usize] || removed[pair.b as usize]));
            block[1] += 1.0;
        }
        bootstrap::share(&sums.into_values().collect::<Vec<_>>(), duplicates)
    }

    /// Documents connected by truth or prediction are resampled together.
    fn blocks(&self, prediction: &Prediction) -> Vec<u32> {
        let mut sets = Sets::new(self.pages.len());
        for pair in self.known.pairs.iter().filter(|pair| pair.duplicate == Some(true)) {
            sets.connect(pair.a, pair.b);
        }
        for (page, winner) in prediction.group.iter().enumerate() {
            sets.connect(page as u32, *winner);
        }
        sets.partition()
    }

    /// Number of member pairs outside the bounds, and of all measured member pairs.
    fn beyond(&self, prediction: &Prediction, (within, least): (u32, f64)) -> (u64, u64) {
        let (mut beyond, mut all) = (0, 0);
        for group in members(&prediction.group) {
            for (a, b) in some_pairs(&group, MOST_MEMBER_PAIRS) {
                all += 1;
                let measured = Measured::of(self.pages, a, b);
                beyond += u64::from(!measured.within(within as u8, least as f32));
            }
        }
        (beyond, all)
    }

    fn labels(&self, prediction: &Prediction) -> Vec<LabelRow> {
        let mut rows: Vec<LabelRow> = self
            .known
            .labels
            .iter()
            .map(|label| LabelRow { label: label.clone(), ..LabelRow::default() })
            .collect();
        for pair in &self.known.pairs {
            let row = &mut rows[usize::from(pair.label)];
            row.pairs += 1;
            row.duplicate = pair.duplicate;
            row.together += u64::from(prediction.together(pair.a, pair.b));
        }
        rows
    }

    fn removed(&self, prediction: &Prediction, blocks: &[u32]) -> Option<RemovedScores> {
        if self.exact.0.is_empty() {
            return None;
        }
        let mut scores = RemovedScores::default();
        let mut sums: [BTreeMap<u32, Sums>; 2] = Default::default();
        for (page, winner) in sampled(&prediction.removed) {
            let Some(jaccard) = self.exact.jaccard(page, winner) else {
                scores.too_short += 1;
                continue;
            };
            scores.pairs += 1;
            scores.below_half += u64::from(jaccard < 0.5);
            scores.least = scores.least.min(jaccard);
            for (sums, bound) in sums.iter_mut().zip([0.8, 0.9]) {
                let block = sums.entry(blocks[page as usize]).or_default();
                block[0] += f64::from(u8::from(jaccard >= bound));
                block[1] += 1.0;
            }
        }
        let [from_80, from_90] = sums.map(|sums| {
            let sums: Vec<Sums> = sums.into_values().collect();
            bootstrap::share(&sums, scores.pairs)
        });
        (scores.from_80, scores.from_90) = (from_80, from_90);
        Some(scores)
    }

    /// The most dissimilar removed pairs, then the most similar duplicates that were not found.
    fn worst(&self, prediction: &Prediction, most: usize) -> Vec<WrongPair> {
        let wrong = |a: u32, b: u32, jaccard: Option<f64>, merged: bool, label: &str| {
            let measured = Measured::of(self.pages, a, b);
            WrongPair {
                a: self.pages.id(a).to_owned(),
                b: self.pages.id(b).to_owned(),
                positions: (a, b),
                merged,
                label: label.to_owned(),
                jaccard,
                reference: label == REMOVED,
                distance: measured.comparable.then_some(measured.distance),
                similarity: measured.comparable.then_some(measured.similarity),
            }
        };
        let mut merged: Vec<WrongPair> = Vec::new();
        let mut missed: Vec<WrongPair> = Vec::new();
        for (page, winner) in sampled(&prediction.removed) {
            if let Some(jaccard) = self.exact.jaccard(page, winner).filter(|it| *it < 0.8) {
                merged.push(wrong(page, winner, Some(jaccard), true, REMOVED));
            }
        }
        for pair in &self.known.pairs {
            let together = prediction.together(pair.a, pair.b);
            let jaccard = pair.jaccard.map(f64::from);
            let label = &self.known.labels[usize::from(pair.label)];
            match pair.duplicate {
                Some(true) if !together => {
                    missed.push(wrong(pair.a, pair.b, jaccard, false, label))
                }
                Some(false) if together && !self.known.graded => {
                    merged.push(wrong(pair.a, pair.b, jaccard, true, label));
                }
                _ => {}
            }
        }
        let key = |pair: &WrongPair| pair.jaccard.unwrap_or(0.5);
        merged.sort_by(|x, y| key(x).total_cmp(&key(y)).then(x.positions.cmp(&y.positions)));
        missed.sort_by(|x, y| key(y).total_cmp(&key(x)).then(x.positions.cmp(&y.positions)));
        one_of_each(&mut merged, most);
        one_of_each(&mut missed, most);
        merged.into_iter().chain(missed).collect()
    }
}

/// Keeps one example of a page with many wrong partners.
fn one_of_each(pairs: &mut Vec<WrongPair>, most: usize) {
    let mut seen: Vec<u32> = Vec::new();
    pairs.retain(|pair| {
        let (a, b) = pair.positions;
        let new = seen.len() < 2 * most && !seen.contains(&a) && !seen.contains(&b);
        if new {
            seen.extend([a, b]);
        }
        new
    });
}
