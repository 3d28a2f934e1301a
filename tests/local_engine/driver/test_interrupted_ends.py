"""What ends just while Ctrl-C comes is let go: of a finaliser that is interrupted, Python drops all the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import nbaccel
from nbaccel.util.multiprocessing import Pool
from nbaccel.util.state import list_actors, list_tasks
from tests.census import Place
from tests.local_engine import misbehaving, sharing
from tests.rig import wait_until

LARGE = bytes(1_000_000)


def states(rows: list[Any]) -> list[str]:
    return [row["state"] for row in rows]


def store_is_empty() -> bool:
    return nbaccel.available_resources()["object_store_memory"] == nbaccel.cluster_resources()["object_store_memory"]


def no_actor_lives() -> bool:
    return "ALIVE" not in states(list_actors())


def no_task_runs() -> bool:
    return "RUNNING" not in states(list_tasks())


def an_actor() -> Any:
    actor = sharing.Keeper.options(num_cpus=0).remote()
    assert nbaccel.get(actor.echo.remote(1)) == 1
    return actor


def a_pool() -> Any:
    pool = Pool(1)
    assert pool.map(abs, [-1]) == [1]
    return pool


def a_stream_without_end() -> Any:
    stream = nbaccel.remote(misbehaving.yield_for_ever).options(num_cpus=0).remote()
    assert nbaccel.get(next(stream)) == 0
    return stream


def a_value() -> Any:
    return nbaccel.get(sharing.zeros.remote(1_000_000))


ENDS: dict[str, tuple[Callable[[], Any], Callable[[], bool]]] = {
    "ref": (lambda: nbaccel.put(LARGE), store_is_empty),
    "array": (a_value, store_is_empty),
    "actor": (an_actor, no_actor_lives),
    "pool": (a_pool, no_actor_lives),
    "stream": (a_stream_without_end, no_task_runs),
    "range": (lambda: nbaccel.engine.started().ranges.take(1_000_000), store_is_empty),  # type: ignore[union-attr]
}


def interrupt(*_event: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("make, is_let_go", ENDS.values(), ids=ENDS)
def test_an_interrupt_at_the_first_step_of_an_end_keeps_nothing(
    cluster: Place, make: Callable[[], Any], is_let_go: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: None)
    box = [make()]
    before = sys.gettrace()
    sys.settrace(interrupt)
    box.clear()  # no Python code but what runs at the end
    sys.settrace(before)
    wait_until(is_let_go, "what has ended to be let go")
