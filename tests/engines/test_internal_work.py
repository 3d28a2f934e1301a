"""Work that nbaccel does for itself is in no count, list or history; a user's class of the same name is in all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import tune
from nbaccel.handles.internal_work import SHOW, internal_actor, internal_task
from nbaccel.notebook import card
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.util import metrics, state
from nbaccel.views.observer_lines import ReadAccounting, ReadRuns
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import TaskFilter
from tests.rig import wait_until
from tests.tune import trainables

ENDS = ("FINISHED", "FAILED", "CANCELLED")


class Letters:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def keep(self, letter: int) -> int:
        self.kept.append(letter)
        return len(self.kept)

    def fails(self) -> None:
        raise ValueError("no letter")


@nbaccel.remote
class Mailbox:
    """Is a user's, whatever it is called."""

    def put(self) -> int:
        return 1


@nbaccel.remote
class Collector:
    """The same."""

    def collect(self) -> int:
        return 1


@nbaccel.remote
def writes(letters: Any, number: int) -> int:
    return sum(nbaccel.get([letters.keep.remote(1) for _ in range(number)]))


def away_from_zero(number: int) -> int:
    return number + 1


@nbaccel.remote
def makes_its_own() -> int:
    letters = internal_actor(Letters, num_cpus=0).remote()
    return int(nbaccel.get(letters.keep.remote(1)))


@pytest.fixture
def letters(nb: ModuleType) -> Iterator[Any]:
    """An actor of nbaccel's own."""
    engines.current().snapshot()  # on Ray, tasks report once somebody has asked
    made = internal_actor(Letters, num_cpus=0).remote()
    yield made
    nb.kill(made)


# What is run here, and what nbaccel runs for it: on Ray, other ends of the tests before may be told only now.
OWN = {"writes", "makes_its_own", "Letters", "away_from_zero", "run_trial", "TrialMailbox", "Mailbox", "TrainWorker"}


def _ends(seen: Snapshot) -> dict[str, int]:
    if seen.runtime.engine != "ray":
        return {name: seen.counts.get(name, 0) for name in ENDS}
    return {name: sum(getattr(row, name.lower()) for row in seen.functions if row.name in OWN) for name in ENDS}


def _has_ended(before: Snapshot, number: int) -> dict[str, int]:
    """How many tasks have ended since, by state, once there are `number`."""
    ended = _ends(before)

    def told() -> dict[str, int] | None:
        since = {name: count - ended[name] for name, count in _ends(engines.current().snapshot()).items()}
        return since if sum(since.values()) >= number else None

    return wait_until(told, f"the ends of {number} tasks")  # type: ignore[no-any-return]


def _names() -> set[str]:
    """All names that snapshots, lists, summaries, the timeline and the history have."""
    engine = engines.current()
    seen = engine.snapshot()
    found = engine.tasks(TaskFilter())
    accounts = engine.history(ReadAccounting())
    names = {row.name for row in (*seen.tasks, *found.rows)} | {row.class_name for row in seen.actors}
    names |= {row.running for row in seen.workers} | {row.name for row in (*seen.functions, *found.functions)}
    names |= {row.name for row in state.list_tasks(limit=10_000)}
    names |= {row.class_name for row in state.list_actors(limit=10_000)}
    names |= {*state.summarize_tasks()["cluster"]["summary"], *state.summarize_actors()["cluster"]["summary"]}
    names |= {event["name"] for event in nbaccel.timeline()}
    names |= {row.name for row in accounts.functions} | {kind.function for kind in engine.history(ReadRuns()).kinds}
    return names


def _named(part: str) -> list[str]:
    return [name for name in _names() if part in name]


def test_internal_work_is_in_no_count_and_no_list(nb: ModuleType, letters: Any) -> None:
    before = engines.current().snapshot()
    assert nb.get(writes.remote(letters, 3)) == 6
    assert nb.get([letters.keep.remote(1) for _ in range(4)]) == [4, 5, 6, 7]
    assert nb.get(internal_task(away_from_zero, num_cpus=0).remote(5)) == 6
    assert nb.get(makes_its_own.remote()) == 1
    wait_until(lambda: _named("writes") and _named("makes_its_own"), "the users' tasks to be told")
    assert _has_ended(before, 2) == {"FINISHED": 2, "FAILED": 0, "CANCELLED": 0}
    assert _named("Letters") == _named("away_from_zero") == []


