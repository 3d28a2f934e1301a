"""Sends functions and classes to the head: each once, and again when its code has changed.

The head keeps a function, and what it has captured, while a process has exported it or a task may still run it.
Here each remote function and actor class has an `Exported` for its code; when the last one of a key ends, the head is
sent `ReleasesCode`. As for refs, a finaliser only puts the key into the link's queue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from nbaccel import freshness
from nbaccel.freshness import blake2b
from nbaccel.handles import unpicklable
from nbaccel.handles.refs import check_pickled_by_hand
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.wire import codec
from nbaccel.local_engine.wire.ids import OBJECT_ID_BYTES

LARGEST_CODE_BYTES = 95 << 20  # as Ray: beyond it something large was captured by mistake


class CodeKey(bytes):
    """The key of some code, as the link's queue of ends tells it from the id of an object."""


class Exported(SafeFinalizer):
    """Keeps the code of one remote function or actor class in the head while it lives."""

    __slots__ = ("key", "refs")

    def __init__(self, key: bytes, refs: list[bytes], link: Link) -> None:
        self.key = key
        self.refs = refs  # the objects and actors to which the code refers
        self.__del__ = partial(link.ended.put, CodeKey(key))


class Exports:
    """The functions and classes that one client has sent, and the cell for which it last checked for changes."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._counts: dict[bytes, int] = {}  # of the code that the head has from here, by key
        self._lock = threading.Lock()
        link.when_ended[CodeKey] = self._ended
        self._modules = freshness.LocalModules()
        self._looked_for = b""
        self._looking = threading.Lock()  # whoever submits in this cell waits for the look
        self.look_around: Callable[[bytes], int] | None = None  # of a notebook: the number of its surroundings
        self.surroundings = 0  # those of this process, for the workers of what it submits
        self.generation = 0  # counts changes of local modules: workers that loaded the old ones are not used again

    def key_of(self, code: Any, name: str, cache: dict[Any, Any], cell: bytes) -> bytes:
        """The key under which the head has this function or class; `cell` is the notebook message that runs now.

        Raises TypeError, naming the part, for what cannot be pickled.
        """
        if cell and cell != self._looked_for:
            self._look(cell)
        known = cache.get((self, "key"))
        if known is not None and (known[2] == cell or not cell):
            return known[0].key  # type: ignore[no-any-return]
        digest = freshness.fingerprint(code) if cell else b""
        if known is not None and known[1] == digest:
            cache[(self, "key")] = (known[0], digest, cell)
            return known[0].key  # type: ignore[no-any-return]
        exported = self._export(code, name)
        cache[(self, "key")] = (exported, digest, cell)
        return exported.key

    def _export(self, code: Any, name: str) -> Exported:
        """Have the head know this code, as long as what is returned lives."""
        key, blob, refs = self._pickled(code, name)
        with self._lock:
            if key not in self._counts:
                self._link.send(wire.DefineFunction(key, blob, name, refs))
            self._counts[key] = self._counts.get(key, 0) + 1
        return Exported(key, refs, self._link)

    def _ended(self, keys: list[bytes]) -> None:
        """Functions have ended; the link's writer calls this before it writes."""
        released: list[bytes] = []
        with self._lock:
            for key in map(bytes, keys):
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]
                    released.append(key)
            if released:
                self._link._outbox.append(wire.ReleasesCode(released))

    def _pickled(self, code: Any, name: str) -> tuple[bytes, bytes, list[bytes]]:
        """The key of some code, its bytes, and the refs and actor handles in it."""
        refs: list[bytes] = []
        try:
            with codec.collecting(refs):
                dumped = codec.dump_code(code)
        except Exception as error:  # whatever a captured object's pickling raises
            unpicklable.refuse_code(name, code, error, codec.can_pickle)
        for id in refs:
            if len(id) == OBJECT_ID_BYTES:  # as in Ray, handles of actors may go anywhere
                check_pickled_by_hand(id)
        size = len(dumped) if isinstance(dumped, bytes) else dumped.size
        if size > LARGEST_CODE_BYTES:
            raise ValueError(
                f"{name} is too large to be sent: {size >> 20} MiB with what it captures "
                f"({unpicklable.largest_captured(code, name)}), and the limit is {LARGEST_CODE_BYTES >> 20} MiB. "
                "Put the data into the store once, ref = nbaccel.put(data), and pass the ref as an argument."
            )
        blob = dumped if isinstance(dumped, bytes) else dumped.joined()
        key = blake2b(blob, digest_size=16).digest()
        return key, blob, refs

    def _look(self, cell: bytes) -> None:
        """Check, once for each cell, what the user has changed: own modules, environment, import path, directory."""
        with self._looking:
            if cell == self._looked_for:
                return
            self.generation += self._modules.changed()
            if self.look_around is not None:
                self.surroundings = self.look_around(cell)
            self._looked_for = cell
