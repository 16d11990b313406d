//! Golden vectors: the same inputs give the same bits, forever.
//!
//! The tests of every language binding read the files in `vectors/`. A difference is either a mistake or a new
//! recipe version; never rewrite a vector of a released recipe to make it fit. `HAPAX_WRITE_VECTORS=1 cargo
//! test -p hapax --test pipeline` fills in the outputs of cases that have none and leaves all others unchanged.

use hapax::features::Frequencies;
use hapax::fingerprint::{
    FeatureReader, Fingerprint, Fingerprinter, Recipe, Signature, Tally, Tie, Weighting, simhash,
};
use hapax::page::{Body, Document, Hints};
use hapax::text::{Confusables, Joined, Segmenter, Unspaced};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}

fn text_of<'v>(case: &'v Value, key: &str) -> &'v str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} of {case}"))
}

/// Checks every case of a file against `outputs`, or completes cases without outputs.
fn check_file(name: &str, outputs: impl Fn(&Value) -> Value) {
    let path = file(name);
    let mut cases: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(!cases.is_empty(), "{name} has no cases");
    let writing = std::env::var_os("HAPAX_WRITE_VECTORS").is_some();
    for case in &mut cases {
        let now = outputs(case);
        if case.get("output").is_none() && writing {
            case["output"] = now;
        } else {
            assert_eq!(case["output"], now, "{name}: {} {}", case["name"], case["recipe"]);
        }
    }
    if writing {
        let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
        std::fs::write(&path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

fn signature_output(signature: &Signature) -> Value {
    json!({
        "content": signature.content.to_string(),
        "words": signature.words,
        "features": signature.features,
        "too_short": signature.too_short,
        "fingerprint": signature.comparable.as_ref().map(|m| m.fingerprint.to_string()),
        "sums": signature.comparable.as_ref().map(|m| m.sums.as_array().to_vec()),
        "weak_bits": signature.comparable.as_ref().map(|m| m.sums.weakest_first().to_vec()),
        "sketch": signature.comparable.as_ref().map(|m| hex(&m.sketch.to_bytes())),
    })
}

/// The frequency table of the TF-IDF vectors: `vectors/frequencies.df`, trained on the texts of the
/// vectors.
fn frequencies(recipe: &Recipe) -> Frequencies {
    let bytes = std::fs::read(file("frequencies.df")).unwrap();
    let table = Frequencies::from_bytes(&bytes).unwrap();
    assert_eq!(table.features_key(), recipe.features_key(), "the table is for {}", recipe.name);
    table
}

#[test]
fn signatures_of_every_recipe_and_language_are_those_of_the_vectors() {
    the_frequency_table_is_what_training_on_the_vectors_gives();
    check_file("signatures.json", |case| {
        let recipe = Recipe::built_in(text_of(case, "recipe")).unwrap();
        let weights = match recipe.weighting {
            Weighting::TfIdf => Some(Arc::new(frequencies(&recipe).weights())),
            Weighting::Presence | Weighting::Count => None,
        };
        let mut by = Fingerprinter::new(recipe, weights).unwrap();
        let input = text_of(case, "input");
        let signature = match text_of(case, "kind") {
            "text" => by.text(input),
            "html" => by.html(input),
            "bytes" => {
                let hints = Hints { content_type: case["content_type"].as_str(), url: None };
                by.page(&unhex(input), &hints)
            }
            other => panic!("unknown kind {other}"),
        };
        signature_output(&signature.unwrap())
    });
}

#[test]
fn words_are_those_of_the_vectors() {
    check_file("words.json", |case| {
        let unspaced = match text_of(case, "unspaced") {
            "characters" => Unspaced::Characters,
            "bigrams" => Unspaced::Bigrams,
            "dictionary" => Unspaced::Dictionary,
            other => panic!("unknown way {other}"),
        };
        let joined = match case.get("joined").map(|it| it.as_str().unwrap()) {
            None | Some("whole") => Joined::Whole,
            Some("parts") => Joined::Parts,
            Some(other) => panic!("unknown way {other}"),
        };
        let confusables = match case.get("confusables").map(|it| it.as_str().unwrap()) {
            None | Some("keep") => Confusables::Keep,
            Some("fold") => Confusables::Fold,
            Some(other) => panic!("unknown way {other}"),
        };
        let mut segmenter =
            Segmenter::new(unspaced).taking_joined(joined).taking_confusables(confusables);
        let mut words = Vec::new();
        segmenter.words(text_of(case, "input"), |w| words.push(w.to_owned()));
        json!({ "words": words })
    });
}

#[test]
fn tallies_are_those_of_the_vectors() {
    check_file("tallies.json", |case| {
        let mut tally = Tally::default();
        for feature in case["features"].as_array().unwrap() {
            let hash: Fingerprint = feature[0].as_str().unwrap().parse().unwrap();
            tally.add(hash.to_bits(), u32::try_from(feature[1].as_u64().unwrap()).unwrap());
        }
        let bits = usize::try_from(case["bits"].as_u64().unwrap()).unwrap();
        let sums = tally.sums();
        let mask = u64::MAX >> (64 - bits);
        let cut = |tie| format!("{:016x}", simhash::cut(&sums, tie).to_bits() & mask);
        json!({
            "sums": &sums.as_array()[..bits],
            "tie_zero": cut(Tie::Zero),
            "tie_one": cut(Tie::One),
        })
    });
}

#[test]
fn the_frequency_table_is_what_training_on_the_vectors_gives() {
    let cases: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(file("signatures.json")).unwrap()).unwrap();
    let recipe = Recipe::built_in("sood-tfidf").unwrap();
    let mut table = Frequencies::new(recipe.features_key(), 10).unwrap();
    let mut reader = FeatureReader::new(recipe).unwrap();
    let texts = cases.iter().filter(|c| c["recipe"] == "sood-tfidf" && c["kind"] == "text");
    for case in texts {
        let text = text_of(case, "input");
        table.add_document(reader.document(&Document::new(Body::Text(text))).unwrap().1);
    }
    let path = file("frequencies.df");
    if std::env::var_os("HAPAX_WRITE_VECTORS").is_some() && !path.exists() {
        std::fs::write(&path, table.to_bytes()).unwrap();
    }
    assert_eq!(table.to_bytes(), std::fs::read(&path).unwrap());
}
