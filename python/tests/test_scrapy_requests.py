"""What a crawl asks for besides pages is neither compared nor withheld: robots.txt, files, sitemaps, own downloads."""

from __future__ import annotations

import http.server
import json
import pathlib
import subprocess
import sys
from typing import Iterator

import pytest

import hapax
from conftest import Server, story

SPIDER = str(pathlib.Path(__file__).with_name("crawl_hosts.py"))
ROBOTS = "User-agent: *\nDisallow: /private\n# " + story(1, 60) + "\n"


def html(body: str, *links: str) -> str:
    return f"<html><body><p>{body}</p>{''.join(f'<a href={link}></a>' for link in links)}</body></html>"


SAME = html(story(2, 200))
PAGES = {
    "/robots.txt": ("text/plain", ROBOTS),
    "/front": ("text/html", html(story(3, 200), "/private/secret", "/open")),
    "/private/secret": ("text/html", html(story(4, 200))),
    "/open": ("text/html", html(story(5, 200))),
    "/one": ("text/html", SAME),
    "/copy": ("text/html", SAME),
    "/copy-too": ("text/html", SAME),
    "/photo.png": ("image/png", "no picture"),
    # A pipeline takes addresses as they are.
    "/files": ("text/html", html(story(6, 200), *(f"HOST/{name}" for name in ("a.txt", "b.txt", "c.html", "d.html")))),
    **{f"/{name}.txt": ("text/plain", story(7, 200)) for name in "ab"},
    **{f"/{name}.html": ("text/html", html(story(8, 200))) for name in "cd"},
    # Sent as a page, as many servers do.
    "/sitemap.xml": ("text/html", "<urlset><url><loc>HOST/one</loc></url><url><loc>HOST/open</loc></url></urlset>"),
    "/more.xml": ("text/html", "<urlset><url><loc>HOST/one</loc></url><url><loc>HOST/front</loc></url></urlset>"),
    **{f"/feed-{n}.csv": ("text/plain", "name\n" + story(11, 200)) for n in (1, 2)},
    **{f"/feed-{n}.xml": ("text/html", f"<item>/one</item><p>{story(12, 200)}</p>") for n in (1, 2)},
    "/index.txt": ("text/plain", story(9, 200)),
    "/index-again.txt": ("text/plain", story(9, 200)),
    "/data.json": ("application/json", json.dumps({"text": story(10, 200)})),
    "/data-again.json": ("application/json", json.dumps({"text": story(10, 200)})),
}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        kind, text = PAGES.get(self.path, ("text/html", ""))
        body = text.replace("HOST", f"http://{self.headers['Host']}").encode()
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hosts() -> Iterator[list[Server]]:
    """Two hosts with the same files. Rules of robots.txt hold for a host and a port."""
    with Server(Site) as one, Server(Site) as other:
        for server in (one, other):
            server.seen = []  # type: ignore[attr-defined]
        yield [one, other]


