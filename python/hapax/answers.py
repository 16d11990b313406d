"""What a repository and a service answer: the objects of ``hapax --json`` and of the service's HTTP API.

Fields have the names, meanings and units of the API's schema. Times are RFC 3339 in UTC. Every class has
``from_json``, which passes over what a later service adds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Mapping, Optional, TypeVar

__all__ = ["Alike", "Event", "Group", "Match", "Nearest", "Page", "Reason", "Verdict"]

T = TypeVar("T")


def _of(kind: type[T], found: Mapping[str, Any], **others: Any) -> T:
    """The fields of a class, from JSON and from what was made of it."""
    names = (field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
    return kind(**{name: others[name] if name in others else found[name] for name in names})


class _Answer:
    @classmethod
    def from_json(cls: type[T], found: Mapping[str, Any]) -> T:
        return _of(cls, found)


@dataclass(frozen=True)
class Alike(_Answer):
    """How alike two pages are."""

    #: Bits in which the fingerprints differ.
    distance: int
    #: Estimated Jaccard similarity of the texts, 0 to 1.
    similarity: float
    #: Is the text the same?
    exact: bool
    #: Is it a confirmed duplicate?
    matches: bool


@dataclass(frozen=True)
class Reason(_Answer):
    """The rule that decided, and what it saw."""

    rule: str
    text: str


@dataclass(frozen=True)
class Match(_Answer):
    """A page found by the index."""

    url: str
    #: Bits in which the fingerprints differ.
    distance: int
    #: Estimated Jaccard similarity of the texts, 0 to 1.
    similarity: float
    #: Is the text the same?
    exact: bool
    #: Is it a confirmed duplicate?
    matches: bool


@dataclass(frozen=True)
class Nearest(_Answer):
    """The known page most like another."""

    url: str
    #: Bits in which the fingerprints differ.
    distance: int
    #: Estimated Jaccard similarity of the texts, 0 to 1.
    similarity: float


@dataclass(frozen=True)
class OwnText(_Answer):
    """What a page says beyond the frame of its host."""

    #: Words without a digit, at most 65,535.
    words: int
    #: The shared part of the smaller own text, with that of the winner, 0 to 1; None for the winner and for one on another host.
    similarity: Optional[float]
    #: The version of the frame under which the page was compared, from 1; 0 if none was known.
    frame: int


@dataclass(frozen=True)
class Verdict:
    """What is said of a page."""

    url: str
    #: ``exact``, ``near``, ``related``, ``redirect``, ``cycle``, ``empty`` or ``awaited``; of a page like no other
    #: ``new``, ``unchanged`` or ``changed``, as ``seen`` says, and ``unique`` when it is looked up.
    verdict: str
    #: Was its address known? ``first``, ``unchanged`` (with this very content) or ``changed``; None when looked up.
    seen: Optional[str]
    #: Is it the kept copy?
    is_winner: bool
    #: May the page be dropped, because the winner stands for it?
    removable: bool
    #: The number of its group; None for a page that is not recorded and would found one.
    group: Optional[int]
    #: The address of the kept copy; the page's own when it is the one.
    winner: str
    #: How alike it is to the winner or, if it is the winner, to the member nearest to it.
    alike: Optional[Alike]
    #: The known page most like it, whether it matches or not; None when nothing near is known. Pages recorded
    #: together are not searched for: there it is a match, or None.
    nearest: Optional[Nearest]
    #: Why the winner stays.
    reason: Optional[Reason]
    #: ``none``, ``winner`` or ``index``: what had to be asked.
    tier: str
    #: The nearest pages found by the index, at most 20.
    matches: tuple[Match, ...]
    #: How many were found.
    found: int
    #: Was it recorded?
    recorded: bool
    #: What it says beyond the frame of its host; None where no frame is known.
    own: Optional[OwnText] = None

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Verdict":
        own = None if found.get("own") is None else OwnText.from_json(found["own"])
        alike = None if found["alike"] is None else Alike.from_json(found["alike"])
        nearest = None if found["nearest"] is None else Nearest.from_json(found["nearest"])
        reason = None if found["reason"] is None else Reason.from_json(found["reason"])
        matches = tuple(Match.from_json(match) for match in found["matches"])
        return _of(cls, found, alike=alike, nearest=nearest, reason=reason, matches=matches, own=own)

    @property
    def is_duplicate(self) -> bool:
        """Does another page stand for it? The kept copy is no duplicate, however many it has."""
        return self.verdict in ("exact", "near") and self.winner != self.url


@dataclass(frozen=True)
class Page:
    """A page as it is known."""

    url: str
    id: int
    #: ``content``, ``redirect``, ``cycle``, ``empty`` or ``awaited``.
    state: str
    group: Optional[int]
    #: Sixteen hexadecimal digits.
    fingerprint: Optional[str]
    #: Thirty-two hexadecimal digits, equal exactly for equal texts; None while no text is known.
    content: Optional[str]
    #: Has it too few features for similarity to mean much?
    too_short: bool
    words: int
    score: Optional[float]
    fetched: Optional[str]
    changed: Optional[str]
    #: When it was first seen with its present content, or with one that nearly matches it.
    first_seen: Optional[str]
    canonical: Optional[str]
    #: The address it redirects to.
    redirects_to: Optional[str]
    #: What is said of it now; without matches, as nothing was searched.
    status: Verdict

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Page":
        return _of(cls, found, status=Verdict.from_json(found["status"]))


@dataclass(frozen=True)
class Group:
    """A duplicate group."""

    id: int
    #: The address of the kept copy.
    winner: str
    #: How many pages it has that do not redirect.
    members: int
    #: Members that were compared with the winner and do not match it.
    failing: int
    #: No two members are farther apart than this.
    diameter: int
    #: Was every member compared with the winner?
    verified: bool
    #: What is said of its pages, those that redirect into it included; empty in a list of groups.
    rows: tuple[Verdict, ...] = ()

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Group":
        return _of(cls, found, rows=tuple(Verdict.from_json(one) for one in found.get("rows", ())))


@dataclass(frozen=True)
class Event(_Answer):
    """A change."""

    #: 1 for the first; no number is left out.
    sequence: int
    #: ``joined``, ``left``, ``merged``, ``split``, ``winner``, ``changed``, ``gone``, ``redirected`` or ``returned``.
    change: str
    #: When it was recorded, RFC 3339 in UTC; None for events of a version without times.
    at: Optional[str]
    group: Optional[int]
    other_group: Optional[int]
    url: Optional[str]
    other_url: Optional[str]
