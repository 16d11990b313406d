//! Retrieves the best results of a query.
//!
//! Walks the postings of all words together, in windows of documents and in the order of the query, so
//! floating-point sums do not depend on segments. Counts all results. The score is BM25 of each word in title,
//! body and address, with the word's document frequency in the field where it is highest. Removed documents
//! count, so removing a page changes no other score.
//!
//! Sources: Robertson and Zaragoza 2009, "The probabilistic relevance framework", 3.1; the window is Tantivy's
//! method for unions.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{AllQuery, BooleanQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::view::{DEAD, View};
use crate::engine::{DocumentId, Scored};
use crate::query::ParsedQuery;

/// BM25's k1: how soon repetitions of a word stop counting.
const SATURATION: f32 = 1.2;
/// BM25's b: how much long texts are discounted.
const LENGTH: f32 = 0.75;
/// Weights of a word in the title, the body and the address.
const WORTH: [f32; 3] = [2.0, 1.0, 1.0];
/// Documents scored at a time.
const WINDOW: usize = 4096;

/// The best results with scores, best first, and the number of all results.
pub(super) fn top(
    view: &View,
    query: &ParsedQuery,
    most: usize,
    hidden: &(dyn Fn(DocumentId) -> bool + Sync),
) -> tantivy::Result<(Vec<Scored>, u64)> {
    if query.is_empty() || view.len() == 0 {
        return Ok((Vec::new(), 0));
    }
    let fields = [view.fields.title, view.fields.body, view.fields.address];
    let rarity = query
        .words
        .iter()
        .map(|word| rarity(view, &fields, word))
        .collect::<tantivy::Result<Vec<f32>>>()?;
    let condition = condition(view, query);
    let condition = match &condition {
        Some(query) => Some(query.weight(EnableScoring::disabled_from_searcher(&view.searcher))?),
        None => None,
    };
    let mut best = Best::new(most.min(view.len()));
    let mut all = 0;
    for (segment, reader) in view.segments.iter().zip(view.searcher.segment_readers()) {
        let mut lists = Vec::new();
        for (word, &rarity) in query.words.iter().zip(&rarity) {
            for (at, &field) in fields.iter().enumerate() {
                let average = view.average_length(at);
                lists.extend(List::open(reader, field, word, rarity * WORTH[at], average)?);
            }
        }
        let mut allowed = match &condition {
            Some(weight) => Some(weight.scorer(reader, 1.0)?),
            None => None,
        };
        scan(&mut lists, |document, score| {
            let number = segment.numbers[document as usize];
            if number == DEAD || view.is_removed(number) {
                return;
            }
            if let Some(allowed) = &mut allowed {
                if allowed.doc() < document {
                    allowed.seek(document);
                }
                if allowed.doc() != document {
                    return;
                }
            }
            if !hidden(DocumentId(u64::from(number))) {
                all += 1;
                best.offer(score, number);
            }
        });
    }
    Ok((best.into_sorted(), all))
}

/// Calls `visit` for every document of the lists, in order, with the sum of its scores.
fn scan(lists: &mut [List], mut visit: impl FnMut(u32, f32)) {
    let mut scores = vec![0f32; WINDOW];
    let mut found = [0u64; WINDOW / 64];
    loop {
        let first = lists.iter().map(|list| list.postings.doc()).min().unwrap_or(TERMINATED);
        if first == TERMINATED {
            return;
        }
        let start = first - first % WINDOW as u32;
        let end = start.saturating_add(WINDOW as u32);
        for list in &mut *lists {
            let mut document = list.postings.doc();
            while document < end {
                let at = (document - start) as usize;
                scores[at] += list.score(document);
                found[at / 64] |= 1 << (at % 64);
                document = list.postings.advance();
            }
        }
        for (block, bits) in found.iter_mut().enumerate() {
            while *bits != 0 {
                let at = block * 64 + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                visit(start + at as u32, std::mem::take(&mut scores[at]));
            }
        }
    }
}

/// The postings of a word in a field of a segment.
struct List {
    postings: SegmentPostings,
    lengths: FieldNormReader,
    weight: f32,
    /// What each length class adds to the denominator.
    discounts: Vec<f32>,
}

