"""A worker that has died or cannot be reached: its node is named if that is known to be lost."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbaccel import exceptions
from nbaccel.train import failures
from nbaccel.views.snapshot import ActorRow, NodeRow, Runtime, Snapshot

LOST = NodeRow("b" * 56, "10.0.0.2", alive=False, why="too many heartbeats are missing\nand more")
DIED = exceptions.ActorDiedError("The actor died.\n\tpid: 3")
AWAY = exceptions.ActorUnavailableError("The actor is unavailable.")


def seat(node_id: str) -> Any:
    return SimpleNamespace(facts=SimpleNamespace(node_id=node_id))


@pytest.mark.parametrize(
    ("error", "node", "words"),
    [
        (DIED, LOST, "its node 10.0.0.2 (bbbbbbbb) was lost: too many heartbeats are missing"),
        (AWAY, LOST, "its node 10.0.0.2 (bbbbbbbb) was lost: too many heartbeats are missing"),
        (DIED, NodeRow("b" * 56, "x", alive=False, why="it was lost"), "its node x (bbbbbbbb) was lost"),
        (AWAY, NodeRow("b" * 56, "x"), "its node x (bbbbbbbb) cannot be reached"),
    ],
)
def test_the_error_names_the_node_and_has_the_engines_words_as_its_cause(
    error: BaseException, node: NodeRow, words: str
) -> None:
    found = failures.instead_of(error, seat("b" * 56), [NodeRow("a" * 56, "here"), node])
    assert type(found) is exceptions.NodeDiedError and str(found) == words and found.__cause__ is error


def test_a_worker_that_died_on_a_node_that_lives_has_its_own_error() -> None:
    assert failures.instead_of(DIED, seat("a"), [NodeRow("a", "here"), LOST]) is DIED


def test_a_fate_is_known_by_the_node_or_by_the_actor() -> None:
    seen = Snapshot(
        Runtime("ray", "0", "3"),
        nodes=[NodeRow("a", "here"), NodeRow("b", "there", alive=False)],
        actors=[ActorRow("1", "TrainWorker", "DEAD"), ActorRow("2", "TrainWorker", "ALIVE")],
    )
    known = {(node, actor): failures.is_known(seen, node, actor) for node in "ab" for actor in ("1", "2", "")}
    assert [pair for pair, is_so in known.items() if not is_so] == [("a", "2"), ("a", "")]


def test_those_who_lost_a_rank_fail_first_and_the_error_still_names_its_node(tmp_path: Path) -> None:
    lost = failures.instead_of(AWAY, seat("b"), [NodeRow("b", "there")])
    records: Any = SimpleNamespace(latest_name=lambda: "checkpoint_000003")
    error = failures.worker_group_error(0, {0: RuntimeError("Connection closed by peer"), 1: lost}, {}, records)
    assert str(error).splitlines() == [
        "rank 0 failed (after checkpoint_000003).",
        "RuntimeError: Connection closed by peer",
        "(rank 1 then failed as well: its node there (b) cannot be reached.)",
        "Run it again under the same name and it goes on from checkpoint_000003; error.result is what there is.",
    ]
