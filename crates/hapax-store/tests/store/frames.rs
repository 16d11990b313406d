//! Pages of one host that share a frame: different products are kept, copies of a product are removed.

use crate::copying::{catch_up, rows, standby};
use crate::line::assert_clean;
use hapax::fingerprint::{ContentHash, Fingerprinter};
use hapax::page::{Body, Document};
use hapax_store::{Frames, Observation, Repository, Settings, StoreError, Wanted};
use hapax_synth::{SiteCopy, SitePage, TemplatedSite};

fn create(frames: Frames) -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Fingerprinter::default().recipe_id().clone();
    let settings = Settings { frames, ..Settings::new(recipe) };
    let store = Repository::create(folder.path(), settings).unwrap();
    (folder, store)
}

fn seen(store: &Repository, page: &SitePage, fetched: u64) -> Observation {
    let mut by = Fingerprinter::default().with_key(store.key());
    let known = Document { url: Some(&page.url), ..Document::new(Body::Html(&page.html)) };
    let signed = by.document(&known).unwrap();
    Observation { fetched: Some(fetched), ..Observation::of_page(page.url.as_str(), signed) }
}

fn add(store: &Repository, page: &SitePage, fetched: u64) {
    let page = seen(store, page, fetched);
    let asked = store.check(&page).unwrap();
    let decision = store.observe(page).unwrap();
    // Only recording the page itself may make a new frame.
    if asked.own.map(|own| own.frame) == decision.own.map(|own| own.frame) {
        assert_eq!(asked.verdict.kind, decision.verdict.kind);
    }
}

fn removed(store: &Repository, site: &TemplatedSite, products: u64) -> usize {
    let reader = store.reader();
    let gone = |number: &u64| {
        let page = reader.status(&site.page(*number).url, None).unwrap().unwrap();
        page.verdict.removable()
    };
    (0..products).filter(gone).count()
}

#[test]
fn products_stay_from_the_eighth_on_and_all_of_them_after_a_recheck() {
    for (frame, own) in [(300, 0), (300, 10), (1000, 0), (1000, 40), (1000, 80)] {
        let site = TemplatedSite::new(7, "shop.test", frame, own);
        let (_whole, whole) = create(Frames::Off);
        let (_beyond, beyond) = create(Frames::On);
        for number in 0..40 {
            add(&whole, &site.page(number), number);
            add(&beyond, &site.page(number), number);
        }
        let [before, first] = [&whole, &beyond].map(|store| removed(store, &site, 40));
        assert!(before > 25, "{frame} {own}: {before}");
        assert!(first < 8, "{frame} {own}: {first}");
        let again = beyond.recheck().unwrap();
        assert!((7..=40).contains(&again), "{again}");
        assert_eq!(removed(&beyond, &site, 40), 0, "{frame} {own}");
        assert_eq!(beyond.recheck().unwrap(), 0);
        assert_eq!(whole.recheck().unwrap(), 0);
        assert_clean(&beyond);
    }
}

#[test]
fn a_recheck_is_made_of_small_commits() {
    let (_folder, store) = create(Frames::On);
    let site = TemplatedSite::new(7, "shop.test", 1000, 0);
    let one = seen(&store, &site.page(0), 0);
    // Pages of other hosts without frames, in the group of the shops' pages.
    let others = (0..3000u32).map(|n| {
        let (url, content) = (format!("http://h{n}.test/"), ContentHash::of(&n.to_string()));
        Observation { url, content, pieces: Vec::new(), ..one.clone() }
    });
    store.observe_many(others.collect()).unwrap();
    for shop in 0..6 {
        let site = TemplatedSite::new(7, &format!("shop{shop}.test"), 1000, 0);
        (0..40).for_each(|number| add(&store, &site.page(number), number));
    }
    let before = store.stats().unwrap();
    let due = store.recheck().unwrap();
    let after = store.stats().unwrap();
    assert!(due > 150, "{due}");
    assert!(after.commits - before.commits >= due.div_ceil(64), "{due} pages");
    assert_clean(&store);
}

#[test]
fn copies_of_a_product_are_removed_and_the_similarity_of_own_texts_is_reported() {
    let site = TemplatedSite::new(9, "shop.test", 400, 60);
    let (_folder, store) = create(Frames::On);
    for number in 0..20 {
        add(&store, &site.page(number), number);
    }
    store.recheck().unwrap();
    for how in [SiteCopy::Session, SiteCopy::Referrer, SiteCopy::Date] {
        let copy = site.copy(3, how);
        let decision = store.observe(seen(&store, &copy, 100)).unwrap();
        assert!(decision.verdict.removable(), "{how:?}");
        assert_eq!(decision.winner_url, Some(site.page(3).url), "{how:?}");
        let own = decision.own.unwrap();
        assert!(own.similarity.unwrap() > 0.9 && own.words >= 60, "{own:?}");
        let shown = store.reader().status(&copy.url, None).unwrap().unwrap();
        assert_eq!(shown.own, Some(own));
    }
    assert_clean(&store);
}

