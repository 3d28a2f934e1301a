"""What messages are made of: their base, and the values in them."""

from __future__ import annotations

import msgspec

OK, RAISED, FAILED = 0, 1, 2  # a value, a pickled RayTaskError, a SystemFailure (msgpack)
MOST_DESCRIPTORS = 16  # that one write passes, and one read takes; what is beyond that would be lost


class Message(msgspec.Struct, array_like=True, tag=True, gc=False):
    """Base of everything on the wire."""


class Value(msgspec.Struct, array_like=True, gc=False):
    """An object's value: inline bytes, or a place in the arena."""

    status: int = OK
    data: bytes | None = None
    offset: int = 0
    size: int = 0


class ReturnValue(msgspec.Struct, array_like=True, gc=False):
    """One return value and the refs inside it."""

    value: Value
    refs: list[bytes] = []
