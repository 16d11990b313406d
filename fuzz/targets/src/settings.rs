//! Texts written by users: recipes, policies, the service's configuration, rules.
//!
//! Any text is accepted or refused with a reason; what is accepted works and round-trips. A recipe gives the same
//! fingerprints each time, a policy keeps its limits within bounds, written rules read back equal.

use crate::{Target, chosen};
use hapax::fingerprint::{Fingerprinter, Recipe};
use hapax::group::Rules;
use hapax_search::policy::{MOST_WITHIN, Policy};
use hapax_server::Layers;
use hapax_server::config::DEFAULT;

pub const RECIPE: Target = Target {
    name: "recipe",
    about: "a recipe that is taken makes fingerprints, and the same ones each time",
    run: recipe,
    seeds: recipe_seeds,
    pieces: &[
        "name = ",
        "base = ",
        "extent = ",
        "unspaced = ",
        "joined = ",
        "min-word-chars = ",
        "stop-words = ",
        "stemming = ",
        "shingle = ",
        "weight = ",
        "seed = ",
        "tie = ",
        "sketch-shingle = ",
        "min-features = ",
        "\"web-2\"",
        "\"none\"",
        "18446744073709551615",
        "\n",
        "[[",
        "'''",
        "\"\"\"",
    ],
    rounds: 90_000,
};

pub const POLICY: Target = Target {
    name: "policy",
    about: "a policy that is taken keeps its limits within bounds",
    run: policy,
    seeds: policy_seeds,
    pieces: &[
        "within = ",
        "results = ",
        "share = ",
        "confirm = ",
        "min-similarity = ",
        "keep = ",
        "least-left = ",
        "score-below = ",
        "always-keep = ",
        "[[by-rank]]\n",
        "[[by-results]]\n",
        "from = ",
        "to = ",
        "remove = ",
        "nan",
        "-inf",
        "1e400",
    ],
    rounds: 150_000,
};

/// The service's configuration.
pub const CONFIG: Target = Target {
    name: "config",
    about: "a configuration is taken or refused, whichever way it comes in",
    run: config,
    seeds: config_seeds,
    pieces: &[
        "[limits]\n",
        "[tokens]\n",
        "listen = ",
        "HAPAX_",
        "__",
        " = ",
        "0.0",
        "[[",
        "\n",
        ",",
    ],
    rounds: 40_000,
};

/// Rules that choose the kept copy.
pub const RULES: Target = Target {
    name: "rules",
    about: "rules that are taken read the same when they are written out",
    run: rules,
    seeds: rules_seeds,
    pieces: &["score", "prefer-host:", "avoid-tld:", "|", ", ", "https", "static", "earliest"],
    rounds: 600_000,
};

pub fn recipe(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(recipe) = Recipe::from_toml(&text) else { return };
    let id = recipe.id(None);
    assert_eq!(id, Recipe::from_toml(&text).unwrap().id(None));
    assert_eq!(id.to_string().parse().as_ref(), Ok(&id), "an id that cannot be read again");
    let Ok(mut by) = Fingerprinter::new(recipe, None) else { return };
    let page = "The quick brown fox can't jump over 日本語のテキスト, 3.14 times a day or more";
    let first = by.text(page).unwrap();
    assert_eq!(first, by.text(page).unwrap());
}

fn recipe_seeds() -> Vec<Vec<u8>> {
    [
        "name = \"mine\"\nbase = \"web-2\"\nshingle = 3\nweight = \"count\"\n",
        "name = \"x\"\nbase = \"zhu-shingles\"\nextent = \"main-content\"\nunspaced = \"dictionary\"\n\
         joined = \"parts\"\nmin-word-chars = 2\nstop-words = \"en\"\nstemming = \"english\"\n",
        "name = \"y\"\nseed = 7\ntie = \"one\"\nsketch-shingle = 8\nmin-features = 0\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub fn policy(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(policy) = Policy::from_toml(&text) else { return };
    for (rank, results) in [(1, 0), (1, 5000), (100, 10), (u64::MAX, u64::MAX)] {
        let judging = policy.for_query(rank, results);
        assert!(judging.within.bits() <= MOST_WITHIN);
        assert!(policy.bounds().contains(&judging.within), "{text}");
        assert!(judging.results <= policy.most_results(rank).max(results), "{text}");
    }
    for score in [None, Some(0.0), Some(f64::INFINITY)] {
        let _ = policy.may_go("www.example.org", score);
    }
}

fn policy_seeds() -> Vec<Vec<u8>> {
    [
        "within = 3\nalways-keep = [\"example.org\"]\n[[by-rank]]\nto = 100\nwithin = 6\n\
         [[by-results]]\nto = 9\nremove = false\n",
        "results = 100\nshare = 0.5\nconfirm = false\nmin-similarity = 0.9\nkeep = \"score, https\"\n",
        "least-left = 3\nscore-below = 0.25\n[[by-rank]]\nfrom = 5\nresults = 10\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// The first half is a file, the lines of the second are variables and flags.
pub fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (file, rest) = text.split_once("\n---\n").unwrap_or((&text, ""));
    let mut layers = Layers::new().unwrap();
    let taken = layers.file("fuzzed", file).is_ok();
    let pairs = rest.lines().filter_map(|line| line.split_once('='));
    for (name, value) in pairs.clone() {
        let _ = layers.set("a flag", name.trim(), value.trim());
    }
    let variables = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let _ = layers.environment(variables);
    if let Ok(config) = layers.finish() {
        assert!(taken || !file.is_empty());
        let _ = (config.limits.request_time(), config.limits.idle_time());
    }
}

fn config_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![DEFAULT.as_bytes().to_vec()];
    seeds.extend(
        [
            "listen = \"127.0.0.1:0\"\n[limits]\nrequests = 2\n\n---\nlimits.rate=0.5\nHAPAX_LIMITS__ROWS=7",
            "[tokens]\nread = ['reader-0123456789']\n---\ntokens.write=a,b,c\nHAPAX_CORS__ORIGINS=x",
            "[fetch]\nallow = ['10.0.0.0/8']\n---\nfetch.delay_seconds=nan\nlog.format=json",
        ]
        .map(|text| text.as_bytes().to_vec()),
    );
    seeds
}

/// Rules in the form of user input.
pub fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(rules) = text.parse::<Rules>() else { return };
    assert_eq!(rules.to_string().parse::<Rules>().as_ref(), Ok(&rules), "{text:?}");
}

fn rules_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "score, prefer-host:a.org|b.org, https, canonical, static, shortest-url, earliest",
        "avoid-host:x.y, prefer-tld:de|at, avoid-tld:com, latest, longest, shortest",
    ];
    chosen(1, &texts).into_iter().map(|seed| seed[1..].to_vec()).collect()
}
