"""How many calls of an actor are open, while the thread that reads is slower than the one that calls."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nbaccel.exceptions import PendingCallsLimitExceeded
from nbaccel.handles.remote import ObjectRef
from nbaccel.local_engine.client.object_client import PendingCalls

METHOD = cast(Any, SimpleNamespace(
    _spec=SimpleNamespace(max_pending=1, name="A.call"), handle=SimpleNamespace(_actor_id_bytes=b"actor")
))  # fmt: skip


class SlowReader:
    """Results that can be read before anybody is called back."""

    def __init__(self) -> None:
        self.there: set[bytes] = set()
        self.callbacks: list[Callable[[bytes], None]] = []

    def when_ready(self, ids: list[bytes], callback: Callable[[bytes], None]) -> list[bytes]:
        self.callbacks.append(callback)
        return []

    def first_ready(self, ids: list[bytes], most: int) -> list[bytes]:
        return [id for id in ids if id in self.there][:most]


def a_ref(id: bytes) -> ObjectRef[Any]:
    ref: ObjectRef[Any] = ObjectRef.__new__(ObjectRef)
    ref._id = id
    return ref


def test_a_call_whose_result_can_be_read_is_open_no_longer_though_nobody_was_called_back_yet() -> None:
    values = SlowReader()
    calls = PendingCalls(values)
    calls.count(METHOD, a_ref(b"one"))
    with pytest.raises(PendingCallsLimitExceeded, match="1 calls are pending"):
        calls.check(METHOD)
    values.there.add(b"one")
    calls.check(METHOD)
    calls.count(METHOD, a_ref(b"two"))
    values.callbacks[0](b"one")  # the thread that reads comes to it: the call is not counted down twice
    with pytest.raises(PendingCallsLimitExceeded):
        calls.check(METHOD)
