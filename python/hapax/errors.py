"""Everything that can go wrong, one class for each kind.

All are :class:`HapaxError` and carry ``reason`` and, where there is one, the ``path`` of the file, folder or
service it is about. What the operating system says about a file stays ``FileNotFoundError``, ``PermissionError``
and so on; classes here that mean the same are those, too:

>>> import hapax
>>> issubclass(hapax.errors.RepositoryMissingError, FileNotFoundError)
True
>>> try:
...     hapax.Fingerprinter("web-99")
... except hapax.HapaxError as error:
...     print(type(error).__name__, "-", error.reason.split(";")[0])
RecipeError - no recipe is called `web-99`
"""

from __future__ import annotations

from typing import Optional

__all__ = [
    "ArgumentError",
    "ArrowError",
    "ClosedError",
    "CorpusError",
    "DamagedError",
    "DiskError",
    "DuplicateIdError",
    "ForkedError",
    "HapaxError",
    "IndexFileError",
    "JobError",
    "NoDocumentsError",
    "NotARepositoryError",
    "OutputExistsError",
    "PageError",
    "RecipeError",
    "RecipeMismatchError",
    "RefusedError",
    "RepositoryError",
    "RepositoryExistsError",
    "RepositoryInUseError",
    "RepositoryMissingError",
    "RepositoryTooNewError",
    "ServiceError",
    "SettingsMismatchError",
    "StrangeAnswerError",
    "UnreachableError",
]


class HapaxError(Exception):
    """Whatever Hapax refuses or fails to do."""

    #: What was wrong and what can be done.
    reason: str
    #: The file, folder or service it is about, if there is one.
    path: Optional[str]

    def __init__(self, reason: str, path: Optional[str] = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        if self.path is None or self.path in self.reason:
            return self.reason
        return f"{self.path}: {self.reason}"

    def at(self, place: str) -> "HapaxError":
        """The same error with the place of what it is about."""
        self.reason = f"{place}: {self.reason}"
        self.args = (self.reason,)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.path)


class ArgumentError(HapaxError, ValueError):
    """An argument that cannot be meant."""


class ArrowError(HapaxError, ValueError):
    """Arrow data that contradicts itself."""


class RecipeError(HapaxError, ValueError):
    """A recipe that is not known or not valid."""


class RecipeMismatchError(HapaxError, ValueError):
    """Fingerprints of two recipes, which are never compared."""


class SettingsMismatchError(HapaxError, ValueError):
    """A repository was made with other settings than those given."""


class PageError(HapaxError, ValueError):
    """Bytes that are neither HTML nor text."""


class CorpusError(HapaxError, ValueError):
    """An input that cannot be read as documents."""


class IndexFileError(HapaxError, ValueError):
    """A file that is no index, or a damaged one."""


class JobError(HapaxError):
    """A job that could not be done."""


class DuplicateIdError(JobError, ValueError):
    """Two documents with one id and different texts."""


class NoDocumentsError(JobError, ValueError):
    """Inputs without any document."""


class OutputExistsError(JobError, FileExistsError):
    """The output folder is not empty, or is a file."""


class RepositoryError(HapaxError):
    """A repository did not do what was asked."""


class RepositoryExistsError(RepositoryError, FileExistsError):
    """A repository is there already."""


class RepositoryMissingError(RepositoryError, FileNotFoundError):
    """There is no repository."""


class RepositoryInUseError(RepositoryError):
    """Another process, or another object of this one, has it open."""


class NotARepositoryError(RepositoryError):
    """The file is something else."""


class RepositoryTooNewError(RepositoryError):
    """A later version wrote it."""


class DamagedError(RepositoryError):
    """What is stored contradicts itself."""


class DiskError(HapaxError):
    """The disk refused: full, or broken. What was acknowledged before is there."""


class ClosedError(RepositoryError, ValueError):
    """The repository was closed."""


class ForkedError(RepositoryError, RuntimeError):
    """The repository belongs to the process that forked this one."""


class ServiceError(HapaxError):
    """A service did not do what was asked."""


class UnreachableError(ServiceError, ConnectionError):
    """There was no answer."""


class StrangeAnswerError(ServiceError):
    """The answer is not that of a Hapax service of this version."""


class RefusedError(ServiceError):
    """The service said no, with a code of its table."""

    #: From the service's table, such as ``unauthorized``.
    code: str
    #: The HTTP status; 200 for one page of a batch.
    status: int

    def __init__(self, reason: str, path: Optional[str] = None, code: str = "", status: int = 0) -> None:
        super().__init__(reason, path)
        self.code = code
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.path, self.code, self.status)
