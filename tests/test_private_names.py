"""Names that are private to Ray and that programs read all the same: on functions, actor classes, handles, methods."""

from __future__ import annotations

import inspect
import pickle
from collections import UserDict
from typing import Any

import cloudpickle
import pytest

import nbaccel


class Plain:
    """Counts."""

    unit = "rows"

    def __init__(self, start: int = 0) -> None:
        self.total = start

    def add(self, more: int) -> int:
        self.total += more
        return self.total

    def _hidden(self, x: int) -> int:
        return x

    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

    @classmethod
    def kind(cls) -> str:
        return cls.__name__

    @property
    def size(self) -> int:
        return self.total

    def _repr_html_(self) -> str:
        return f"<b>{self.total}</b>"


Counter = nbaccel.remote(num_cpus=0, _labels={"a": "b"})(Plain)


@nbaccel.remote(num_gpus=0.5, max_retries=1)
def train(x: int) -> int:
    return x


def test_an_actor_class_has_the_names_of_its_class_and_what_it_is_used_by():
    names = dir(Counter)
    assert {"add", "_hidden", "twice", "kind", "size", "unit"} <= set(names)
    assert {"remote", "options", "bind", "_default_options", "__ray_metadata__", "__ray_actor_class__"} <= set(names)
    assert not {"_class", "_arity", "_cache", "_check_call"} & set(names)


def test_an_actor_class_is_an_instance_of_its_class():
    assert isinstance(Counter, Plain) and isinstance(Counter, nbaccel.actor.ActorClass)
    assert not isinstance(train, Plain) and not inspect.isclass(Counter)


def test_methods_of_an_actor_class_are_found_by_inspection_also_private_ones():
    members = dict(inspect.getmembers(Counter))
    assert {name for name in vars(Plain) if not name.startswith("__")} - {"_repr_html_"} <= set(members)
    assert inspect.ismethod(Counter._hidden) and Counter._hidden(3) == 3
    assert list(inspect.signature(Counter.add).parameters) == ["more"]
    assert inspect.isfunction(Counter.twice) and Counter.kind() == "Plain" and Counter.unit == "rows"


def test_dunders_and_ways_to_draw_an_instance_are_not_the_actor_classs():
    assert not hasattr(Counter, "_repr_html_")
    with pytest.raises(AttributeError, match="__len__"):
        _ = nbaccel.remote(UserDict).__len__


def test_an_actor_class_is_pickled_as_what_it_is():
    again = pickle.loads(cloudpickle.dumps(Counter))
    assert type(again) is nbaccel.actor.ActorClass and again.twice(2) == 4
    assert again.__ray_metadata__.modified_class.__name__ == "Plain" and again._default_options["num_cpus"] == 0


def test_default_options_are_what_the_decorator_was_given():
    assert train._default_options == {"num_gpus": 0.5, "max_retries": 1}
    assert Counter._default_options == {"num_cpus": 0, "_labels": {"a": "b"}}
    assert nbaccel.remote(**Counter._default_options)(Plain)._default_options == Counter._default_options
    assert nbaccel.remote(Plain)._default_options == {}


def test_a_remote_function_knows_its_name():
    assert train._function_name == f"{__name__}.train" and train._function(2) == 2


class NoEngine:
    """What a handle asks of an engine at its end."""

    def ref_gone(self, id: bytes) -> None:
        pass


def test_a_handle_and_its_methods_tell_names_and_parameters():
    specs: dict[str, Any] = Counter._methods
    handle = nbaccel.actor.ActorHandle(bytes(16), "Plain", specs, NoEngine(), counted=False)
    assert handle.add._method_name == "add"
    assert [each.name for each in handle._ray_method_signatures["add"]] == ["more"]
    assert "_hidden" in handle._ray_method_signatures and "twice" in handle._ray_method_signatures
