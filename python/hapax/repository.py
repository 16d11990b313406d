"""A repository: which pages were seen, which copy of each stays, and why.

:class:`Repository` keeps it in a folder of this machine, :class:`hapax.Client` asks a service; both have the
methods of :class:`Pages` and give the same answers.
"""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, Iterable, Iterator, Literal, Mapping, Optional, TypedDict, TypeVar, Union

from ._hapax import ClientCore, RepositoryCore, Signature, parse_time
from .answers import Event, Group, Page, Verdict
from .errors import ArgumentError

__all__ = ["Pages", "Repository", "page"]

#: How a repository is opened: created if it is not there, only opened, only created.
Mode = Literal["auto", "open", "create"]
Self = TypeVar("Self", bound="Pages")
#: Addresses that are read at a time.
TOGETHER = 1000
#: Seconds since 1970, a datetime, or a text such as ``2026-03-01`` or ``2026-03-01T12:00:00Z``.
Time = Union[int, float, str, datetime]


def seconds(time: Optional[Time]) -> Optional[int]:
    """Seconds since 1970."""
    if time is None:
        return None
    if isinstance(time, str):
        return parse_time(time)
    value = int(time.timestamp() if isinstance(time, datetime) else time)
    if not 0 <= value < 1 << 63:
        raise ArgumentError(f"a time is seconds since 1970, a datetime or a text such as 2026-03-01; not {time!r}")
    return value


class PageFields(TypedDict):
    """A page as :func:`page` makes it."""

    url: str
    html: Optional[str]
    text: Optional[str]
    data: Optional[bytes]
    content_type: Optional[str]
    signature: Optional[Signature]
    redirect: Optional[str]
    score: Optional[float]
    fetched: Optional[int]
    headers: dict[str, str]


class Stats(TypedDict):
    """How much a repository holds."""

    pages: int
    pages_with_content: int
    groups: int
    events: int
    commits: int
    index_bytes: int
    file_bytes: int


class Settings(TypedDict):
    """What a repository was made with."""

    #: ``{"id": "name:digest"}``
    recipe: dict[str, str]
    within: int
    min_similarity: float
    rules: str
    markets: dict[str, str]
    scope: str
    confirm: str
    frames: str


def page(
    url: str,
    content: Union[str, bytes, None] = None,
    *,
    html: Optional[str] = None,
    text: Optional[str] = None,
    signature: Optional[Signature] = None,
    redirect: Optional[str] = None,
    content_type: Optional[str] = None,
    score: Optional[float] = None,
    fetched: Optional[Time] = None,
    headers: Optional[Mapping[str, str]] = None,
) -> PageFields:
    """A page for :meth:`Pages.observe_many`; the arguments are those of :meth:`Pages.observe`."""
    strings = {"url": url, "html": html, "text": text, "redirect": redirect, "content_type": content_type}
    for name, value in strings.items():
        if not isinstance(value, str) and (value is not None or name == "url"):
            raise TypeError(f"{name} is {type(value).__name__}, not str")
    data = content if isinstance(content, bytes) else None
    if isinstance(content, str):
        if html is not None:
            raise ArgumentError("give content or html, not both")
        html = content
    elif content is not None and data is None:
        raise TypeError(f"content is {type(content).__name__}, not str or bytes")
    if sum(it is not None for it in (data, html, text, signature, redirect)) != 1:
        raise ArgumentError("give exactly one of content, html, text, signature and redirect")
    if score is not None and not math.isfinite(score):
        raise ArgumentError(f"a score is a finite number, not {score}")
    return {
        "url": url,
        "html": html,
        "text": text,
        "data": data,
        "content_type": content_type,
        "signature": signature,
        "redirect": redirect,
        "score": score,
        "fetched": seconds(fetched),
        "headers": dict(headers or {}),
    }


