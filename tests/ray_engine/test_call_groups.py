"""Concurrency groups as Ray's handles carry them."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.submission import exports


def _class():
    class Grouped:
        def io(self): ...

        def other(self): ...

    Grouped.io.__ray_concurrency_group__ = "io"
    Grouped.other.__ray_concurrency_group__ = "storage"
    return Grouped


def _handle(cls):
    """As Ray's: the signatures of the methods, without self."""
    signature = inspect.signature(vars(cls)[exports.DECLARED])
    return SimpleNamespace(_ray_method_signatures={exports.DECLARED: list(signature.parameters.values())[1:]})


def test_a_handle_knows_the_groups_and_refuses_others_by_name():
    cls = _class()
    exports.declare_groups(cls, {"io": 1, "compute": 2})
    exports.check_group(_handle(cls), "Grouped", "compute")
    with pytest.raises(ValueError, match=r"'storage' is not one of Grouped's, which are \['compute', 'io'\]"):
        exports.check_group(_handle(cls), "Grouped", "storage")


def test_only_marks_of_groups_that_are_there_reach_ray():
    cls = _class()
    exports.declare_groups(cls, {"io": 1})
    assert cls.io.__ray_concurrency_group__ == "io"
    assert not hasattr(cls.other, "__ray_concurrency_group__")


def test_of_an_actor_that_says_nothing_of_groups_all_is_believed():
    exports.check_group(SimpleNamespace(_ray_method_signatures={}), "Grouped", "storage")