def crawl(folder: pathlib.Path, start: list[dict], **more: object) -> dict:
    settings = {
        "ADDONS": {"hapax.scrapy.Addon": 500},
        "HAPAX_REPOSITORY": str(folder / "seen"),
        "HAPAX_ACTION": "skip",
        **more.pop("settings", {}),  # type: ignore[dict-item]
    }
    given = json.dumps({"settings": settings, "start": start, **more})
    done = subprocess.run([sys.executable, SPIDER, given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told: dict = json.loads(done.stdout.splitlines()[-1])
    assert told["errors"] == [], told["errors"]
    return told


def paths(told: dict) -> list[str]:
    return sorted("/" + item["url"].split("/", 3)[3] for item in told["items"] if "refused" not in item)


def recorded(folder: pathlib.Path, url: str) -> bool:
    with hapax.Repository(folder / "seen", mode="open") as repository:
        return repository.page(url) is not None


@pytest.mark.parametrize("action", ["skip", "drop", "tag"])
def test_a_second_host_with_the_same_robots_txt_keeps_its_rules(
    hosts: list[Server], tmp_path: pathlib.Path, action: str
) -> None:
    start = [{"url": host.url + "/front"} for host in hosts]
    told = crawl(tmp_path, start, settings={"ROBOTSTXT_OBEY": True, "HAPAX_ACTION": action})
    for host in hosts:
        assert "/robots.txt" in host.seen and "/private/secret" not in host.seen, host.seen  # type: ignore[attr-defined]
        assert not recorded(tmp_path, host.url + "/robots.txt")
    assert told["stats"]["robotstxt/response_count"] == 2
    assert told["stats"]["robotstxt/forbidden"] == (1 if action == "skip" else 2)
    assert told["stats"]["hapax/verdict/exact"] == (1 if action == "skip" else 2)


def test_equal_files_of_a_pipeline_all_arrive(hosts: list[Server], tmp_path: pathlib.Path) -> None:
    start = [{"url": hosts[0].url + "/files", "callback": "parse_files"}]
    files = {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}, "FILES_STORE": str(tmp_path / "files")}
    told = crawl(tmp_path, start, settings=files)
    assert len(told["items"][0]["files"]) == 4, told
    assert told["stats"]["hapax/pages"] == 1 and not recorded(tmp_path, hosts[0].url + "/c.html")


def test_downloads_of_callbacks_and_middlewares_are_neither_compared_nor_recorded(
    hosts: list[Server], tmp_path: pathlib.Path
) -> None:
    site = hosts[0].url
    start = [
        {"url": site + "/one", "callback": "parse_asking"},
        {"url": site + "/open", "meta": {"ask_first": site + "/one"}},
    ]
    told = crawl(tmp_path, start)
    by_path = {item["url"].removeprefix(site): item for item in told["items"]}
    assert by_path["/one"]["asked"] is True and by_path["/open"]["asked"] == SAME
    assert told["stats"]["hapax/pages"] == 2 and "hapax/skipped" not in told["stats"]
    assert not recorded(tmp_path, site + "/copy")


def test_sitemaps_robots_txt_and_data_reach_their_callbacks(hosts: list[Server], tmp_path: pathlib.Path) -> None:
    maps = [host.url + path for host in hosts for path in ("/robots.txt", "/sitemap.xml", "/more.xml")]
    told = crawl(tmp_path, [], kind="sitemaps", sitemaps=maps)
    assert paths(told) == ["/front", "/one", "/open"], "one copy of each page"
    assert told["stats"]["hapax/pages"] == 6
    site = hosts[0].url
    start = [{"url": site + path} for path in ("/data.json", "/data-again.json", "/index.txt", "/index-again.txt")]
    told = crawl(tmp_path, start)
    assert paths(told) == ["/data-again.json", "/data.json", "/index.txt"], "text is a page, JSON is none"


@pytest.mark.parametrize("kind", ["rows", "nodes"])
def test_equal_feeds_reach_their_spider_and_its_pages_are_compared(
    hosts: list[Server], tmp_path: pathlib.Path, kind: str
) -> None:
    name = {"rows": "csv", "nodes": "xml"}[kind]
    told = crawl(tmp_path, [], kind=kind, feeds=[f"{hosts[0].url}/feed-{n}.{name}" for n in (1, 2)])
    feeds = [item["url"] for item in told["items"] if "page" not in item]
    assert len(set(feeds)) == 2 and not any(recorded(tmp_path, url) for url in feeds), told
    assert told["stats"].get("hapax/pages") == (2 if kind == "nodes" else None), told["stats"]


def test_callbacks_of_every_kind_get_their_page_and_errbacks_the_duplicate(
    hosts: list[Server], tmp_path: pathlib.Path
) -> None:
    site = hosts[0].url
    start: list[dict] = [
        {"url": site + "/one", "callback": "parse_list", "errback": True},
        {"url": site + "/open", "callback": "parse_later"},
        {"url": site + "/d.html", "cb_kwargs": {"depth": 3}},
        {"url": site + "/copy", "callback": "parse_later", "errback": True},
        {"url": site + "/copy-too", "callback": "parse_list"},
    ]
    told = crawl(tmp_path, start)
    items = {item["url"].removeprefix(site): item for item in told["items"]}
    assert items["/one"]["verdict"] == items["/open"]["verdict"] == "new"
    assert items["/d.html"]["depth"] == 3
    assert items["/copy"] == {"url": site + "/copy", "refused": "IgnoreRequest"}
    assert "/copy-too" not in items and told["stats"]["hapax/skipped"] == 2


def test_a_callback_may_take_an_argument_of_any_name(hosts: list[Server], tmp_path: pathlib.Path) -> None:
    mine = {"request": "mine", "arguments": 1, "checker": 2, "answers": 3}
    told = crawl(tmp_path, [{"url": hosts[0].url + "/open", "cb_kwargs": mine}])
    assert {name: told["items"][0][name] for name in mine} == mine, told


def test_a_request_that_is_asked_again_can_be_stored_and_hands_on_no_verdict(
    hosts: list[Server], tmp_path: pathlib.Path
) -> None:
    settings = {"JOBDIR": str(tmp_path / "job"), "HAPAX_ACTION": "drop", "SCHEDULER_DEBUG": True}
    start = [{"url": hosts[0].url + path, "callback": "parse_again"} for path in ("/one", "/copy")]
    told = crawl(tmp_path, start, settings=settings)
    found = sorted((item["url"].removeprefix(hosts[0].url), item["verdict"]) for item in told["items"])
    # The copy's items are dropped; the image's are not, though the request has the copy's meta.
    assert ("/photo.png", None) in found and ("/copy", "exact") not in found, found
    assert sum(path == "/one" for path, _ in found) == 2, found


def test_images_and_requests_without_a_callback_are_left_alone(hosts: list[Server], tmp_path: pathlib.Path) -> None:
    told = crawl(tmp_path, [{"url": hosts[0].url + "/photo.png"}, {"url": hosts[1].url + "/photo.png"}])
    assert paths(told) == ["/photo.png", "/photo.png"] and "hapax/pages" not in told["stats"]
