"""What a worker notes of a call that asks for no device, in as few steps as possible: nothing of it is lost."""

from __future__ import annotations

import threading

import pytest

from tests.ray_engine.ids import Id

pytest.importorskip("ray")

from nbaccel.ray_engine import rays
from tests.rig import wait_until

rays.import_shipped()
reporting = __import__("nbaccel_in_ray.reporting").reporting
short_notes = __import__("nbaccel_in_ray.collector_link").collector_link
printing = __import__("nbaccel_in_ray.printing").printing
wrapping = __import__("nbaccel_in_ray.wrapping").wrapping

WHERE = {"worker_id": "w", "node_id": "n", "pid": 7, "actor_id": "a"}
STEP = wrapping.CodeDescription("Model.step", "actor call")
NOW = 1_000_000.0


class _Core:
    """Stands for Ray, in a process that runs the task `current`."""

    def __init__(self):
        self.current = Id(1)

    def get_current_task_id(self):
        return self.current

    def get_current_task_attempt_number(self):
        return 2


class _Clock:
    """Stands still until a test moves it."""

    now = NOW

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


class _Link:
    """Stands for the way to a collector. `is_watched`: whether somebody does; `talk` is what a look does meanwhile."""

    has_collector = True

    def __init__(self):
        self.is_watched, self.sent, self.talk = True, [], lambda: None

    def __bool__(self):
        return self.is_watched

    def look(self, is_new):
        self.talk()
        return self.is_watched

    def let_go(self):
        raise AssertionError("sending failed")

    def send(self, where, batch, briefs, forgotten):
        self.sent.append((batch, list(short_notes.expanded(briefs, where)), forgotten))
        return "ref"


@pytest.fixture
def clock(monkeypatch):
    clock = _Clock()
    monkeypatch.setattr(reporting, "time", clock)
    return clock


@pytest.fixture
def core(monkeypatch):
    core = _Core()
    monkeypatch.setattr(reporting, "ray", core)
    monkeypatch.setattr(reporting.internals, "core", lambda: core)
    return core


@pytest.fixture
def link():
    return _Link()


@pytest.fixture
def reporter(link, clock, core, monkeypatch):
    made = reporting.Reporter(link, lambda reporter: None)
    made._here = WHERE
    monkeypatch.setattr(wrapping, "reporter", made)
    return made


def test_a_short_call_is_told_as_any_short_task_is(reporter, link, clock):
    call = reporter.call_began(STEP)
    clock.now += 0.01
    reporter.call_ended(call)
    clock.now += reporting.BRIEFS_EVERY_S
    reporter._say()
    ((batch, briefs, forgotten),) = link.sent
    told = {
        "task_id": Id(1).hex(), "attempt": 2, "name": "Model.step", "kind": "actor call", "choice": "",
        "started_at": NOW, "ended_at": NOW + 0.01, **WHERE,
    }  # fmt: skip
    assert (batch, briefs, forgotten) == ([], [told], {})


def test_a_long_call_is_told_while_it_runs_and_once_more_when_it_ends(reporter, link, clock):
    reporter._sent_at = NOW
    call = reporter.call_began(STEP)
    reporter._say()
    assert link.sent == []
    clock.now += 2 * reporting.SHORT_S
    reporter._say()
    reporter._say()
    (((begun,), briefs, _),) = link.sent
    assert (begun["name"], begun["attempt"], begun["started_at"], briefs) == ("Model.step", 2, NOW, [])
    reporter.call_ended(call)
    clock.now += reporting.BRIEFS_EVERY_S
    reporter._say()
    _, (batch, (ended,), _) = link.sent
    assert (batch, ended["task_id"], ended["ended_at"]) == ([], Id(1).hex(), NOW + 2 * reporting.SHORT_S)


def test_a_method_that_another_method_calls_is_a_part_of_that_call(reporter):
    inner = wrapping.wrap(lambda: len(reporter._running), STEP)
    assert wrapping.wrap(lambda: inner(), STEP)() == 1
    assert len(reporter._news) == 1 and not reporter._running


