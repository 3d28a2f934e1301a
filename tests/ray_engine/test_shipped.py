"""What runs inside Ray's workers: what it may import, and what it does there."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys

import pytest

pytest.importorskip("ray")

import nbaccel
from nbaccel.ray_engine import rays

FILES = sorted(rays.PACKAGE.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_the_standard_library_and_ray_only(path):
    allowed = {*sys.stdlib_module_names, "ray", "nbaccel_in_ray"}
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in names} <= allowed


def test_it_has_the_version_of_the_package():
    assert nbaccel.__version__ == rays.import_shipped().VERSION


def test_a_node_with_another_version_says_both(monkeypatch):
    shipped = rays.import_shipped()
    monkeypatch.setattr(nbaccel, "__version__", "0.0.7")
    with pytest.raises(RuntimeError, match=rf"nbaccel 0\.0\.7 and the driver has {shipped.VERSION}"):
        shipped._found()


def _plain():
    return 1


def _generator():
    yield 1


async def _coroutine():
    return 1


async def _async_generator():
    yield 1


@pytest.fixture
def wrapping():
    rays.import_shipped()
    return __import__("nbaccel_in_ray.wrapping").wrapping


@pytest.mark.parametrize("code", [_plain, _generator, _coroutine, _async_generator])
def test_what_is_wrapped_keeps_its_kind_and_name(wrapping, code):
    wrapped = wrapping.wrap(code, wrapping.CodeDescription(code.__name__))
    kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    assert [kind(wrapped) for kind in kinds] == [kind(code) for kind in kinds]
    assert wrapped.__name__ == code.__name__
    assert inspect.signature(wrapped) == inspect.signature(code)


def test_a_wrapped_class_is_the_class_to_all_who_look(wrapping):
    class Model:
        """Docs."""

        def __init__(self, size):
            self.size = size

        def train(self, steps=1):
            return steps

    wrapped = wrapping.wrap_class(Model, (), "", {"train": {"__ray_num_returns__": 2}})
    assert (wrapped.__name__, wrapped.__doc__, wrapped.__qualname__) == ("Model", "Docs.", Model.__qualname__)
    assert issubclass(wrapped, Model)
    assert inspect.unwrap(wrapped.train).__ray_num_returns__ == 2
    assert list(inspect.signature(wrapped).parameters) == ["size"]


def _note(task_id, **more):
    return {"task_id": task_id, "attempt": 0, "name": "train", "kind": "task", **more}


class _Sign:
    """Stands for the key in Ray's store."""

    def put(self):
        pass

    def remove(self):
        pass


@pytest.fixture
def collector():
    rays.import_shipped()
    return __import__("nbaccel_in_ray.service_actors").service_actors.Collector(b"", _Sign())


def test_the_collector_joins_what_is_said_of_a_task(collector):
    where = {"worker_id": "w", "node_id": "n", "pid": 7, "actor_id": None}

    async def run():
        await collector.report({}, [_note("t", submitted_at=1.0, parent="p")])
        await collector.report(where, [_note("t", started_at=2.0)])
        await collector.report(where, [_note("t", started_at=2.0, ended_at=3.0)])
        return await collector.since(0, 0)

    seq, (note,), ended, _ = asyncio.run(run())
    assert (seq, note["parent"], note["pid"], note["ended_at"]) == (3, "p", 7, 3.0)
    assert ended == {"train": {"FINISHED": 1, "FAILED": 0, "CANCELLED": 0}}


def test_a_later_attempt_has_not_ended(collector):
    async def run():
        await collector.report({}, [_note("t", started_at=1.0, ended_at=2.0, error="ValueError: no", end="FAILED")])
        await collector.report({}, [{**_note("t", started_at=3.0), "attempt": 1}])
        return await collector.since(0, 0)

    _, (note,), ended, _ = asyncio.run(run())
    assert "ended_at" not in note and "error" not in note
    assert ended == {"train": {"FINISHED": 0, "FAILED": 0, "CANCELLED": 0}}  # a task ends once


@pytest.mark.parametrize("end", [{}, {"ended_at": 4.0}], ids=["runs", "ended"])
def test_the_end_of_an_earlier_attempt_that_is_told_late_is_not_the_tasks(collector, end):
    async def run():
        await collector.report({"pid": 8}, [{**_note("t", started_at=3.0, **end), "attempt": 1}])
        failed = _note("t", started_at=1.0, ended_at=2.0, error="ValueError: no", end="FAILED")
        await collector.report({"pid": 7}, [failed])  # its process tells of it later than the other
        return await collector.since(0, 0)

    _, (note,), ended, _ = asyncio.run(run())
    assert (note["attempt"], note["pid"], note.get("ended_at")) == (1, 8, end.get("ended_at"))
    assert "error" not in note and all(not states["FAILED"] for states in ended.values())


