//! Single cases of live groups.

use super::line::Line;
use super::live::{Groups, groups, partition};
use crate::group::live::{
    Bare, Change, Check, Content, Fate, GroupState, Kind, LiveGroups, LiveOptions, MemoryState,
    PageId, PageRecord, Tier, World,
};
use crate::group::{PageFacts, Rules};

/// Pages 0, 1, 2, ... with these contents, seen in this order.
fn line_of(groups: &mut Groups, contents: &[i32]) -> Line {
    let mut line = Line::default();
    for (page, &content) in (0..).map(PageId).zip(contents) {
        line.contents.insert(page, content);
        groups.seen(&line, page, Content::Changed).unwrap();
    }
    line
}

fn sets(groups: &Groups) -> Vec<Vec<u32>> {
    let mut sets: Vec<Vec<u32>> =
        partition(groups).iter().map(|(_, set)| set.iter().map(|p| p.0).collect()).collect();
    sets.sort();
    sets
}

fn see(
    groups: &mut Groups,
    line: &mut Line,
    page: u32,
    content: i32,
) -> crate::group::live::Verdict {
    line.contents.insert(PageId(page), content);
    groups.seen(line, PageId(page), Content::Changed).unwrap()
}

fn redirect(groups: &mut Groups, line: &mut Line, page: u32, to: u32) -> Kind {
    line.contents.remove(&PageId(page));
    groups.redirects(line, PageId(page), PageId(to)).unwrap().kind
}

#[test]
fn a_known_page_that_still_matches_its_winner_costs_no_search() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5, 5, 6]);
    let before = line.searches.get();
    // Page 0 has the smallest address and wins.
    let verdict = see(&mut groups, &mut line, 2, 4);
    assert_eq!((verdict.kind, verdict.tier), (Kind::Near, Tier::Winner));
    assert_eq!(verdict.winner, Some(PageId(0)));
    assert!(verdict.removable());
    assert_eq!(verdict.reason.unwrap().rule, "url");
    assert_eq!(line.searches.get(), before);
    // Far from its winner it is searched for, and forms a group.
    let verdict = see(&mut groups, &mut line, 2, 50);
    assert_eq!((verdict.kind, verdict.tier, verdict.is_winner), (Kind::Unique, Tier::Index, true));
    assert_eq!(line.searches.get(), before + 1);
    assert_eq!(sets(&groups), [vec![0, 1], vec![2]]);
}

#[test]
fn a_page_that_matches_only_a_loser_is_related() {
    let mut groups = groups(1.0);
    let mut line = line_of(&mut groups, &[5, 6]);
    let verdict = see(&mut groups, &mut line, 2, 7);
    assert_eq!((verdict.kind, verdict.removable()), (Kind::Related, false));
    assert_eq!(verdict.matches.len(), 1);
    assert_eq!(sets(&groups), [[0, 1, 2]]);
    let (group, _) = groups.place(PageId(0)).unwrap().unwrap();
    let record = groups.state().group(group).unwrap().unwrap();
    assert_eq!((record.failing, record.radius, record.diameter()), (1, 6, 12));
    assert!((record.failing_share() - 0.5).abs() < 1e-9);
}

#[test]
fn with_repair_the_same_page_stands_alone_and_is_still_called_related() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5, 6]);
    let verdict = see(&mut groups, &mut line, 2, 7);
    assert_eq!((verdict.kind, verdict.is_winner), (Kind::Related, true));
    assert_eq!(sets(&groups), [vec![0, 1], vec![2]]);
    let splits = |e: &crate::group::live::Event| matches!(e.change, Change::Split { .. });
    assert_eq!(groups.state().events_after(0).filter(splits).count(), 1);
}

#[test]
fn pages_move_with_the_page_they_redirect_to() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5, 5, 50]);
    // 10 -> 11 -> 1, where 11 is not known yet.
    assert_eq!(redirect(&mut groups, &mut line, 10, 11), Kind::Redirect);
    redirect(&mut groups, &mut line, 11, 1);
    assert_eq!(sets(&groups), [vec![0, 1, 10, 11], vec![2]]);
    // Case 1: page 1 changes and now matches page 2.
    see(&mut groups, &mut line, 1, 51);
    assert_eq!(sets(&groups), [vec![0], vec![1, 2, 10, 11]]);
    let verdict = groups.verdict(&line, PageId(10)).unwrap().unwrap();
    assert_eq!((verdict.kind, verdict.removable()), (Kind::Redirect, true));
    // It matches nothing and forms a group, together with its redirects.
    see(&mut groups, &mut line, 1, 99);
    assert_eq!(sets(&groups), [vec![0], vec![1, 10, 11], vec![2]]);
    // Deleted: its redirects await it together.
    line.contents.remove(&PageId(1));
    groups.gone(&line, &[PageId(1)]).unwrap();
    assert_eq!(sets(&groups), [vec![0], vec![1, 10, 11], vec![2]]);
    assert_eq!(groups.verdict(&line, PageId(1)).unwrap().unwrap().kind, Kind::Awaited);
    see(&mut groups, &mut line, 1, 5);
    assert_eq!(sets(&groups), [vec![0, 1, 10, 11], vec![2]]);
}

