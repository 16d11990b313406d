"""A repository and a service, asked the same questions."""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import threading
from datetime import datetime, timezone

import pytest

import hapax
from conftest import Service, story


def test_pages_are_judged_looked_up_and_forgotten(pages: hapax.Pages) -> None:
    text = story(1, 300)
    first = pages.observe("http://a/original", text=text, score=2.0, fetched=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert (first.verdict, first.winner, first.recorded, first.matches) == ("new", "http://a/original", True, ())
    checked = pages.check("http://b/copy", text=text + " and a little more")
    assert (checked.verdict, checked.recorded, checked.is_duplicate) == ("near", False, True)
    assert pages.page("http://b/copy") is None
    second = pages.observe("http://b/copy", text=text + " and a little more")
    assert (second.verdict, second.removable, second.group) == ("near", True, first.group)
    assert second.reason.rule == "score" and second.matches[0].url == "http://a/original"
    assert second.alike.matches and second.alike.similarity > 0.9
    moved = pages.redirect("http://old/", "http://a/original", fetched=1_800_000_000)
    assert (moved.verdict, moved.winner) == ("redirect", "http://a/original")
    known = pages.page("http://a/original")
    assert (known.state, known.score, known.fetched, known.words) == ("content", 2.0, "2026-01-01T00:00:00Z", 300)
    assert known.fingerprint == hapax.Fingerprinter().text(text).hex
    group = pages.group("http://b/copy")
    assert (group.winner, group.members, len(group.rows)) == ("http://a/original", 2, 3)
    assert group.rows[1].alike == second.alike and group.rows[2].verdict == "redirect"
    assert pages.page("http://old/").redirects_to == "http://a/original"
    assert pages.groups()[0] == dataclasses.replace(group, rows=())
    assert pages.score("http://b/copy", 9.0) and not pages.score("http://nowhere/", 1.0)
    assert pages.group("http://old/").winner == "http://b/copy"
    changes = pages.events()
    assert [event.sequence for event in changes] == list(range(1, len(changes) + 1))
    assert [event.change for event in changes][-1] == "winner"
    assert pages.events(after=changes[-2].sequence) == changes[-1:] and len(pages.events(limit=2)) == 2
    assert pages.forget("http://b/copy") and not pages.forget("http://b/copy")
    assert pages.expire(datetime(2026, 6, 1, tzinfo=timezone.utc)) == 1
    assert pages.group("http://nowhere/") is None
    assert pages.stats()["pages"] >= 1


def test_pages_that_an_older_frame_judged_are_judged_again(pages: hapax.Pages) -> None:
    frame = story(700, 1500)
    products = [f"http://shop.test/p/{number}" for number in range(30)]
    for number, url in enumerate(products):
        text = f"{story(800 + number, 8)} price {number}.99 number {4711 * number} {frame}"
        first = pages.observe(url, text=text, fetched=number)
        # Without a frame the whole pages decide.
        assert number != 1 or (first.removable, first.own) == (True, None)
    assert 1 <= pages.recheck() <= 30
    for url in products:
        found = pages.group(url)
        assert (found.winner, found.members) == (url, 1)
        own = found.rows[0].own
        assert own is not None and own.words >= 8 and own.frame >= 1
    assert pages.recheck() == 0


def test_html_bytes_signatures_and_headers_say_the_same(pages: hapax.Pages) -> None:
    html = f"<html lang=de><title>Tee</title><link rel=canonical href=/tee><p>{story(2)} grüner Tee"
    assert pages.observe("http://a/tee", html).verdict == "new"
    same = [
        pages.check("http://b/", html=html),
        pages.check("http://b/", html.encode("latin-1"), content_type="text/html; charset=latin-1"),
        pages.check("http://b/", signature=hapax.Fingerprinter().html(html)),
    ]
    assert [one.verdict for one in same] == ["exact"] * 3
    assert pages.page("http://a/tee").canonical == "http://a/tee"
    pages.observe("http://c/", text=story(3), headers={"Link": "</other>; rel=canonical"})
    assert pages.page("http://c/").canonical == "http://c/other"


def test_many_pages_at_once(pages: hapax.Pages) -> None:
    texts = [story(n % 40) for n in range(60)]
    many = [hapax.page(f"http://a/{n}", text=text) for n, text in enumerate(texts)]
    verdicts = pages.observe_many([*many, hapax.page("http://r/", redirect="http://a/1")])
    assert [v.verdict for v in verdicts] == ["new"] * 40 + ["exact"] * 20 + ["redirect"]
    assert [v.url for v in verdicts][:2] == ["http://a/0", "http://a/1"]
    assert pages.observe_many([]) == []


def test_a_bad_page_among_many_is_named_by_place_and_address(pages: hapax.Pages) -> None:
    fine = {"url": "http://a/0", "text": "some words"}
    assert [v.verdict for v in pages.observe_many([fine, hapax.page("http://a/1", text="other words")])] == ["new", "new"]
    for bad, what in (
        ({"url": "http://a/bad"}, "exactly one of content"),
        ({"url": "http://a/bad", "txt": "words"}, "txt"),
        ({"url": "http://a/bad", "text": "x", "score": float("inf")}, "finite"),
        ({"url": "http://a/bad", "content": b"%PDF-1.7\n\x00\x01"}, "PDF"),
        ({"url": "http://a/bad", "text": "\ud800"}, "surrogate"),
        ({"url": "http://a/bad", "text": 17}, "text is int, not str"),
        ({"url": "http://a/bad", "html": b"<p>"}, "html is bytes, not str"),
    ):
        with pytest.raises((ValueError, TypeError, hapax.errors.RefusedError), match=r"page 1 \(http://a/bad\)") as refused:
            pages.observe_many([fine, bad])
        assert what in str(refused.value)
    with pytest.raises(hapax.errors.ArgumentError, match=r"page 1 \(None\): url is NoneType, not str"):
        pages.observe_many([fine, {"text": "words"}])
    with pytest.raises(hapax.errors.ArgumentError, match="page 1 is str; expected a dict"):
        pages.observe_many([fine, "http://a/bad"])
    assert len(pages) == 2


def test_a_repository_has_addresses_and_settings(tmp_path: pathlib.Path) -> None:
    with hapax.Repository(tmp_path / "seen", within=4, keep="longest") as seen:
        urls = [f"http://a/{n:04}" for n in range(1500)]
        seen.observe_many({"url": url, "text": "words"} for url in reversed(urls))
        assert len(seen) == 1500 and list(seen) == urls
        assert urls[3] in seen and "http://b/" not in seen and 17 not in seen
        assert (seen.settings["within"], seen.settings["rules"], seen.settings["recipe"]["id"]) == (4, "longest", seen.recipe)
    for other in ({"within": 5}, {"keep": "shortest"}, {"min_similarity": 0.5}, {"scope": "domain"}):
        with pytest.raises(hapax.errors.SettingsMismatchError):
            hapax.Repository(tmp_path / "seen", **other)


def test_a_client_is_pickled_and_closed(service: Service) -> None:
    with hapax.Client(service.url, timeout=17) as client:
        client.observe("http://a/", text=story(1))
        again = pickle.loads(pickle.dumps(client))
        assert again.url == client.url and "http://a/" in again and len(again) == 1


def test_a_page_that_is_too_large_for_a_service_is_refused_with_both_sizes(service: Service) -> None:
    client, text = hapax.Client(service.url), "word " * (8 << 20)
    for ask in (client.observe, client.check):
        with pytest.raises(hapax.errors.RefusedError, match=r"the body has \d{8} bytes, and at most \d+ are read") as refused:
            ask("http://a/", text=text)
        assert (refused.value.code, refused.value.status) == ("too_large", 413)
    with pytest.raises(hapax.errors.RefusedError, match=r"page 0 \(http://a/\): it has \d{8} bytes as JSON, and a line has at most") as refused:
        client.observe_many([hapax.page("http://a/", text=text)])
    assert refused.value.code == "too_large"
    # The limit is of the service, and nearly that much is taken.
    assert client.observe("http://a/", text="word " * (1 << 20)).verdict == "new"


def test_bad_pages_are_refused(pages: hapax.Pages) -> None:
    refusals = (hapax.errors.ArgumentError, hapax.errors.RefusedError)
    for arguments in (
        {},
        {"html": "x", "text": "y"},
        {"text": "x", "score": float("nan")},
        {"text": "x", "fetched": -1},
    ):
        with pytest.raises(refusals):
            pages.observe("http://a/", **arguments)
    for url in ("", "http://a/\n", "x" * 20_000):
        with pytest.raises(refusals):
            pages.observe(url, text="some words")
    with pytest.raises(hapax.errors.PageError):
        pages.observe("http://a/", b"%PDF-1.7\n\x00\x01\x02")
    with pytest.raises(TypeError):
        pages.observe("http://a/", 17)
    with pytest.raises(TypeError):
        pages.observe(None, text="x")
    with pytest.raises(UnicodeEncodeError):
        pages.observe("http://a/", text="\ud800")
    other = hapax.Fingerprinter("stream-words").text(story(1))
    with pytest.raises((hapax.errors.RecipeMismatchError, hapax.errors.RefusedError)):
        pages.observe("http://a/", signature=other)
    assert pages.stats()["pages"] == 0


def test_a_repository_is_opened_created_and_closed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "seen"
    with pytest.raises(hapax.errors.RepositoryMissingError) as missing:
        hapax.Repository(folder, mode="open")
    assert isinstance(missing.value, FileNotFoundError) and missing.value.path.startswith(str(folder))
    with hapax.Repository(folder, within=3, keep="longest", recipe="zhu-shingles") as made:
        assert made.recipe.startswith("zhu-shingles:")
        made.observe("http://a/", text=story(1))
        with pytest.raises(hapax.errors.RepositoryInUseError):
            hapax.Repository(folder)
    assert made.closed and repr(made).endswith("closed)")
    made.close()
    for question in (made.stats, lambda: made.page("http://a/"), lambda: made.observe("http://a/", text="x")):
        with pytest.raises(hapax.errors.ClosedError) as closed:
            question()
        assert closed.value.path == str(folder)
    with pytest.raises(hapax.errors.RepositoryExistsError):
        hapax.Repository(folder, mode="create")
    with pytest.raises(hapax.errors.RecipeMismatchError):
        hapax.Repository(folder, recipe="web-2")
    with pytest.raises(hapax.errors.ArgumentError, match="mode"):
        hapax.Repository(folder, mode="w")
    with hapax.Repository(folder) as again:
        assert again.page("http://a/").words == 120 and again.recipe == made.recipe
        again.set_rules("shortest-url")
        with pytest.raises(hapax.errors.ArgumentError):
            again.set_rules("prettiest")
    (tmp_path / "foreign").mkdir()
    store = "pages.redb"
    (tmp_path / "foreign" / store).write_bytes(b"no repository at all" * 1000)
    with pytest.raises(hapax.errors.NotARepositoryError):
        hapax.Repository(tmp_path / "foreign")


@pytest.mark.skipif(os.getuid() == 0, reason="root may do everything")
def test_permissions_are_pythons_own(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        hapax.Repository(tmp_path / "seen")


def test_errors_survive_pickle() -> None:
    refused = hapax.errors.RefusedError("no", "http://a", "invalid", 400)
    again = pickle.loads(pickle.dumps(refused))
    assert (again.reason, again.path, again.code, again.status) == ("no", "http://a", "invalid", 400)
    for name in hapax.errors.__all__:
        kind = getattr(hapax.errors, name)
        error = kind("reason", "place")
        assert (str(error), error.path) == ("place: reason", "place")
        assert issubclass(kind, hapax.HapaxError) and str(pickle.loads(pickle.dumps(error))) == str(error)


def test_threads_share_a_repository(tmp_path: pathlib.Path) -> None:
    with hapax.Repository(tmp_path / "seen") as repository:
        verdicts: list[str] = []

        def crawl(worker: int) -> None:
            for n in range(25):
                verdict = repository.observe(f"http://{worker}/{n}", text=story(n))
                verdicts.append(verdict.verdict)

        threads = [threading.Thread(target=crawl, args=(worker,)) for worker in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sorted(verdicts) == ["exact"] * 75 + ["new"] * 25
        assert [group.members for group in repository.groups()] == [4] * 25


def in_child(work) -> str:
    """What a forked child says; it must not hang."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = type(error).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_and_does_no_harm(tmp_path: pathlib.Path, by: hapax.Fingerprinter) -> None:
    repository = hapax.Repository(tmp_path / "seen")
    repository.observe("http://a/", text=story(1))
    texts = [story(n) for n in range(40)]
    expected = by.fingerprints(texts, threads=2)
    signatures = by.signatures(pa_table(texts))
    pairs = hapax.pairs(signatures, threads=2)

    def child() -> str:
        # Pools and threads of the parent are not here; work must go on without them.
        assert by.fingerprints(texts, threads=2) == expected
        assert hapax.pairs(signatures, threads=2) == pairs
        for question in (repository.stats, repository.close, lambda: repository.observe("http://b/", text="x")):
            try:
                question()
                return "allowed"
            except hapax.errors.ForkedError:
                pass
        with hapax.Repository(tmp_path / "own") as own:
            return own.observe("http://a/", text=story(1)).verdict

    assert in_child(child) == "new"

    def dropping() -> str:
        nonlocal repository
        del repository
        return "dropped"

    assert in_child(dropping) == "dropped"
    assert repository.observe("http://c/", text=story(1)).verdict == "exact"
    repository.close()


def pa_table(texts: list[str]):
    import pyarrow as pa

    return pa.table({"text": texts})


def _work(client: hapax.Client, n: int) -> str:
    return client.observe(f"http://a/{n}", text=story(n)).verdict


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_client_works_on_both_sides_of_a_fork(service: Service) -> None:
    client = hapax.Client(service.url)
    assert _work(client, 0) == "new"
    assert in_child(lambda: _work(client, 1)) == "new"
    assert _work(client, 1) == "unchanged" and client.stats()["pages"] == 2
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(_hold, [(service.url, n) for n in range(2, 8)]) == ["new"] * 6


def _hold(url: str, n: int) -> str:
    return _work(hapax.Client(url), n)


def test_another_process_reads_a_snapshot_while_the_repository_is_in_use(tmp_path: pathlib.Path) -> None:
    script = (
        "import hapax, sys\n"
        "with hapax.Repository(sys.argv[1], mode='open') as copy:\n"
        "    print(len(copy), copy.check('http://new/', text=sys.argv[2]).verdict, copy.settings['within'])\n"
    )
    with hapax.Repository(tmp_path / "seen", within=4) as seen:
        seen.observe("http://a/", text=story(1))
        seen.snapshot(tmp_path / "copy")
        seen.observe("http://b/", text=story(2))
        with pytest.raises(hapax.errors.HapaxError, match="copy"):
            seen.snapshot(tmp_path / "copy")
        for text, verdict in ((story(1), "exact"), (story(2), "new")):
            words = [sys.executable, "-c", script, str(tmp_path / "copy"), text]
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.stdout == f"1 {verdict} 4\n", done.stderr
        assert len(seen) == 2


def test_a_lost_server_is_an_exception(tmp_path: pathlib.Path) -> None:
    running = Service(tmp_path / "served")
    client = hapax.Client(running.url, timeout=5)
    assert client.observe("http://a/", text=story(1)).verdict == "new"
    running.stop()
    for question in (
        client.stats,
        lambda: client.observe("http://b/", text=story(1)),
        lambda: client.observe_many([hapax.page("http://b/", text=story(1))]),
        lambda: client.group("http://a/"),
    ):
        with pytest.raises(hapax.errors.UnreachableError) as lost:
            question()
        assert isinstance(lost.value, ConnectionError) and lost.value.path == running.url
    with pytest.raises(hapax.errors.ArgumentError):
        hapax.Client("localhost:8017")
    with pytest.raises(hapax.errors.ArgumentError):
        hapax.Client("http://127.0.0.1:1", timeout=-1)


def test_a_token_is_sent_and_a_refusal_has_its_code(tmp_path: pathlib.Path) -> None:
    settings = tmp_path / "hapax.toml"
    settings.write_text('[tokens]\nwrite = ["0123456789abcdef0123456789abcdef"]\n')
    running = Service(tmp_path / "served", "--config", str(settings))
    try:
        with pytest.raises(hapax.errors.RefusedError) as refused:
            hapax.Client(running.url).observe("http://a/", text="some words")
        assert (refused.value.code, refused.value.status) == ("unauthorized", 401)
        client = hapax.Client(running.url, token="0123456789abcdef0123456789abcdef")
        assert client.observe("http://a/", text="some words").verdict == "new"
        with pytest.raises(hapax.errors.RefusedError, match=r"page 1 \(\): url must have") as refused:
            client.observe_many([hapax.page("http://b/", text="x y"), hapax.page("", text="x y")])
        assert refused.value.code == "invalid"
    finally:
        running.stop()


def test_a_strange_server_is_told_apart(tmp_path: pathlib.Path) -> None:
    import http.server

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(hapax.errors.StrangeAnswerError):
        hapax.Client(f"http://127.0.0.1:{server.server_port}").page("http://a/")
    server.shutdown()


def test_a_client_continues_only_in_the_history_of_the_epoch(service: Service) -> None:
    client = hapax.Client(service.url)
    client.observe_many([hapax.page(f"http://a/{n}", text=story(n)) for n in range(3)])
    assert client.events(after=1) and client.epoch is None, "it has one history"
    with pytest.raises(hapax.errors.RefusedError) as refused:
        hapax.Client(service.url).events(after=1, epoch="00000000000000ff")
    assert refused.value.code == "other_history"


def test_the_asynchronous_client_has_the_same_methods(service: Service) -> None:
    async def crawl() -> list[str]:
        client = hapax.AsyncClient(service.url)
        await client.observe("http://a/0", text=story(0))
        found = await asyncio.gather(*(client.check(f"http://a/{n}", text=story(n % 2)) for n in range(1, 9)))
        await client.observe_many([hapax.page("http://b/", text=story(0))])
        await client.redirect("http://r/", "http://a/0")
        assert (await client.page("http://b/")).words == 120
        assert (await client.group("http://b/")).members == 2
        assert len(await client.groups()) == 1 and await client.events()
        assert await client.score("http://b/", 1.0) and await client.forget("http://b/")
        assert await client.expire(1) == 0 and (await client.stats())["pages"] == 2
        async with client as same:
            assert same is client and (await client.settings())["within"] == client.client.settings["within"]
        return [verdict.verdict for verdict in found]

    assert asyncio.run(crawl()) == ["new", "exact"] * 4
    public = {name for name in dir(hapax.Client) if not name.startswith("_")} - {"close"}
    assert public <= set(dir(hapax.AsyncClient))


def test_a_signature_alone_matches_other_domains_only_where_that_is_enough(tmp_path) -> None:
    text, by = story(7), hapax.Fingerprinter()
    for confirm, expected in ((None, "new"), ("keyed", "new"), ("public", "near")):
        with hapax.Repository(tmp_path / str(confirm), confirm=confirm) as seen:
            seen.observe("https://a.test/", text=text)
            assert seen.check("https://b.test/", text=text + " end").verdict == "near"
            assert seen.check("https://b.test/", signature=by.text(text + " end")).verdict == expected
    with pytest.raises(hapax.errors.SettingsMismatchError, match="confirmation"):
        hapax.Repository(tmp_path / "public", confirm="keyed")
    with pytest.raises(hapax.errors.ArgumentError, match="keyed"):
        hapax.Repository(tmp_path / "other", confirm="never")
