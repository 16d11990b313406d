"""How a typed program uses the package. mypy reads this with --strict and nobody runs it."""

from __future__ import annotations

import hapax


def crawl(pages: hapax.Pages, urls: dict[str, bytes]) -> list[str]:
    kept: list[str] = []
    for url, body in urls.items():
        verdict: hapax.answers.Verdict = pages.observe(url, body, content_type="text/html")
        if not verdict.is_duplicate:
            kept.append(verdict.winner)
    return kept


def near(texts: list[str]) -> list[tuple[int, int]]:
    by = hapax.Fingerprinter("web-2", main_content=True)
    bits: list[int] = [one for one in by.fingerprints(texts, threads=0) if one is not None]
    index: hapax.Index = hapax.Index.build(bits, within=3)
    matches: list[hapax.Match] = index.find(bits[0])
    weak: tuple[int, ...] | None = by.text(texts[0]).weak_bits
    assert weak is not None and weak[0] < 64
    return [(match.id, match.distance) for match in matches]


async def ask(url: str) -> int:
    client = hapax.AsyncClient(url, token="secret")
    group: hapax.answers.Group | None = await client.group("https://example.org/")
    return 0 if group is None else group.members


def refused(error: hapax.HapaxError) -> str:
    if isinstance(error, hapax.errors.RefusedError):
        return f"{error.code} {error.status}"
    return error.path or error.reason


def explained(left: str, right: str) -> float:
    seen: hapax.Comparison = hapax.compare(left, right)
    return seen.jaccard if seen.similarity is None else seen.similarity


def cleaned(texts: list[str]) -> list[str]:
    found: hapax.DedupResult[list[str]] = hapax.dedup(texts, keep="longest")
    pairs: list[tuple[int, int, int]] = hapax.pairs([1, 3], within=1)
    assert len(pairs) == 1
    return found.kept


def settings(pages: hapax.Pages) -> tuple[int, float]:
    with pages as same:
        assert "https://example.org/" not in same
        return len(same), same.settings["min_similarity"]
