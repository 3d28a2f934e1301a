"""The trials of an experiment are all that is counted and shown of it: nothing that nbaccel runs for itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import tune
from nbaccel.notebook import card
from nbaccel.util import state
from nbaccel.views.observer_lines import ReadAccounting, ReadRuns
from tests.census import Place
from tests.heads import inside
from tests.tune import trainables

TRIALS, STEPS = 12, 3


@pytest.fixture(scope="module")
def after_an_experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A head that has run one experiment and nothing else."""
    folder = tmp_path_factory.mktemp("runs")
    space = {"x": tune.grid_search(list(range(1, TRIALS + 1))), "steps": STEPS, "saves": False}
    with inside(Place()):
        nbaccel.init(num_cpus=4)
        config = tune.RunConfig("counted", str(folder))
        results = tune.Tuner(trainables.steps, param_space=space, run_config=config).fit()
        assert results.num_terminated == TRIALS
        yield folder


pytestmark = pytest.mark.usefixtures("after_an_experiment")


def test_the_counts_are_those_of_the_trials() -> None:
    snapshot = engines.current().snapshot()
    assert {name: number for name, number in snapshot.counts.items() if number} == {"FINISHED": TRIALS}
    assert [(row.name, row.finished) for row in snapshot.functions] == [("run_trial", TRIALS)]
    assert (snapshot.actors, snapshot.actor_counts) == ([], {})
    summary = state.summarize_tasks()["cluster"]
    assert (summary["total_tasks"], summary["total_actor_tasks"], summary["total_actor_scheduled"]) == (TRIALS, 0, 0)
    assert len(state.list_tasks()) == TRIALS and state.list_actors() == []


def test_the_static_card_counts_the_trials() -> None:
    made = card.mimebundle(engines.current().snapshot())
    assert f"{TRIALS} finished" in made["text/plain"] and f"{TRIALS} finished" in made["text/html"]
    assert "Mailbox" not in made["text/plain"] + made["text/html"]


def test_the_timeline_and_the_history_have_the_trials_alone() -> None:
    engine = engines.current()
    assert [event["name"] for event in nbaccel.timeline() if "Mailbox" in str(event)] == []
    (row,) = engine.history(ReadAccounting()).functions
    assert (row.runs, row.failed, row.running) == (TRIALS, 0, 0)
    kinds = {kind.function for kind in engine.history(ReadRuns()).kinds}
    assert len(kinds) == 1 and not kinds & {"TrialMailbox.put", "TrialMailbox.take"}
