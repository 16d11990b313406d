"""Scrapy: near-duplicate responses are skipped, their items dropped, or tagged.

Three lines of settings::

    ADDONS = {"hapax.scrapy.Addon": 500}
    HAPAX_REPOSITORY = "seen"      # a folder; or HAPAX_SERVICE = "http://127.0.0.1:8017"
    HAPAX_ACTION = "skip"          # "tag", "drop" or "skip"

Every page on its way to a callback of the spider is recorded, with the redirects that led to it; its verdict is in
``response.meta["hapax"]`` (a :class:`hapax.answers.Verdict`) and counted in Scrapy's stats under ``hapax/``. Of every
content one copy passes, in every crawl the same: the one that was recorded first, unless ``HAPAX_KEEP`` says otherwise.
A page is HTML or plain text. Nothing else is compared or withheld: ``robots.txt``, what a ``SitemapSpider`` takes for
a sitemap and an ``XMLFeedSpider`` or ``CSVFeedSpider`` for a feed, JSON, XML, and whatever Scrapy, a middleware, a
pipeline or ``crawler.engine.download`` asked for.

============================  =============================================================================
``HAPAX_REPOSITORY``          folder of a repository, made if it is not there; spiders of a process share it
``HAPAX_SERVICE``             address of a service, instead
``HAPAX_TOKEN``               the service's token
``HAPAX_TIMEOUT``             seconds to wait for the service, 30
``HAPAX_ACTION``              ``tag``: everything passes; ``drop``: links of a duplicate are followed, its items
                              are dropped; ``skip``: its callback is not called, its errback is, with
                              ``IgnoreRequest``. ``tag`` unless said
``HAPAX_VERDICTS``            what counts as a duplicate: ``["exact", "near"]`` unless said; ``related`` exists, too
``HAPAX_ON_ERROR``            ``pass``: log, count and let the page through; ``raise``: the error goes to the
                              request's errback or, without one, into the log. ``pass``
``HAPAX_RECIPE``, ``HAPAX_WITHIN``, ``HAPAX_MIN_SIMILARITY``, ``HAPAX_KEEP``, ``HAPAX_SCOPE``
                              for a repository that is made, as for :class:`hapax.Repository`; one that is there
                              refuses others than its own
``HAPAX_ITEM_URL``            the item's field with its address, ``url``; for :class:`DuplicatesPipeline`
``HAPAX_ITEM_TEXT``           the item's field with its text, ``text``
``HAPAX_ITEM_REPOSITORY``     a repository of its own for items
============================  =============================================================================

A spider's ``custom_settings`` may set all of these. A request with ``meta={"hapax_ignore": True}`` is left alone.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from functools import partial
from typing import Any, AsyncIterator, Callable, Iterable, Optional, TypeVar

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import DropItem, IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.spiders import CSVFeedSpider, SitemapSpider, XMLFeedSpider
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

from .answers import Verdict
from .client import Client
from .errors import HapaxError
from .repository import Pages, Repository, page

__all__ = ["Addon", "DuplicatesMiddleware", "DuplicatesPipeline", "GonePagesMiddleware"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

ACTIONS = ("tag", "drop", "skip")


class Addon:
    """Switches both middlewares on: ``ADDONS = {"hapax.scrapy.Addon": 500}``."""

    def update_settings(self, settings: Any) -> None:
        _enable(settings, "DOWNLOADER_MIDDLEWARES", GonePagesMiddleware, 543)
        _enable(settings, "SPIDER_MIDDLEWARES", DuplicatesMiddleware, 543)


def _enable(settings: Any, name: str, component: type, place: int) -> None:
    known = settings[name]
    if component not in known and f"{component.__module__}.{component.__qualname__}" not in known:
        known.set(component, place, "addon")


class _Shared:
    """Repositories that are open in this process, by folder: one object for all who use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Repository, int]] = {}

    def get(self, folder: str, **settings: Any) -> Repository:
        with self._lock:
            known = self._open.get(folder)
            repository = Repository(folder, **settings) if known is None else known[0]
            self._open[folder] = (repository, (0 if known is None else known[1]) + 1)
            return repository

    def release(self, folder: str) -> None:
        with self._lock:
            repository, users = self._open.pop(folder)
            if users > 1:
                self._open[folder] = (repository, users - 1)
            else:
                repository.close()


_shared = _Shared()


