"""What the driver does for each call of an actor on Ray beyond what Ray does: little, once for all where it can."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.handles.refs import ObjectRef
from nbaccel.handles.remote import ActorHandle, methods_of
from nbaccel.ray_engine.submission.calls import RayTasks, unwrapped, unwrapped_named


class Model:
    def step(self, size=1):
        return size


class RaysMethod:
    """As Ray's. `calls`: the options and the arguments of each."""

    def __init__(self, calls, options):
        self._calls, self._options = calls, options

    def options(self, **options):
        return RaysMethod(self._calls, options)

    def remote(self, *args, **kwargs):
        self._calls.append((self._options, args, kwargs))
        return len(self._calls)


class RaysActor:
    """As Ray's handle: it makes a method whenever it is asked for one."""

    def __init__(self):
        self.calls, self.asked = [], 0

    @property
    def step(self):
        self.asked += 1
        return RaysMethod(self.calls, {})


class Engine:
    """A driver's calls, whose books return the name of each call with what Ray has returned."""

    def __init__(self):
        session = SimpleNamespace(head=SimpleNamespace(lost=""), through_client=False)
        books = SimpleNamespace(returned=lambda inner, about, submitted_at, actor_id: (about.name, inner))
        self.call = RayTasks(session, None, None, None, books).call


def handle_of(inner):
    return ActorHandle(b"a" * 16, "Model", methods_of(Model), Engine(), counted=False, inner=inner)


def test_ray_is_asked_for_a_method_once_however_often_it_is_called():
    inner = RaysActor()
    handle = handle_of(inner)
    assert [handle.step.remote(2), handle.step.remote(size=3)] == [("Model.step", 1), ("Model.step", 2)]
    assert inner.calls == [({}, (2,), {}), ({}, (), {"size": 3})]
    assert inner.asked == 1


def test_the_options_of_one_call_are_not_those_of_the_next():
    inner = RaysActor()
    handle = handle_of(inner)
    named = handle.step.options(name="first", num_returns=2)
    assert [named.remote()[0], handle.step.remote()[0], named.remote()[0]] == ["first", "Model.step", "first"]
    own = {"name": "first", "num_returns": 2}
    assert [options for options, _args, _kwargs in inner.calls] == [own, {}, own]


def test_what_is_kept_for_calls_does_not_keep_the_actor():
    inner = RaysActor()
    handle, gone = handle_of(inner), weakref.ref(inner)
    handle.step.remote()
    del inner
    gc.disable()
    try:
        del handle
        assert gone() is None
    finally:
        gc.enable()


class Gone:
    """The engine of refs that a test lets go."""

    @staticmethod
    def ref_gone(id):
        pass


def test_only_arguments_with_a_ref_among_them_are_made_anew():
    ref = ObjectRef(b"r" * 28, Gone, "Ray's")
    args, named = (1, [ref]), {"size": 1, "refs": [ref]}
    assert unwrapped(args) is args and unwrapped_named(named) is named
    assert list(unwrapped((1, ref))) == [1, "Ray's"]
    assert unwrapped_named({"size": 1, "data": ref}) == {"size": 1, "data": "Ray's"}
