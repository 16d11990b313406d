//! Predicted index sizes and times, as a table and as JSON.

use crate::folder::{Folder, stderr, stdout};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = Folder::new().output(&[&["plan", "--json"], arguments].concat());
    serde_json::from_str(&output).unwrap()
}

#[test]
fn the_table_lists_engines_and_marks_the_choice() {
    let plan = ["plan", "--pages", "10M", "--within", "3", "--memory", "2GB"];
    let output = Folder::new().output(&[&plan[..], &["--all"]].concat());
    let mut lines = output.lines();
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let columns = "engine tables bytes/page total recall probes compared time/query fits";
    assert_eq!(header.join(" "), columns);
    assert_eq!(output.lines().filter(|line| line.trim_start().starts_with('>')).count(), 1);
    assert!(output.contains("scan") && output.contains("sorted, compressed"), "{output}");
    assert!(output.contains("\nChosen: ") && output.contains("fits into 2.0 GB"), "{output}");
}

#[test]
fn without_all_each_row_costs_more_memory_and_less_time() {
    let plan = ["plan", "--pages", "8e9", "--within", "3", "--memory", "250GB"];
    let output = Folder::new().output(&plan);
    let rows: Vec<&str> = output.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    assert!((2..=8).contains(&rows.len()), "{output}");
    assert!(output.lines().all(|line| line.chars().count() <= 100 || line.starts_with("Chosen")));
    assert!(!output.contains('*'), "{output}");
    let plan = json(&["--pages", "8e9", "--within", "3", "--memory", "250GB"]);
    let chosen = &plan["candidates"][plan["chosen"].as_u64().unwrap() as usize];
    assert!(chosen["total_bytes"].as_u64().unwrap() <= 250_000_000_000);
}

#[test]
fn the_default_memory_is_that_of_this_machine() {
    let plan = json(&["--pages", "1M", "--within", "3"]);
    if cfg!(target_os = "linux") {
        assert!(plan["request"]["memory_bytes"].as_u64().unwrap() > 1 << 20);
    }
    // More than any machine has. Not a failure, because the plan may be for another machine.
    let arguments = ["plan", "--pages", "1e15", "--within", "3"];
    let assert = Folder::new().hapax(&arguments).assert().code(0);
    if cfg!(target_os = "linux") {
        assert!(stderr(&assert).contains("--memory plans for another"), "{}", stderr(&assert));
    }
}

#[test]
fn json_says_the_same_to_programs() {
    let plan = json(&["--pages", "8e9", "--within", "3", "--memory", "400GB", "--recall", "0.95"]);
    assert_eq!(plan["request"]["pages"], 8_000_000_000_u64);
    assert_eq!(plan["request"]["memory_bytes"], 400_000_000_000_u64);
    let chosen = &plan["candidates"][plan["chosen"].as_u64().unwrap() as usize];
    assert_eq!(chosen["fits"], true);
    assert_eq!(chosen["parts"], 2);
    let engines: Vec<&str> = plan["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["engine"].as_str().unwrap())
        .collect();
    for engine in ["scan", "tables", "weak bits", "sorted"] {
        assert!(engines.contains(&engine), "{engines:?}");
    }
    assert!(plan["reason"].as_str().unwrap().contains("spread over 2 indexes"));
}

#[test]
fn with_a_recall_weak_bits_are_listed_with_probes_bytes_and_time() {
    let plan = json(&["--pages", "8e9", "--within", "3", "--memory", "90GB", "--recall", "0.95"]);
    let chosen = &plan["candidates"][plan["chosen"].as_u64().unwrap() as usize];
    assert_eq!((&chosen["engine"], &chosen["recall"]), (&"weak bits".into(), &0.95.into()));
    let number = |field: &str| chosen[field].as_f64().unwrap();
    assert!((8.0..10.0).contains(&number("bytes_per_page")), "{chosen}");
    assert!((2.0..100.0).contains(&number("probes")), "{chosen}");
    assert!((100.0..20_000.0).contains(&number("nanoseconds_per_query")), "{chosen}");
    assert!(plan["reason"].as_str().unwrap().contains("finding 95 % of the matches"));
    let plan = json(&["--pages", "8e9", "--within", "3", "--memory", "90GB"]);
    assert!(plan["candidates"].as_array().unwrap().iter().all(|c| c["recall"] == 1.0));
}

#[test]
fn the_first_match_costs_no_more_than_all() {
    let all = json(&["--pages", "64M", "--within", "3"]);
    let first = json(&["--pages", "64M", "--within", "3", "--first"]);
    let time = |plan: &Value| {
        plan["candidates"][plan["chosen"].as_u64().unwrap() as usize]["nanoseconds_per_query"]
            .as_f64()
            .unwrap()
    };
    assert!(time(&first) < time(&all));
}

#[test]
fn too_little_memory_shows_the_candidates_and_the_required_memory() {
    let folder = Folder::new();
    let arguments = ["plan", "--pages", "8e9", "--within", "3", "--memory", "64GB"];
    let assert = folder.hapax(&arguments).assert().code(1);
    assert!(stdout(&assert).contains("sorted, compressed"), "{}", stdout(&assert));
    let printed = stderr(&assert);
    assert!(printed.contains("no index of 8000000000 pages fits into 64.0 GB"), "{printed}");
    assert!(printed.contains("the smallest (sorted, compressed) needs "), "{printed}");
    assert!(printed.contains("2 machines with so much each"), "{printed}");
    let assert = folder.hapax(&[&arguments[..], &["--json"]].concat()).assert().code(1);
    let document: Value = serde_json::from_str(&stdout(&assert)).unwrap();
    assert_eq!(document["chosen"], Value::Null);
    assert!(document["needed_bytes"].as_u64().unwrap() > 64_000_000_000);
}

#[test]
fn measuring_this_machine_gives_a_plan_too() {
    let plan = json(&["--pages", "1M", "--within", "3", "--calibrate"]);
    assert!(plan["machine"]["near_probe_ns"].as_f64().unwrap() > 0.0);
    assert!(plan["chosen"].is_u64());
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = Folder::new();
    for (arguments, printed) in [
        (&["--pages", "0", "--within", "3"][..], "--pages: 0 pages need no index"),
        (&["--pages", "many", "--within", "3"], "a count is a whole number like"),
        (&["--pages", "1M", "--within", "65"], "a distance is 0 to 64 bits"),
        (&["--pages", "1M", "--within", "-1"], "error"),
        (&["--pages", "1M", "--within", "3", "--recall", "0"], "recall 0 is out of range"),
        (&["--pages", "1M", "--within", "3", "--recall", "1.5"], "recall 1.5 is out of range"),
        (&["--pages", "1M", "--within", "3", "--memory", "64G"], "64GB is a power of 1000"),
        (&["--pages", "1M", "--within", "3", "--memory", "64 bananas"], "a size is a number"),
        (&["--pages", "1M"], "--within"),
    ] {
        let refusal = folder.refusal(2, &[&["plan"], arguments].concat());
        assert!(refusal.contains(printed), "{arguments:?}: {refusal}");
    }
}
