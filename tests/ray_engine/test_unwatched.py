"""When nobody watches a Ray cluster any more, its processes report nothing, and whoever looks again sees what is."""

from __future__ import annotations

import asyncio

import pytest

from tests.ray_engine.ids import Id

pytest.importorskip("ray")

from nbaccel.ray_engine import rays

rays.import_shipped()
reporting = __import__("nbaccel_in_ray.reporting").reporting
collecting = __import__("nbaccel_in_ray.service_actors").service_actors
linking = __import__("nbaccel_in_ray.collector_link").collector_link
short_notes = __import__("nbaccel_in_ray.collector_link").collector_link

WHERE = {"worker_id": "w", "node_id": "n", "pid": 7, "actor_id": None}


class _Sign:
    """Stands for the key in Ray's store."""

    def __init__(self):
        self.said = []

    def put(self):
        self.said.append("put")

    def remove(self):
        self.said.append("removed")


class _Clock:
    """Stands still until a test moves it."""

    now = 1_000.0

    def time(self):
        return 1_000_000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def sign():
    return _Sign()


@pytest.fixture
def collector(sign, monkeypatch):
    monkeypatch.setattr(collecting, "WATCH_LASTS_S", 0.0)  # each question's time is over at once
    return collecting.Collector(b"", sign)


async def _nobody_watches(collector):
    await collector._until_unwatched


def test_the_sign_goes_when_nobody_has_asked_for_a_while_and_the_next_question_puts_it_back(collector, sign):
    async def run():
        await collector.since(0, 0)
        await collector.since(0, 0)
        assert sign.said == ["put"]
        await _nobody_watches(collector)
        assert sign.said == ["put", "removed"]
        await collector.since(0, 0)
        assert sign.said == ["put", "removed", "put"]

    asyncio.run(run())


def test_a_question_before_the_time_is_over_keeps_the_sign(collector, sign, monkeypatch):
    slept = []
    clock = _Clock()

    async def asked_meanwhile(seconds):
        slept.append(seconds)
        clock.now += seconds
        if len(slept) < 3:
            clock.now -= 10
            await collector.since(0, 0)
            clock.now += 10

    monkeypatch.setattr(collecting, "WATCH_LASTS_S", 30.0)
    monkeypatch.setattr(collecting, "time", clock)
    monkeypatch.setattr(collecting.asyncio, "sleep", asked_meanwhile)

    async def run():
        await collector.since(0, 0)
        await _nobody_watches(collector)

    asyncio.run(run())
    assert slept == [30.0, 20.0, 20.0]
    assert sign.said == ["put", "removed"]


def test_a_nested_task_of_whose_run_nothing_is_left_waits_for_ever_in_no_view(collector):
    waiting = {"task_id": "t", "name": "train", "kind": "task", "submitted_at": 1.0}
    late = {**waiting, "task_id": "late", "submitted_at": 2e18}

    async def run():
        await collector.report({}, [waiting, late])
        await collector.since(0, 0)
        await _nobody_watches(collector)
        seq, before, *_ = await collector.since(0, 0)
        await collector.report(
            WHERE, [], ([], b""), {("train", "task", "FINISHED"): 5, ("A.b", "actor call", "FAILED"): 1}
        )
        return before, await collector.since(seq, 0)

    before, (_seq, (changed,), ended, _briefs) = asyncio.run(run())
    assert not any("forgotten" in note for note in before)
    assert (changed["task_id"], changed["forgotten"]) == ("t", True)
    assert ended == {
        "train": {"FINISHED": 5, "FAILED": 0, "CANCELLED": 0},
        "A": {"FINISHED": 0, "FAILED": 1, "CANCELLED": 0},
    }


class _Link:
    """Stands for the way to a collector. `is_watched`: whether somebody does."""

    def __init__(self):
        self.is_watched, self.has_collector, self.sent = True, True, []

    def __bool__(self):
        return self.is_watched

    def look(self, is_new):
        return self.is_watched

    def look_anew(self):
        pass

    def let_go(self):
        raise AssertionError("sending failed")

    def send(self, where, batch, briefs, forgotten):
        self.sent.append((batch, list(short_notes.expanded(briefs, where)), forgotten))
        return "ref"


@pytest.fixture
def link():
    return _Link()


@pytest.fixture
def reporter(link, monkeypatch):
    monkeypatch.setattr(reporting, "time", _Clock())
    made = reporting.Reporter(link, lambda reporter: None)
    made._here = WHERE
    return made


def _begin(reporter, number, age=1.0):
    note = {
        "task_id": Id(number), "attempt": 0, "name": "train", "kind": "task",
        "started_at": reporting.time.time() - age, "choice": "",
    }  # fmt: skip
    reporter._running[note["task_id"]] = note
    return note


