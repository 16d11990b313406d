//! Pages by address, groups by number and size.

use crate::line::{create, page};
use hapax::group::live::{GroupId, PageId};

#[test]
fn pages_are_listed_by_prefix_from_any_address_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1"];
    store.observe_many((0..).map(|n| 5 * n).zip(urls).map(|(n, u)| page(u, n)).collect()).unwrap();
    let listed = |prefix: &str, after: Option<&str>, limit: usize| -> Vec<String> {
        let found = store.pages_from(prefix, after, limit).unwrap();
        found.into_iter().map(|(_, url)| url).collect()
    };
    assert_eq!(listed("http://a/", None, 2), urls[..2]);
    assert_eq!(listed("http://a/", Some("http://a/2"), 2), urls[2..3]);
    assert_eq!(listed("", None, 9), urls);
    assert_eq!(listed("http://b/", Some("http://a/9"), 9), urls[3..]);
    assert!(listed("https:", None, 9).is_empty());
    let named = store.addresses(&[PageId(3), PageId(99)]).unwrap();
    assert_eq!(named, [Some(urls[3].to_owned()), None]);
}

#[test]
fn the_largest_groups_are_listed_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    for (url, content) in [("a", 0), ("b", 6), ("b2", 6), ("b3", 7), ("c", 12), ("c2", 12)] {
        store.observe(page(&format!("http://{url}"), content)).unwrap();
    }
    store.redirect("http://old", "http://b2", None).unwrap();
    let sizes = store.group_sizes(2).unwrap();
    let largest: Vec<&str> = sizes.largest.iter().map(|group| &*group.winner_url).collect();
    assert_eq!(largest, ["http://b", "http://c"]);
    assert_eq!(sizes.by_doubling, [1, 2]);

    let group = store.group_of(store.page("http://old").unwrap().unwrap().id).unwrap().unwrap();
    assert_eq!(store.group_numbered(group).unwrap().unwrap(), sizes.largest[0]);
    let members = store.members(group, None, 10).unwrap().unwrap();
    let listed: Vec<(&str, Option<u8>, Option<&str>)> = members
        .iter()
        .map(|(page, decision)| {
            let distance = decision.verdict.likeness.map(|likeness| likeness.distance);
            (&*page.url, distance, page.redirects_to.as_deref())
        })
        .collect();
    assert_eq!((listed[0].0, listed[0].2), ("http://b", None));
    assert_eq!(listed[1], ("http://b2", Some(0), None));
    assert_eq!((listed[2].0, listed[2].2), ("http://b3", None));
    assert_eq!((listed[3].0, listed[3].2), ("http://old", Some("http://b2")));
    let reason = |place: usize| members[place].1.verdict.reason.as_ref();
    assert!(reason(1).is_some());
    assert_eq!(store.members(group, Some(members[2].0.id), 9).unwrap().unwrap(), members[3..]);
    assert_eq!(store.members(GroupId(77), None, 1).unwrap(), None);
    assert_eq!(store.group_numbered(GroupId(77)).unwrap(), None);
}

#[test]
fn pages_are_found_by_a_part_of_their_address_with_bounded_work() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    let urls =
        ["http://a/tea", "http://b/coffee", "http://c/", "http://d/Green-Tea", "http://tea/"];
    store.observe_many((0..).zip(urls).map(|(n, u)| page(u, n)).collect()).unwrap();
    let found = |part: &str, after: Option<&str>, limit: usize, look: usize| {
        let found = store.pages_containing(part, after, limit, look).unwrap();
        let pages: Vec<String> = found.pages.into_iter().map(|(_, url)| url).collect();
        (pages, found.searched_to)
    };
    let some = |urls: &[&str]| urls.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
    assert_eq!(found("tea", None, 9, 9), (some(&[urls[0], urls[3], urls[4]]), None));
    assert_eq!(found("N-T", None, 9, 9), (some(&[urls[3]]), None));
    assert_eq!(found("milk", None, 9, 9), (vec![], None));
    assert_eq!(found("tea", None, 2, 9), (some(&[urls[0], urls[3]]), Some(urls[3].to_owned())));
    assert_eq!(found("tea", Some(urls[3]), 2, 9), (some(&[urls[4]]), None));
    assert_eq!(found("tea", Some(urls[0]), 9, 2), (vec![], Some(urls[2].to_owned())));
    assert_eq!(found("tea", Some(urls[2]), 9, 2), (some(&[urls[3], urls[4]]), None));
}
