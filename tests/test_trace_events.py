"""The timeline's events have Ray's categories."""

import pytest

from nbaccel.views import trace_events


def test_a_task_lies_on_its_workers_lane_and_on_those_of_its_devices():
    events = trace_events.of_task("train", 10.0, 12.5, "worker 7", {"GPU": ["0", "1"]}, {"task_id": "ab"})
    tasks = [event for event in events if event["cat"] == "task::train"]
    assert [(event["pid"], event["tid"]) for event in tasks] == [
        ("workers", "worker 7"),
        ("devices", "GPU 0"),
        ("devices", "GPU 1"),
    ]
    assert all((event["ts"], event["dur"], event["ph"]) == (10e6, 2.5e6, "X") for event in events)
    assert tasks[0]["args"] == {"name": "train", "task_id": "ab"} and tasks[0]["name"] == "train"


def test_its_phases_lie_on_the_workers_lane_one_after_the_other():
    events = trace_events.of_task("train", 10.0, 13.0, "worker 7", {"GPU": ["0"]}, {}, [10.5, 11.0, 12.0, 12.5])
    phases = [event for event in events if event["cat"] != "task::train"]
    assert [(event["cat"], event["ts"], event["dur"]) for event in phases] == [
        ("task:deserialize_arguments", 10.5e6, 0.5e6),
        ("task:execute", 11e6, 1e6),
        ("task:store_outputs", 12e6, 0.5e6),
    ]
    assert all(event["name"] == event["cat"] and event["tid"] == "worker 7" for event in phases)


def test_a_task_ends_with_its_last_phase():
    events = trace_events.of_task("train", 10.0, 13.0, "worker 7", {"GPU": ["0"]}, {}, [10.5, 11.0, 12.0, 12.5])
    assert [(event["ts"], event["dur"]) for event in events if event["cat"] == "task::train"] == [(10e6, 2.5e6)] * 2


@pytest.mark.parametrize(
    ("times", "phases"),
    [
        ([10.5, 11.0, 12.0], ["task:deserialize_arguments", "task:execute"]),
        ([10.5, 11.0], ["task:deserialize_arguments"]),
        ([], ["task:execute"]),
    ],
    ids=["raised in its code", "raised by its arguments", "still running"],
)
def test_a_task_has_the_phases_that_it_came_to(times, phases):
    events = trace_events.of_task("train", 10.0, 12.5, "worker 7", {}, {}, times)
    assert [event["cat"] for event in events[1:]] == phases
