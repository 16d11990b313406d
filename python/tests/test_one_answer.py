"""One corpus through every front end: the same question has the same answer, field by field.

The front ends are the program on a folder, the program on a service, HTTP, :class:`hapax.Repository` and
:class:`hapax.Client`. What differs by nature is listed in :func:`normalised`.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import urllib.parse
import urllib.request
from typing import Any, Iterator, Optional

import pytest

import hapax
from conftest import ROOT, Service, program, story

FETCHED = "2026-03-01T12:00:00Z"
LATER = "2026-03-02T00:00:00Z"


def html(text: str) -> str:
    return f"<html lang=en><title>{text[:7]}</title><body><p>{text}</p></body></html>"


TEA, FERRY, CRANE = story(1, 300), story(2, 300), story(3, 200)
#: Address, HTML or the address it redirects to, score, time.
CORPUS: list[tuple[str, Optional[str], Optional[str], Optional[float], str]] = [
    ("https://example.org/tea", html(TEA), None, 2.0, FETCHED),
    ("https://example.org/tea?print", html(TEA), None, None, FETCHED),
    ("https://example.org/tea/near", html(TEA + " and a little more"), None, 0.5, FETCHED),
    ("http://example.org/old", None, "https://example.org/tea", None, FETCHED),
    ("https://example.org/empty", "<html><body></body></html>", None, None, FETCHED),
    ("https://example.org/ferry", html(FERRY), None, None, FETCHED),
    ("https://example.org/ferry", html(FERRY + " " + story(4, 300)), None, None, LATER),
    ("https://example.org/crane", html(CRANE), None, None, FETCHED),
    ("https://example.org/crane", html(CRANE), None, None, LATER),
    ("http://example.org/gone", None, "https://example.org/never-seen", None, LATER),
]
CHECKED = [
    ("https://new.example/tea", html(TEA)),
    ("https://new.example/near", html(TEA + " and something else")),
    ("https://new.example/like", html(TEA[:1200] + " " + story(5, 150))),
    ("https://new.example/other", html(story(6, 100))),
]
#: The second score makes another page the winner.
SCORED: list[tuple[str, Optional[float]]] = [
    ("https://example.org/crane", None),
    ("https://example.org/tea?print", 9.0),
    ("https://example.org/tea?print", None),
]
ADDRESSES = sorted({url for url, *_ in CORPUS} | {"https://example.org/never-seen"})


class FrontEnd:
    """The questions that are asked of every front end, answered as JSON would be."""

    def add(self, url: str, content: str, score: Optional[float], fetched: str) -> Any: ...
    def redirect(self, url: str, to: str, fetched: str) -> Any: ...
    def check(self, url: str, content: str) -> Any: ...
    def score(self, url: str, score: Optional[float]) -> Any: ...
    def page(self, url: str) -> Any: ...
    def group(self, url: str) -> Any: ...
    def groups(self) -> Any: ...
    def events(self) -> Any: ...
    def stats(self) -> Any: ...


class Program(FrontEnd):
    def __init__(self, folder: pathlib.Path, *store: str) -> None:
        self.file, self.store = folder / "page.html", store

    def ask(self, *words: str, more: tuple[str, ...] = ()) -> list[Any]:
        command = [*program(), *words, *self.store, *more, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def given(self, url: str, content: str) -> tuple[str, ...]:
        self.file.write_text(content)
        return (url, str(self.file))

    def add(self, url: str, content: str, score: Optional[float], fetched: str) -> Any:
        scored = () if score is None else ("--score", str(score))
        create = () if "--server" in self.store else ("--create",)
        more = (*self.given(url, content), "--fetched", fetched, *scored, *create)
        return self.ask("page", "add", more=more)[0]

    def redirect(self, url: str, to: str, fetched: str) -> Any:
        return self.ask("page", "redirect", more=(url, to, "--fetched", fetched))[0]

    def check(self, url: str, content: str) -> Any:
        return self.ask("page", "check", more=self.given(url, content))[0]

    def score(self, url: str, score: Optional[float]) -> Any:
        return self.ask("page", "score", more=(url, *(() if score is None else (str(score),))))[0]

    def page(self, url: str) -> Any:
        return self.ask("page", "show", more=(url,))[0]

    def group(self, url: str) -> Any:
        return self.ask("group", "show", more=(url,))[0]

    def groups(self) -> Any:
        return self.ask("group", "list", more=("--least", "1"))

    def events(self) -> Any:
        return self.ask("events")

    def stats(self) -> Any:
        return self.ask("inspect")[0]


class Http(FrontEnd):
    def __init__(self, service: str) -> None:
        self.service = service

    def ask(self, path: str, body: Any = None, method: Optional[str] = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.service + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def add(self, url: str, content: str, score: Optional[float], fetched: str) -> Any:
        return self.ask("/v1/pages", {"url": url, "html": content, "score": score, "fetched": fetched})

    def redirect(self, url: str, to: str, fetched: str) -> Any:
        return self.ask("/v1/pages", {"url": url, "redirect": to, "fetched": fetched})

    def check(self, url: str, content: str) -> Any:
        return self.ask("/v1/check", {"url": url, "html": content})

    def score(self, url: str, score: Optional[float]) -> Any:
        return self.ask(f"/v1/pages/{urllib.parse.quote(url, safe='')}/score", {"score": score}, "PUT")

    def page(self, url: str) -> Any:
        return self.ask("/v1/pages/" + urllib.parse.quote(url, safe=""))

    def group(self, url: str) -> Any:
        return self.ask(f"/v1/pages/{urllib.parse.quote(url, safe='')}/group")

    def groups(self) -> Any:
        return self.ask("/v1/groups?sort=number")["rows"]

    def events(self) -> Any:
        return self.ask("/v1/events")["rows"]

    def stats(self) -> Any:
        return {**self.ask("/v1/settings"), **self.ask("/v1/stats")}


def as_json(answer: Any) -> Any:
    """An answer of the package, as the JSON it was made of."""
    return json.loads(json.dumps(dataclasses.asdict(answer)))


class Package(FrontEnd):
    def __init__(self, pages: hapax.Pages) -> None:
        self.pages = pages

    def add(self, url: str, content: str, score: Optional[float], fetched: str) -> Any:
        return as_json(self.pages.observe(url, content, score=score, fetched=fetched))

    def redirect(self, url: str, to: str, fetched: str) -> Any:
        return as_json(self.pages.redirect(url, to, fetched=fetched))

    def check(self, url: str, content: str) -> Any:
        return as_json(self.pages.check(url, content))

    def score(self, url: str, score: Optional[float]) -> Any:
        return as_json(self.pages.score(url, score))

    def page(self, url: str) -> Any:
        return as_json(self.pages.page(url))

    def group(self, url: str) -> Any:
        return as_json(self.pages.group(url))

    def groups(self) -> Any:
        return [as_json(group) for group in self.pages.groups()]

    def events(self) -> Any:
        return [as_json(event) for event in self.pages.events()]

    def stats(self) -> Any:
        return self.pages.stats()


#: What every front end counts; bytes depend on what else a process has written.
COUNTS = ("pages", "pages_with_content", "groups", "events")


def normalised(question: str, answer: Any) -> Any:
    """Without what differs by nature."""
    if question == "groups":
        # The program and HTTP list by number, the package the largest first; there are no pages in a list.
        rows = [{name: value for name, value in group.items() if name != "rows"} for group in answer]
        return sorted(rows, key=lambda group: group["id"])
    if question.startswith("group "):
        # The cursor of HTTP; everything fits into one answer, and the package has all rows at once.
        assert answer.get("next") is None
        return {name: value for name, value in answer.items() if name != "next"}
    if question == "events":
        # When it was recorded is the clock's to say.
        assert all(event["at"].endswith("Z") for event in answer)
        return [{**event, "at": "TIME"} for event in answer]
    if question == "stats":
        return {name: answer[name] for name in COUNTS}
    return answer


def answers(front_end: FrontEnd) -> dict[str, Any]:
    """Everything that is asked, in one order."""
    found: dict[str, Any] = {}
    for number, (url, content, target, score, fetched) in enumerate(CORPUS):
        if target is not None:
            found[f"{number}: redirect {url}"] = front_end.redirect(url, target, fetched)
        else:
            found[f"{number}: add {url}"] = front_end.add(url, content or "", score, fetched)
    for url, content in CHECKED:
        found[f"check {url}"] = front_end.check(url, content)
    for url, score in SCORED:
        found[f"score {url} {score}"] = front_end.score(url, score)
    for url in ADDRESSES:
        found[f"page {url}"] = front_end.page(url)
        found[f"group {url}"] = front_end.group(url)
    for question in ("groups", "events", "stats"):
        found[question] = getattr(front_end, question)()
    return {question: normalised(question, answer) for question, answer in found.items()}


@pytest.fixture
def served(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What HTTP answers, and what the front end of this test does."""
    running = [Service(tmp_path / "http"), Service(tmp_path / "served")]
    try:
        (tmp_path / "files").mkdir()
        kind = request.param
        expected = answers(Http(running[0].url))
        if kind == "program on a folder":
            asked = answers(Program(tmp_path / "files", str(tmp_path / "seen")))
        elif kind == "program on a service":
            asked = answers(Program(tmp_path / "files", "--server", running[1].url))
        elif kind == "client":
            asked = answers(Package(hapax.Client(running[1].url)))
        else:
            with hapax.Repository(tmp_path / "seen") as seen:
                asked = answers(Package(seen))
        yield {"expected": expected, "asked": asked}
    finally:
        for one in running:
            one.stop()


