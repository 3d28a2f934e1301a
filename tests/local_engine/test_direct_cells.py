"""An actor dies before, in or after the flight of a call whose result the caller, another or nobody wants."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.local_engine import direct_programs
from tests.local_engine.direct_programs import call, outcome, sent_directly

WAYS = {"through the head": "0", "direct": "1"}
WANTED_BY = ["the caller", "another", "nobody"]


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def head(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A head for the cells of the actor; calls take one way, then the other."""
    with inside(Place()) as place:
        os.environ["NBACCEL_DIRECT_CALLS"] = request.param
        nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
        yield place


@pytest.fixture
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()


def wanted(ref: Any, by: str) -> Any:
    """What the one who wants the result holds of it; None if nobody does."""
    return {"the caller": lambda: ref, "another": lambda: direct_programs.same.remote(ref)}.get(by, lambda: None)()


def is_way_of_this_head(actor: Any) -> bool:
    """Whether both calls of a test were direct, or none."""
    return sent_directly(actor) == (2 if os.environ["NBACCEL_DIRECT_CALLS"] == "1" else 0)


@pytest.mark.parametrize("by", WANTED_BY)
@pytest.mark.parametrize("when", ["before", "in flight", "after"])
@pytest.mark.parametrize("kind", direct_programs.CALLED)
def test_an_actor_dies(cluster: Place, tmp_path: Path, kind: str, when: str, by: str) -> None:
    actor = direct_programs.connected(kind)
    pid = nbaccel.get(call(actor, "pid"))
    if when == "after":
        made = call(actor, "echo", 5)
        held = wanted(made, by)
        assert nbaccel.get(held if held is not None else made) == 5
        del made
        assert is_way_of_this_head(actor)
        os.kill(pid, signal.SIGKILL)
    elif when == "in flight":
        held = wanted(call(actor, "wait_for", str(tmp_path / "never")), by)
        assert is_way_of_this_head(actor)
        os.kill(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)
        held = wanted(call(actor, "echo", 5), by)
    if held is not None:
        assert outcome(held) == (5 if when == "after" else "ActorDiedError")
    del held
    assert outcome(call(actor, "echo", 6)) == "ActorDiedError"