class _Checker:
    """Asks a repository or a service, off the reactor's thread, and counts."""

    def __init__(self, crawler: Any, repository: Optional[str]) -> None:
        settings = crawler.settings
        service = settings.get("HAPAX_SERVICE")
        if repository is None and service is None:
            raise NotConfigured("set HAPAX_REPOSITORY (a folder) or HAPAX_SERVICE (an address)")
        self.action = settings.get("HAPAX_ACTION", "tag")
        if self.action not in ACTIONS:
            raise ValueError(f"HAPAX_ACTION is one of {', '.join(ACTIONS)}, not {self.action!r}")
        self.on_error = settings.get("HAPAX_ON_ERROR", "pass")
        if self.on_error not in ("pass", "raise"):
            raise ValueError(f"HAPAX_ON_ERROR is pass or raise, not {self.on_error!r}")
        self.verdicts = frozenset(settings.getlist("HAPAX_VERDICTS", ["exact", "near"]))
        self.stats = crawler.stats
        #: In the order of arrival: of two copies that are under way at once the first one stays, whichever is compared faster.
        self.turns = DeferredLock()
        self.pages: Pages
        self.folder = repository
        if repository is not None:
            within, similarity = settings.get("HAPAX_WITHIN"), settings.get("HAPAX_MIN_SIMILARITY")
            self.pages = _shared.get(
                repository,
                recipe=settings.get("HAPAX_RECIPE"),
                within=None if within is None else int(within),
                min_similarity=None if similarity is None else float(similarity),
                keep=settings.get("HAPAX_KEEP"),
                scope=settings.get("HAPAX_SCOPE"),
            )
        else:
            token, timeout = settings.get("HAPAX_TOKEN"), settings.getfloat("HAPAX_TIMEOUT", 30.0)
            self.pages = Client(service, token=token, timeout=timeout)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    def _closed(self) -> None:
        if self.folder is not None:
            _shared.release(self.folder)

    def count(self, what: str) -> None:
        self.stats.inc_value(f"hapax/{what}")

    async def ask(self, url: str, question: Callable[[], T]) -> Optional[T]:
        """The answer; None after an error that may pass."""
        try:
            return await maybe_deferred_to_future(self.turns.run(deferToThread, question))  # type: ignore[no-any-return]
        except HapaxError as error:
            self.count("errors")
            self.count(f"errors/{type(error).__name__}")
            if self.on_error == "raise":
                raise
            logger.warning("%s was not compared: %s", url, error)
            return None

    def duplicate(self, verdict: Verdict) -> bool:
        """The kept copy is no duplicate, however many it has."""
        return verdict.verdict in self.verdicts and verdict.winner != verdict.url

    def counted(self, verdict: Verdict) -> Verdict:
        self.count("pages")
        self.count(f"verdict/{verdict.verdict}")
        return verdict


class GonePagesMiddleware:
    """Downloader middleware: a page that answers 404 or 410 is deleted from the repository. Every response passes."""

    def __init__(self, crawler: Any) -> None:
        self.checker = _Checker(crawler, crawler.settings.get("HAPAX_REPOSITORY"))

    @classmethod
    def from_crawler(cls, crawler: Any) -> "GonePagesMiddleware":
        return cls(crawler)

    async def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        # What another method says is no news of the page.
        if response.status in (404, 410) and request.method == "GET" and not request.meta.get("hapax_ignore"):
            checker = self.checker
            if await checker.ask(response.url, lambda: checker.pages.forget(response.url)):
                checker.count("forgotten")
        return response


def _is_page(response: Any, spider: Any) -> bool:
    """HTML, or text for people; no sitemap or feed, whatever type it is sent with."""
    if not 200 <= response.status < 300 or urlparse_cached(response).path == "/robots.txt":
        return False
    callback = response.request.callback
    if getattr(callback, "__name__", None) == SitemapSpider._parse_sitemap.__name__:
        return False
    # Only its feeds: what their entries lead to has a callback.
    if isinstance(spider, (CSVFeedSpider, XMLFeedSpider)) and callback in (None, spider._parse):
        return False
    if isinstance(response, HtmlResponse):
        return True
    stated = response.headers.get("Content-Type", b"").split(b";")[0].strip().lower()
    if not stated:
        return type(response) is TextResponse
    return isinstance(response, TextResponse) and stated in (b"text/plain", b"text/markdown")


def _record(pages: Pages, response: Any, hops: list[str]) -> list[Verdict]:
    """The page, and each redirect on the way to it, in one go."""
    now = int(time.time())
    headers = {
        name: b", ".join(response.headers.getlist(name)).decode("latin-1")
        for name in ("Link", "Content-Language")
        if name in response.headers
    }
    content_type = response.headers.get("Content-Type", b"").decode("latin-1")
    # Scrapy knows the encoding from more than the header.
    if "charset" not in content_type.lower() and response.encoding:
        content_type = f"{content_type or 'text/html'}; charset={response.encoding}"
    facts = [page(url, redirect=to, fetched=now) for url, to in zip(hops, hops[1:]) if url != to]
    seen = page(response.url, response.body, content_type=content_type, headers=headers, fetched=now)
    return pages.observe_many([*facts, seen])