def test_what_a_process_sends_when_nobody_watches_does_not_depend_on_how_much_it_does(reporter, link):
    watched = _begin(reporter, 0)
    reporter._say()
    assert [note["task_id"] for note in link.sent[0][0]] == [Id(0).hex()]
    link.is_watched = False
    del link.sent[:]
    for number in range(1, reporting.MOST_KEPT + 500):
        reporter.ended(_begin(reporter, number))
        reporter._say()
    assert link.sent == []
    reporter.ended(watched)  # the collector holds it for running
    reporter._say()
    ((told,), briefs, forgotten) = link.sent.pop()
    assert (told["task_id"], told["ended_at"], briefs, forgotten) == (Id(0).hex(), _Clock().time(), [], {})
    reporter._say()
    assert link.sent == []


def test_who_looks_again_learns_of_the_newest_and_how_many_more_there_were(reporter, link):
    link.is_watched = False
    for number in range(reporting.MOST_KEPT + 300):
        error = ValueError("no") if number < 100 else None
        reporter.ended(_begin(reporter, number), error)
    running = _begin(reporter, 10_000)
    link.is_watched = True
    reporter._say()
    ((told,), briefs, forgotten) = link.sent.pop()
    assert told["task_id"] == running["task_id"].hex()
    assert len(briefs) + sum(forgotten.values()) == reporting.MOST_KEPT + 300
    assert forgotten == {("train", "task", "FAILED"): 100, ("train", "task", "FINISHED"): 200}
    assert briefs[-1]["task_id"] == Id(reporting.MOST_KEPT + 299).hex()


def test_a_task_that_the_collector_knows_of_is_not_counted_as_forgotten(reporter, link, monkeypatch):
    watched = _begin(reporter, 0)
    reporter._say()
    link.is_watched = False
    monkeypatch.setattr(reporter, "current", lambda: watched)
    reporter.progress(1.0, 2.0)
    reporter.ended(watched)
    for number in range(1, reporting.MOST_KEPT + 1):
        reporter.ended(_begin(reporter, number))
    assert reporter._forgotten == {}


def test_the_end_that_is_owed_is_said_when_its_process_ends(reporter, link, monkeypatch):
    monkeypatch.setattr(reporting, "value_of", lambda ref, timeout_s: None)
    watched = _begin(reporter, 0)
    reporter._say()
    link.is_watched = False
    del link.sent[:]
    reporter.ended(watched)
    reporter.ended(_begin(reporter, 1))
    reporter.flush()
    (((told,), briefs, _forgotten),) = link.sent
    assert (told["task_id"], briefs) == (Id(0).hex(), [])


def test_an_idle_process_with_news_looks_on_seldom_where_there_is_a_collector(reporter, link):
    waits = []
    reporter._wake = type("Wake", (), {"wait": waits.append, "set": lambda self: None, "clear": lambda self: None})()
    reporter._worked_at = reporting.time.monotonic() - reporting.UNSAID_S
    reporter.ended(_begin(reporter, 1))
    reporter._sleep()
    link.has_collector = False
    reporter._sleep()
    assert waits == [reporting.LOOK_IDLE_EVERY_S, None]


class _Ray:
    """Stands for Ray's store and its actors."""

    def __init__(self, key):
        self.keys, self.key = set(), key

    def _internal_kv_get(self, key, namespace):
        return b"1" if key in self.keys else None

    def get_runtime_context(self):
        return self

    def get_job_id(self):
        return "01"

    def get_actor(self, name, namespace):
        return f"{name} of {namespace}"


def test_a_collector_is_told_of_an_actor_once_however_many_calls_it_ran_before(monkeypatch):
    ray = _Ray(linking.watched_key("01"))
    monkeypatch.setattr(linking, "internal_kv", ray)
    monkeypatch.setattr(linking, "ray", ray)
    link, new = linking.CollectorLink(), []

    def look():
        link.look_anew()
        return link.look(lambda: new.append(1))

    assert (look(), link.has_collector) == (False, False)
    ray.keys.add(ray.key)
    assert (look(), link.has_collector) == (True, True)
    ray.keys.clear()
    assert (look(), link.has_collector, bool(link)) == (False, True, False)
    ray.keys.add(ray.key)
    assert look()
    assert new == [1]


@pytest.mark.parametrize("calls", [3, reporting.MOST_KEPT + 300], ids=["kept", "forgotten"])
def test_an_actor_whose_making_and_calls_ended_before_anybody_looked_is_made_once(reporter, link, calls):
    link.is_watched = False
    creation = reporter.creation = _begin(reporter, 0)
    reporter._lives_on = True
    for number in range(calls + 1):
        reporter.ended(creation if number == 0 else _begin(reporter, number))
    reporter._ended_at -= reporting.QUIET_S + 1
    link.is_watched = True
    link.look = lambda is_new: (is_new(), True)[1]
    reporter._say()
    ((told, briefs, forgotten),) = link.sent
    ids = [note["task_id"] for note in [*told, *briefs]]
    assert ids.count(Id(0).hex()) == 1
    assert len(ids) + sum(forgotten.values()) == calls + 1
