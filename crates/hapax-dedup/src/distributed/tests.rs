//! The distributed steps, run by a toy engine, give the decision of one machine.
//!
//! The toy splits rows by the key they must share, shuffles the rows of every task, and joins the results:
//! anything a real engine may do.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float32Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use hapax::fingerprint::{
    ContentHash, Fingerprint, Fingerprinter, Key, MaxDistance, Recipe, ShortSketch, Sketch,
};
use hapax::frame::{OwnText, Piece};
use hapax::group::ScopeKey;
use hapax::join::OneThread;
use hapax::similarity::MinSimilarity;
use hapax_corpus::{ReadOptions, Source};
use proptest::prelude::*;

use super::rows::{batch, numbers};
use super::{Cut, Steps, Wide};
use crate::against::Earlier;
use crate::decide;
use crate::frames::Own;
use crate::options::Options;
use crate::pages::{NewPage, Pages, Status};
use crate::signatures::{page_bytes, page_of_bytes};

/// Winner, outcome, distance, similarity and reason.
type Verdict = (i64, String, i64, f32, String);

/// A low limit, so that the scopes of these tests are wide.
const MANY: usize = 1 << 7;

fn options(least: f64) -> Options {
    let recipe = Recipe::built_in("web-2").unwrap();
    let by = Fingerprinter::new(recipe, None).unwrap().with_short_key(&Key::new(b"any"));
    let mut options = Options::new(by);
    options.many = MANY;
    options.policy.within = MaxDistance::new(6).unwrap();
    options.policy.min_similarity = MinSimilarity::new(least).unwrap();
    options
}

fn mix(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 8
}

/// Some pages share a domain; between domains, one page in eight is a forgery of the others similar
/// to it.
fn page(name: usize, content: u64, bits: u64, sketch: &[u16], scope: u64) -> NewPage {
    let short = [if name % 8 == 5 { 0x1b } else { 0xe4 }; 32];
    let domain = name % 7;
    let mut bytes = [0; 128];
    sketch.iter().for_each(|&bit| bytes[usize::from(bit % 1024) / 8] ^= 1 << (bit % 8));
    NewPage {
        id: format!("http://{name:05}.d{domain}.test/"),
        url: format!("http://{name:05}.d{domain}.test/"),
        canonical: None,
        content: ContentHash::of(&content.to_string()),
        status: Status::Comparable,
        fingerprint: Fingerprint::from_bits(bits),
        sketch: Sketch::from_bytes(&bytes),
        short: Some(ShortSketch::from_bytes(&short)),
        score: Some((mix(name as u64) % 5) as f64),
        fetched: None,
        words: 100,
        scope: ScopeKey(scope),
        alone: false,
    }
}

/// Families around centres, so that pairs, equal fingerprints, copies and dense clusters occur.
fn families(sizes: &[usize], bits: u64, spread: u64, scopes: u64) -> Vec<NewPage> {
    let mut list: Vec<NewPage> = Vec::new();
    for (family, &size) in (0u64..).zip(sizes) {
        let text: Vec<u16> = (0..300).map(|i| (mix(family * 7919 + i) % 1024) as u16).collect();
        for member in 0..size as u64 {
            let seed = mix(family * 1_000_003 + member);
            let mut fingerprint = mix(family) << 8 ^ mix(family + 99);
            (0..seed % (bits + 1)).for_each(|i| fingerprint ^= 1 << (mix(seed + i) % 64));
            let mut sketch = text.clone();
            let flips = mix(seed) % (spread + 1);
            sketch.extend((0..flips).map(|i| (mix(seed * 3 + i) % 1024) as u16));
            let name = list.len();
            // Every ninth page is a copy of an earlier one.
            let copied = (name % 9 == 8).then(|| list[name - 1 - seed as usize % 8].clone());
            let scope = family % scopes;
            let own = page(name, name as u64, fingerprint, &sketch, scope);
            list.push(match copied {
                Some(first) if first.scope == own.scope => {
                    NewPage { id: own.id, url: own.url, score: own.score, ..first }
                }
                _ => own,
            });
        }
    }
    list.sort_by_key(|page| mix(page.id.len() as u64 + page.fingerprint.to_bits()));
    list
}