def test_a_task_that_succeeds_at_last_has_ended_once_and_well(collector):
    short_notes = __import__("nbaccel_in_ray.collector_link").collector_link

    async def run():
        await collector.report(
            WHERE, [_note(_Id(1).hex(), started_at=1.0, ended_at=2.0, error="ValueError: no", end="FAILED")]
        )
        await collector.report(WHERE, [], short_notes.packed([{**_short(1, ended_at=4.0), "attempt": 1}]))
        return await collector.since(0, 0)

    _, (note,), ended, briefs = asyncio.run(run())
    assert "error" not in note and note["ended_at"] == 4.0
    assert (ended, briefs) == ({"train": {"FINISHED": 1, "FAILED": 0, "CANCELLED": 0}}, [])


def test_only_what_is_new_is_told(collector):
    async def run():
        await collector.report({}, [_note("a", started_at=1.0), _note("b", started_at=1.0)])
        seq, both, *_ = await collector.since(0, 0)
        await collector.report({}, [_note("a", started_at=1.0, ended_at=2.0)])
        return both, (await collector.since(seq, 0))[1]

    both, news = asyncio.run(run())
    assert {note["task_id"] for note in both} == {"a", "b"}
    assert [note["task_id"] for note in news] == ["a"]


def test_what_has_not_ended_is_told_however_much_has_changed_since(collector):
    most = __import__("nbaccel_in_ray.service_actors").service_actors.MOST_SENT

    async def run():
        await collector.report({}, [_note("old", started_at=1.0, ended_at=2.0), _note("waits", submitted_at=1.0)])
        await collector.report({}, [_note(f"t{number}", started_at=1.0, ended_at=2.0) for number in range(most)])
        return await collector.since(0, 0)

    _, notes, *_ = asyncio.run(run())
    assert [notes[0]["task_id"], *(note["task_id"] for note in notes[-2:])] == [f"t{most - 1}", "t0", "waits"]


def test_who_waits_for_news_is_woken_by_them(collector):
    async def run():
        waiting = asyncio.create_task(collector.since(0, 60))
        await asyncio.sleep(0)
        await collector.report({}, [_note("a", started_at=1.0)])
        return await waiting

    _, (note,), *_ = asyncio.run(run())
    assert note["task_id"] == "a"


class _Id:
    """As Ray's ids are."""

    def __init__(self, number):
        self._bytes = bytes([number]) * 24

    def binary(self):
        return self._bytes

    def hex(self):
        return self._bytes.hex()


WHERE = {"worker_id": "w", "node_id": "n", "pid": 7, "actor_id": None}


def _short(number, ended_at=2.0, name="train"):
    return {**_note(_Id(number), started_at=1.0, choice="", ended_at=ended_at), "name": name}


def test_short_tasks_travel_together_and_lose_nothing(collector):
    short_notes = __import__("nbaccel_in_ray.collector_link").collector_link
    notes = [_short(1), _short(2, name="load"), _short(3)]

    async def run():
        await collector.report(WHERE, [], short_notes.packed(notes))
        return await collector.since(0, 0)

    seq, others, ended, ((where, briefs),) = asyncio.run(run())
    assert (seq, others) == (1, [])
    assert {name: states["FINISHED"] for name, states in ended.items()} == {"train": 2, "load": 1}
    assert list(short_notes.expanded(briefs, where)) == [
        {**note, "task_id": note["task_id"].hex(), **WHERE} for note in notes
    ]


def test_a_short_task_that_its_parent_spoke_of_is_joined_to_that(collector):
    short_notes = __import__("nbaccel_in_ray.collector_link").collector_link

    async def run():
        await collector.report({}, [_note(_Id(1).hex(), submitted_at=1.0, parent="p")])
        await collector.report(WHERE, [], short_notes.packed([_short(1)]))
        await collector.report(WHERE, [], short_notes.packed([_short(2)]))
        return await collector.since(0, 0)

    _, (note,), ended, briefs = asyncio.run(run())
    assert (note["parent"], note["ended_at"]) == ("p", 2.0)
    assert ended["train"]["FINISHED"] == 2
    assert len(briefs) == 1  # there is nobody any more who has not ended


