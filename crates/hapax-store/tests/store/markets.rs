//! Markets, scopes, repaired groups: the effects of a repository's settings.

use crate::line::{assert_clean, create, open, page, settings};
use hapax::group::Scope;
use hapax::group::live::{Fate, Kind, LiveOptions};
use hapax_store::{Observation, Reader, Repository, Settings, StoreError};

fn fates(reader: &Reader, market: Option<&str>) -> Vec<(String, Fate)> {
    let market = market.map(|name| reader.market(name).unwrap());
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    // In several requests, which must fit together.
    loop {
        let piece = reader.pages(after.as_deref(), 2, market.as_ref()).unwrap();
        let Some((last, _)) = piece.last() else { break };
        after = Some(last.url.clone());
        for (info, decision) in piece {
            let fate = match (decision.verdict.is_winner, decision.verdict.removable()) {
                (true, _) => Fate::Kept,
                (false, true) => Fate::Removed,
                (false, false) => Fate::Related,
            };
            all.push((info.url, fate));
        }
    }
    all
}

fn kept(reader: &Reader, market: Option<&str>) -> Vec<String> {
    let fates = fates(reader, market).into_iter();
    fates.filter(|(_, fate)| *fate != Fate::Removed).map(|(url, _)| url).collect()
}

#[test]
fn every_market_has_its_own_list_of_kept_and_removed_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    for host in ["a.com", "b.co.uk", "c.de"] {
        store.observe(page(&format!("http://{host}/"), 3)).unwrap();
        store.observe(page(&format!("http://{host}/{host}"), 9)).unwrap();
    }
    store.redirect("http://d.org/", "http://a.com/", None).unwrap();
    store.set_market("uk", Some("prefer-tld:uk, score".parse().unwrap())).unwrap();
    store.set_market("de", Some("prefer-tld:de".parse().unwrap())).unwrap();
    store.set_market("fr", Some("prefer-tld:fr".parse().unwrap())).unwrap();
    store.set_market("fr", None).unwrap();
    drop(store);

    let store = open(folder.path());
    let reader = store.reader();
    let markets: Vec<&String> = reader.settings().markets.keys().collect();
    assert_eq!(markets, ["de", "uk"]);
    let none = ["http://a.com/", "http://a.com/a.com"];
    assert_eq!(kept(&reader, None), none);
    assert_eq!(kept(&reader, Some("uk")), ["http://b.co.uk/", "http://b.co.uk/b.co.uk"]);
    assert_eq!(kept(&reader, Some("de")), ["http://c.de/", "http://c.de/c.de"]);
    let uk = reader.market("uk").unwrap();
    let moved = reader.status("http://d.org/", Some(&uk)).unwrap().unwrap();
    assert_eq!(moved.winner_url.as_deref(), Some("http://b.co.uk/"));
    let loser = reader.status("http://c.de/", Some(&uk)).unwrap().unwrap();
    assert_eq!(loser.verdict.reason.unwrap().rule, "prefer-tld");
    let group = reader.group("http://c.de/", Some(&uk)).unwrap().unwrap();
    assert_eq!(group.winner_url, "http://b.co.uk/");
    let listed = reader.groups(None, 10, 2, Some(&uk)).unwrap();
    assert!(listed.iter().all(|group| group.winner_url.contains("b.co.uk")));
    // A reader keeps its commit, and the repository its own winners.
    store.forget("http://b.co.uk/").unwrap();
    assert_eq!(kept(&reader, Some("uk")).len(), 2);
    let later = store.reader();
    assert_eq!(kept(&later, None), none);
    assert_eq!(kept(&later, Some("uk"))[0], "http://a.com/");
    assert_clean(&store);
}

#[test]
fn a_missing_or_badly_named_market_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = create(folder.path());
    store.set_market("uk", Some("https".parse().unwrap())).unwrap();
    let error = store.reader().market("us").unwrap_err();
    assert!(matches!(error, StoreError::NoMarket { .. }));
    assert!(error.to_string().contains("`us`; it has uk"), "{error}");
    for name in ["", "a b", "a/b", &"x".repeat(65)] {
        let error = store.set_market(name, None).unwrap_err();
        assert!(matches!(error, StoreError::BadMarket { .. }), "{error}");
    }
}

