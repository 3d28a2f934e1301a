"""What is said without being asked: a request that can never be met at once, one that waits after a while."""

from __future__ import annotations

import threading
import weakref

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports import notices
from nbaccel.ray_engine.reports.notices import Notices
from nbaccel.ray_engine.submission.submissions import CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import sinks
from nbaccel.views.snapshot import ActorRow, DeviceRow, Holder, NodeRow, Runtime, Snapshot

NODE = "aa" * 28


class Ref:
    """Whatever a weak reference can be made of."""


class Cluster:
    """One node with two GPUs; stands for the engine, for what Ray is asked, and for the clock."""

    def __init__(self, *, refuses=False):
        self.submissions = Submissions()
        self.now = 1_000.0
        self.gpus = 2
        self.held_by = {}  # device -> the name of its holder
        self.actor_ids = {}
        self.ended = set()
        self.begun = set()
        self.queue = {}
        self.scales = False
        self.busy_cpus = 0.0
        self.actors = []
        self.asked_to_report = 0
        self.reports = True  # the actor that gathers them answers
        self.notices = Notices(self.submissions, self, self, self, refuses=refuses, clock=lambda: self.now)

    def submit(self, name, gpus, cell="a", kind=TaskKind.TASK, demand=None):
        number = len(self.submissions.all()) + 1
        ref, task_id = Ref(), bytes([number]) * 24
        about = CallFacts(name, kind, demand=demand or {"GPU": gpus})
        self.submissions.note(
            Submission(task_id, about, f"[{ord(cell)}]", self.now, None, weakref.ref(ref), cell.encode())
        )
        return ref, task_id

    def take(self, *, metrics=False):
        devices = [DeviceRow(NODE, "GPU", index, str(index), "nvidia", "NVIDIA GPU", "logical") for index in
                   range(self.gpus)]  # fmt: skip
        for device in devices:
            holder = self.held_by.get(device.index)
            if holder:
                device.free = 0.0
                device.holders = [Holder(holder, 1.0, pid=7, actor_id=self.actor_ids.get(holder))]
        free = {"GPU": float(self.gpus - len(self.held_by)), "CPU": 4.0 - self.busy_cpus}
        node = NodeRow(NODE, "here", True, True, {"GPU": float(self.gpus), "CPU": 4.0}, free)
        return Snapshot(Runtime("ray", "0", "3"), nodes=[node], devices=devices, actors=self.actors)

    def nodes_only(self):
        return self.take()

    def autoscaler(self):
        return {"scales": self.scales, "groups": None}

    def is_watched(self):
        return self.asked_to_report > 0

    def glance(self):
        self.asked_to_report += 1
        return self.reports

    def has_begun(self, task_id):
        return task_id in self.begun

    def over(self, work, *, or_let_go):
        return {each.task_id for each in work if each.task_id in self.ended or (or_let_go and each.inner() is None)}

    def in_line(self):
        return self.queue

    def look(self, seconds=0.0):
        self.now += seconds
        self.notices.look()


class Front:
    """Collects what is said: (cell, kind, text)."""

    def __init__(self):
        self.said = []
        self.lines = {}

    def notice(self, message):
        self.said.append((message.parent.decode(), message.kind, message.message))
        self.lines[(message.parent, message.task_id)] = message.message

    def shown(self):
        return [text for text in self.lines.values() if text]


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def front():
    before, front = sinks.installed, Front()
    sinks.install(front)
    yield front
    sinks.install(before)


ASKS_ONE = (("GPU", 1.0),)


def test_what_can_never_be_met_is_told_at_once_and_once_for_each_cell_and_demand(cluster, front):
    kept = [cluster.submit("train", 3.0), cluster.submit("train", 3.0), cluster.submit("train", 3.0, cell="b")]
    cluster.look()
    cluster.look(1)
    assert [(cell, kind) for cell, kind, _ in front.said] == [("a", "infeasible"), ("b", "infeasible")]
    assert front.said[0][2] == (
        "train (cell [97]) asks for 3 GPUs, but this cluster has 2 GPUs, not 3. It waits in case a node joins. "
        "Ask for less, give a fallback such as fallback='cpu', or cancel it."
    )
    assert kept and not cluster.asked_to_report


def test_its_line_goes_when_a_node_has_joined_that_can_meet_it(cluster, front):
    kept = cluster.submit("train", 3.0)
    cluster.look()
    cluster.gpus = 4
    cluster.look(6)
    assert front.shown() == [] and kept


def test_its_line_stays_when_nobody_holds_the_ref(cluster, front):
    cluster.submit("train", 3.0)
    cluster.look()
    cluster.look(1)
    assert len(front.shown()) == 1


def test_what_an_autoscaler_may_add_waits_and_is_not_said_to_be_impossible(cluster, front):
    cluster.scales = True
    kept = cluster.submit("train", 3.0)
    cluster.queue = {(("GPU", 3.0),): 1}
    cluster.look()
    assert front.said == []
    cluster.look(6)
    cluster.look(3)
    ((_cell, kind, text),) = front.said
    assert kind == "waiting" and "an autoscaler, which may add such a node" in text and kept


def test_nothing_is_said_where_an_error_was_asked_for(cluster, front):
    cluster = Cluster(refuses=True)
    kept = cluster.submit("train", 3.0)
    cluster.look()
    assert front.said == [] and kept


