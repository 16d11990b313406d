"""A real crawl of a site whose near-duplicates, redirects and session ids are known."""

from __future__ import annotations

import http.server
import json
import pathlib
import subprocess
import sys
import textwrap
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

import pytest

import hapax
from conftest import Server, Service, story

TEA, COFFEE = story(1, 300), story(2, 300)


def html(title: str, body: str, *links: str) -> bytes:
    anchors = "".join(f'<a href="{link}"></a>' for link in links)
    return f"<html><head><title>{title}</title></head><body><p>{body}</p>{anchors}</body></html>".encode()


#: Links in the order in which they are followed; the front page has them all but the last two.
FRONT = ["/tea", "/tea?session=17", "/tea-again", "/old-tea", "/coffee", "/photo.png", "/gone", "/hidden-by-copy"]
PAGES = {
    "/": html("Front", story(0, 50), *FRONT),
    "/tea": html("Tea", TEA),
    "/tea?session=17": html("Tea", TEA),
    # A near copy, with a link that only it has.
    "/tea-again": html("Tea", TEA + " and one more sentence", "/only-from-copy"),
    "/coffee": html("Coffee", COFFEE),
    "/hidden-by-copy": html("Coffee", COFFEE),
    "/only-from-copy": html("Cocoa", story(3, 300)),
}
#: Twenty stories, each under a long address and, with another sentence, under a short one.
COPIES = {
    path: html(f"Story {n}", story(100 + n, 200) + more)
    for n in range(20)
    for path, more in ((f"/stories/long-address-of-{n}?session=1", ""), (f"/s{n}", " and one more sentence"))
}
#: Front pages that link to all of them, in different orders.
ORDERS = {
    "/forwards": list(COPIES),
    "/backwards": list(COPIES)[::-1],
    "/mixed": sorted(COPIES, key=lambda path: zlib.crc32(path.encode())),
}
PAGES.update(COPIES)
PAGES.update({path: html(path, story(50 + n, 60), *links) for n, (path, links) in enumerate(ORDERS.items())})
REDIRECTS = {"/old-tea": "/older-tea", "/older-tea": "/tea"}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path in REDIRECTS:
            self.answer(301, b"", Location=REDIRECTS[self.path])
        elif self.path in PAGES:
            self.answer(200, PAGES[self.path], **{"Content-Type": "text/html; charset=utf-8"})
        elif self.path == "/photo.png":
            self.answer(200, b"\x89PNG\r\n\x1a\n" + bytes(100), **{"Content-Type": "image/png"})
        else:
            self.answer(404, b"")

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with Server(Site) as server:
        yield server.url


SPIDER = str(pathlib.Path(__file__).with_name("crawl_site.py"))


