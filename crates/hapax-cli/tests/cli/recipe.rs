//! Listing, showing and using recipes.

use crate::folder::{ARTICLE, Folder};

#[test]
fn the_list_has_every_built_in_recipe_the_default_first() {
    let list = Folder::new().output(&["recipe", "list"]);
    let names: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["web-2", "stream-words", "khan-words", "sood-tfidf", "zhu-shingles"]);
}

#[test]
fn a_shown_recipe_is_a_valid_recipe_file() {
    let folder = Folder::new();
    let list = folder.output(&["recipe", "list"]);
    for name in list.lines().map(|line| line.split(' ').next().unwrap()) {
        let shown = folder.output(&["recipe", "show", name]);
        folder.write("mine.toml", shown.replace(name, "mine"));
        let again = folder.output(&["recipe", "show", "mine.toml"]);
        let settings = |text: &str| {
            text.lines().filter(|l| !l.starts_with('#')).skip(1).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(settings(&shown), settings(&again), "{name}");
        assert!(again.contains("name = \"mine\"\n"), "{again}");
    }
}

#[test]
fn a_recipe_file_changes_fingerprints_and_their_label() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE);
    folder.write("pairs.toml", "name = 'pairs-1'\nshingle = 2\nweight = 'presence'");
    let plain = folder.output(&["fingerprint", "--json", "a.html"]);
    let pairs = folder.output(&["fingerprint", "--json", "--recipe", "pairs.toml", "a.html"]);
    let [plain, pairs]: [serde_json::Value; 2] =
        [plain, pairs].map(|line| serde_json::from_str(&line).unwrap());
    assert!(pairs["recipe"].as_str().unwrap().starts_with("pairs-1:"));
    assert_eq!(pairs["features"].as_u64().unwrap() + 1, plain["features"].as_u64().unwrap());
    assert_ne!(pairs["fingerprint"], plain["fingerprint"]);
}

#[test]
fn two_pages_can_be_compared_under_any_recipe() {
    let folder = Folder::new();
    folder.write("a.html", ARTICLE).write("b.html", ARTICLE.replace("old", "new"));
    let output = folder.output(&["compare", "--recipe", "zhu-shingles", "a.html", "b.html"]);
    assert!(output.contains("(zhu-shingles)"), "{output}");
}