#[test]
fn cycles_are_found_kept_together_and_opened_again() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5]);
    assert_eq!(redirect(&mut groups, &mut line, 4, 4), Kind::Cycle);
    redirect(&mut groups, &mut line, 1, 2);
    redirect(&mut groups, &mut line, 2, 3);
    assert_eq!(redirect(&mut groups, &mut line, 3, 1), Kind::Cycle);
    redirect(&mut groups, &mut line, 9, 2);
    assert_eq!(sets(&groups), [vec![0], vec![1, 2, 3, 9], vec![4]]);
    let end = groups.state().page(PageId(1)).unwrap();
    assert!(matches!(end, Some(PageRecord::Bare { why: Bare::Loop { .. }, .. })));
    // One page of the cycle has content after all, and matches page 0.
    see(&mut groups, &mut line, 3, 5);
    assert_eq!(sets(&groups), [vec![0, 1, 2, 3, 9], vec![4]]);
    redirect(&mut groups, &mut line, 3, 0);
    assert_eq!(sets(&groups), [vec![0, 1, 2, 3, 9], vec![4]]);
    assert_eq!(groups.place(PageId(9)).unwrap().unwrap().1, PageId(0));
}

#[test]
fn a_long_chain_of_redirects_is_followed_and_moves_at_once() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5]);
    for page in 1..20_000 {
        groups.redirects(&line, PageId(page + 1), PageId(page)).unwrap();
    }
    redirect(&mut groups, &mut line, 1, 0);
    assert_eq!(groups.place(PageId(20_000)).unwrap().unwrap().1, PageId(0));
    assert_eq!(groups.pages(groups.place(PageId(7)).unwrap().unwrap().0).unwrap().len(), 20_001);
    let verdict = groups.redirects(&line, PageId(0), PageId(20_000)).unwrap();
    assert_eq!(verdict.kind, Kind::Cycle);
}

#[test]
fn an_empty_page_matches_nothing() {
    let mut groups = groups(0.1);
    let mut line = line_of(&mut groups, &[5, 5]);
    line.contents.remove(&PageId(0));
    let verdict = groups.seen(&line, PageId(0), Content::Empty).unwrap();
    assert_eq!((verdict.kind, verdict.removable()), (Kind::Empty, false));
    groups.seen(&line, PageId(7), Content::Empty).unwrap();
    assert_eq!(sets(&groups), [[0], [1], [7]]);
    assert_eq!(see(&mut groups, &mut line, 0, 6).kind, Kind::Near);
}

#[test]
fn other_scopes_are_not_compared() {
    let mut groups = groups(0.1);
    let mut line = Line::default();
    line.scopes.insert(PageId(1), 9);
    for page in [0, 1, 2] {
        see(&mut groups, &mut line, page, 5);
    }
    assert_eq!(sets(&groups), [vec![0, 2], vec![1]]);
}

#[test]
fn a_large_group_is_repaired_when_its_members_are_queried() {
    let options = LiveOptions { repair_share: 0.5, verify_at_once: 0, max_matches: 1000 };
    let mut groups = LiveGroups::new(MemoryState::default(), Rules::default(), options);
    // 400 pages at 5 and 300 at 6 are one group; then a page at 7 wins that most do not match.
    let mut line = Line::default();
    line.scores.insert(PageId(999), 1.0);
    for page in 0..700 {
        line.contents.insert(PageId(page), if page < 400 { 5 } else { 6 });
        groups.seen(&line, PageId(page), Content::Changed).unwrap();
    }
    line.contents.insert(PageId(999), 7);
    groups.seen(&line, PageId(999), Content::Changed).unwrap();
    let (group, _) = groups.place(PageId(999)).unwrap().unwrap();
    let record = groups.state().group(group).unwrap().unwrap();
    assert_eq!((record.winner, record.members), (PageId(999), 701));
    assert!(!record.is_verified());
    for page in 0..400 {
        groups.verdict(&line, PageId(page)).unwrap();
    }
    let record = groups.state().group(group).unwrap().unwrap();
    assert_eq!((record.winner, record.members, record.failing), (PageId(999), 301, 0));
    assert_eq!(partition(&groups).len(), 2);
}

