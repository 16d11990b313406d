//! The engine in a database, with its own server on a free loopback port.

mod encryption;
mod server;

use hapax_search::clean::Revealing;
use hapax_search::postgres::{Error, Loader, PostgresIndex};
use hapax_search::{Change, Engine, Removing, Showing};

use crate::agreement::{agree, lists_agree};
use crate::corpus;
use crate::memory::Memory;
use server::Server;

fn load(database: &str, pages: &[hapax_search::SearchPage]) -> PostgresIndex {
    let mut loader = Loader::create(database, corpus::fingerprinter().recipe_id()).unwrap();
    for page in pages {
        loader.put(page).unwrap();
    }
    loader.finish().unwrap();
    PostgresIndex::open(database).unwrap()
}

fn names(index: &PostgresIndex, query: &str) -> Vec<String> {
    let found = index.top(query, 1000, &|_| false).unwrap();
    index.facts(&found.top).unwrap().into_iter().map(|facts| facts.name).collect()
}

#[test]
fn the_engine_in_a_database_meets_the_requirements() {
    let server = Server::start();
    let pages = corpus::pages();
    let database = server.create("agreement");
    let mut index = load(&database, &pages);
    lists_agree(&index);
    assert_eq!(agree(&mut index), agree(&mut Memory::new(pages.clone())));

    // Another process sees the changes, by name.
    index.remove(&[pages[0].name.clone()], "job-7").unwrap();
    let other = PostgresIndex::open(&database).unwrap();
    assert_eq!(other.operation(), Some("job-7"));
    let totals = other.totals().unwrap();
    assert_eq!((totals.documents, totals.removed, totals.marked), (29, 1, 0));
    assert_eq!(other.status().unwrap(), (vec![pages[0].name.clone()], vec![]));

    words_of_every_script_are_found_and_any_query_is_valid(&other);
    facts_are_those_of_the_pages(&other, &pages);
    a_page_replaces_an_earlier_one_with_its_name(&database, &pages);
    an_unfinished_load_changes_nothing(&server, &pages);
    removed_pages_are_shown_to_this_process_until_the_next_change(&database);
    foreign_databases_are_refused(&server, &database);
}

fn words_of_every_script_are_found_and_any_query_is_valid(index: &PostgresIndex) {
    assert_eq!(names(index, "图书馆").len(), 5);
    assert_eq!(names(index, "望遠鏡 lang:ja").len(), 5);
    assert_eq!(names(index, "\"only mentions the telescope\""), ["http://host4.test/3"]);
    assert_eq!(names(index, "telescope site:host2.test"), ["http://host2.test/3"]);
    assert!(names(index, "telescope lang:de").is_empty());
    for typed in ["'", "\\", "it's & | ! <-> :*", "\0", "\"'\" -'", "a'b\\c:A", "((("] {
        index.top(typed, 10, &|_| false).unwrap();
    }
    let (scored, _) = index.scored("telescope", 10, &|_| false).unwrap();
    assert!(scored.is_sorted_by(|a, b| a.relevance >= b.relevance));
}

fn facts_are_those_of_the_pages(index: &PostgresIndex, pages: &[hapax_search::SearchPage]) {
    let found = index.top("about", 100, &|_| false).unwrap();
    for (facts, excerpt) in
        index.facts(&found.top).unwrap().iter().zip(index.excerpts(&found.top).unwrap())
    {
        let page = pages.iter().find(|page| page.name == facts.name).unwrap();
        assert_eq!((&facts.url, facts.sketch, facts.score), (&page.url, page.sketch, page.score));
        assert_eq!((facts.words, facts.fetched), (page.words, page.fetched));
        assert_eq!((excerpt.title, excerpt.start.as_str()), (page.title.clone(), page.start()));
    }
    let unknown = hapax_search::DocumentId(1);
    assert!(matches!(index.facts(&[unknown]), Err(Error::Unknown { id: 1 })));
}

fn a_page_replaces_an_earlier_one_with_its_name(
    database: &str,
    pages: &[hapax_search::SearchPage],
) {
    let recipe = corpus::fingerprinter().recipe_id().clone();
    let mut loader = Loader::open(database, &recipe).unwrap();
    let mut page = pages[0].clone();
    page.body = "entirely new words".to_owned();
    loader.put(&page).unwrap();
    page.body = "words \0 for a zeppelin".to_owned();
    loader.put(&page).unwrap();
    loader.delete(&pages[1].name).unwrap();
    loader.finish().unwrap();
    let index = PostgresIndex::open(database).unwrap();
    assert_eq!(names(&index, "zeppelin"), [pages[0].name.clone()]);
    assert!(names(&index, "entirely").is_empty());
    let totals = index.totals().unwrap();
    assert_eq!((totals.documents, totals.removed), (29, 0), "it is back, another is gone for good");
}

fn an_unfinished_load_changes_nothing(server: &Server, pages: &[hapax_search::SearchPage]) {
    let database = server.create("half");
    let mut loader = Loader::create(&database, corpus::fingerprinter().recipe_id()).unwrap();
    for page in pages {
        loader.put(page).unwrap();
    }
    drop(loader);
    assert!(matches!(PostgresIndex::open(&database), Err(Error::Missing)));
}

fn removed_pages_are_shown_to_this_process_until_the_next_change(database: &str) {
    let mut index = PostgresIndex::open(database).unwrap();
    let before = names(&index, "telescope");
    let (gone, other) = (before[..2].to_vec(), before[2].clone());
    index.change(Change::Remove, &gone, "test").unwrap();
    assert_eq!(names(&index, "telescope").len(), before.len() - 2);
    index.reveal(&gone.iter().cloned().chain(["unknown".to_owned()]).collect()).unwrap();
    assert_eq!(names(&index, "telescope"), before);
    assert_eq!(names(&PostgresIndex::open(database).unwrap(), "telescope").len(), before.len() - 2);
    index.change(Change::Mark, std::slice::from_ref(&other), "test").unwrap();
    assert_eq!(names(&index, "telescope").len(), before.len() - 2);
    index.change(Change::Unmark, &[other], "test").unwrap();
    index.change(Change::Restore, &gone, "test").unwrap();
    assert_eq!(names(&index, "telescope"), before);
}

fn foreign_databases_are_refused(server: &Server, database: &str) {
    let recipe = corpus::fingerprinter().recipe_id().clone();
    assert!(matches!(Loader::create(database, &recipe), Err(Error::Exists)));
    let other = "web-2:0000000000000001".parse().unwrap();
    assert!(matches!(PostgresIndex::open_for(database, &other), Err(Error::Recipe { .. })));
    assert!(matches!(Loader::open(database, &other), Err(Error::Recipe { .. })));
    PostgresIndex::open_for(database, &recipe).unwrap();
    let nowhere = server.database("nowhere");
    assert!(matches!(PostgresIndex::open(&nowhere), Err(Error::Connect(_))));
    let encrypted = format!("{database} sslmode=require");
    assert!(matches!(PostgresIndex::open(&encrypted), Err(Error::NotOffered)));
    let mut client = postgres::Client::connect(database, postgres::NoTls).unwrap();
    client.batch_execute("UPDATE hapax_search.manifest SET format = 9").unwrap();
    assert!(matches!(PostgresIndex::open(database), Err(Error::Format { .. })));
}
