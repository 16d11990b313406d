//! The engine in a folder.

use hapax_search::tantivy::{TantivyIndex, Writer, WriterOptions};

use crate::agreement::{agree, lists_agree};
use crate::corpus;
use crate::memory::Memory;

#[test]
fn the_engine_in_a_folder_meets_the_requirements_and_removes_what_the_reference_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let recipe = corpus::fingerprinter().recipe_id().clone();
    let mut writer = Writer::create(&path, recipe, WriterOptions::smallest()).unwrap();
    for page in corpus::pages() {
        writer.put(&page).unwrap();
    }
    writer.finish().unwrap();
    let mut index = TantivyIndex::open(&path).unwrap();
    lists_agree(&index);
    let removed = agree(&mut index);
    assert_eq!(removed, agree(&mut Memory::new(corpus::pages())));
}