#[test]
fn wrapped_terms_invalidate_old_checks() {
    let options = LiveOptions { repair_share: 1.0, verify_at_once: 0, max_matches: 4 };
    let mut groups = LiveGroups::new(MemoryState::default(), "score".parse().unwrap(), options);
    // Pages 0 and 1 win alternately; page 2 matches only one of them, and is queried once.
    let mut line = line_of(&mut groups, &[5, 6, 7]);
    let (group, _) = groups.place(PageId(0)).unwrap().unwrap();
    for turn in 0..140_000u32 {
        let page = PageId(turn % 2);
        line.scores.insert(page, f64::from(turn));
        groups.facts_changed(&line, &[page]).unwrap();
        if turn == 0 {
            groups.verdict(&line, PageId(2)).unwrap();
        }
        let record = groups.state().group(group).unwrap().unwrap();
        assert_eq!(record.winner, page);
        let fails = matches!(groups.state().page(PageId(2)).unwrap(),
            Some(PageRecord::Content { check: Check::Fails(term), .. }) if term == record.term);
        assert!(!(fails && page == PageId(1)), "a check of another term was believed");
        assert_eq!(record.failing, u32::from(fails));
    }
}

#[test]
fn a_market_keeps_other_copies_of_the_same_groups() {
    let mut groups = groups(1.0);
    let mut line = line_of(&mut groups, &[5, 6, 7]);
    line.scores.insert(PageId(2), 9.0);
    let (group, _) = groups.place(PageId(0)).unwrap().unwrap();
    let fates = |rules: &str| -> Vec<(u32, Fate)> {
        let rows = groups.market(&line, group, &rules.parse().unwrap()).unwrap();
        rows.iter().map(|row| (row.page.0, row.fate)).collect()
    };
    assert_eq!(fates(""), [(0, Fate::Kept), (1, Fate::Removed), (2, Fate::Related)]);
    assert_eq!(fates("score"), [(2, Fate::Kept), (0, Fate::Related), (1, Fate::Removed)]);
}

#[test]
fn a_page_can_be_checked_without_being_recorded() {
    let mut groups = groups(1.0);
    let mut line = line_of(&mut groups, &[5, 6]);
    let events = groups.state().events_after(0).count();
    line.contents.insert(PageId(50), 5);
    let found = |line: &Line| line.near(PageId(50), 9).unwrap();
    let facts = PageFacts::at("http://example.org/zzz");
    let matches = found(&line);
    let verdict = groups.check(&line, &facts, None, matches).unwrap();
    assert_eq!((verdict.kind, verdict.winner), (Kind::Exact, Some(PageId(0))));
    assert!(verdict.removable());
    line.contents.insert(PageId(50), 7);
    let matches = found(&line);
    assert_eq!(groups.check(&line, &facts, None, matches).unwrap().kind, Kind::Related);
    let better = PageFacts { score: Some(1.0), ..facts.clone() };
    let matches = found(&line);
    assert!(groups.check(&line, &better, None, matches).unwrap().is_winner);
    let verdict = groups.check(&line, &facts, None, Vec::new()).unwrap();
    assert_eq!((verdict.kind, verdict.group), (Kind::Unique, None));
    assert_eq!(groups.state().events_after(0).count(), events);
}

#[test]
fn events_can_be_followed_from_anywhere_and_forgotten() {
    let mut groups = groups(0.1);
    let line = line_of(&mut groups, &[5, 5, 9]);
    let all: Vec<u64> = groups.state().events_after(0).map(|e| e.sequence).collect();
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
    groups.state_mut().forget_events(2);
    assert_eq!(groups.state().events_after(0).next().unwrap().sequence, 3);
    groups.gone(&line, &[PageId(2), PageId(77)]).unwrap();
    let last = groups.state().events_after(3).last().unwrap();
    assert_eq!(last.change, Change::Gone { page: PageId(2) });
}

#[test]
fn a_page_takes_24_bytes_alone_and_less_in_a_group() {
    let mut groups = groups(0.1);
    line_of(&mut groups, &(0..100).map(|i| i * 10).collect::<Vec<_>>());
    assert_eq!(groups.state().bytes(), 100 * 24);
    let mut groups = self::groups(0.1);
    line_of(&mut groups, &[5; 100]);
    assert_eq!(groups.state().bytes(), 100 * 20 + 4 + 24);
}
