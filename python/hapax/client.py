"""A service, asked the way a repository is."""

from __future__ import annotations

import json
from typing import Callable, Iterable, Mapping, Optional, TypeVar, Union

from ._hapax import ClientCore, Signature
from .answers import Event, Group, Page, Verdict
from .errors import ArgumentError
from .repository import PageFields, Pages, Settings, Stats, Time

__all__ = ["AsyncClient", "Client"]

T = TypeVar("T")


class Client(Pages):
    """A Hapax service (``hapax serve``) at an address such as ``http://127.0.0.1:8017``.

    Has the methods of :class:`hapax.Repository`. ``timeout`` is in seconds, for connecting and for waiting. Threads
    and forked children may share it, and it can be pickled: the pickle holds the token. What goes wrong is a :class:`~hapax.errors.ServiceError`:

    >>> import hapax
    >>> try:
    ...     hapax.Client("http://127.0.0.1:9").page("https://example.org/")
    ... except hapax.errors.UnreachableError as error:
    ...     isinstance(error, ConnectionError)
    True
    """

    _core: ClientCore

    def __init__(self, url: str, *, token: Optional[str] = None, timeout: float = 30.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ArgumentError(f"a service's address begins with http:// or https://, not {url!r}")
        #: The service.
        self.url = url
        self._arguments = (url, token, timeout)
        self._core = ClientCore(*self._arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return _client, self._arguments

    def events(
        self, after: int = 0, limit: int = 1000, wait: int = 0, *, epoch: Optional[str] = None
    ) -> list[Event]:
        """Changes after a number, oldest first; waits up to so many seconds for the next.

        Another client continues with the ``epoch`` that this one has, so that a service whose history has changed
        since refuses it.
        """
        return [Event.from_json(event) for event in json.loads(self._core.events(after, limit, wait, epoch))]

    @property
    def epoch(self) -> Optional[str]:
        """The epoch of the last events that were read, if the service has one; keep it with their number."""
        return self._core.epoch

    def __repr__(self) -> str:
        return f"Client({self.url!r})"


class AsyncClient:
    """:class:`Client` for ``asyncio``: every method is awaited, and waits on a thread of its own.

    >>> import asyncio, hapax
    >>> async def ask() -> str:
    ...     try:
    ...         await hapax.AsyncClient("http://127.0.0.1:9").stats()
    ...     except hapax.errors.UnreachableError:
    ...         return "nobody there"
    >>> asyncio.run(ask())
    'nobody there'
    """

    def __init__(self, url: str, *, token: Optional[str] = None, timeout: float = 30.0) -> None:
        #: What is asked underneath.
        self.client = Client(url, token=token, timeout=timeout)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()

    async def observe(
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
        """As :meth:`Client.observe`."""
        return await _on_thread(
            self.client.observe,
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

    async def check(
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
        """As :meth:`Client.check`."""
        return await _on_thread(
            self.client.check,
            url,
            content,
            html=html,
            text=text,
            signature=signature,
            content_type=content_type,
            headers=headers,
        )

    async def redirect(self, url: str, to: str, *, fetched: Optional[Time] = None) -> Verdict:
        """As :meth:`Client.redirect`."""
        return await _on_thread(self.client.redirect, url, to, fetched=fetched)

    async def observe_many(self, pages: Iterable[Union[PageFields, Mapping[str, object]]]) -> list[Verdict]:
        """As :meth:`Client.observe_many`."""
        return await _on_thread(self.client.observe_many, pages)

    async def page(self, url: str) -> Optional[Page]:
        """As :meth:`Client.page`."""
        return await _on_thread(self.client.page, url)

    async def group(self, url: str) -> Optional[Group]:
        """As :meth:`Client.group`."""
        return await _on_thread(self.client.group, url)

    async def groups(self, limit: int = 100) -> list[Group]:
        """As :meth:`Client.groups`."""
        return await _on_thread(self.client.groups, limit)

    async def forget(self, url: str) -> bool:
        """As :meth:`Client.forget`."""
        return await _on_thread(self.client.forget, url)

    async def score(self, url: str, score: Optional[float]) -> Optional[Verdict]:
        """As :meth:`Client.score`."""
        return await _on_thread(self.client.score, url, score)

    async def expire(self, before: Time) -> int:
        """As :meth:`Client.expire`."""
        return await _on_thread(self.client.expire, before)

    async def recheck(self) -> int:
        """As :meth:`Client.recheck`."""
        return await _on_thread(self.client.recheck)

    async def events(
        self, after: int = 0, limit: int = 1000, wait: int = 0, *, epoch: Optional[str] = None
    ) -> list[Event]:
        """As :meth:`Client.events`."""
        return await _on_thread(self.client.events, after, limit, wait, epoch=epoch)

    @property
    def epoch(self) -> Optional[str]:
        """As :attr:`Client.epoch`."""
        return self.client.epoch

    async def stats(self) -> Stats:
        """As :meth:`Client.stats`."""
        return await _on_thread(self.client.stats)

    async def settings(self) -> Settings:
        """As :attr:`Client.settings`."""
        return await _on_thread(lambda: self.client.settings)


async def _on_thread(ask: Callable[..., T], *arguments: object, **named: object) -> T:
    # Costs more to import than all of the package.
    import asyncio

    return await asyncio.to_thread(ask, *arguments, **named)


def _client(url: str, token: Optional[str], timeout: float) -> Client:
    return Client(url, token=token, timeout=timeout)
