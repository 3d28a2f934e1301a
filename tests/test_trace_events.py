"""The timeline's events have Ray's categories."""

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


def test_its_code_is_a_phase_of_its_own():
    *_, phase = trace_events.of_task("train", 10.0, 12.5, "worker 7", {}, {})
    assert (phase["cat"], phase["name"], phase["tid"]) == ("task:execute", "task:execute", "worker 7")
