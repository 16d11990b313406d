"""The examples in docstrings and in the guide print what they show."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import hapax
from conftest import ROOT

MODULES = ["hapax", *(f"hapax.{it.name}" for it in pkgutil.iter_modules(hapax.__path__) if it.name != "_hapax")]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_every_class_and_function_of_the_package_has_a_docstring() -> None:
    for name in hapax.__all__:
        made = getattr(hapax, name)
        if callable(made):
            assert made.__doc__, name
    # Whatever can be called has an example somewhere in its module.
    for module in ("fingerprints", "index", "jobs", "repository", "client", "errors"):
        assert ">>>" in (pathlib.Path(hapax.__path__[0]) / f"{module}.py").read_text(), module


@pytest.mark.parametrize("page", ["reference/python.md", "how-to/python.md"])
def test_the_guide(page: str, tmp_path: pathlib.Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 25 and found.failed == 0