fn column<'b, A: Array + 'static>(rows: &'b RecordBatch, name: &str) -> &'b A {
    rows.column_by_name(name).unwrap().as_any().downcast_ref().unwrap()
}

fn chosen(rows: &RecordBatch, wanted: impl Fn(usize) -> bool) -> RecordBatch {
    // Reversed: no step may depend on the order.
    let places: Vec<u64> =
        (0..rows.num_rows()).rev().filter(|&row| wanted(row)).map(|row| row as u64).collect();
    take_record_batch(rows, &UInt64Array::from(places)).unwrap()
}

/// Splits rows over tasks by a key, runs `work` on each task, and joins the results.
fn tasks(
    rows: &RecordBatch,
    key: &str,
    count: u64,
    work: impl Fn(&RecordBatch) -> RecordBatch,
) -> RecordBatch {
    let keys: &Int64Array = column(rows, key);
    let of = |task: u64| {
        let rows = chosen(rows, |row| mix(keys.value(row).cast_unsigned()) % count == task);
        work(&rows)
    };
    let done: Vec<RecordBatch> = (0..count).map(of).collect();
    concat_batches(&done[0].schema(), &done).unwrap()
}

fn roles(rows: &RecordBatch, wanted: impl Fn(i64) -> bool) -> RecordBatch {
    let role: &Int64Array = column(rows, "role");
    chosen(rows, |row| wanted(role.value(row)))
}

fn joined(parts: &[RecordBatch]) -> RecordBatch {
    concat_batches(&parts[0].schema(), parts).unwrap()
}

/// Every fifth page has no frame; of the others, one in three differs from its family in its own
/// text.
fn owns(list: &[NewPage]) -> Vec<Own> {
    let piece = |at: u64| Piece { hash: mix(at) as u32, words: 4 };
    let own = |page: &NewPage| {
        let [family, name] = [page.sketch.to_bytes()[0], page.content.to_bytes()[0]].map(u64::from);
        let seed = if name % 3 == 0 { name << 8 } else { family };
        let text = OwnText::of((0..20).map(|at| piece(seed * 977 + at)));
        if name % 5 == 0 { Own::default() } else { Own { host: 1 + family as u32 % 2, text } }
    };
    list.iter().map(own).collect()
}

fn signatures(list: &[NewPage], owns: &[Own]) -> RecordBatch {
    let own = |page: usize| owns.get(page).filter(|own| own.host != 0).map(|own| own.to_bytes());
    let own: BinaryArray = (0..list.len()).map(own).collect();
    let pages: BinaryArray = list.iter().map(|page| Some(page_bytes(page))).collect();
    let buckets = list.iter().map(|page| match page.status {
        Status::Comparable => super::mixed(&[page.scope.0, page.fingerprint.to_bits()]),
        _ => super::mixed(&[u64::from(page.content.to_bytes()[0])]),
    });
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("position", numbers((0..list.len() as i64).collect())),
        ("bucket", numbers(buckets.map(u64::cast_signed).collect())),
        ("named", Arc::new(BooleanArray::from(vec![false; list.len()]))),
        ("page", Arc::new(pages)),
        ("own", Arc::new(own)),
    ];
    batch("signature", columns).unwrap()
}

/// Every step after the first reading, as an engine would run it. Returns verdicts by position.
fn distributed(list: &[NewPage], owns: &[Own], steps: &Steps, count: u64) -> Vec<Verdict> {
    let given = signatures(list, owns);
    let copies = tasks(&given, "bucket", count, |rows| steps.copies(rows).unwrap());
    let found = roles(&copies, |role| role == 0);
    let mut scopes = std::collections::BTreeMap::<i64, usize>::new();
    for scope in column::<Int64Array>(&found, "scope").values() {
        *scopes.entry(*scope).or_default() += 1;
    }
    scopes.retain(|_, representatives| *representatives > MANY);
    let wide: Vec<Wide> = scopes
        .into_iter()
        .map(|(scope, representatives)| (scope, steps.part_bits(representatives)))
        .collect();
    let wide = wide.as_slice();
    let bucket_sizes =
        tasks(&found, "position", count, |rows| steps.bucket_sizes(rows, wide).unwrap());
    let (buckets, counts): (&Int64Array, &Int64Array) =
        (column(&bucket_sizes, "bucket"), column(&bucket_sizes, "count"));
    let mut sums = std::collections::BTreeMap::<i64, i64>::new();
    for row in 0..bucket_sizes.num_rows() {
        *sums.entry(buckets.value(row)).or_default() += counts.value(row);
    }
    let dense: Vec<i64> =
        sums.into_iter().filter(|it| it.1 >= Steps::DENSE as i64).map(|it| it.0).collect();
    let suspects = steps.suspects(&found, &dense, wide).unwrap();
    let mut thinning = thinning(&suspects, &given);
    for pass in 0..Steps::PASSES {
        thinning = tasks(&thinning, "bucket", count, |rows| steps.thin(rows, pass, wide).unwrap());
    }
    let slim = |rows: &RecordBatch| rows.project(&[0, 1, 2, 3, 4]).unwrap();
    let all_roles = joined(&[slim(&copies), slim(&roles(&thinning, |role| role != 0))]);
    let members = roles(&thinning, |role| role == 2);
    let led: &Int64Array = column(&members, "position");
    let positions: &Int64Array = column(&found, "position");
    let representatives = chosen(&found, |row| !led.values().contains(&positions.value(row)));
    let candidates = candidates(&representatives, steps, count);
    let pairs = steps.confirm(&with_both(&candidates, &representatives)).unwrap();
    resolved(&given, &pairs, &all_roles, steps, count)
}