def test_what_internal_work_raises_is_told_and_not_counted(nb: ModuleType, letters: Any) -> None:
    before = engines.current().snapshot()
    with pytest.raises(ValueError, match="no letter") as caught:
        nb.get(letters.fails.remote())
    assert "Letters.fails" in str(caught.value)
    assert nb.get(writes.remote(letters, 1)) == 1
    assert _has_ended(before, 1) == {"FINISHED": 1, "FAILED": 0, "CANCELLED": 0}
    assert nb.explain(letters).sentence == "Actor Letters is ALIVE."


def test_a_users_actor_is_shown_whatever_its_class_is_called(nb: ModuleType) -> None:
    engines.current().snapshot()
    actors = [Mailbox.remote(), Collector.remote()]
    assert nb.get([actors[0].put.remote(), actors[1].collect.remote()]) == [1, 1]
    shown = {row.class_name for row in engines.current().snapshot().actors if row.state == "ALIVE"}
    assert shown >= {"Mailbox", "Collector"}
    wait_until(lambda: _named("Mailbox.put") and _named("Collector.collect"), "the calls to be told")


def test_the_collector_of_metrics_is_nowhere_to_be_seen(nb: ModuleType) -> None:
    metrics.Counter("letters_kept").inc()
    metrics.flush()
    assert "letters_kept" in metrics.prometheus_text()
    assert _named("MetricsCollector") == []
    assert "metrics" not in {row["name"] for row in nb.util.list_named_actors(all_namespaces=True)}


def test_a_variable_shows_internal_work(nb: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHOW, "1")
    engines.current().snapshot()
    letters = internal_actor(Letters, num_cpus=0).remote()
    assert nb.get(letters.keep.remote(1)) == 1
    wait_until(lambda: {"Letters", "Letters.keep"} <= _names(), "the actor and its call to be shown")

    def ended() -> set[str]:
        return {row.name for row in state.list_tasks(limit=10_000) if row.end_time_ms}

    # On Ray, an end that is told later would be counted in a test that follows.
    wait_until(lambda: {"Letters.__init__", "Letters.keep"} <= ended(), "their ends to be told")
    nb.kill(letters)


def test_the_trials_of_an_experiment_are_all_its_tasks(nb: ModuleType, tmp_path: Path) -> None:
    before = engines.current().snapshot()
    config = tune.RunConfig("experiment", str(tmp_path / "runs"))
    space = {"x": tune.grid_search([3, 2, 1]), "steps": 4, "saves": False}
    assert tune.Tuner(trainables.steps, param_space=space, run_config=config).fit().num_errors == 0
    assert _has_ended(before, 3) == {"FINISHED": 3, "FAILED": 0, "CANCELLED": 0}
    assert _named("Mailbox.take") == _named("TrialMailbox") == []
    shown = card.mimebundle(engines.current().snapshot())
    assert "Mailbox" not in shown["text/plain"] + shown["text/html"]


def test_a_training_run_shows_its_workers_and_not_its_mailbox(nb: ModuleType, tmp_path: Path) -> None:
    before = engines.current().snapshot()
    config = tune.RunConfig("training", str(tmp_path / "runs"))
    trainer = DataParallelTrainer(trainables.group_steps, train_loop_config={"steps": 2, "x": 1}, run_config=config)
    trainer.fit()
    wait_until(lambda: [row for row in engines.current().snapshot().actors if row.class_name == "TrainWorker"])
    made = 1 if nb.engine.current().name == "ray" else 0  # Ray counts a constructor that has finished
    assert sum(_has_ended(before, 0).values()) <= made, "what a run does for itself is no task of the user's"
    assert _named("Mailbox.meet") == _named("Mailbox.take") == []
