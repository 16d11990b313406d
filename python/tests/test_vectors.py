"""The golden vectors of the engine, byte for byte."""

from __future__ import annotations

import json

import pytest

import hapax
from conftest import VECTORS

CASES = json.loads((VECTORS / "signatures.json").read_text())


def fingerprinter(recipe: str) -> hapax.Fingerprinter:
    table = VECTORS / "frequencies.df" if recipe == "sood-tfidf" else None
    return hapax.Fingerprinter(recipe, frequencies=table)


@pytest.mark.parametrize("recipe", sorted({case["recipe"] for case in CASES}))
def test_signatures_are_those_of_the_vectors(recipe: str) -> None:
    by = fingerprinter(recipe)
    cases = [case for case in CASES if case["recipe"] == recipe]
    assert cases
    for case in cases:
        if case["kind"] == "bytes":
            made = by.page(bytes.fromhex(case["input"]), content_type=case.get("content_type"))
        else:
            made = getattr(by, case["kind"])(case["input"])
        found = {
            "content": made.content,
            "words": made.words,
            "features": made.features,
            "too_short": made.too_short,
            "fingerprint": made.hex,
            "sums": made.sums and list(made.sums),
            "weak_bits": made.weak_bits and list(made.weak_bits),
            "sketch": made.sketch and made.sketch.hex(),
        }
        assert found == case["output"], case["name"]
        assert made.fingerprint == (None if made.hex is None else int(made.hex, 16))


def test_batches_are_those_of_the_vectors() -> None:
    by = hapax.Fingerprinter()
    for kind in ("text", "html"):
        cases = [case for case in CASES if case["recipe"] == "web-2" and case["kind"] == kind]
        found = by.fingerprints([case["input"] for case in cases], kind=kind, threads=3)
        assert [f"{it:016x}" if it is not None else None for it in found] == [
            case["output"]["fingerprint"] for case in cases
        ]