/// Joins suspects with their pages, as representatives.
fn thinning(suspects: &RecordBatch, given: &RecordBatch) -> RecordBatch {
    let positions: &Int64Array = column(suspects, "position");
    let places = UInt64Array::from_iter_values(positions.values().iter().map(|it| *it as u64));
    let pages = take_record_batch(given, &places).unwrap();
    let rows = suspects.num_rows();
    let get = |rows: &RecordBatch, name: &str| Arc::clone(rows.column_by_name(name).unwrap());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("role", numbers(vec![0; rows])),
        ("position", get(suspects, "position")),
        ("target", Arc::new(Int64Array::new_null(rows))),
        ("distance", Arc::new(Int64Array::new_null(rows))),
        ("similarity", Arc::new(Float32Array::new_null(rows))),
        ("named", get(&pages, "named")),
        ("page", get(&pages, "page")),
        ("own", get(&pages, "own")),
        ("bucket", get(suspects, "bucket")),
    ];
    batch("role", columns).unwrap()
}

fn candidates(representatives: &RecordBatch, steps: &Steps, count: u64) -> Vec<(i64, i64)> {
    let sample =
        tasks(representatives, "position", count, |rows| steps.saturation_sample(rows).unwrap());
    let sample = steps.saturation_sample(&sample).unwrap();
    let counted = tasks(representatives, "position", count, |rows| {
        steps.saturation_count(rows, &sample).unwrap()
    });
    let scopes: &Int64Array = column(representatives, "scope");
    let sampled: (&Int64Array, &Int64Array) =
        (column(&sample, "scope"), column(&sample, "fingerprint"));
    let mut all: Vec<i64> = scopes.values().to_vec();
    all.sort_unstable();
    all.dedup();
    let mut found = Vec::new();
    for scope in all {
        let rows = chosen(representatives, |row| scopes.value(row) == scope);
        let queries: Vec<i64> = (0..sample.num_rows())
            .filter(|&row| sampled.0.value(row) == scope)
            .map(|row| sampled.1.value(row))
            .collect();
        let mut sums = vec![vec![0; 7]; queries.len()];
        let number = |name: &str, row: usize| column::<Int64Array>(&counted, name).value(row);
        for row in (0..counted.num_rows()).filter(|&row| number("scope", row) == scope) {
            let (query, distance) = (number("query", row), number("distance", row));
            sums[query as usize][distance as usize] += number("count", row) as u64;
        }
        match steps.see(&queries, &sums, rows.num_rows()) {
            super::Seen::Clear => found.push(of_keys(&rows, None, steps, count)),
            super::Seen::Bands(_) => {
                let keys = tasks(&rows, "position", count, |rows| {
                    steps.band_keys(rows, count as usize).unwrap()
                });
                found
                    .push(tasks(&keys, "task", count, |rows| steps.band_candidates(rows).unwrap()));
            }
            super::Seen::Narrow(bits, dense) => {
                let marks = steps.saturated(&rows, &dense).unwrap();
                let saturated: &BooleanArray = column(&marks, "saturated");
                let free = take_record_batch(
                    &rows,
                    &UInt64Array::from_iter_values(
                        (0..rows.num_rows())
                            .filter(|&row| !saturated.value(row))
                            .map(|row| row as u64),
                    ),
                );
                found.push(of_keys(&free.unwrap(), None, steps, count));
                found.push(of_keys(&rows, Some(bits), steps, count));
            }
        }
    }
    let found = joined(&found);
    let number = |name: &str, row: usize| column::<Int64Array>(&found, name).value(row);
    let real = (0..found.num_rows()).filter(|&row| number("distance", row) >= 0);
    let mut pairs: Vec<(i64, i64)> = real.map(|row| (number("a", row), number("b", row))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn of_keys(rows: &RecordBatch, within: Option<u32>, steps: &Steps, count: u64) -> RecordBatch {
    let rows_in_all = rows.num_rows().max(1);
    let cut = Cut { rows: rows_in_all, pieces: 8, blocks: None, within, cluster: Some(50) };
    let cut = steps.cut(cut).unwrap();
    let keys =
        tasks(rows, "position", count, |rows| steps.keys(rows, &cut, count as usize).unwrap());
    tasks(&keys, "task", count, |rows| steps.candidates(rows, &cut).unwrap())
}

fn with_both(pairs: &[(i64, i64)], representatives: &RecordBatch) -> RecordBatch {
    let positions: &Int64Array = column(representatives, "position");
    let mut order: Vec<(i64, u64)> =
        (0..).zip(positions.values()).map(|(row, position)| (*position, row)).collect();
    order.sort_unstable();
    let rows = |position: &i64| order[order.binary_search_by_key(position, |it| it.0).unwrap()].1;
    let side = |of: &dyn Fn(&(i64, i64)) -> i64| {
        let places = UInt64Array::from_iter_values(pairs.iter().map(|pair| rows(&of(pair))));
        take_record_batch(representatives, &places).unwrap()
    };
    let (one, two) = (side(&|pair| pair.0), side(&|pair| pair.1));
    let get = |rows: &RecordBatch, name: &str| Arc::clone(rows.column_by_name(name).unwrap());
    let columns = vec![
        ("a", get(&one, "position")),
        ("b", get(&two, "position")),
        ("fingerprint_a", get(&one, "fingerprint")),
        ("fingerprint_b", get(&two, "fingerprint")),
        ("sketch_a", get(&one, "sketch")),
        ("sketch_b", get(&two, "sketch")),
        ("keyed_a", get(&one, "keyed")),
        ("keyed_b", get(&two, "keyed")),
        ("own_a", get(&one, "own")),
        ("own_b", get(&two, "own")),
    ];
    batch("candidate", columns).unwrap()
}

fn resolved(
    given: &RecordBatch,
    pairs: &RecordBatch,
    roles: &RecordBatch,
    steps: &Steps,
    count: u64,
) -> Vec<Verdict> {
    let alike: &BooleanArray = column(pairs, "alike");
    let pairs = chosen(pairs, |row| alike.value(row));
    let number =
        |rows: &RecordBatch, name: &str, row: usize| column::<Int64Array>(rows, name).value(row);
    let role = |row: usize| number(roles, "role", row);
    let linked: Vec<usize> =
        (0..roles.num_rows()).filter(|&row| matches!(role(row), 1..=3)).collect();
    let mut edges: Vec<(i64, i64)> = (0..pairs.num_rows())
        .map(|row| (number(&pairs, "a", row), number(&pairs, "b", row)))
        .collect();
    edges.extend(
        linked.iter().map(|&row| (number(roles, "target", row), number(roles, "position", row))),
    );
    let (a, b): (Vec<i64>, Vec<i64>) = edges.into_iter().unzip();
    let edges = batch("edge", vec![("a", numbers(a)), ("b", numbers(b))]).unwrap();
    let forest = tasks(&edges, "a", count, |rows| steps.forest(rows).unwrap());
    assert!(forest.num_rows() <= edges.num_rows());
    let found = steps.components(&forest).unwrap();
    let component: std::collections::BTreeMap<i64, i64> = (0..found.num_rows())
        .map(|row| (number(&found, "node", row), number(&found, "component", row)))
        .collect();

    let bytes: &BinaryArray = column(given, "page");
    let own: &BinaryArray = column(given, "own");
    let own_of = |row: usize, kind: i64| (kind == 0 && own.is_valid(row)).then(|| own.value(row));
    let mut kinds = [const { Vec::<i64>::new() }; 5];
    let (mut similarity, mut page) = (Vec::new(), Vec::new());
    let mut push =
        |kind, position: i64, other, distance, alike: Option<f32>, bytes: Option<Vec<u8>>| {
            for (column, value) in
                kinds.iter_mut().zip([component[&position], kind, position, other, distance])
            {
                column.push(value);
            }
            similarity.push(alike);
            page.push(bytes);
        };
    for &position in component.keys() {
        push(0, position, 0, 0, None, Some(bytes.value(position as usize).to_vec()));
    }
    for row in 0..pairs.num_rows() {
        let alike = column::<Float32Array>(&pairs, "similarity").value(row);
        let [a, b, distance] = ["a", "b", "distance"].map(|name| number(&pairs, name, row));
        push(1, a, b, distance, Some(alike), None);
    }
    for &row in linked.iter().filter(|&&row| role(row) > 1) {
        let alike = column::<Float32Array>(roles, "similarity").value(row);
        let [page, representative, distance] =
            ["position", "target", "distance"].map(|name| number(roles, name, row));
        push(role(row), page, representative, distance, Some(alike), None);
    }
    let [components, kind, position, other, distance] = kinds;
    let rows = page.len();
    let own: BinaryArray = kind
        .iter()
        .zip(&position)
        .map(|(kind, position)| own_of(*position as usize, *kind))
        .collect();
    let linked = batch(
        "linked",
        vec![
            ("component", numbers(components)),
            ("kind", numbers(kind)),
            ("position", numbers(position)),
            ("other", numbers(other)),
            ("distance", numbers(distance)),
            ("similarity", Arc::new(Float32Array::from(similarity))),
            ("named", Arc::new(BooleanArray::from(vec![false; rows]))),
            ("page", Arc::new(page.into_iter().collect::<BinaryArray>())),
            ("own", Arc::new(own)),
        ],
    );
    let done = tasks(&linked.unwrap(), "component", count, |rows| steps.resolve(rows).unwrap());
    let text = |name: &str, row: usize| column::<StringArray>(&done, name).value(row).to_owned();
    let mut verdicts: Vec<Verdict> = (0..given.num_rows() as i64)
        .map(|position| (position, "kept".to_owned(), 0, 1.0, String::new()))
        .collect();
    for row in (0..done.num_rows()).filter(|&row| text("outcome", row) != "effort") {
        verdicts[number(&done, "position", row) as usize] = (
            number(&done, "winner", row),
            text("outcome", row),
            number(&done, "distance", row),
            column::<Float32Array>(&done, "similarity").value(row),
            text("reason", row),
        );
    }
    verdicts
}

fn on_one_machine(list: &[NewPage], owns: Vec<Own>, options: &Options) -> Vec<Verdict> {
    let mut pages = Pages::default();
    list.iter().for_each(|page| pages.push(page));
    pages.set_owns(owns);
    let earlier = Earlier::default();
    let decision = decide(&pages, &[], &earlier, options, &OneThread, Path::new("")).unwrap();
    let verdict = |page| {
        let it = decision.verdict(page);
        let reason = decision.reason(page).map(|it| it.text).unwrap_or_default();
        let outcome = it.outcome.name().to_owned();
        (i64::from(it.winner), outcome, i64::from(it.distance), it.similarity, reason)
    };
    (0..pages.len() as u32).map(verdict).collect()
}

fn check(list: &[NewPage], least: f64, count: u64) {
    let options = options(least);
    let steps = Steps::new(options.clone()).unwrap();
    let whole = on_one_machine(list, Vec::new(), &options);
    let owns = owns(list);
    let beyond = on_one_machine(list, owns.clone(), &options);
    assert_ne!(whole, beyond);
    compare_verdicts(&whole, &distributed(list, &[], &steps, count));
    compare_verdicts(&beyond, &distributed(list, &owns, &steps, count));
}

fn compare_verdicts(expected: &[Verdict], found: &[Verdict]) {
    let removed = expected.iter().filter(|verdict| verdict.1 != "kept").count();
    assert!(removed > 0 && removed < expected.len(), "{removed} of {}", expected.len());
    for (position, (one, other)) in expected.iter().zip(found).enumerate() {
        assert_eq!(one, other, "page {position} of {}", expected.len());
    }
}

/// Each victim, a forgery of it on another domain with an earlier date, and a true copy on a third.
fn forgeries(count: usize) -> String {
    let line = |url: String, fetched: usize, text: &str| {
        format!("{}\n", serde_json::json!({"url": url, "fetched": fetched, "text": text}))
    };
    let pages = |i: usize| {
        let word = |at: usize| format!("w{} ", (at * 7919 + i * 104_729) % 99_991);
        let text: String = (0..257).map(word).collect();
        let victim = Fingerprinter::default().text(&text).unwrap().comparable.unwrap();
        let (bits, sketch) = (victim.fingerprint.to_bits(), victim.sketch.to_bytes());
        let forged = hapax_synth::forge(bits, &sketch, &text, None, i as u64).text;
        [
            line(format!("https://forger{i}.test/"), 1000, &forged),
            line(format!("https://victim{i}.test/"), 2000, &text),
            line(format!("https://copier{i}.test/"), 3000, &format!("{text} indeed")),
        ]
    };
    (0..count).flat_map(pages).collect()
}

#[test]
fn with_a_key_forged_pages_remove_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("pages.jsonl");
    std::fs::write(&input, forgeries(3)).unwrap();
    let source = Source::open(&[input.display().to_string()], ReadOptions::default()).unwrap();
    let public = Fingerprinter::default();
    let keyed = public.clone().with_short_key(&Key::new(b"any"));
    for (by, lost) in [(public, 3), (keyed, 0)] {
        let steps = Steps::new(Options::new(by)).unwrap();
        let mut signed = steps.signature(&source, 0, 0, None);
        let mut list = Vec::new();
        while let Some(rows) = signed.next_batch().unwrap() {
            let (kinds, pages): (&Int64Array, &BinaryArray) =
                (column(&rows, "kind"), column(&rows, "page"));
            let documents = (0..rows.num_rows()).filter(|&row| kinds.value(row) == 0);
            list.extend(documents.map(|row| page_of_bytes(pages.value(row)).unwrap()));
        }
        let verdicts = distributed(&list, &[], &steps, 3);
        let gone = |at: usize| (at..9).step_by(3).filter(|&it| verdicts[it].1 != "kept").count();
        assert_eq!([gone(0), gone(1), gone(2)], [0, lost, 3]);
    }
}

#[test]
fn families_dense_clusters_and_copies_are_decided_as_on_one_machine() {
    check(&families(&[300, 90, 70, 40, 8, 8, 2, 1, 1], 3, 30, 2), 0.8, 5);
}

#[test]
fn dense_clusters_in_which_many_do_not_match_are_decided_as_on_one_machine() {
    check(&families(&[500, 200, 80], 5, 80, 1), 0.8, 3);
}

#[test]
fn saturation_is_detected_and_handled_as_on_one_machine() {
    let saturated = |least| {
        let mut list = families(&[40, 30, 20], 3, 30, 1);
        for i in 0..9_000u64 {
            let text: Vec<u16> = (0..300).map(|j| (mix(i / 3 * 977 + j) % 1024) as u16).collect();
            let name = list.len();
            list.push(page(name, name as u64, mix(i) & 0xFFFFF, &text, 0));
        }
        check(&list, least, 4);
    };
    saturated(0.8);
    saturated(0.5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_families_in_any_number_of_tasks_are_decided_as_on_one_machine(
        sizes in prop::collection::vec(2usize..100, 2..6), bits in 0u64..6, spread in 0u64..90,
        count in 1u64..6, scopes in 1u64..3,
    ) {
        let list = families(&sizes, bits, spread, scopes);
        let options = options(0.8);
        let owns = owns(&list);
        let expected = on_one_machine(&list, owns.clone(), &options);
        prop_assert_eq!(distributed(&list, &owns, &Steps::new(options).unwrap(), count), expected);
    }
}

#[test]
fn a_duplicate_row_or_a_missing_column_is_a_clear_error() {
    let steps = Steps::new(options(0.8)).unwrap();
    let given = signatures(&families(&[5], 2, 9, 1), &[]);
    let twice = joined(&[given.clone(), given.clone()]);
    let error = steps.copies(&twice).unwrap_err().to_string();
    assert!(error.contains("came twice"), "{error}");
    let error = steps.keys(
        &given,
        &Cut { rows: 5, pieces: 1, blocks: None, within: None, cluster: None },
        1,
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no column scope"), "{error}");
}