def test_what_waits_for_long_has_a_line_that_changes_with_the_reason_and_goes_when_it_starts(cluster, front):
    cluster.held_by = {0: "first", 1: "second"}
    _ref, task_id = cluster.submit("train", 2.0)
    cluster.queue = {(("GPU", 2.0),): 1}
    cluster.look(4)
    assert not cluster.asked_to_report
    cluster.look(2)
    assert cluster.asked_to_report and front.said == []
    cluster.look(3)
    assert front.shown()[0].startswith("train (cell [97]) waits for 2 GPUs. Both GPUs are busy: first on GPU 0")
    del cluster.held_by[0]
    cluster.look(1)
    assert "1 of 2 GPUs is free" in front.shown()[0] and "first" not in front.shown()[0]
    cluster.look(1)
    assert len(front.said) == 2
    cluster.begun.add(task_id)
    cluster.look(1)
    assert front.shown() == []


def test_what_can_never_be_met_is_told_while_the_reports_are_waited_for(cluster, front):
    cluster.held_by, cluster.reports = {0: "hog", 1: "hog"}, False
    kept = [cluster.submit("train", 1.0)]
    cluster.queue = {ASKS_ONE: 1}
    for _ in range(12):
        cluster.look(1)
    kept.append(cluster.submit("train", 3.0))
    cluster.look(1)
    assert [kind for _cell, kind, _text in front.said] == ["infeasible"]


def test_of_many_that_ask_the_same_the_first_of_the_cell_is_named_and_the_others_counted(cluster, front):
    cluster.held_by = {0: "hog", 1: "hog"}
    kept = [cluster.submit("train", 1.0) for _ in range(5)]
    cluster.queue = {ASKS_ONE: 3}
    cluster.look(6)
    cluster.look(3)
    assert len(front.said) == 1
    assert front.said[0][2].endswith("2 more that ask the same wait too.") and kept


def test_a_long_task_that_runs_makes_nobody_report(cluster, front):
    kept = cluster.submit("train", 1.0)
    for _ in range(20):
        cluster.look(1)
    assert front.said == [] and not cluster.asked_to_report and kept


def test_what_is_free_by_now_is_not_said_to_wait(cluster, front):
    kept = cluster.submit("train", 1.0)
    cluster.queue = {ASKS_ONE: 1}
    cluster.look(6)
    cluster.look(3)
    assert front.said == [] and kept


def test_devices_that_actors_hold_for_life_are_told_with_what_ends_that(cluster, front):
    cluster.held_by, cluster.actor_ids = {0: "Model", 1: "Model"}, {"Model": "ab" * 16}
    kept = cluster.submit("train", 1.0)
    cluster.queue = {ASKS_ONE: 1}
    cluster.look(6)
    cluster.look(3)
    ((_cell, kind, text),) = front.said
    assert kind == "kept" and kept
    assert "until its last handle is dropped" in text
    assert "all of it is held by work that does not give it back by itself: actor Model on GPU 0" in text


def test_cpus_that_actors_hold_for_life_are_told_so_unless_others_hold_some(cluster, front):
    cluster.busy_cpus = 4.0
    cluster.actors = [ActorRow("ab" * 16, "Model", "ALIVE", demand={"CPU": 3.0}, cell="[2]")]
    kept = cluster.submit("train", 0, demand={"CPU": 2.0})
    cluster.queue = {(("CPU", 2.0),): 1}
    cluster.look(6)
    cluster.look(3)
    assert front.said[-1][1] == "waiting" and "actor Model with 3 CPUs (cell [2]" in front.said[-1][2]
    cluster.busy_cpus = 3.0
    cluster.look(1)
    assert front.said[-1][1] == "kept" and kept


def test_lines_go_when_their_tasks_have_ended_and_when_all_ends(cluster, front):
    cluster.held_by = {0: "hog", 1: "hog"}
    _, first = cluster.submit("train", 1.0), cluster.submit("train", 3.0, cell="b")
    cluster.look(0)
    assert len(front.shown()) == 1
    cluster.ended.add(first[1])
    cluster.look(1)
    assert front.shown() == []


def test_a_look_that_goes_on_while_all_ends_leaves_no_line(cluster, front, monkeypatch):
    monkeypatch.setattr(notices, "LOOK_EVERY_S", 0.01)
    asked, go_on = threading.Event(), threading.Event()

    def in_line():
        asked.set()
        go_on.wait(90)
        return cluster.queue

    cluster.held_by = {0: "first", 1: "second"}
    kept = cluster.submit("train", 2.0)
    cluster.queue = {(("GPU", 2.0),): 1}
    cluster.look(6)
    cluster.look(3)
    assert len(front.shown()) == 1 and kept
    cluster.in_line = in_line
    cluster.notices.begin()
    assert asked.wait(90)
    cluster.notices.stop()
    assert front.shown() == []
    go_on.set()
    cluster.notices._thread.join(90)
    assert front.shown() == []


def test_calls_of_actors_and_what_asks_for_nothing_are_left_alone(cluster, front):
    kept = [cluster.submit("call", 3.0, kind=TaskKind.ACTOR_CALL), cluster.submit("light", 0)]
    cluster.look(60)
    assert front.said == [] and kept