def test_a_call_that_raises_is_told_with_its_error(reporter, link):
    def step():
        raise ValueError("no")

    with pytest.raises(ValueError) as caught:
        wrapping.wrap(step, STEP)()
    assert caught.value.__dict__[wrapping._WHERE]["task_id"] == Id(1).hex()
    reporter._say()
    (((told,), briefs, _),) = link.sent
    assert (told["end"], told["error"], told["attempt"], briefs) == ("FAILED", "ValueError: no", 2, [])


def test_the_note_of_a_running_call_can_be_had_and_says_its_progress(reporter, link):
    call = reporter.call_began(STEP)
    assert reporter.current()["name"] == "Model.step" and reporter.current() is reporter.speaking()
    reporter.progress(1.0, 4.0)
    reporter.progress(2.0, 4.0)
    reporter._say()
    reporter.call_ended(call)
    reporter._say()
    (((begun,), _, _), ((ended,), _, _)) = link.sent
    assert (begun["progress"], ended["progress"], "ended_at" in begun, "ended_at" in ended) == (
        (2.0, 4.0), (2.0, 4.0), False, True,
    )  # fmt: skip


def test_progress_that_nobody_reads_takes_no_room_of_tasks_that_have_ended(reporter, link, core):
    link.is_watched = False
    reporter.call_ended(reporter.call_began(STEP))
    core.current = Id(2)
    call = reporter.call_began(STEP)
    for done in range(2 * reporting.MOST_KEPT):
        reporter.progress(float(done), 1e6)
    reporter.call_ended(call)
    assert (len(reporter._news), len(reporter._progressed), reporter._forgotten) == (2, 0, {})


def test_calls_for_which_there_is_no_room_are_counted_and_the_newest_are_told(reporter, link, core):
    link.is_watched = False
    count = reporting.MOST_KEPT + reporting.FORGOTTEN_AT_ONCE + 70
    for number in range(count):
        core.current = Id(number)
        reporter.call_ended(reporter.call_began(STEP))
    link.is_watched = True
    reporter._say()
    ((_, briefs, forgotten),) = link.sent
    assert len(briefs) == reporting.MOST_KEPT and briefs[-1]["task_id"] == Id(count - 1).hex()
    assert forgotten == {("Model.step", "actor call", "FINISHED"): count - reporting.MOST_KEPT}


def test_a_call_does_not_end_while_the_thread_talks_to_ray(reporter, link, monkeypatch):
    monkeypatch.setattr(reporting, "LONGEST_SAYING_S", 90.0)  # this thread may stand still for half a second
    reporter._lives_on = True
    call, happened = reporter.call_began(STEP), []

    def end():
        reporter.call_ended(call)
        happened.append("ended")

    ending = threading.Thread(target=end)

    def talk():
        ending.start()
        wait_until(lambda: not reporter._running)
        happened.append("talked")

    link.talk = talk
    reporter._say()
    ending.join(90)
    assert happened == ["talked", "ended"]


def test_the_last_line_of_a_call_is_shown_when_the_call_ends(reporter, core, monkeypatch):
    class Stream:
        text = ""

        def write(self, text):
            self.text += text

    core.get_current_task_name = lambda: "step"
    stream = Stream()
    monkeypatch.setattr(printing, "streams", [printing.ReportedOutput(stream, reporter, core)])
    call = reporter.call_began(STEP)
    printing.streams[0].write("half a line")
    assert "half" not in stream.text
    reporter.call_ended(call)
    assert stream.text.endswith("half a line\n") and not reporter.lines_begun


def test_the_thread_sleeps_through_no_end_of_a_call(reporter):
    """It finds nothing that runs and no news while the call ends, and is about to sleep."""
    woken = []
    reporter._wake = type("Wake", (), {"set": lambda self: woken.append(len(reporter._news))})()
    call = reporter.call_began(STEP)

    class Running(dict):
        """The thread looks as soon as the call is none of those that run."""

        def pop(self, *key):
            super().pop(*key)
            reporter._idle = not reporter._news

    reporter._running = Running(reporter._running)
    del woken[:]
    reporter.call_ended(call)
    assert woken == [1]
