//! The engine compared with a slow reference, and everything that may happen to a folder.

mod forged;
mod hostile;

use std::collections::BTreeMap;

use hapax::fingerprint::{Fingerprinter, Recipe};
use proptest::collection::vec;
use proptest::prelude::*;
use tantivy::fieldnorm::FieldNormReader;

use super::*;
use crate::page::SearchPage;

fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in("web-2").unwrap(), None).unwrap()
}

fn page(name: &str, title: &str, body: &str) -> SearchPage {
    let mut page = SearchPage::new(name, body, &fingerprinter().text(body).unwrap());
    page.url = name.to_owned();
    page.title = title.to_owned();
    page
}

pub(super) fn options() -> WriterOptions {
    WriterOptions { threads: 2, memory: 30_000_000 }
}

pub(super) fn build(folder: &tempfile::TempDir, pages: &[SearchPage]) -> TantivyIndex {
    let path = folder.path().join("index");
    let mut writer = Writer::create(&path, fingerprinter().recipe_id().clone(), options()).unwrap();
    for page in pages {
        writer.put(page).unwrap();
    }
    writer.finish().unwrap();
    TantivyIndex::open(&path).unwrap()
}

fn names(index: &TantivyIndex, query: &str) -> Vec<String> {
    let found = index.top(query, 1000, &|_| false).unwrap();
    assert_eq!(found.all, found.top.len() as u64);
    index.facts(&found.top).unwrap().into_iter().map(|facts| facts.name).collect()
}

pub(super) fn few() -> Vec<SearchPage> {
    vec![
        page("http://a.test/1", "Travel", "cheap flights to the north"),
        page("http://a.test/2", "", "flights to the south and cheap hotels"),
        page("http://b.a.test/3", "Flights", "the sea"),
        page("http://c.test/zh", "数据库", "关系数据库管理系统用表来组织数据"),
        page("http://c.test/ja", "図書館", "日本の図書館で本を読む。データベース"),
        page("http://c.test/cat", "", "我家的猫"),
    ]
}

#[test]
fn words_of_every_script_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(&folder, &few());
    assert_eq!(names(&index, "cheap"), ["http://a.test/1", "http://a.test/2"]);
    assert_eq!(names(&index, "FLIGHTS")[0], "http://b.a.test/3", "a title is worth more");
    assert_eq!(names(&index, "数据库"), ["http://c.test/zh"]);
    assert_eq!(names(&index, "管理系统"), ["http://c.test/zh"]);
    assert_eq!(names(&index, "図書館"), ["http://c.test/ja"]);
    assert_eq!(names(&index, "データベース"), ["http://c.test/ja"]);
    assert_eq!(names(&index, "猫"), ["http://c.test/cat"]);
    assert_eq!(names(&index, "本"), ["http://c.test/ja"]);
    assert!(names(&index, "").is_empty() && names(&index, "?!").is_empty());
    assert!(names(&index, "absent").is_empty());
}

#[test]
fn leftovers_of_an_unfinished_writer_are_removed_when_the_index_is_opened_for_changes() {
    let folder = tempfile::tempdir().unwrap();
    drop(build(&folder, &few()));
    let path = folder.path().join("index");
    let files = || path.read_dir().unwrap().count();
    let before = files();
    let mut writer = Writer::open(&path, options()).unwrap();
    writer.put(&page("http://new.test/", "", "never committed")).unwrap();
    writer.stop_before_commit().unwrap();
    assert!(files() > before, "nothing was left behind");
    drop(Writer::open(&path, options()).unwrap());
    assert_eq!(files(), before);
    let index = TantivyIndex::open(&path).unwrap();
    assert!(names(&index, "committed").is_empty());
    assert_eq!(names(&index, "cheap").len(), 2);
}

#[test]
fn conditions_narrow_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = few();
    pages[1].language = "en-GB".to_owned();
    let index = build(&folder, &pages);
    assert_eq!(names(&index, "\"cheap flights\""), ["http://a.test/1"]);
    assert_eq!(names(&index, "flights +south"), ["http://a.test/2"]);
    assert_eq!(names(&index, "cheap -north"), ["http://a.test/2"]);
    assert_eq!(names(&index, "flights site:b.a.test"), ["http://b.a.test/3"]);
    assert_eq!(names(&index, "flights site:a.test").len(), 3);
    assert_eq!(names(&index, "the lang:en"), ["http://a.test/2"]);
    assert_eq!(names(&index, "\"数据库管理\""), ["http://c.test/zh"]);
    assert!(names(&index, "\"管理数据\"").is_empty());
}