#[test]
fn the_version_a_page_was_compared_under_is_recorded_and_follows_from_the_order_of_arrival() {
    let mut site = TemplatedSite::new(5, "shop.test", 300, 20);
    site.frame_changes_every = 100;
    let versions = || {
        let (_folder, store) = create(Frames::On);
        for number in 0..200 {
            add(&store, &site.page(number), number);
        }
        let own = |number| store.page(&site.page(number).url).unwrap().unwrap().own;
        let own: Vec<_> = (0..200).map(own).collect();
        assert!(removed(&store, &site, 200) < 16);
        own
    };
    let first = versions();
    let compared_under = |page: usize| first[page].unwrap().compared_under;
    // The eighth text makes the first version; the 16th, 32nd, 64th and every 64th after that the
    // next.
    assert_eq!(
        [0, 7, 14, 15, 31, 63, 126, 127, 199].map(compared_under),
        [0, 1, 1, 2, 3, 4, 4, 5, 6]
    );
    // Stored own texts were updated with the frame; the last version was learned at the 192nd text.
    assert_eq!(
        [0, 63, 64, 127, 128, 191, 199].map(|page| first[page].unwrap().version),
        [4, 4, 5, 5, 6, 6, 6]
    );
    assert_eq!(versions(), first);
}

#[test]
fn few_pages_of_a_host_other_hosts_and_pages_without_a_text_are_compared_as_a_whole() {
    let (_folder, store) = create(Frames::On);
    let site = TemplatedSite::new(3, "few.test", 1000, 0);
    for number in 0..7 {
        add(&store, &site.page(number), number);
        assert!(store.page(&site.page(number).url).unwrap().unwrap().own.is_none());
    }
    assert!(removed(&store, &site, 7) > 4);
    let elsewhere = SitePage { url: "http://mirror.test/0".into(), ..site.page(0) };
    assert!(store.observe(seen(&store, &elsewhere, 9)).unwrap().verdict.removable());
    let sent = Observation { pieces: Vec::new(), ..seen(&store, &site.page(9), 10) };
    assert!(store.observe(sent).unwrap().own.is_none());
    assert_clean(&store);
}

#[test]
fn a_repository_made_with_other_frames_is_refused() {
    let (folder, store) = create(Frames::On);
    let wanted = Wanted { frames: Some(Frames::Off), ..Wanted::default() };
    let refused = wanted.must_be(&store.settings(), folder.path());
    assert!(matches!(refused, Err(StoreError::OtherSetting { setting: "frames", .. })));
}

#[test]
fn a_copy_of_a_repository_goes_on_with_its_frames() {
    let site = TemplatedSite::new(4, "shop.test", 1000, 10);
    let (_folder, store) = create(Frames::On);
    (0..20).for_each(|number| add(&store, &site.page(number), number));
    let to = tempfile::tempdir().unwrap();
    store.snapshot(&to.path().join("copy")).unwrap();
    let copy = Repository::open(&to.path().join("copy"), None).unwrap();
    for store in [&store, &copy] {
        let decision = store.observe(seen(store, &site.page(30), 30)).unwrap();
        assert_eq!(decision.own.unwrap().frame, 2);
        assert!(!decision.verdict.removable());
    }
}

#[test]
fn a_standby_has_the_frames_of_its_primary() {
    let site = TemplatedSite::new(11, "shop.test", 300, 10);
    let (_folder, store) = create(Frames::On);
    let copies = tempfile::tempdir().unwrap();
    for number in 0..5 {
        add(&store, &site.page(number), number);
    }
    let copy = standby(&store, &copies.path().join("copy"));
    for number in 5..70 {
        add(&store, &site.page(number), number);
        if number % 9 == 0 {
            catch_up(&store, &copy);
        }
    }
    store.recheck().unwrap();
    catch_up(&store, &copy);
    assert!(rows(&copy) == rows(&store));
    let again = seen(&store, &site.copy(3, SiteCopy::Session), 100);
    assert_eq!(copy.check(&again).unwrap().own, store.check(&again).unwrap().own);
    assert!(store.check(&again).unwrap().own.is_some());
}