def test_the_collector_keeps_a_bounded_number_of_short_tasks(collector):
    packing = __import__("nbaccel_in_ray.collector_link").collector_link.packed
    most = __import__("nbaccel_in_ray.service_actors").service_actors.MOST_TASKS

    async def run():
        for _ in range(most // 200 + 3):
            await collector.report(WHERE, [], packing([_short(number) for number in range(200)]))
        return await collector.since(0, 0)

    _, _, ended, briefs = asyncio.run(run())
    assert ended["train"]["FINISHED"] == (most // 200 + 3) * 200
    assert len(briefs) == most // 200


def test_the_collector_counts_calls_by_their_class_and_further_functions_together(collector):
    most = __import__("nbaccel_in_ray.service_actors").service_actors.MOST_FUNCTIONS
    calls = [
        _note(f"c{n}", name=name, kind=kind, started_at=1.0, ended_at=2.0)
        for n, (name, kind) in enumerate(
            [("Keeper.__init__", "actor creation"), ("Keeper.step", "actor call"), ("a.b", "task")]
        )
    ]
    others = [_note(f"o{n}", name=f"f{n}", started_at=1.0, ended_at=2.0) for n in range(most)]

    async def run():
        await collector.report(WHERE, calls + others)
        return await collector.since(0, 0)

    _, _, ended, _ = asyncio.run(run())
    assert (ended["Keeper"]["FINISHED"], ended["a.b"]["FINISHED"], ended[""]["FINISHED"]) == (2, 1, 2)
    assert len(ended) == most + 1


class _Link:
    """Stands for the way to a collector that somebody watches."""

    def __init__(self):
        self.batches = []

    has_collector = False

    def look(self, is_new):
        return True

    def send(self, where, batch, briefs, forgotten):
        self.batches.append((batch, len(briefs[1]) // 48))
        return "ref"


class _Clock:
    """Stands still: on a slow machine, what has just begun would else be old when it is looked at."""

    def time(self):
        return 1_000_000.0

    def monotonic(self):
        return 1_000.0


@pytest.fixture
def sent():
    """The batches that a test's reporter has sent: the notes of each, and the number of short tasks."""
    return []


@pytest.fixture
def make_reporter(wrapping, monkeypatch, sent):
    """Makes a reporter of this process, with a clock of the test's and without a thread."""
    reporting = __import__("nbaccel_in_ray.reporting").reporting
    monkeypatch.setattr(reporting, "time", _Clock())

    def make(start=lambda reporter: None, wake=None):
        link = _Link()
        link.batches = sent
        made = reporting.Reporter(link, start, wake)
        made._here, made._sent_at = WHERE, reporting.time.time()
        return made

    return make


@pytest.fixture
def reporter(make_reporter):
    return make_reporter()


def _begin(reporter, number, age=0.0, **more):
    note = {**_note(_Id(number), started_at=_Clock().time() - age, choice=""), **more}
    reporter._running[note["task_id"]] = note
    return note


def test_short_tasks_wait_for_each_other_and_what_runs_for_long_does_not(reporter, sent):
    for number in range(3):
        reporter.ended(_begin(reporter, number))
    young = _begin(reporter, 4)
    assert reporter._send() is None
    old = _begin(reporter, 5, age=1.0)
    assert reporter._send() is not None
    ((batch, briefs),) = sent
    assert ([note["task_id"] for note in batch], briefs) == ([old["task_id"].hex()], 3)
    reporter.ended(young)
    assert reporter._send() is None
    reporter.ended(old)  # it was spoken of: its end is news
    assert reporter._send() is not None
    assert sent[1:] == [([], 2)]


def test_after_a_flood_the_rest_is_told_before_ray_may_end_the_idle_process(reporter, sent):
    for number in range(150):
        reporter.ended(_begin(reporter, number))
    reporter._sent_at -= 0.6
    assert reporter._send() is None  # many more may come
    reporter._ended_at -= 0.3
    assert reporter._send() is not None
    assert sent == [([], 150)]


@pytest.mark.parametrize("urgent", ["devices", "error", "submitted", "progress"])
def test_what_a_view_waits_for_is_sent_at_once(reporter, monkeypatch, urgent, sent):
    if urgent == "devices":
        _begin(reporter, 1, devices={"GPU": ["0"]})
    elif urgent == "error":
        reporter.ended(_begin(reporter, 1), ValueError("no"))
    elif urgent == "submitted":
        reporter.submitted(_note(_Id(1), submitted_at=1.0))
    else:
        note = _begin(reporter, 1)
        monkeypatch.setattr(reporter, "current", lambda: note)
        reporter.progress(1.0, 2.0)
    assert reporter._send() is not None
    ((batch, briefs),) = sent
    assert (len(batch), briefs) == (1, 0)


def test_an_actor_speaks_to_ray_while_it_works_or_when_it_seems_to_live_on(reporter, sent):
    reporter.creation = creation = _begin(reporter, 1)
    reporter._lives_on = True
    creation["devices"] = {"GPU": ["0"]}
    reporter._say()
    reporter.ended(creation)
    assert len(sent) == 1
    call = _begin(reporter, 2)
    reporter.ended(call, ValueError("no"))
    reporter._say()
    assert len(sent) == 1  # the last handle may just have gone
    reporter._ended_at -= 1.0
    reporter._say()
    assert len(sent) == 2


class _Wake:
    """An event that is never set, and remembers how long it was waited for."""

    def __init__(self):
        self.waits = []
        self.wait = self.waits.append

    def set(self):
        pass

    def clear(self):
        pass


def test_an_idle_process_with_news_looks_again_and_one_without_sleeps(make_reporter):
    reporting = __import__("nbaccel_in_ray.reporting").reporting
    wake = _Wake()
    reporter = make_reporter(wake=wake)
    reporter._sleep()
    reporter.ended(_begin(reporter, 1))
    reporter._worked_at = _Clock().monotonic()
    reporter._sleep()
    reporter._worked_at -= reporting.UNSAID_S
    reporter._sleep()
    assert wake.waits == [None, reporting.LOOK_EVERY_S, None]


def test_at_its_end_a_process_says_everything(reporter, sent):
    _begin(reporter, 1)
    reporter.ended(_begin(reporter, 2))
    assert reporter._send(everything=True) is not None
    ((batch, briefs),) = sent
    assert (len(batch), briefs) == (1, 1)


def test_a_failure_is_never_told_as_a_good_end(reporter, sent):
    class Slow(Exception):
        def __str__(self):  # meanwhile the thread sends what there is
            reporter._send(everything=True)
            return "no"

    note = _begin(reporter, 1)
    reporter.ended(note, Slow())
    reporter._send(everything=True)
    assert not any(briefs for _, briefs in sent)
    told = [each for batch, _ in sent for each in batch]
    assert [each["end"] for each in told if "ended_at" in each] == ["FAILED"]


class _RaysCore:
    """As Ray's, of a worker that runs one task on a device."""

    def get_current_task_id(self):
        return _Id(1)

    def get_current_task_attempt_number(self):
        return 0

    def get_runtime_context(self):
        return self

    def get_accelerator_ids(self):
        return {"GPU": ["0"]}

    def get_assigned_resources(self):
        return {"GPU": 1.0}


def test_an_attempt_is_told_only_as_the_task_that_it_stands_for(make_reporter, sent, wrapping, monkeypatch):
    reporter = make_reporter(start=lambda made: made._send())  # the thread wakes and looks at once
    reporting, attempts = (getattr(__import__(f"nbaccel_in_ray.{name}"), name) for name in ("reporting", "attempts"))
    core = _RaysCore()
    monkeypatch.setattr(reporting, "ray", core)
    monkeypatch.setattr(reporting.internals, "core", lambda: core)
    monkeypatch.setattr(wrapping, "reporter", reporter)
    claim = attempts.Claim(b"", b"0", "cc" * 24, "cpu", "it was busy")
    with wrapping.noted(wrapping.CodeDescription("train", "task", ("GPU",)), claim):
        pass
    reporter._send(everything=True)
    told = [each for batch, _ in sent for each in batch]
    assert {each["task_id"] for each in told} == {"cc" * 24}
    assert [("ended_at" in each, each["choice"]) for each in told] == [(False, "cpu"), (True, "cpu")]


class _Devices:
    """As torch.cuda tells of one device that is open."""

    peak = 3 << 30

    def is_initialized(self):
        return True

    def device_count(self):
        return 1

    def memory_reserved(self, index):
        return 0

    def max_memory_reserved(self, index):
        return self.peak

    def reset_peak_memory_stats(self, index):
        self.peak = 0


def test_a_task_on_a_device_notes_its_peak(wrapping, monkeypatch):
    peaks = __import__("nbaccel_in_ray.leftovers").leftovers
    torch = type(sys)("torch")
    torch.cuda = _Devices()
    for name in peaks.FRAMEWORKS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert peaks.peak_bytes() is None
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert peaks.peak_bytes() == 3 << 30
    peaks.began()
    assert peaks.peak_bytes() == 0