impl List {
    fn open(
        reader: &SegmentReader,
        field: Field,
        word: &str,
        weight: f32,
        average: f32,
    ) -> tantivy::Result<Option<Self>> {
        let term = Term::from_field_text(field, word);
        let index = reader.inverted_index(field)?;
        let Some(postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)? else {
            return Ok(None);
        };
        let lengths = reader.get_fieldnorms_reader(field)?;
        let discount = |class: u8| {
            let length = FieldNormReader::id_to_fieldnorm(class) as f32;
            SATURATION * (1.0 - LENGTH + LENGTH * length / average)
        };
        let discounts = (0..=u8::MAX).map(discount).collect();
        Ok(Some(Self { postings, lengths, weight: weight * (1.0 + SATURATION), discounts }))
    }

    fn score(&self, document: u32) -> f32 {
        let times = self.postings.term_freq() as f32;
        let class = self.lengths.fieldnorm_id(document);
        self.weight * times / (times + self.discounts[usize::from(class)])
    }
}

/// The weight of a word by the number of existing documents with it.
fn rarity(view: &View, fields: &[Field], word: &str) -> tantivy::Result<f32> {
    let mut most = 0u64;
    for &field in fields {
        let term = Term::from_field_text(field, word);
        let mut having = 0;
        for reader in view.searcher.segment_readers() {
            let index = reader.inverted_index(field)?;
            having += u64::from(match reader.alive_bitset() {
                None => index.doc_freq(&term)?,
                Some(alive) => index
                    .read_postings(&term, IndexRecordOption::Basic)?
                    .map_or(0, |postings| postings.doc_freq_given_deletes(alive)),
            });
        }
        most = most.max(having);
    }
    let all = view.len() as f64;
    let having = most as f64;
    Ok((1.0 + (all - having + 0.5) / (having + 0.5)).ln() as f32)
}

/// The conditions of a query besides its words; `None` if it has none.
fn condition(view: &View, query: &ParsedQuery) -> Option<BooleanQuery> {
    if !query.has_conditions() {
        return None;
    }
    let fields = &view.fields;
    let together = |words: &[String]| -> Box<dyn Query> {
        let places = [fields.title, fields.body, fields.address];
        let anywhere = places.map(|field| -> (Occur, Box<dyn Query>) {
            let terms: Vec<Term> =
                words.iter().map(|word| Term::from_field_text(field, word)).collect();
            (
                Occur::Should,
                match terms.as_slice() {
                    [term] => Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)),
                    _ => Box::new(PhraseQuery::new(terms)),
                },
            )
        });
        Box::new(BooleanQuery::new(anywhere.into()))
    };
    let one_of = |field: Field, values: &[String]| -> Box<dyn Query> {
        let terms = values.iter().map(|value| Term::from_field_text(field, value)).collect();
        Box::new(BooleanQuery::new_multiterms_query(terms))
    };
    let mut parts: Vec<(Occur, Box<dyn Query>)> = vec![(Occur::Must, Box::new(AllQuery))];
    parts.extend(query.required.iter().map(|words| (Occur::Must, together(words))));
    parts.extend(query.excluded.iter().map(|words| (Occur::MustNot, together(words))));
    for (field, values) in [(fields.site, &query.sites), (fields.language, &query.languages)] {
        if !values.is_empty() {
            parts.push((Occur::Must, one_of(field, values)));
        }
    }
    Some(BooleanQuery::new(parts))
}

/// Collects the best results: higher scores first, ties by smaller number.
struct Best {
    most: usize,
    /// Results must exceed this to be among the best.
    bar: u64,
    kept: Vec<u64>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, bar: 0, kept: Vec::with_capacity(2 * most) }
    }

    fn offer(&mut self, score: f32, number: u32) {
        // Positive floats sort like their bits.
        let key = u64::from(score.to_bits()) << 32 | u64::from(!number);
        if key <= self.bar || self.most == 0 {
            return;
        }
        self.kept.push(key);
        if self.kept.len() >= 2 * self.most {
            self.kept.select_nth_unstable_by(self.most - 1, |a, b| b.cmp(a));
            self.kept.truncate(self.most);
            self.bar = self.kept[self.most - 1];
        }
    }

    fn into_sorted(mut self) -> Vec<Scored> {
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        self.kept.truncate(self.most);
        let one = |key: u64| Scored {
            id: DocumentId(u64::from(!(key as u32))),
            relevance: f32::from_bits((key >> 32) as u32),
        };
        self.kept.into_iter().map(one).collect()
    }
}
