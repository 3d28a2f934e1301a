"""An actor whose choice is not final yet, where kill() comes while its constructor begins."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel import exceptions
from nbaccel.handles.options import actor_options
from nbaccel.handles.remote import ActorClass
from nbaccel.ray_engine.rays import import_shipped
from nbaccel.ray_engine.submission import calls
from nbaccel.ray_engine.submission.options_for_ray import Choices, RayChoice
from tests.rig import wait_until


class Model:
    """Whatever an actor can be made of."""


class Ray:
    """Stands for Ray and for what makes actors of it: an actor is ready at the first question, after `go_on`."""

    namespace_of_reports = "nbaccel"

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.killed: list[Any] = []
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.exceptions = calls.ray.exceptions
        self._internal_kv_get = lambda key, namespace: None
        self.class_running_as = lambda actor_class, label: actor_class
        self.note_actor = lambda *facts: None

    def actor_of(self, *asked: object, claimed: bool) -> Any:
        ready = SimpleNamespace(remote=lambda: "ready")
        self.made.append(SimpleNamespace(_actor_id=SimpleNamespace(binary=lambda: b"id"), __ray_ready__=ready))
        return self.made[-1]

    def wait(self, refs: list[object], timeout: float, fetch_local: bool) -> tuple[list[object], list[object]]:
        self.asked.set()
        self.go_on.wait(90)
        return refs, []

    def kill(self, inner: object) -> None:
        self.killed.append(inner)


def test_an_actor_that_is_killed_while_its_constructor_begins_does_not_live_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import_shipped()
    ray = Ray()
    monkeypatch.setattr(calls, "ray", ray)
    monkeypatch.setattr(calls, "internal_kv", ray)
    options = actor_options(num_gpus=1, fallback="cpu")
    choices = Choices([RayChoice(options), RayChoice(options, "cpu")])
    engine: Any = None
    made: Any = ray
    deciding = calls.Deciding(made, engine, ActorClass(Model, options), options, choices, ([], {}))
    handle = deciding.start()
    assert ray.asked.wait(90)
    assert handle.call_off()
    ray.go_on.set()
    wait_until(lambda: ray.killed, "the end of the actor")
    assert ray.killed == ray.made and len(ray.made) == 1
    with pytest.raises(exceptions.ActorDiedError, match=r"killed by kill\(\)"):
        _ = handle._inner
    assert repr(handle) == "Actor(Model, never placed)"
