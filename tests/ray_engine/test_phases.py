"""The times of a task's phases, from what Ray's workers tell."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine import rays
from nbaccel.views import trace_events
from nbaccel.views.snapshot import TaskRow

SECOND = 1_000_000_000
DESERIALIZE, EXECUTE, STORE = "task:deserialize_arguments", "task:execute", "task:store_outputs"


@pytest.fixture
def phases():
    rays.import_shipped()
    import nbaccel_in_ray.tables

    return nbaccel_in_ray.tables


def _event(name, start_s, end_s):
    return SimpleNamespace(event_name=name, start_time=start_s * SECOND, end_time=end_s * SECOND)


def test_a_phase_lasts_until_the_next_begins(phases):
    told = [_event(EXECUTE, 12, 14), _event(STORE, 15, 16), _event(DESERIALIZE, 10, 11), _event("task::f", 9, 17)]
    assert phases.times(told) == pytest.approx([10, 12, 15, 16])


def test_a_task_that_raised_has_no_results_to_store(phases):
    assert phases.times([_event(DESERIALIZE, 10, 11), _event(EXECUTE, 12, 14)]) == pytest.approx([10, 12, 14])


@pytest.mark.parametrize("told", [[], [_event(EXECUTE, 12, 14)]])
def test_what_is_not_told_from_its_beginning_is_not_known_yet(phases, told):
    assert phases.times(told) == []


def test_a_task_that_still_runs_counts_as_its_code():
    row = TaskRow("ab", "train", "task", "RUNNING", 1, {}, started_at=10.0)
    _, phase = trace_events.of_rows([row], lambda row: "worker 7", lambda row: [])
    assert phase["cat"] == EXECUTE and phase["ts"] == 10e6
