"""What `get` gives for a group's ref in the place of what Ray has for it: known as long as the ref lives."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.submission import groups
from nbaccel.ray_engine.submission.exports import HandleMaker
from nbaccel.ray_engine.submission.groups import RayGroups

GROUP = b"group"


class Engine:
    """Refs tell it of their end, if they are ours to count."""

    def ref_gone(self, id: bytes) -> None:
        raise AssertionError("Ray counts its refs itself")


class Inner:
    """Ray's ref of a group that is ready."""

    def binary(self) -> bytes:
        return b"ref"


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> dict[bytes, object]:
    monkeypatch.setattr(groups, "rays_group", lambda _id: SimpleNamespace(ready=Inner))
    return {}


@pytest.fixture
def rays_groups(stand_ins: dict[bytes, object]) -> RayGroups:
    unused: Any = None
    engine: Any = Engine()
    return RayGroups(unused, HandleMaker(engine, through_client=False), unused, unused, stand_ins)


def test_a_stand_in_is_there_as_long_as_its_ref(rays_groups: RayGroups, stand_ins: dict[bytes, object]) -> None:
    ref = rays_groups.group_ready(GROUP, "the user's handle")
    assert stand_ins == {ref._id: "the user's handle"}
    del ref
    assert not stand_ins


def test_an_interrupt_just_at_the_end_of_the_ref_leaves_no_stand_in(
    rays_groups: RayGroups, stand_ins: dict[bytes, object]
) -> None:
    refs = [rays_groups.group_ready(GROUP, "the user's handle")]
    assert stand_ins
    sys.setprofile(_interrupted)
    refs.pop()  # no Python code runs here, in which an interrupt could come
    sys.setprofile(None)
    assert not stand_ins


def _interrupted(_frame: Any, event: str, _argument: Any) -> None:
    if event == "call":
        sys.setprofile(None)
        raise KeyboardInterrupt
