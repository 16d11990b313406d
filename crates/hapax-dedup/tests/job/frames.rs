//! Pages that share their site's frame: different products are kept, copies of one are removed.

use std::collections::BTreeSet;

use hapax_dedup::{Confirm, Error, Frames, Summary, Watch, dedup};
use hapax_synth::{SiteCopy, SitePage, TemplatedSite};

use crate::folder::{Folder, html_jsonl, options};

fn clean(pages: &[SitePage], frames: Frames) -> (Summary, Vec<String>) {
    let folder = Folder::new();
    let input =
        folder.write("pages.jsonl", html_jsonl(pages.iter().map(|it| (&*it.url, &*it.html))));
    let finished = folder.dedup(&[&input], "out", |options| options.use_frames(frames)).unwrap();
    (finished.summary, folder.table("out/removed.parquet").into_keys().collect())
}

fn products(site: &TemplatedSite, count: u64) -> Vec<SitePage> {
    (0..count).map(|number| site.page(number)).collect()
}

#[test]
fn products_of_a_shop_are_kept_however_large_their_frame_is() {
    for frame in [100, 300, 1000] {
        for own in [0, 10, 40, 80, 150] {
            for count in [10, 40, 100] {
                let site = TemplatedSite::new(frame as u64 + own as u64, "shop.test", frame, own);
                let (summary, _) = clean(&products(&site, count), Frames::On);
                assert_eq!(summary.removed(), 0, "{count} with {frame} words of frame, {own} own");
            }
        }
    }
}

#[test]
fn frames_may_change_and_a_site_may_have_two_languages() {
    for (every, two_languages) in [(0, true), (30, false), (50, true)] {
        let mut site = TemplatedSite::new(5, "shop.test", 300, 10);
        (site.frame_changes_every, site.two_languages) = (every, two_languages);
        let (summary, _) = clean(&products(&site, 200), Frames::On);
        assert_eq!(summary.removed(), 0, "{every} {two_languages}");
    }
}

#[test]
fn copies_of_a_page_are_removed_although_its_site_has_a_frame() {
    for (frame, own) in [(100, 40), (300, 0), (300, 80), (1000, 10), (1000, 150)] {
        let site = TemplatedSite::new(9, "shop.test", frame, own);
        let mut pages = products(&site, 60);
        let copies = [SiteCopy::Session, SiteCopy::Referrer, SiteCopy::Date];
        for number in 0..20 {
            pages.extend(copies.iter().map(|&how| site.copy(number, how)));
        }
        let (summary, _) = clean(&pages, Frames::On);
        assert_eq!(summary.removed(), 60, "{frame} {own}");
    }
}

/// Sites of some pages each; every article is on three of them, in their frames, with one line of
/// each site's own.
fn syndicated(pages: u64, frame: usize, own: usize) -> Vec<SitePage> {
    let articles = TemplatedSite::new(77, "agency.test", 0, own);
    let article = |number: u64| {
        let html = articles.page(number).html;
        let from = html.find("<h1>").unwrap();
        html[from..].split("<p>2026").next().unwrap().to_owned()
    };
    let sites: Vec<TemplatedSite> = (0..12)
        .map(|site| TemplatedSite::new(100 + site, &format!("paper{site}.test"), frame, 8))
        .collect();
    let mut found = Vec::new();
    for number in 0..4 * pages {
        for copy in 0..3 {
            let site = &sites[((number * 3 + copy) % 12) as usize];
            let mut page = site.page(number);
            page.html = page.html.replacen("</h1>", &format!("</h1>{}", article(number)), 1);
            found.push(page);
        }
    }
    found
}

#[test]
fn own_texts_alone_find_an_article_in_the_frames_of_other_sites() {
    let (mut copies, mut removed) = (0, 0);
    for pages in [2, 3, 8, 20] {
        for (frame, own) in [(300, 150), (1000, 150), (1000, 400)] {
            let given = syndicated(pages, frame, own);
            let articles = given.len() as u64 / 3;
            let (summary, _) = clean(&given, Frames::Own);
            assert!(
                summary.kept >= articles,
                "{pages} pages a site, {frame} words of frame, {own} own"
            );
            assert_eq!(summary.framed_hosts, 12);
            (copies, removed) = (copies + 2 * articles, removed + summary.removed());
            assert_eq!(clean(&given, Frames::On).0.removed(), 0, "by whole pages");
        }
    }
    assert!(removed * 100 >= copies * 99, "{removed} of {copies}");
}

#[test]
fn where_own_texts_are_small_whole_pages_decide_by_the_bounds_of_whole_pages() {
    for (frame, own) in [(1000, 10), (300, 40)] {
        let site = TemplatedSite::new(7, "shop.test", frame, own);
        let mut pages = products(&site, 40);
        pages.push(site.copy(3, SiteCopy::Date));
        let removed = [Frames::Own, Frames::Off].map(|frames| clean(&pages, frames).1);
        assert_eq!(removed[0], removed[1], "{frame} {own}");
        assert!(!removed[0].is_empty());
    }
}