#[test]
fn facts_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = few();
    pages[0].score = Some(-0.25);
    pages[0].fetched = Some(1_700_000_000);
    pages.push(page("numbers", "", "no page at all"));
    pages[6].url = "http://else.test/".to_owned();
    pages.push(page("zz", "", ""));
    pages[7].url = String::new();
    let index = build(&folder, &pages);
    let ids: Vec<DocumentId> = (0..8).map(DocumentId).rev().collect();
    let facts = index.facts(&ids).unwrap();
    let by_name: BTreeMap<&str, &SearchPage> =
        pages.iter().map(|page| (page.name.as_str(), page)).collect();
    let fingerprints = index.fingerprints(&ids).unwrap();
    for ((facts, fingerprint), excerpt) in
        facts.iter().zip(fingerprints).zip(index.excerpts(&ids).unwrap())
    {
        let page = by_name[facts.name.as_str()];
        assert_eq!(facts.url, page.url);
        assert_eq!(facts.sketch, page.sketch);
        assert_eq!(
            (facts.score, facts.words, facts.fetched),
            (page.score, page.words, page.fetched)
        );
        assert_eq!(fingerprint, page.fingerprint);
        assert_eq!((&excerpt.title, &excerpt.start), (&page.title, &page.body));
    }
    assert!(facts.is_sorted_by(|a, b| a.name > b.name), "numbers are in the order of names");
    assert!(matches!(index.facts(&[DocumentId(8)]), Err(Error::Unknown { id: 8, .. })));
}

#[test]
fn removed_pages_are_gone_until_they_are_restored_and_no_other_result_moves() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = build(&folder, &few());
    let before = index.scored("cheap flights the", 10, &|_| false).unwrap();
    let [first, unknown] = ["http://a.test/1", "http://nowhere.test/"].map(str::to_owned);
    assert_eq!(index.operation(), None);
    assert_eq!(index.remove(&[first.clone(), unknown], "job-1").unwrap(), 1);
    assert_eq!(index.operation(), Some("job-1"));
    let after = index.scored("cheap flights the", 10, &|_| false).unwrap();
    assert_eq!(after.1, before.1 - 1);
    assert!(after.0.iter().all(|result| before.0.contains(result)));

    let mut again = TantivyIndex::open(folder.path().join("index")).unwrap();
    assert_eq!(again.scored("cheap flights the", 10, &|_| false).unwrap(), after);
    assert_eq!(again.remove(std::slice::from_ref(&first), "job-2").unwrap(), 0);
    assert_eq!(again.restore(&[first], "undo-1").unwrap(), 1);
    assert_eq!(again.scored("cheap flights the", 10, &|_| false).unwrap(), before);
    assert_eq!(again.operation(), Some("undo-1"));
    index.reload().unwrap();
    assert_eq!(index.operation(), Some("undo-1"));
}

#[test]
fn marked_pages_are_found_and_can_be_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = build(&folder, &few());
    let marked = ["http://a.test/2".to_owned()];
    assert_eq!(index.change(Change::Mark, &marked, "job").unwrap(), 1);
    assert_eq!(names(&index, "cheap").len(), 2);
    let shown = index.top("cheap", 10, &|id| index.is_marked(id)).unwrap();
    assert_eq!((shown.top.len(), shown.all), (1, 1));
    assert_eq!(index.totals().marked, 1);
    // A page that is removed and restored keeps its mark.
    index.remove(&marked, "job-2").unwrap();
    assert_eq!(index.totals().marked, 0);
    index.restore(&marked, "undo").unwrap();
    assert_eq!(index.totals().marked, 1);
    assert_eq!(index.change(Change::Unmark, &marked, "undo-2").unwrap(), 1);
    assert_eq!(index.totals().marked, 0);
}

#[test]
fn pages_are_replaced_and_deleted_with_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = build(&folder, &few());
    let path = folder.path().join("index");
    index.remove(&["http://a.test/1".to_owned()], "job").unwrap();
    let mut writer = Writer::open(&path, options()).unwrap();
    writer.put(&page("http://a.test/1", "", "trains")).unwrap();
    writer.put(&page("http://a.test/new", "", "cheap trains")).unwrap();
    writer.delete("http://a.test/2");
    assert!(matches!(Writer::open(&path, options()), Err(Error::Locked { .. })));
    assert_eq!(index.top("trains", 9, &|_| false).unwrap().all, 0, "nothing is committed");
    writer.finish().unwrap();
    index.reload().unwrap();
    assert_eq!(names(&index, "trains"), ["http://a.test/1", "http://a.test/new"]);
    assert_eq!(names(&index, "cheap"), ["http://a.test/new"]);
    assert_eq!(index.operation(), Some("job"), "other changes do not hide an operation");
    assert_eq!(index.totals().documents, 6);
    assert_eq!(index.totals().removed, 0, "a new page is not the one that was removed");
}