class DuplicatesMiddleware:
    """Spider middleware: records pages and redirects, tags responses, skips duplicates or drops their items.

    Only what goes to a callback comes through spider middlewares. A downloader middleware also gets what Scrapy, other
    middlewares and pipelines ask for (``robots.txt``, files), which is not ours to withhold.
    """

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler
        self.checker = _Checker(crawler, crawler.settings.get("HAPAX_REPOSITORY"))

    @classmethod
    def from_crawler(cls, crawler: Any) -> "DuplicatesMiddleware":
        return cls(crawler)

    def process_spider_input(self, response: Response, spider: Any = None) -> None:
        """Has the page compared before its callback is called.

        A spider middleware cannot wait here, but a callback may. The response gets a copy of its request for the
        purpose: one request object may be on its way several times.
        """
        request = response.request
        if request.meta.get("hapax_ignore") or request.callback is NO_CALLBACK or not _is_page(response, self.crawler.spider):
            # The verdict of another page, if the spider handed its `meta` on.
            request.meta.pop("hapax", None)
            return
        stand_in = copy.copy(request)
        stand_in.callback = partial(self._compared, request)
        response.request = stand_in

    async def _compared(self, request: Request, response: Response, /, **arguments: Any) -> Any:
        """What the callback gives; of a duplicate to skip what the errback gives.

        ``arguments`` are the request's ``cb_kwargs``, whose names are the spider's to choose.
        """
        response.request = request
        checker = self.checker
        hops = [*request.meta.get("redirect_urls", ()), response.url]
        request.meta.pop("hapax", None)
        try:
            answers = await checker.ask(response.url, lambda: _record(checker.pages, response, hops))
        except HapaxError as error:
            return await _failed(request, error)
        if answers is not None:
            for _ in answers[:-1]:
                checker.count("redirects")
            verdict = request.meta["hapax"] = checker.counted(answers[-1])
            if checker.duplicate(verdict):
                response.flags.append(f"hapax-{verdict.verdict}")
                if checker.action == "skip":
                    checker.count("skipped")
                    why = f"{response.url} is a duplicate ({verdict.verdict}) of {verdict.winner}"
                    return await _failed(request, IgnoreRequest(why))
        return await _awaited((request.callback or self.crawler.spider._parse)(response, **arguments))

    def _stays(self, response: Response, result: Any) -> bool:
        verdict = response.meta.get("hapax")
        if isinstance(result, Request) or self.checker.action != "drop" or verdict is None:
            return True
        if not self.checker.duplicate(verdict):
            return True
        self.checker.count("dropped_items")
        return False

    def process_spider_output(self, response: Response, result: Iterable[Any], spider: Any = None) -> Iterable[Any]:
        return (one for one in result if self._stays(response, one))

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        async for one in result:
            if self._stays(response, one):
                yield one


async def _awaited(output: Any) -> Any:
    """Scrapy takes whatever a callback may give from a coroutine, too, but a Deferred."""
    return await maybe_deferred_to_future(output) if isinstance(output, Deferred) else output


async def _failed(request: Request, error: Exception) -> Any:
    """As Scrapy handles a failed download: the errback gets the error, and ``IgnoreRequest`` is not logged."""
    failure = Failure(error)
    failure.request = request
    try:
        output = await _awaited(request.errback(failure) if request.errback else failure)
        if isinstance(output, Failure):
            output.raiseException()
        return output
    except IgnoreRequest:
        return ()


class DuplicatesPipeline:
    """Item pipeline: compares items by their own text instead of the page they came from.

    ``ITEM_PIPELINES = {"hapax.scrapy.DuplicatesPipeline": 300}``. With ``drop`` or ``skip`` a duplicate is dropped;
    with ``tag``, and always for the first, the field ``hapax`` has the verdict if the item takes it. Give items a
    repository of their own (``HAPAX_ITEM_REPOSITORY``) if the middleware records the pages.
    """

    def __init__(self, crawler: Any) -> None:
        settings = crawler.settings
        self.checker = _Checker(crawler, settings.get("HAPAX_ITEM_REPOSITORY") or settings.get("HAPAX_REPOSITORY"))
        self.url_field = settings.get("HAPAX_ITEM_URL", "url")
        self.text_field = settings.get("HAPAX_ITEM_TEXT", "text")

    @classmethod
    def from_crawler(cls, crawler: Any) -> "DuplicatesPipeline":
        return cls(crawler)

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        adapter = ItemAdapter(item)
        url, text = adapter.get(self.url_field), adapter.get(self.text_field)
        if not isinstance(url, str) or not isinstance(text, str):
            self.checker.count("items_without_text")
            return item
        verdict = await self.checker.ask(url, lambda: self.checker.pages.observe_many([page(url, text=text)])[0])
        if verdict is None:
            return item
        self.checker.count("items")
        self.checker.count(f"items/{verdict.verdict}")
        if self.checker.duplicate(verdict) and self.checker.action != "tag":
            raise DropItem(f"{url} is a duplicate ({verdict.verdict}) of {verdict.winner}")
        try:
            adapter["hapax"] = verdict.verdict
        except (KeyError, AttributeError):
            pass  # An item class without such a field.
        return item