def _page_of(number: int, one: Mapping[str, Any]) -> PageFields:
    """A page of many: as :func:`page` makes it, or a dict of its arguments."""
    if not isinstance(one, Mapping):
        raise ArgumentError(f"page {number} is {type(one).__name__}; expected a dict of the arguments of hapax.page()")
    if one.keys() == PageFields.__annotations__.keys():
        return one  # type: ignore[return-value]
    url = one.get("url")
    try:
        return page(**{"url": None, **one})
    except ArgumentError as error:
        raise error.at(f"page {number} ({url})") from None
    except TypeError as error:
        raise ArgumentError(f"page {number} ({url}): {error}; the fields are the arguments of hapax.page()") from None


class Pages(ABC):
    """What can be asked of a repository, wherever it is. ``with`` closes it."""

    _core: Union[RepositoryCore, ClientCore]

    def close(self) -> None:
        """Ends its use; a second time does nothing."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, url: object) -> bool:
        """Is the address known?"""
        return isinstance(url, str) and self._core.page(url) is not None

    def __len__(self) -> int:
        """How many addresses are known."""
        return self.stats()["pages"]

    @property
    def settings(self) -> Settings:
        """What the repository was made with."""
        found: Settings = json.loads(self._core.settings())
        return found

    def observe(
        self,
        url: str,
        content: Union[str, bytes, None] = None,
        *,
        html: Optional[str] = None,
        text: Optional[str] = None,
        signature: Optional[Signature] = None,
        content_type: Optional[str] = None,
        score: Optional[float] = None,
        fetched: Optional[Time] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Verdict:
        """A page was seen: records it and says what it duplicates. Answered when it is on the disk.

        ``content`` is HTML, or bytes of HTML or text in any encoding (``content_type`` helps); or give ``html``,
        ``text``, or an ``signature`` made elsewhere by the same recipe. ``score`` is PageRank, clicks or anything of
        which more is better. ``headers`` of the answer may name a canonical address and a language.
        """
        return self._observe(
            page(
                url,
                content,
                html=html,
                text=text,
                signature=signature,
                content_type=content_type,
                score=score,
                fetched=fetched,
                headers=headers,
            )
        )

    def check(
        self,
        url: str,
        content: Union[str, bytes, None] = None,
        *,
        html: Optional[str] = None,
        text: Optional[str] = None,
        signature: Optional[Signature] = None,
        content_type: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Verdict:
        """What would be said of a page. Nothing changes."""
        asked = page(url, content, html=html, text=text, signature=signature, content_type=content_type, headers=headers)
        return Verdict.from_json(json.loads(self._core.check(asked)))

    def redirect(self, url: str, to: str, *, fetched: Optional[Time] = None) -> Verdict:
        """A page was found to redirect to another, which need not be known."""
        return self._observe(page(url, redirect=to, fetched=fetched))

    def observe_many(self, pages: Iterable[Union[PageFields, Mapping[str, object]]]) -> list[Verdict]:
        """Pages, each made by :func:`hapax.page` or a dict of its arguments, in this order. An error names the place and
        the address of the page at fault."""
        made = [_page_of(number, one) for number, one in enumerate(pages)]
        return [Verdict.from_json(one) for one in json.loads(self._core.observe_many(made))]

    def page(self, url: str) -> Optional[Page]:
        """What is known of a page; None for an unknown address."""
        found = self._core.page(url)
        return None if found is None else Page.from_json(json.loads(found))

    def group(self, url: str) -> Optional[Group]:
        """The group of a page, with its pages; None for an unknown address."""
        found = self._core.group(url)
        return None if found is None else Group.from_json(json.loads(found))

    def groups(self, limit: int = 100) -> list[Group]:
        """The largest groups, without their pages."""
        return [Group.from_json(one) for one in json.loads(self._core.groups(limit))]

    def forget(self, url: str) -> bool:
        """A page exists no more. Whether it was known."""
        return self._core.forget(url)

    def score(self, url: str, score: Optional[float]) -> Optional[Verdict]:
        """A page's score is this from now on, None for unknown. How the page stands then; None for an unknown address."""
        found = self._core.score(url, score)
        return None if found is None else Verdict.from_json(json.loads(found))

    def expire(self, before: Time) -> int:
        """Forgets pages last fetched before a time; pages without a time stay. How many."""
        return self._core.expire(seconds(before) or 0)

    def recheck(self) -> int:
        """Compares pages again that were compared under an older frame of their host. Returns how many."""
        return self._core.recheck()

    @abstractmethod
    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Changes after a number, oldest first."""

    def stats(self) -> Stats:
        """How much there is."""
        found: Stats = json.loads(self._core.stats())
        return found

    def _observe(self, one: PageFields) -> Verdict:
        return Verdict.from_json(json.loads(self._core.observe(one)))


class Repository(Pages):
    """A repository in a folder, which one process at a time opens.

    >>> import hapax, tempfile
    >>> story = "a long story about a fox that runs over the hills and far away "
    >>> with hapax.Repository(tempfile.mkdtemp() + "/seen") as seen:
    ...     first = seen.observe("https://example.org/fox", text=story)
    ...     second = seen.observe("https://example.org/fox?session=17", text=story)
    ...     first.verdict, second.verdict, second.winner
    ('new', 'exact', 'https://example.org/fox')

    ``len(seen)`` counts addresses, ``url in seen`` asks for one, and iterating gives all of them in their order.

    ``mode`` is ``auto`` (open it, or create it if it is not there), ``open`` or ``create``. ``recipe``, ``within``,
    ``min_similarity``, ``keep``, ``scope``, ``confirm`` and ``frames`` are for a new one; one that is there refuses others than its own
    (:class:`~hapax.errors.SettingsMismatchError`). ``confirm`` says what pages given by ``signature=`` need to
    be near-duplicates of pages on other domains: ``keyed``, the default, their text, so that they are not; ``public``,
    nothing more. Threads may share it; a forked child may not use it
    (:class:`~hapax.errors.ForkedError`). Close it, or use ``with``: closing keeps the index for a quick start.
    """

    _core: RepositoryCore

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        mode: Mode = "auto",
        recipe: Optional[str] = None,
        frequencies: Optional[str] = None,
        main_content: bool = False,
        within: Optional[int] = None,
        min_similarity: Optional[float] = None,
        keep: Optional[str] = None,
        scope: Optional[str] = None,
        confirm: Optional[str] = None,
        frames: Optional[str] = None,
    ) -> None:
        #: The folder.
        self.path = os.fspath(path)
        making = {
            "mode": mode,
            "recipe": recipe,
            "frequencies": frequencies,
            "main_content": main_content,
            "within": within,
            "min_similarity": min_similarity,
            "keep": keep,
            "scope": scope,
            "confirm": confirm,
            "frames": frames,
        }
        self._core = RepositoryCore(self.path, making)

    @property
    def recipe(self) -> str:
        """Name and digest of its recipe."""
        return self._core.recipe

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._core.closed

    def close(self) -> None:
        """Closes it; a second time does nothing."""
        self._core.close()

    def __iter__(self) -> Iterator[str]:
        """All addresses in their order; those that are recorded meanwhile may be among them."""
        after: Optional[str] = None
        while urls := self._core.urls(after, TOGETHER):
            yield from urls
            after = urls[-1]

    def set_rules(self, keep: str) -> None:
        """Other winner rules: every group chooses again."""
        self._core.set_rules(keep)

    def snapshot(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        """Copies it to another folder, as of the last change, while it is in use. The copy is a repository of its own that
        another process can open; what either of them records is not in the other.

        >>> import hapax, tempfile
        >>> place = tempfile.mkdtemp()
        >>> with hapax.Repository(place + "/seen") as seen:
        ...     _ = seen.observe("https://example.org/fox", text="a long story about a fox")
        ...     seen.snapshot(place + "/copy")
        ...     with hapax.Repository(place + "/copy", mode="open") as copy:
        ...         list(copy)
        ['https://example.org/fox']
        """
        self._core.snapshot(os.fspath(folder))

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        return [Event.from_json(event) for event in json.loads(self._core.events(after, limit))]

    def __repr__(self) -> str:
        return f"Repository({self.path!r}{', closed' if self.closed else ''})"