#[test]
fn compacting_deletes_removed_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = build(&folder, &few());
    let path = folder.path().join("index");
    index.remove(&["http://a.test/1".to_owned()], "job").unwrap();
    assert_eq!(Writer::open(&path, options()).unwrap().compact().unwrap(), 1);
    index.reload().unwrap();
    let totals = index.totals();
    assert_eq!((totals.documents, totals.removed, totals.segments), (5, 0, 1));
    assert_eq!(index.restore(&["http://a.test/1".to_owned()], "undo").unwrap(), 0);
}

#[test]
fn a_change_that_was_killed_before_its_commit_never_happened() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = build(&folder, &few());
    let path = folder.path().join("index");
    index.remove(&["http://a.test/1".to_owned()], "job-1").unwrap();
    let before = names(&index, "cheap flights");
    let mut status = index.view.status().clone();
    status.change(Change::Remove, &["http://a.test/2".to_owned()], "job-2");
    status.write(&path).unwrap();
    std::fs::write(path.join("status-torn.partial"), b"{\"remov").unwrap();
    let mut after = TantivyIndex::open(&path).unwrap();
    assert_eq!(after.operation(), Some("job-1"));
    assert_eq!(names(&after, "cheap flights"), before);
    after.remove(&["http://a.test/2".to_owned()], "job-2").unwrap();
    assert_eq!(after.operation(), Some("job-2"));
    let files = std::fs::read_dir(&path).unwrap().flatten();
    let lists = files.filter(|file| file.file_name().to_string_lossy().starts_with("status-"));
    assert_eq!(lists.count(), 1, "what nobody reads is swept away");
}

#[test]
fn foreign_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    assert!(matches!(TantivyIndex::open(folder.path()), Err(Error::Missing { .. })));
    let mut index = build(&folder, &few());
    let recipe = fingerprinter().recipe_id().clone();
    assert!(matches!(Writer::create(&path, recipe.clone(), options()), Err(Error::Exists { .. })));
    TantivyIndex::open_for(&path, &recipe).unwrap();
    let other = "web-2:0000000000000001".parse().unwrap();
    let refused = TantivyIndex::open_for(&path, &other).unwrap_err().to_string();
    assert!(refused.contains(&recipe.to_string()) && refused.contains(&other.to_string()));

    let manifest = path.join("hapax-search.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (from, to) in [("\"format\": 1", "\"format\": 2"), ("pairs-1", "pairs-9")] {
        std::fs::write(&manifest, text.replace(from, to)).unwrap();
        assert!(matches!(TantivyIndex::open(&path), Err(Error::Format { .. })), "{to}");
    }
    std::fs::write(&manifest, "{").unwrap();
    assert!(matches!(TantivyIndex::open(&path), Err(Error::Damaged { .. })));
    std::fs::write(&manifest, text).unwrap();

    index.remove(&["http://a.test/1".to_owned()], "job").unwrap();
    let list = std::fs::read_dir(&path).unwrap().flatten().map(|file| file.path());
    let list = list.into_iter().find(|file| file.to_string_lossy().contains("status-")).unwrap();
    let kept = std::fs::read(&list).unwrap();
    std::fs::write(&list, &kept[1..]).unwrap();
    assert!(matches!(TantivyIndex::open(&path), Err(Error::Damaged { .. })));
}

#[test]
fn an_index_that_is_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut writer = Writer::create(&path, fingerprinter().recipe_id().clone(), options()).unwrap();
    writer.put(&few()[0]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn building_an_index_does_not_overwrite_existing_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join("index");
    let recipe = fingerprinter().recipe_id().clone();
    let guessed = folder.path().join("deep").join(format!("index.building-{}", std::process::id()));
    std::fs::create_dir_all(&guessed).unwrap();
    std::fs::write(guessed.join("theirs"), "x").unwrap();
    let mut writer = Writer::create(&path, recipe, options()).unwrap();
    writer.put(&few()[0]).unwrap();
    writer.finish().unwrap();
    assert!(guessed.join("theirs").exists() && !path.join("theirs").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&guessed), "as any folder");
    }
}

/// Few words, so that they are shared; few lengths, so that scores tie.
fn small_pages() -> impl Strategy<Value = Vec<SearchPage>> {
    let words = |most| {
        vec(0u8..6, 0..most)
            .prop_map(|words| words.iter().map(|word| format!("w{word} ")).collect::<String>())
    };
    vec((words(3), words(8)), 1..25).prop_map(|texts| {
        let page = |(number, (title, body)): (usize, (String, String))| {
            // Names in another order than documents.
            page(&format!("p{:03}", number * 37 % 101), title.trim(), body.trim())
        };
        texts.into_iter().enumerate().map(page).collect()
    })
}

