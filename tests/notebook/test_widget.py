"""The widget: what it displays, and that what pages say only queues a message to the head."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from nbaccel import engine as engines
from nbaccel.notebook import run_card, views
from nbaccel.views import palette, wording
from nbaccel.views.history.answers import PrintedText, TaskLogAnswer
from nbaccel.views.history.book import HistoryBook, PastRun
from nbaccel.views.observer_lines import ReadAccounting, ReadRuns, ReadTaskLog
from nbaccel.views.snapshot import ActorRow, JobRow, PublishedRow, Snapshot, TaskRow
from nbaccel.views.task_filter import FoundTasks, TaskFilter
from tests.rig import wait_until

pytest.importorskip("anywidget", reason="anywidget is not installed")

from nbaccel.notebook.widget import Cockpit

LATE_PRESS = "has been asked to stop since this button was drawn. Press it again to go one step further."
TRACEBACK = """Traceback (most recent call last):
  File "/home/ada/train.py", line 3, in train
    fit()
  File "/usr/lib/site-packages/fit.py", line 80, in fit
    raise ValueError("bad")
ValueError: bad"""


class Engine:
    """Remembers what it is told, and on which thread."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.callback: Callable[[Snapshot | None], None] | None = None
        self.found = threading.Event()
        self.wanted = TaskFilter()
        self.book = HistoryBook(0.0)
        self.asked: list[Any] = []

    def watch(self, callback: Any, *, metrics: bool = True, rows: int = 0) -> None:
        self.callback = callback

    def cancel_by_id(self, task_id: str, *, force: bool = False) -> None:
        if not task_id:
            raise ValueError("the text is no id")
        self.told.append(("cancel", task_id))

    def kill_by_id(self, actor_id: str) -> None:
        self.told.append(("kill", actor_id))

    def retry(self, task_id: str) -> str:
        if task_id == "gone":
            raise ValueError("Task gone cannot be run again.")
        self.told.append(("retry", threading.current_thread().name))
        return "ab" * 12 + f"{7:016x}" + "00000001"

    def ask(self, id: str, what: str) -> None:
        if id != "run-1":
            raise ValueError(f"No record {id} is published here.")
        self.told.append((what, id))

    def history(self, asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(asked, ReadTaskLog):
            self.told.append(("log", threading.current_thread().name))
            if asked.task_id == "gone":
                raise ValueError("The head does not know task gone.")
            return TaskLogAnswer(1.0, True, PrintedText("one", 8), failure=TRACEBACK)
        if isinstance(asked, ReadRuns):
            return self.book.runs(20.0, (asked.start or 0.0, asked.end or 20.0), asked.since)
        return self.book.accounting(20.0, asked.since)

    def tasks(self, wanted: TaskFilter) -> FoundTasks:
        self.wanted = wanted
        self.found.set()
        why = "bad batch"
        return FoundTasks([TaskRow("ab" * 24, "early", "task", "FAILED", 1, cell="[3]", why=why)], 11)


@pytest.fixture
def engine() -> Iterator[Engine]:
    fake: Any = Engine()
    engines.adopt(fake)
    yield fake
    engines.adopt(None)


@pytest.fixture
def cockpit(engine: Any, busy_snapshot: Snapshot) -> Iterator[Cockpit]:
    widget = Cockpit()
    widget.sent: list[Any] = []
    widget.send = lambda content, buffers=None: widget.sent.append(content)  # type: ignore[method-assign]
    widget.follow(engine, busy_snapshot, details=True)
    yield widget
    widget._reader.shutdown()
    widget.close()


def test_a_display_carries_the_widget_and_the_card_as_html_and_text(cockpit: Cockpit) -> None:
    data, _metadata = cockpit._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == cockpit.model_id
    assert "GPUActor" in data["text/html"] and "<script" not in data["text/html"]
    assert "GPUActor" in data["text/plain"]


class Displays:
    """What a notebook keeps of what is displayed in it."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.live = self.last = 0

    @staticmethod
    def new_name() -> str:
        return "one-output"

    def show(self, data: dict[str, Any], metadata: dict[str, Any], name: str = "") -> None:
        self.outputs.append(data)
        self.live = len(self.outputs)

    def draw_one(self, name: str, data: dict[str, Any]) -> None:
        self.outputs[-1] = data

    def draw_last(self, data: dict[str, Any]) -> None:
        self.outputs[: self.live] = [data] * self.live
        self.last, self.live = self.live, 0

    def draw_last_again(self, data: dict[str, Any]) -> None:
        self.outputs[: self.last] = [data] * self.last


WIDGET = "application/vnd.jupyter.widget-view+json"


def test_where_the_page_has_places_an_output_names_no_widget(cockpit: Cockpit) -> None:
    cockpit._displays = displays = Displays()  # type: ignore[assignment]
    cockpit.in_places = True
    cockpit._ipython_display_()
    (output,) = displays.outputs
    assert WIDGET not in output
    assert (
        f'<div class="nbaccel-place {cockpit.live_place} nbaccel-details nbaccel-at-one-output">' in output["text/html"]
    )
    assert "GPUActor" in output["text/html"] and "as of 20" in output["text/plain"]


def test_the_picture_below_a_live_view_is_drawn_anew_when_something_has_changed(
    cockpit: Cockpit, busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_card, "PICTURE_S", 0.0)
    busy_snapshot.runtime.session = "20261128-ab12"
    cockpit._displays = displays = Displays()  # type: ignore[assignment]
    cockpit.in_places = True
    cockpit._ipython_display_()
    place = displays.outputs[0]["text/html"].partition(">")[0]
    later = msgspec.structs.replace(busy_snapshot, counts={"FINISHED": 987})
    cockpit._keep(later)
    assert "987 finished" not in displays.outputs[0]["text/html"], (
        "nothing was sent to the page: nothing it draws has changed"
    )
    cockpit._set_snapshot("{}")
    wait_until(lambda: "987 finished" in displays.outputs[0]["text/html"])
    assert displays.outputs[0]["text/html"].startswith(place), "the live view can stay where it is"
    assert "nbaccel-head-20261128-ab12" in place, "the Jupyter server knows whom to ask"


def test_at_the_end_every_output_is_the_last_card_also_where_nobody_looks(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    cockpit._displays = displays = Displays()  # type: ignore[assignment]
    for cockpit.in_places in (True, False):
        cockpit._ipython_display_()
    assert WIDGET in displays.outputs[1]
    busy_snapshot.counts = {"FINISHED": 43}
    engine.snapshot = lambda: busy_snapshot  # type: ignore[attr-defined]
    cockpit._receive(cockpit, {"say": "hidden", "view": "scrolled away"}, [])
    cockpit.engine_ends(engine)  # type: ignore[arg-type]
    for output in displays.outputs:
        assert set(output) == {"text/plain", "text/html"}
        assert "Shut down at" in output["text/html"] and "43 finished" in output["text/html"]
        assert "GPUActor" not in output["text/html"], "nobody holds a device any more"
    assert '"ended":true' in cockpit.snapshot
    cockpit.kernel_ends()
    assert displays.live == 0


def test_pictures_that_a_page_sends_at_the_end_stand_in_what_was_drawn_last(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    cockpit._displays = displays = Displays()  # type: ignore[assignment]
    cockpit._ipython_display_()
    engine.book.ended(PastRun("train", "[3]", 1, "FINISHED", (("n/GPU/0", 1.0),), "ab", 1.0, 1.0, 3.0))
    views.keep(busy_snapshot)
    cockpit._recall("view", {"ask": "runs"})
    engine.snapshot = lambda: busy_snapshot  # type: ignore[attr-defined]
    cockpit.engine_ends(engine)  # type: ignore[arg-type]
    assert "<svg" not in displays.outputs[0]["text/html"] and "train" in displays.outputs[0]["text/html"]
    for words in ("first", "second"):
        pictures = [{"svg": "<svg viewBox='0 0 9 9'><script/><path d='M1 1'/></svg>", "words": words}]
        cockpit._receive(cockpit, {"say": "pictures", "pictures": pictures}, [])
    html = displays.outputs[0]["text/html"]
    assert ">first<" in html and ">second<" not in html and '<path d="M1 1">' in html and "<script" not in html


def test_a_cluster_whose_head_died_is_drawn_as_it_was_known(cockpit: Cockpit, engine: Engine) -> None:
    cockpit._displays = displays = Displays()  # type: ignore[assignment]
    cockpit._ipython_display_()
    assert engine.callback is not None
    engine.callback(None)
    assert "Its head has gone; this was known at" in displays.outputs[0]["text/plain"]


def test_what_a_page_asks_to_end_is_queued_and_taken(cockpit: Cockpit, engine: Engine) -> None:
    cockpit._receive(cockpit, {"say": "cancel", "id": "t1"}, [])
    cockpit._receive(cockpit, {"say": "kill", "id": "a1"}, [])
    assert engine.told == [("cancel", "t1"), ("kill", "a1")]
    assert [message["say"] for message in cockpit.sent] == ["taken", "taken"]


def test_what_was_ended_is_named(cockpit: Cockpit, busy_snapshot: Snapshot) -> None:
    task, actor = busy_snapshot.tasks[0], ActorRow("ac" * 16, "Model", "ALIVE")
    busy_snapshot.actors = [actor]
    views.keep(busy_snapshot)
    cockpit._receive(cockpit, {"say": "cancel", "id": task.task_id}, [])
    cockpit._receive(cockpit, {"say": "kill", "id": actor.actor_id}, [])
    said = [message["words"] for message in cockpit.sent]
    short = wording.short_id(task.task_id)
    assert said == [f"Cancelled {task.name} #{short}.", f"Killed {actor.class_name} #{actor.actor_id[:8]}."]


def test_all_of_a_function_are_cancelled_but_for_those_of_other_notebooks(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    busy_snapshot.jobs, busy_snapshot.runtime.job = [JobRow(2, "b.ipynb")], 1
    views.keep(busy_snapshot)
    facts = [("a", "RUNNING", 1), ("b", "PENDING_NODE_ASSIGNMENT", 1), ("c", "FINISHED", 1), ("d", "RUNNING", 2)]
    rows = [TaskRow(id, "train", "task", state, job) for id, state, job in facts]
    engine.tasks = lambda wanted: FoundTasks([*rows, TaskRow("e", "other", "task", "RUNNING", 1)], 5)  # type: ignore[method-assign]
    asked = {"say": "cancel-many", "id": "group/train", "function": "train"}
    cockpit._receive(cockpit, {**asked, "filter": {"state": "", "cell": "", "text": ""}}, [])
    wait_until(lambda: cockpit.sent, "the answer")  # type: ignore[attr-defined]
    assert engine.told == [("cancel", "a"), ("cancel", "b")]
    words = "Cancelled 2 tasks. 1 task of other notebooks left alone."
    assert cockpit.sent == [{"say": "taken", "id": "group/train", "words": words}]  # type: ignore[attr-defined]


def test_what_cannot_be_ended_is_said(cockpit: Cockpit) -> None:
    cockpit._receive(cockpit, {"say": "cancel"}, [])
    assert cockpit.sent == [{"say": "taken", "id": "", "words": "the text is no id"}]
    engines.adopt(None)
    cockpit._receive(cockpit, {"say": "cancel", "id": "t1"}, [])
    assert "shut down" in cockpit.sent[-1]["words"]


def test_a_log_is_read_on_a_thread_of_its_own_and_has_the_users_frames_first(cockpit: Cockpit, engine: Engine) -> None:
    cockpit._receive(
        cockpit, {"say": "history", "id": "v", "ask": "task_log", "key": "k", "task_id": "ab", "out_since": 5}, []
    )
    cockpit._reader.shutdown()
    assert engine.asked == [ReadTaskLog("ab", 5)]
    assert engine.told[0][1].startswith("nbaccel-cockpit")
    (sent,) = cockpit.sent
    answer = json.loads(sent["answer"])
    assert (sent["ask"], sent["key"], answer["out"]) == ("task_log", "k", {"text": "one", "to": 8, "left_out": 0})
    assert "site-packages" in answer["failure"]
    assert answer["yours"].endswith("ValueError: bad")
    assert "site-packages" not in answer["yours"]


def test_a_log_that_cannot_be_read_says_why_and_is_not_asked_for_again(cockpit: Cockpit) -> None:
    cockpit._receive(cockpit, {"say": "history", "id": "v", "ask": "task_log", "key": "k", "task_id": "gone"}, [])
    cockpit._reader.shutdown()
    answer = json.loads(cockpit.sent[0]["answer"])
    assert (answer["over"], answer["note"]) == (True, "The head does not know task gone.")


@pytest.mark.parametrize(
    ("cell", "asked"),
    [
        ("", TaskFilter(["failed"], text="bad", limit=100)),
        ("[3]", TaskFilter(["failed"], "[3]", 1, "bad", 100)),
        ("b.ipynb [3]", TaskFilter(["failed"], "[3]", 2, "bad", 100)),
    ],
)
def test_a_filter_of_a_view_is_applied_to_all_tasks(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot, cell: str, asked: TaskFilter
) -> None:
    busy_snapshot.jobs, busy_snapshot.runtime.job = [JobRow(1, "a.ipynb"), JobRow(2, "b.ipynb")], 1
    views.keep(busy_snapshot)
    wanted = {"state": "failed", "cell": cell, "text": "bad"}
    cockpit._receive(cockpit, {"say": "find", "id": "v1", "key": "k", "filter": wanted, "limit": 100}, [])
    assert engine.found.wait(90)
    cockpit._reader.shutdown()
    assert engine.wanted == asked
    row = {
        "task_id": "ab" * 24,
        "name": "early",
        "kind": "task",
        "state": "FAILED",
        "job": 1,
        "cell": "[3]",
        "why": "bad batch",
    }
    found = {"key": "k", "tasks": [row], "total": 11, "functions": []}
    assert cockpit.sent == [{"say": "found", "id": "v1", "found": found}]


def test_the_tasks_of_an_open_function_are_asked_for_page_by_page(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    views.keep(busy_snapshot)
    wanted = {"state": "", "cell": "", "text": ""}
    page = {"function": "shard", "skip": 200, "by_state": True, "limit": 200}
    cockpit._receive(cockpit, {"say": "find", "id": "v1", "key": "k", "filter": wanted, **page}, [])
    assert engine.found.wait(90)
    cockpit._reader.shutdown()
    assert engine.wanted == TaskFilter(limit=200, function="shard", skip=200, by_state=True)


def recalled(cockpit: Any, **asked: Any) -> dict[str, Any]:
    """What the page is answered when it asks about the past."""
    cockpit._receive(cockpit, {"say": "history", "id": "v1", "key": "k", **asked}, [])
    cockpit._reader.submit(lambda: None).result(90)
    (said,) = [said for said in cockpit.sent if said["say"] == "history"]
    assert said["id"] == "v1" and said["key"] == "k"
    answer: dict[str, Any] = msgspec.json.decode(said["answer"])
    return answer


def test_the_module_that_draws_the_past_comes_when_a_page_asks_for_it(cockpit: Cockpit) -> None:
    assert cockpit.past_code == ""
    cockpit._receive(cockpit, {"say": "past"}, [])
    assert "viewOfPast" in cockpit.past_code


def test_a_view_is_answered_what_ran_with_hues_and_without_its_own_job(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    busy_snapshot.runtime.job = 7
    views.keep(busy_snapshot)
    gpu = (("5180ff6a4af1/GPU/0", 1.0),)
    engine.book.ended(PastRun("Model.predict", "[3] line 1", 7, "FINISHED", gpu, "ab", 0.0, 1.0, 10.0))
    engine.book.ended(PastRun("train", "[3] line 1", 8, "FINISHED", gpu, "ab", 0.0, 10.0, 12.0))
    answer = recalled(cockpit, ask="runs", start=0.5, since=0)
    assert engine.asked == [ReadRuns(0.5)]
    assert [(kind["function"], kind["job"]) for kind in answer["kinds"]] == [("Model.predict", 0), ("train", 8)]
    hue = answer["hues"].get("Model.predict", palette.usual_hue("Model.predict"))
    assert hue == palette.HUES.of("Model"), "a method has the hue of its class"


def test_a_view_is_answered_who_used_the_devices(cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot) -> None:
    views.keep(busy_snapshot)
    gpu = (("5180ff6a4af1/GPU/0", 1.0),)
    engine.book.ended(PastRun("train", "[3] line 1", 7, "FINISHED", gpu, "ab", 0.0, 1.0, 10.0))
    answer = recalled(cockpit, ask="accounting", since=0)
    assert engine.asked == [ReadAccounting()]
    assert [(row["name"], row["device_seconds"]) for row in answer["functions"]] == [("train", 9.0)]


@pytest.mark.parametrize(
    "nonsense",
    [None, "x", {}, {"say": "explode"}, {"say": "visible"}, {"say": "find"}, {"say": "history"},
     {"say": "history", "ask": "stop"}, {"say": "history", "ask": "runs", "start": "x"}],
)  # fmt: skip
def test_nonsense_from_a_page_changes_nothing(cockpit: Cockpit, engine: Engine, nonsense: Any) -> None:
    cockpit._receive(cockpit, nonsense, [])
    assert engine.told == []


def test_the_page_chooses_the_subshell_of_its_messages() -> None:
    """ipykernel 7.4 would send them to the main shell, which the cell keeps busy."""
    from ipykernel.comm.comm import BaseComm

    if not hasattr(BaseComm, "_reply_subshell_for"):
        pytest.skip("this ipykernel leaves the choice to the page")
    from nbaccel.notebook.widget import _keep_subshell

    comm = BaseComm.__new__(BaseComm)
    _keep_subshell(comm)
    assert comm._reply_subshell_for({}, "of the page") == "of the page"


def published(snapshot: Snapshot, **changed: Any) -> Snapshot:
    record = {"id": "run-1", "name": "mnist", "path": "/runs/mnist", "state": "running", **changed}
    snapshot.published = [PublishedRow("run", "run-1", record, 0.0)]
    return snapshot


def test_the_module_of_runs_is_sent_with_the_first_run_and_each_change_after_it(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    assert (cockpit.published, cockpit.runs_code) == ("[]", "")
    cockpit._receive(cockpit, {"say": "visible", "view": "v", "rows": 0}, [])
    assert engine.callback is not None
    engine.callback(published(busy_snapshot))
    assert '"name":"mnist"' in cockpit.published and "viewOfRuns" in cockpit.runs_code
    engine.callback(published(busy_snapshot, state="finished"))
    assert '"state":"finished"' in cockpit.published


def test_a_press_of_a_runs_stop_is_one_request_unless_the_button_is_of_another_moment(
    cockpit: Cockpit, engine: Engine, busy_snapshot: Snapshot
) -> None:
    views.keep(published(busy_snapshot))
    for order in ("run-1/0", "run-1/1", "gone/0"):
        cockpit._receive(cockpit, {"say": "stop", "id": order}, [])
    assert engine.told == [("stop 0", "run-1")]
    said = [(message["say"], message["id"], message["words"]) for message in cockpit.sent]  # type: ignore[attr-defined]
    assert said == [
        ("taken", "run-1/0", "Asked mnist to stop."),
        ("taken", "run-1/1", f"mnist {LATE_PRESS}"),
        ("taken", "gone/0", "No record gone is published here."),
    ]


def test_a_failed_task_is_retried_on_the_readers_thread_and_the_page_is_told_its_new_name(
    cockpit: Any, engine: Engine, busy_snapshot: Snapshot
) -> None:
    views.keep(busy_snapshot)
    for id in (busy_snapshot.tasks[0].task_id, "gone"):
        cockpit._receive(cockpit, {"say": "retry", "id": id}, [])
    wait_until(lambda: len(cockpit.sent) == 2, "both answers")
    done, refused = cockpit.sent
    name = busy_snapshot.tasks[0].name
    assert done["words"].startswith(f"Retried {name} #") and done["words"].endswith(
        'as #abab-7: nbaccel.ref_of("abab-7").'
    )
    assert refused == {"say": "taken", "id": "gone", "words": "Task gone cannot be run again."}
    assert engine.told == [("retry", "nbaccel-cockpit_0")]
