//! Every target passes on its seeds and on findings of former runs.

use hapax_fuzz::{TARGETS, findings, mutate};
use std::path::Path;

#[test]
fn every_target_passes_on_its_seeds_and_on_empty_input() {
    for target in TARGETS {
        (target.run)(b"");
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        for seed in seeds {
            assert!(
                seed.len() <= mutate::LONGEST,
                "{}: a seed is longer than any input",
                target.name
            );
            (target.run)(&seed);
        }
    }
}

#[test]
fn former_findings_stay_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../findings");
    for target in TARGETS {
        for (name, bytes) in findings(&folder.join(target.name)).unwrap() {
            println!("{}: {name}", target.name);
            (target.run)(&bytes);
        }
    }
}

#[test]
fn names_are_distinct_and_every_kept_finding_has_a_target() {
    let names: std::collections::BTreeSet<&str> = TARGETS.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), TARGETS.len());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../findings");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name();
        let name = name.to_str().unwrap();
        assert!(name == "README.md" || names.contains(name), "{name} is no target");
    }
}

#[test]
fn mutations_are_deterministic_and_mostly_differ() {
    let seeds = vec![b"one two three".to_vec(), b"four".to_vec()];
    let all = |_: u32| -> Vec<Vec<u8>> {
        (0..500).map(|round| mutate::mutated(&seeds, &["five"], round)).collect()
    };
    let (first, mut distinct) = (all(0), all(1));
    assert_eq!(first, distinct);
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 400, "{}", distinct.len());
}