#[test]
fn related_pages_are_kept_in_every_market() {
    let folder = tempfile::tempdir().unwrap();
    let options = LiveOptions { repair_share: 1.0, ..LiveOptions::default() };
    let made = Settings { groups: options, ..settings() };
    let store = Repository::create(folder.path(), made).unwrap();
    for n in 0..3 {
        store.observe(page(&format!("http://a/{n}"), 5 + n)).unwrap();
    }
    store.set_market("last", Some("prefer-host:b".parse().unwrap())).unwrap();
    let reader = store.reader();
    assert_eq!(reader.group("http://a/0", None).unwrap().unwrap().record.members, 3);
    let expected = [Fate::Kept, Fate::Removed, Fate::Related];
    let fates: Vec<Fate> = fates(&reader, None).into_iter().map(|(_, fate)| fate).collect();
    assert_eq!(fates, expected);
    let related = reader.status("http://a/2", None).unwrap().unwrap();
    assert_eq!((related.verdict.kind, related.verdict.removable()), (Kind::Related, false));
}

fn in_scope(scope: Scope, pages: &[Observation]) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let store = Repository::create(folder.path(), Settings { scope, ..settings() }).unwrap();
    store.observe_many(pages.to_vec()).unwrap();
    let sizes = |seen: &Observation| store.group(&seen.url).unwrap().unwrap().pages.len();
    let sizes = pages.iter().map(sizes).collect();
    // The same when checked without recording, and after reopening.
    let unrelated =
        Observation { language: "fr".into(), field: "art".into(), ..page("http://x", 3) };
    let asked = store.check(&unrelated).unwrap().verdict.kind;
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.check(&unrelated).unwrap().verdict.kind, asked);
    assert_clean(&store);
    sizes
}

#[test]
fn comparison_can_be_limited_to_a_host_a_domain_a_language_or_a_field() {
    let of = |url: &str, language: &str, field: &str| Observation {
        language: language.into(),
        field: field.into(),
        ..page(url, 3)
    };
    let pages = [
        of("http://a.org/1", "en", "tea"),
        of("http://a.org/2", "de", "tea"),
        of("http://www.a.org/3", "en", "coffee"),
        of("http://b.org/4", "en", "tea"),
    ];
    assert_eq!(in_scope(Scope::None, &pages), [4, 4, 4, 4]);
    assert_eq!(in_scope(Scope::Host, &pages), [2, 2, 1, 1]);
    assert_eq!(in_scope(Scope::Domain, &pages), [3, 3, 3, 1]);
    assert_eq!(in_scope(Scope::Language, &pages), [3, 1, 3, 3]);
    assert_eq!(in_scope(Scope::Field("topic".into()), &pages), [3, 3, 1, 3]);
}

#[test]
fn a_group_states_its_diameter_and_failing_share_and_is_repaired_beyond_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let groups = LiveOptions { repair_share: 0.5, ..LiveOptions::default() };
    let store = Repository::create(folder.path(), Settings { groups, ..settings() }).unwrap();
    // The winner is at one end; 6 matches it, 7 does not: half of the others fail.
    store.observe(page("http://a", 5)).unwrap();
    store.observe(page("http://b", 6)).unwrap();
    store.observe(page("http://c", 7)).unwrap();
    let group = store.group("http://a").unwrap().unwrap();
    assert_eq!(group.pages.len(), 3);
    assert_eq!((group.record.failing_share(), group.record.diameter()), (0.5, 12));
    // One more failing page makes it two thirds.
    store.observe(page("http://d", 7)).unwrap();
    let group = store.group("http://a").unwrap().unwrap();
    assert_eq!((group.pages.len(), group.record.failing_share()), (2, 0.0));
    assert_eq!(store.group("http://c").unwrap().unwrap().pages.len(), 2);
    let splits = store.events(0, 100).unwrap();
    assert!(splits.iter().any(|event| format!("{:?}", event.change).starts_with("Split")));
    assert_clean(&store);
}

#[test]
fn the_order_of_arrival_changes_no_winner() {
    let pages: Vec<Observation> =
        (0..9).map(|n| page(&format!("http://a/{n}"), n / 3 * 5)).collect();
    let winners = |order: &[usize]| {
        let folder = tempfile::tempdir().unwrap();
        let store = create(folder.path());
        order.iter().for_each(|&n| drop(store.observe(pages[n].clone()).unwrap()));
        pages.iter().map(|p| store.group(&p.url).unwrap().unwrap().winner_url).collect::<Vec<_>>()
    };
    let expected = winners(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for order in [[8, 7, 6, 5, 4, 3, 2, 1, 0], [4, 0, 8, 2, 6, 1, 7, 3, 5]] {
        assert_eq!(winners(&order), expected);
    }
}
