"""Sends functions and classes to the head: each once, and again when its code has changed."""

from __future__ import annotations

import hashlib
from typing import Any

from nbaccel import freshness
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.wire import codec

LARGEST_CODE_BYTES = 95 << 20  # as Ray: beyond it something large was captured by mistake


class Exports:
    """The functions and classes that one client has sent, and the cell for which it last checked for changes."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sent: set[bytes] = set()
        self._modules = freshness.LocalModules()
        self._looked_for = b""
        self.generation = 0  # counts changes of local modules: workers that loaded the old ones are not used again

    def key_of(self, code: Any, name: str, cache: dict[Any, Any], cell: bytes) -> bytes:
        """The key under which the head has this function or class; `cell` is the notebook message that runs now.

        Raises TypeError, naming the part, for what cannot be pickled.
        """
        self._look_at_modules(cell)
        known = cache.get((self, "key"))
        if known is not None and (known[2] == cell or not cell):
            return bytes(known[0])
        digest = freshness.fingerprint(code) if cell else b""
        if known is not None and known[1] == digest:
            cache[(self, "key")] = (known[0], digest, cell)
            return bytes(known[0])
        key = self._send(code, name)
        cache[(self, "key")] = (key, digest, cell)
        return key

    def _send(self, code: Any, name: str) -> bytes:
        try:
            dumped = codec.dump_code(code)
        except Exception as error:  # whatever a captured object's pickling raises
            raise TypeError(
                f"Could not serialize {name}: {codec.find_unpicklable(code, name)} cannot be pickled ({error}). "
                "Create it inside the function, or pass what is needed to make it."
            ) from error
        size = len(dumped) if isinstance(dumped, bytes) else dumped.size
        if size > LARGEST_CODE_BYTES:
            raise ValueError(
                f"{name} is too large to be sent: {size >> 20} MiB with what it captures "
                f"({codec.largest_captured(code, name)}), and the limit is {LARGEST_CODE_BYTES >> 20} MiB. "
                "Put the data into the store once, ref = nbaccel.put(data), and pass the ref as an argument."
            )
        blob = dumped if isinstance(dumped, bytes) else dumped.joined()
        key = hashlib.blake2b(blob, digest_size=16).digest()
        if key not in self._sent:
            self._link.say(wire.DefineFunction(key, blob, name))
            self._sent.add(key)
        return key

    def _look_at_modules(self, cell: bytes) -> None:
        """Check, once for each cell, whether the user has edited one of their modules."""
        if cell and cell != self._looked_for:
            self._looked_for = cell
            self.generation += self._modules.changed()
