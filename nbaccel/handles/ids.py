"""Ids of tasks, actors, jobs, nodes, workers and groups, as objects with Ray's methods; and Ray's languages."""

from __future__ import annotations

import enum
import os
from typing import Any


def id_of(text: str, what: str) -> bytes:
    """The id that a hex text names. Raises ValueError for other text; `what` is whose id was wanted ("a task")."""
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise ValueError(f"{text!r} is not the hex id of {what}.") from None


class _Id:
    """An id as an object, with Ray's methods."""

    _size = 0

    def __init__(self, id: bytes) -> None:
        if len(id) != self._size:
            raise ValueError(f"{type(self).__name__} needs to have a length of {self._size} bytes, got {len(id)}.")
        self._bytes = id

    @classmethod
    def size(cls) -> int:
        """The number of its bytes."""
        return cls._size

    def hex(self) -> str:
        return self._bytes.hex()

    def binary(self) -> bytes:
        return self._bytes

    def is_nil(self) -> bool:
        return self._bytes == b"\xff" * len(self._bytes)

    @classmethod
    def from_hex(cls, text: str) -> Any:
        return cls(id_of(text, f"any {cls.__name__.removesuffix('ID')}"))

    @classmethod
    def from_random(cls) -> Any:
        return cls(os.urandom(cls._size))

    @classmethod
    def nil(cls) -> Any:
        return cls(b"\xff" * cls._size)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._bytes.hex()})"


class TaskID(_Id):
    """The id of a task, 24 bytes."""

    _size = 24


class ActorID(_Id):
    """The id of an actor, 16 bytes."""

    _size = 16


class JobID(_Id):
    """The id of a driver's session, 4 bytes."""

    _size = 4


class UniqueID(_Id):
    """The id of anything that belongs to no job, 28 bytes."""

    _size = 28


class NodeID(UniqueID):
    """The id of a node."""


class WorkerID(UniqueID):
    """The id of a worker."""


class FunctionID(UniqueID):
    """The id of a remote function's code."""


class ActorClassID(UniqueID):
    """The id of an actor class."""


class PlacementGroupID(_Id):
    """The id of a placement group, 18 bytes."""

    _size = 18


class Language(enum.Enum):
    """The language of some code; here it is always PYTHON."""

    PYTHON = 0
    JAVA = 1
    CPP = 2

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__