#[test]
fn own_texts_alone_refuse_what_they_cannot_do() {
    let folder = Folder::new();
    let input = folder.write("pages.jsonl", html_jsonl([("http://a.test/", "<p>Tea")]));
    let refused = folder.dedup(&[&input], "out", |options| {
        options.use_frames(Frames::Own);
        options.confirm = Confirm::Exact;
    });
    assert!(refused.unwrap_err().to_string().contains("exact confirmation"));
    let kept = |out: &str, frames: Frames, against: &[&str]| {
        folder.dedup(&[&input], out, |options| {
            options.use_frames(frames);
            options.against = against.iter().map(|it| folder.path(it)).collect();
        })
    };
    kept("own", Frames::Own, &[]).unwrap();
    let mixed = kept("mixed", Frames::On, &["own"]).unwrap_err().to_string();
    assert!(mixed.contains("of own texts"), "{mixed}");
    let again = kept("again", Frames::Own, &["own"]).unwrap_err().to_string();
    assert!(again.contains("earlier jobs"), "{again}");
}

#[test]
fn a_host_with_few_pages_and_a_job_without_frames_compare_whole_pages() {
    let site = TemplatedSite::new(7, "shop.test", 1000, 10);
    let (off, removed) = clean(&products(&site, 40), Frames::Off);
    assert_eq!((off.removed(), removed.len()), (39, 39));
    assert_eq!((off.settings.frames.as_ref(), off.framed_hosts), ("off", 0));
    let (few, _) = clean(&products(&site, 3), Frames::On);
    assert_eq!((few.removed(), few.framed_hosts), (2, 0));
    let (on, _) = clean(&products(&site, 40), Frames::On);
    assert_eq!((on.removed(), on.framed_hosts), (0, 1));
}

#[test]
fn the_report_shows_the_frame_and_the_tables_what_is_own() {
    let site = TemplatedSite::new(7, "shop.test", 100, 10);
    let mut pages = products(&site, 20);
    pages.push(site.copy(3, SiteCopy::Date));
    let folder = Folder::new();
    let input =
        folder.write("pages.jsonl", html_jsonl(pages.iter().map(|it| (&*it.url, &*it.html))));
    folder.dedup(&[&input], "out", |_| {}).unwrap();
    let report = String::from_utf8(folder.read("out/report.html")).unwrap();
    let section = report.split("Frames of the largest hosts").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    assert!(section.contains("shop.test (21 pages)"), "{section}");
    let text = |html: &str| html.split(['<', '>']).skip(2).step_by(2).collect::<Vec<_>>().join(" ");
    let (first, second) = (text(&pages[0].html), text(&pages[1].html));
    let second: BTreeSet<&str> = second.split_whitespace().collect();
    let (common, own): (Vec<&str>, Vec<&str>) =
        first.split_whitespace().filter(|it| it.len() > 4).partition(|it| second.contains(it));
    let shown = |words: &[&str]| words.iter().filter(|it| section.contains(**it)).count();
    assert!(shown(&common) * 10 >= common.len() * 9, "{section}");
    assert!(shown(&own) <= 1, "{own:?} in {section}");
    let removed = folder.fields("out/removed.parquet", &["own_similarity", "own_words"]);
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0][0].as_deref(), Some("1"));
    assert!((10..40).contains(&removed[0][1].as_deref().unwrap().parse::<u32>().unwrap()));
}

#[test]
fn an_interrupted_job_learns_the_same_frames() {
    struct Stop(u32);
    impl Watch for Stop {
        fn progress(&mut self, _documents: u64, _input_bytes: u64) {
            self.0 = self.0.saturating_sub(1);
        }
        fn stopped(&self) -> bool {
            self.0 == 0
        }
    }
    let site = TemplatedSite::new(7, "shop.test", 1000, 10);
    let pages = products(&site, 40);
    let folder = Folder::new();
    let input =
        folder.write("pages.jsonl", html_jsonl(pages.iter().map(|it| (&*it.url, &*it.html))));
    let (inputs, out) = ([input], folder.path("out"));
    let options = options(|options| options.read.limits.batch = 1 << 14);
    let stopped = dedup(&inputs, &out, &options, &mut Stop(5)).unwrap_err();
    assert!(matches!(stopped, Error::Stopped), "{stopped}");
    let summary = dedup(&inputs, &out, &options, &mut ()).unwrap().summary;
    assert_eq!((summary.removed(), summary.framed_hosts), (0, 1));
}

#[test]
fn a_large_shop_stays_whole_and_its_copies_go_with_linear_work() {
    // Few pages are all compared; for many, sketches propose pairs.
    for (frame, own, count) in [(300, 10, 9_000), (1000, 0, 2_000)] {
        let site = TemplatedSite::new(3, "shop.test", frame, own);
        let mut pages = products(&site, count);
        pages.extend((0..200).map(|number| site.copy(number * 10, SiteCopy::Date)));
        let (summary, removed) = clean(&pages, Frames::On);
        let copies = removed.iter().filter(|it| it.contains("?day=")).count();
        assert!(copies >= 198, "{copies} of 200 copies went");
        assert!(removed.len() - copies <= 4, "{} products went", removed.len() - copies);
        let most = if count > 8_192 { 100 * count } else { count * count };
        assert!(summary.compared_pairs < most, "{} compared", summary.compared_pairs);
    }
}
