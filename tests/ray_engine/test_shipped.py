"""What runs inside Ray's workers: what it may import, and what it does there."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys

import pytest

import nbaccel
from nbaccel.ray_engine import shipping, starting

FILES = sorted(shipping.PACKAGE.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_the_standard_library_and_ray_only(path):
    allowed = {*sys.stdlib_module_names, "ray", "nbaccel_in_ray"}
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in names} <= allowed


def test_it_has_the_version_of_the_package():
    assert nbaccel.__version__ == starting.import_shipped().VERSION


def test_a_node_with_another_version_says_both(monkeypatch):
    pytest.importorskip("ray")
    shipped = starting.import_shipped()
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
    pytest.importorskip("ray")
    starting.import_shipped()
    return __import__("nbaccel_in_ray.wrapping").wrapping


@pytest.mark.parametrize("code", [_plain, _generator, _coroutine, _async_generator])
def test_what_is_wrapped_keeps_its_kind_and_name(wrapping, code):
    wrapped = wrapping.wrap(code, wrapping.About(code.__name__))
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


@pytest.fixture
def collector():
    starting.import_shipped()
    return __import__("nbaccel_in_ray.collector").collector.Collector()


def test_the_collector_joins_what_is_said_of_a_task(collector):
    where = {"worker_id": "w", "node_id": "n", "pid": 7, "actor_id": None}

    async def run():
        await collector.report({}, [_note("t", submitted_at=1.0, parent="p")])
        await collector.report(where, [_note("t", started_at=2.0)])
        await collector.report(where, [_note("t", started_at=2.0, ended_at=3.0)])
        return await collector.since(0, 0)

    seq, (note,), ended = asyncio.run(run())
    assert (seq, note["parent"], note["pid"], note["ended_at"]) == (3, "p", 7, 3.0)
    assert ended == {"FINISHED": 1, "FAILED": 0}


def test_a_later_attempt_has_not_ended(collector):
    async def run():
        await collector.report({}, [_note("t", started_at=1.0, ended_at=2.0, error="ValueError: no")])
        await collector.report({}, [{**_note("t", started_at=3.0), "attempt": 1}])
        return await collector.since(0, 0)

    _, (note,), ended = asyncio.run(run())
    assert "ended_at" not in note and "error" not in note
    assert ended["FAILED"] == 1


def test_only_what_is_new_is_told(collector):
    async def run():
        await collector.report({}, [_note("a", started_at=1.0), _note("b", started_at=1.0)])
        seq, both, _ = await collector.since(0, 0)
        await collector.report({}, [_note("a", started_at=1.0, ended_at=2.0)])
        return both, (await collector.since(seq, 0))[1]

    both, news = asyncio.run(run())
    assert {note["task_id"] for note in both} == {"a", "b"}
    assert [note["task_id"] for note in news] == ["a"]


def test_who_waits_for_news_is_woken_by_them(collector):
    async def run():
        waiting = asyncio.create_task(collector.since(0, 60))
        await asyncio.sleep(0)
        await collector.report({}, [_note("a", started_at=1.0)])
        return await waiting

    _, (note,), _ = asyncio.run(run())
    assert note["task_id"] == "a"


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
    peaks = __import__("nbaccel_in_ray.device_peaks").device_peaks
    torch = type(sys)("torch")
    torch.cuda = _Devices()
    for name in peaks.FRAMEWORKS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert peaks.peak_bytes() is None
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert peaks.peak_bytes() == 3 << 30
    peaks.began()
    assert peaks.peak_bytes() == 0
