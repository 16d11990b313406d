//! Groups near-duplicates, and prints which page of each group is kept and why.
//!
//! `cargo run --release -p hapax --example groups`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use hapax::fingerprint::ContentHash;
use hapax::group::{BatchInput, Grouping, NearPair, PageFacts, Reason, Rules};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = |url: &'static str, score: f64| PageFacts {
        url: url.into(),
        score: Some(score),
        ..PageFacts::default()
    };
    let pages = [
        page("https://example.org/crane", 0.4),
        page("https://mirror.example/crane", 0.1),
        page("https://example.org/tea", 0.2),
    ];
    let contents = ["crane", "crane, copied", "tea"].map(|text| Some(ContentHash::of(text)));
    let pairs = [NearPair { a: 0, b: 1, distance: 2, similarity: 0.93 }];
    let input =
        BatchInput { pages: &pages, contents: &contents, pairs: &pairs, ..BatchInput::default() };

    let rules: Rules = "score".parse()?;
    let grouping = Grouping::of(&rules, &input)?;
    for (number, placement) in (0..).zip(grouping.placements()) {
        let [winner, this] = [grouping.winner(number), number].map(|it| &pages[it as usize]);
        match placement.decided {
            Some(decided) if placement.outcome.removable() => {
                let reason = Reason::new(&rules, decided, winner, this);
                println!("{}: duplicate of {} ({reason})", this.url, winner.url);
            }
            _ => println!("{}: kept", this.url),
        }
    }
    assert!(grouping.placements()[1].outcome.removable());
    Ok(())
}
