"""What is answered to the head's requests to look for garbage: each for what there was when it came."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client import object_client
from tests.rig import wait_until


class MadeLink:
    """Takes what is said."""

    def __init__(self) -> None:
        self.receivers: dict[type, Callable[[Any], None]] = {}
        self.said: list[Any] = []

    def flush(self) -> None:
        self.said.append("releases")

    def send(self, message: Any) -> None:
        self.said.append(message)


@pytest.mark.parametrize("moment", ["while it looks", "when it has looked"])
def test_a_request_that_comes_during_a_look_has_a_look_of_its_own(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """The program may have made garbage that the look before had passed."""
    made = MadeLink()
    link: Any = made
    object_client.GarbageCollector(link)
    looks: list[str] = []

    def ask(number: int) -> None:
        made.receivers[wire.CollectGarbage](wire.CollectGarbage(number))

    def look() -> None:
        looks.append("look")
        if moment == "while it looks" and len(looks) == 1:
            ask(2)

    def flush() -> None:
        made.said.append("releases")
        if moment == "when it has looked" and len(looks) == 1:
            ask(2)

    monkeypatch.setattr(object_client, "gc", SimpleNamespace(collect=look))
    monkeypatch.setattr(made, "flush", flush)
    ask(1)
    wait_until(lambda: len(made.said) == 4, "both answers")
    assert made.said[0::2] == ["releases", "releases"]
    assert [msgspec.msgpack.decode(answer.body)["number"] for answer in made.said[1::2]] == [1, 2]
    assert looks == ["look", "look"]
    ask(3)
    wait_until(lambda: len(looks) == 3, "the next look")
