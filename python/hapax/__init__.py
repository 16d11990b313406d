"""Find and remove near-duplicate web pages.

Fingerprints, a Hamming index, duplicate groups, clean corpora, and repositories that remember every page.

>>> import hapax
>>> by = hapax.Fingerprinter()
>>> by.text("Green tea is a drink.").distance(by.text("Green tea is a drink!"))
0
"""

from . import answers, errors
from ._hapax import __version__
from .client import AsyncClient, Client
from .errors import HapaxError
from .fingerprints import Comparison, Fingerprinter, Signature, compare, recipes
from .index import Index, Match, Plan, plan
from .jobs import (
    DEFAULT_MIN_SIMILARITY,
    DEFAULT_RULES,
    DEFAULT_WITHIN,
    Decision,
    DedupResult,
    dedup,
    groups,
    pairs,
)
from .repository import Pages, Repository, page

__all__ = [
    "DEFAULT_MIN_SIMILARITY",
    "DEFAULT_RULES",
    "DEFAULT_WITHIN",
    "AsyncClient",
    "Client",
    "Comparison",
    "Decision",
    "DedupResult",
    "Fingerprinter",
    "HapaxError",
    "Signature",
    "Index",
    "Match",
    "Pages",
    "Plan",
    "Repository",
    "__version__",
    "answers",
    "compare",
    "dedup",
    "errors",
    "groups",
    "page",
    "pairs",
    "plan",
    "recipes",
]