FRONT_ENDS = ["program on a folder", "program on a service", "repository", "client"]


@pytest.mark.parametrize("served", FRONT_ENDS, indirect=True)
def test_every_front_end_gives_the_answer_of_http(served: dict[str, Any]) -> None:
    expected, asked = served["expected"], served["asked"]
    assert asked.keys() == expected.keys()
    for question, answer in expected.items():
        assert asked[question] == answer, question
    # The corpus has what the comparison is about.
    verdicts = [answer["verdict"] for question, answer in expected.items() if ": " in question]
    assert verdicts == ["new", "exact", "near", "redirect", "empty", "new", "changed", "new", "unchanged", "redirect"]
    checked = [expected[f"check {url}"]["verdict"] for url, _ in CHECKED]
    assert checked == ["exact", "near", "new", "new"]
    assert expected["check https://new.example/like"]["nearest"]["url"] == "https://example.org/tea"
    winners = [expected[f"score {url} {score}"]["is_winner"] for url, score in SCORED]
    assert winners == [True, True, False], winners
    tea = expected["page https://example.org/tea?print"]
    assert (tea["fetched"], tea["status"]["alike"]["similarity"]) == (FETCHED, 1.0)
    assert expected["page http://example.org/old"]["redirects_to"] == "https://example.org/tea"