def crawl(
    site: str, settings: dict, meta: dict | None = None, start: str = "/"
) -> tuple[dict[str, list], dict[str, int]]:
    """Verdicts and flags of the items by path, in the order in which they came, and the stats of ours."""
    given = json.dumps({"site": site, "settings": settings, "meta": meta, "start": start})
    done = subprocess.run([sys.executable, SPIDER, given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    items: dict[str, list] = {}
    for item in told["items"]:
        items.setdefault(item["url"].removeprefix(site), []).append((item["verdict"], item["flags"]))
    return items, told["stats"]


#: Two pages are exact copies (session id, /hidden-by-copy). The redirects lead to /tea once more, which by then has
#: copies, but is the one that stays: no duplicate.
ITEMS = {
    "/": [("new", [])],
    "/tea": [("new", []), ("exact", [])],
    "/tea?session=17": [("exact", ["hapax-exact"])],
    "/tea-again": [("near", ["hapax-near"])],
    "/coffee": [("new", [])],
    "/photo.png": [(None, [])],
    "/hidden-by-copy": [("exact", ["hapax-exact"])],
    "/only-from-copy": [("new", [])],
}


def three_lines(where: dict, action: str) -> dict:
    return {"ADDONS": {"hapax.scrapy.Addon": 500}, **where, "HAPAX_ACTION": action}


@pytest.mark.parametrize("place", ["repository", "service"])
def test_tag_passes_everything_on(site: str, tmp_path: pathlib.Path, place: str) -> None:
    running = Service(tmp_path / "served") if place == "service" else None
    where = {"HAPAX_SERVICE": running.url} if running else {"HAPAX_REPOSITORY": str(tmp_path / "seen")}
    items, stats = crawl(site, three_lines(where, "tag"))
    assert items == ITEMS
    assert stats == {
        "hapax/pages": 8,  # /tea twice: by its name and through the redirects
        "hapax/verdict/new": 4,
        "hapax/verdict/exact": 3,
        "hapax/verdict/near": 1,
        "hapax/redirects": 2,
    }
    pages: hapax.Pages = hapax.Client(running.url) if running else hapax.Repository(tmp_path / "seen", mode="open")
    group = pages.group(site + "/tea")
    found = {one.url.removeprefix(site): pages.page(one.url).redirects_to for one in group.rows}
    assert found == {
        "/tea": None,
        "/tea?session=17": None,
        "/tea-again": None,
        "/old-tea": site + "/older-tea",
        "/older-tea": site + "/tea",
    }
    assert group.winner == site + "/tea" and pages.page(site + "/photo.png") is None
    if running:
        running.stop()


def test_drop_follows_links_of_a_duplicate_and_drops_its_items(site: str, tmp_path: pathlib.Path) -> None:
    items, stats = crawl(site, three_lines({"HAPAX_REPOSITORY": str(tmp_path / "seen")}, "drop"))
    assert sorted(items) == ["/", "/coffee", "/only-from-copy", "/photo.png", "/tea"]
    assert stats["hapax/dropped_items"] == 3 and stats["hapax/pages"] == 8 and "hapax/skipped" not in stats


def test_skip_hides_a_duplicate_from_the_spider(site: str, tmp_path: pathlib.Path) -> None:
    settings = three_lines({"HAPAX_REPOSITORY": str(tmp_path / "seen")}, "skip")
    items, stats = crawl(site, settings)
    assert sorted(items) == ["/", "/coffee", "/photo.png", "/tea"]
    assert stats["hapax/skipped"] == 3 and stats["hapax/pages"] == 7
    # The second crawl: every page is known and is still like itself.
    items, stats = crawl(site, settings)
    assert sorted(items) == ["/", "/coffee", "/photo.png", "/tea"] and stats["hapax/skipped"] == 3


def passed(items: dict[str, list]) -> list[str]:
    """Of each story the copies that a spider goes on with, by their addresses."""
    return sorted(path for path, seen in items.items() if path in COPIES and not seen[0][1])


@pytest.mark.parametrize("action", ["skip", "drop", "tag"])
@pytest.mark.parametrize("place", ["repository", "service"])
def test_one_copy_of_every_content_passes_in_every_crawl_and_it_is_the_same(
    site: str, tmp_path: pathlib.Path, place: str, action: str
) -> None:
    running = Service(tmp_path / "served") if place == "service" else None
    where = {"HAPAX_SERVICE": running.url} if running else {"HAPAX_REPOSITORY": str(tmp_path / "seen")}
    settings = {**three_lines(where, action), "CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    first = None
    for start in ["/forwards", "/mixed", "/backwards", "/forwards"]:
        items, stats = crawl(site, settings, start=start)
        through = passed(items)
        assert len(through) == 20 and len({PAGES[path][:40] for path in through}) == 20, through
        first = first or through
        assert through == first, start
        assert stats.get("hapax/errors") is None
    if running:
        # Two processes at once, in opposite orders.
        with ThreadPoolExecutor() as pool:
            both = pool.map(lambda start: passed(crawl(site, settings, start=start)[0]), ["/forwards", "/backwards"])
        assert list(both) == [first, first]
        running.stop()


def test_settings_other_than_those_of_the_repository_are_refused(tmp_path: pathlib.Path) -> None:
    hapax.Repository(tmp_path / "seen", within=4, keep="longest").close()
    hapax.Repository(tmp_path / "seen", within=4, keep="longest").close()
    hapax.Repository(tmp_path / "seen").close()
    for other, reason in [({"within": 5}, "distance 4, not 5"), ({"keep": "shortest"}, "`longest`, not `shortest`")]:
        with pytest.raises(hapax.errors.SettingsMismatchError, match=reason):
            hapax.Repository(tmp_path / "seen", **other)


def test_settings_of_a_spider(site: str, tmp_path: pathlib.Path) -> None:
    settings = three_lines({"HAPAX_REPOSITORY": str(tmp_path / "seen")}, "skip")
    items, stats = crawl(site, {**settings, "HAPAX_VERDICTS": ["near"]})
    assert "/tea?session=17" in items and "/tea-again" not in items and stats["hapax/skipped"] == 1
    items, stats = crawl(site, settings, meta={"hapax_ignore": True})
    assert items["/"] == [(None, [])]
    strict = {**settings, "HAPAX_REPOSITORY": str(tmp_path / "strict"), "HAPAX_MIN_SIMILARITY": 1.0, "HAPAX_WITHIN": 0}
    items, stats = crawl(site, strict)
    assert items["/tea-again"] == [("new", [])] and stats["hapax/skipped"] == 2


def test_items_are_judged_by_their_own_text(site: str, tmp_path: pathlib.Path) -> None:
    items, stats = crawl(
        site,
        {
            "ITEM_PIPELINES": {"hapax.scrapy.DuplicatesPipeline": 300},
            "HAPAX_ITEM_REPOSITORY": str(tmp_path / "items"),
            "HAPAX_ACTION": "drop",
        },
    )
    assert sorted(items) == ["/", "/coffee", "/only-from-copy", "/photo.png", "/tea"]
    assert (stats["item_dropped_count"], stats["hapax/items"], stats["hapax/items_without_text"]) == (3, 8, 1)


def test_a_lost_service_lets_pages_pass_unless_told_otherwise(site: str) -> None:
    where = {"HAPAX_SERVICE": "http://127.0.0.1:9"}
    items, stats = crawl(site, three_lines(where, "skip"))
    assert len(items) == 8 and stats["hapax/errors/UnreachableError"] == stats["hapax/errors"] == 9
    items, stats = crawl(site, {**three_lines(where, "skip"), "HAPAX_ON_ERROR": "raise"})
    assert items == {} and stats["log_count/ERROR"] >= 1


def test_a_page_that_is_gone_is_forgotten(site: str, tmp_path: pathlib.Path) -> None:
    with hapax.Repository(tmp_path / "seen") as repository:
        repository.observe(site + "/gone", text=story(9))
    _, stats = crawl(site, three_lines({"HAPAX_REPOSITORY": str(tmp_path / "seen")}, "tag"))
    assert stats["hapax/forgotten"] == 1
    with hapax.Repository(tmp_path / "seen") as repository:
        assert repository.page(site + "/gone") is None


def test_settings_that_cannot_be_meant_end_the_crawl(site: str, tmp_path: pathlib.Path) -> None:
    for wrong in ({"HAPAX_REPOSITORY": str(tmp_path / "seen"), "HAPAX_ACTION": "delete"},):
        given = json.dumps({"site": site, "settings": {"ADDONS": {"hapax.scrapy.Addon": 500}, **wrong}})
        done = subprocess.run([sys.executable, SPIDER, given], capture_output=True, text=True, timeout=60)
        assert "HAPAX_ACTION is one of tag, drop, skip" in done.stderr, textwrap.shorten(done.stderr, 2000)
