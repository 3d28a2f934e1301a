"""Ids of tasks, objects, actors, workers and nodes: bytes whose lengths and shapes are Ray's.

```
  task id   24 bytes = client prefix (12) + counter (8, big endian) + job (4)
  object id 28 bytes = task id + index of the return value (4); a put's index starts at PUT_INDEX
```
A client makes its ids itself, without asking the head: the random prefix keeps two clients apart.
"""

from __future__ import annotations

import itertools
import os
from struct import Struct

TASK_ID_BYTES = 24
OBJECT_ID_BYTES = 28
PUT_INDEX = 1 << 24
_TAIL = Struct(">QI").pack
_INDEX = Struct(">I").pack
_FIRST = _INDEX(0)


class IdMaker:
    """Makes the ids of one client."""

    def __init__(self, job: int) -> None:
        self._prefix = os.urandom(12)
        self._job = job
        self._next = itertools.count(1).__next__

    def task_id(self) -> bytes:
        return self._prefix + _TAIL(self._next(), self._job)

    def put_id(self) -> bytes:
        return self._prefix + _TAIL(self._next(), self._job) + _INDEX(PUT_INDEX)

    def actor_id(self) -> bytes:
        return os.urandom(12) + _INDEX(self._job)


def return_id(task_id: bytes, index: int) -> bytes:
    """The object id of a task's index-th return value."""
    return task_id + (_FIRST if index == 0 else _INDEX(index))


def task_of(object_id: bytes) -> bytes:
    """The task that makes this object (for a put: the id made for the put)."""
    return object_id[:TASK_ID_BYTES]


def index_of(object_id: bytes) -> int:
    return int.from_bytes(object_id[TASK_ID_BYTES:], "big")


def random_id(size: int = OBJECT_ID_BYTES) -> bytes:
    """A worker's, node's or group's id."""
    return os.urandom(size)