def fields_of(schema: dict[str, Any], name: str) -> set[str]:
    return set(schema["components"]["schemas"][name]["properties"])


def test_the_classes_of_the_package_have_the_fields_of_the_schema() -> None:
    schema = json.loads((ROOT / "crates/hapax-server/src/openapi.json").read_text())
    for kind, name in [
        (hapax.answers.Alike, "Alike"),
        (hapax.answers.Reason, "Reason"),
        (hapax.answers.Match, "Match"),
        (hapax.answers.Nearest, "Nearest"),
        (hapax.answers.Verdict, "Verdict"),
        (hapax.answers.Page, "PageDetail"),
        (hapax.answers.Group, "GroupStatuses"),
        (hapax.answers.Event, "Event"),
    ]:
        # The package reads all rows; it has no cursor.
        assert {field.name for field in dataclasses.fields(kind)} == fields_of(schema, name) - {"next"}, name


def test_the_pages_of_a_group_are_those_that_are_asked_one_by_one(tmp_path: pathlib.Path) -> None:
    service = Service(tmp_path / "http")
    try:
        http = Http(service.url)
        expected = answers(http)
        for group in expected["groups"]:
            listed = http.ask(f"/v1/groups/{group['id']}")
            assert listed["rows"] == [expected[f"page {page['url']}"] for page in listed["rows"]]
            statuses = [page["status"] for page in listed["rows"]]
            assert {**listed, "rows": statuses} == {**http.group(group["winner"]), "next": listed["next"]}
        assert all(sample["time"].endswith("Z") for sample in http.ask("/v1/stats")["history"])
    finally:
        service.stop()


def test_two_pages_are_compared_alike_everywhere(tmp_path: pathlib.Path) -> None:
    near, same, none = TEA + " and a little more", "  " + TEA, ""
    service = Service(tmp_path / "http")
    try:
        for other in (near, same, FERRY, none):
            over_http = Http(service.url).ask("/v1/compare", {"left": {"text": TEA}, "right": {"text": other}})
            (tmp_path / "left.txt").write_text(TEA)
            (tmp_path / "right.txt").write_text(other)
            (printed,) = Program(tmp_path, str(tmp_path / "left.txt"), str(tmp_path / "right.txt")).ask("compare")
            fields = {"same_text", "distance", "similarity", "standard_error", "exact", "differing_bits"}
            # Besides, the program has a sentence and the web page the rows it shows.
            assert set(printed) - {"summary"} == set(over_http) - {"sums", "rows"} == fields | {"left", "right"}
            assert {name: printed[name] for name in fields} == {name: over_http[name] for name in fields}
            seen = hapax.compare(TEA, other)
            exact = dict(zip(("shared", "only_left", "only_right"), seen.shingles))
            exact |= {"jaccard": seen.jaccard, "containment": seen.containment, "cosine": seen.cosine}
            assert {name: printed["exact"][name] for name in exact} == exact
            assert [tuple(bit.values()) for bit in printed["differing_bits"]] == seen.differing_bits
            for name in ("same_text", "distance", "similarity", "standard_error"):
                assert printed[name] == getattr(seen, name), name
    finally:
        service.stop()


def test_a_check_and_a_repair_print_the_schema(tmp_path: pathlib.Path) -> None:
    schema = json.loads((ROOT / "crates/hapax-server/src/openapi.json").read_text())
    folder = str(tmp_path / "seen")
    with hapax.Repository(folder) as seen:
        seen.observe("https://example.org/", html(TEA))
    asked = Program(tmp_path, folder)
    (checked,) = asked.ask("inspect", more=("--check",))
    assert set(checked) == fields_of(schema, "Checked")
    assert (checked["clean"], checked["pages"]) == (True, 1)
    (repaired,) = asked.ask("inspect", more=("--repair",))
    assert set(repaired) == fields_of(schema, "Repaired")
    assert (repaired["refused"], repaired["mended"], repaired["check"]) == (False, 0, checked)