/// Reference implementation: every page, every word, BM25 by its formula.
fn slowly(pages: &[SearchPage], query: &[&str]) -> Vec<(String, f32)> {
    let texts = |page: &SearchPage| [page.title.clone(), page.body.clone(), page.url.clone()];
    let words = |text: &str| {
        let mut words = Vec::new();
        Words::default().of_page(text, |_, word| words.push(word.to_owned()));
        words
    };
    let length = |text: &str| {
        FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(words(text).len() as u32))
    };
    let all = pages.len() as f64;
    let average = |at: usize| {
        let sum: u32 = pages.iter().map(|page| length(&texts(page)[at])).sum();
        (f64::from(sum) / all).max(0.01) as f32
    };
    let having = |at: usize, word: &str| {
        pages.iter().filter(|page| words(&texts(page)[at]).iter().any(|it| it == word)).count()
    };
    let mut found = Vec::new();
    for page in pages {
        let mut score = 0f32;
        for word in query {
            let most = (0..3).map(|at| having(at, word)).max().unwrap() as f64;
            let rarity = (1.0 + (all - most + 0.5) / (most + 0.5)).ln() as f32;
            for (at, worth) in [2.0f32, 1.0, 1.0].into_iter().enumerate() {
                let text = &texts(page)[at];
                let times = words(text).iter().filter(|it| it == word).count() as f32;
                let discount = 1.2 * (1.0 - 0.75 + 0.75 * length(text) as f32 / average(at));
                if times > 0.0 {
                    score += rarity * worth * 2.2 * times / (times + discount);
                }
            }
        }
        if score > 0.0 {
            found.push((page.name.clone(), score));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

fn found(index: &TantivyIndex, query: &str, most: usize) -> (Vec<(String, f32)>, u64) {
    let (found, all) = index.scored(query, most, &|_| false).unwrap();
    let ids: Vec<DocumentId> = found.iter().map(|result| result.id).collect();
    let facts = index.facts(&ids).unwrap();
    (
        facts
            .into_iter()
            .zip(found)
            .map(|(facts, result)| (facts.name, result.relevance))
            .collect(),
        all,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn results_are_those_of_the_reference_however_the_pages_were_added(
        pages in small_pages(),
        cuts in vec(1usize..6, 1..6),
        replaced in vec(any::<prop::sample::Index>(), 0..5),
        deleted in 0usize..4,
        most in 1usize..12,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let tidy = build(&folder, &pages);

        // The same pages in reverse order, in several commits, some of them first in an older
        // version and some among pages that are deleted again.
        let path = folder.path().join("messy");
        let recipe = fingerprinter().recipe_id().clone();
        let mut writer = Writer::create(&path, recipe, WriterOptions::smallest()).unwrap();
        for at in &replaced {
            writer.put(&page(&at.get(&pages).name, "w0 w1", "an older w2 version w3")).unwrap();
        }
        for number in 0..deleted {
            writer.put(&page(&format!("gone{number}"), "", "w1 w2 w2")).unwrap();
        }
        let mut cuts = cuts.iter().cycle();
        let mut until = 0;
        for (at, page) in pages.iter().rev().enumerate() {
            if at >= until {
                until += cuts.next().unwrap();
                writer.commit().unwrap();
            }
            writer.put(page).unwrap();
        }
        for number in 0..deleted {
            writer.delete(&format!("gone{number}"));
        }
        writer.finish().unwrap();
        let messy = TantivyIndex::open(&path).unwrap();

        for query in [&["w1"][..], &["w2", "w5"], &["w4", "w0", "w3", "p037"]] {
            let slow = slowly(&pages, query);
            let mut expected = slow.clone();
            expected.truncate(most);
            let text = query.join(" ");
            for index in [&tidy, &messy] {
                let (found, all) = found(index, &text, most);
                prop_assert_eq!(all, slow.len() as u64);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}

#[test]
fn any_query_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(&folder, &few());
    let mut runner = proptest::test_runner::TestRunner::default();
    let typed = prop_oneof![any::<String>(), "[-+\"a猫本 :*^~(){}\\[\\]]{0,40}"];
    runner
        .run(&typed, |query| {
            index.top(&query, 3, &|_| false).unwrap();
            Ok(())
        })
        .unwrap();
    index.top(&"flights \"".repeat(100_000), 3, &|_| false).unwrap();
}

#[test]
fn concurrent_queries_give_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(&folder, &few());
    let expected = index.top("cheap flights the 本", 10, &|_| false).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(
                        index.top("cheap flights the 本", 10, &|_| false).unwrap(),
                        expected
                    );
                }
            });
        }
    });
}
