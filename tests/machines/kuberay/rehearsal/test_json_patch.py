"""A change is applied as an API server applies it, or refused with the reason, and then nothing has changed."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.machines.kuberay.rehearsal.played_cluster import Unpatchable, merged, patched

OBJECT: dict[str, Any] = {"spec": {"groups": [{"replicas": 0}, {"replicas": 1}], "a/b": 1, "c~d": 2}}


def op(kind: str, path: str, **value: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **value}


@pytest.mark.parametrize(
    ("operation", "groups"),
    [
        (op("replace", "/spec/groups/1/replicas", value=5), [{"replicas": 0}, {"replicas": 5}]),
        (op("replace", "/spec/groups/0", value=3), [3, {"replicas": 1}]),
        (op("add", "/spec/groups/-", value=7), [{"replicas": 0}, {"replicas": 1}, 7]),
        (op("add", "/spec/groups/0", value=7), [7, {"replicas": 0}, {"replicas": 1}]),
        (op("add", "/spec/groups/0/new", value=[1]), [{"replicas": 0, "new": [1]}, {"replicas": 1}]),
        (op("remove", "/spec/groups/0"), [{"replicas": 1}]),
        (op("test", "/spec/groups/0/replicas", value=0), [{"replicas": 0}, {"replicas": 1}]),
    ],
)
def test_each_kind_of_operation_does_what_it_says(operation: dict[str, Any], groups: list[Any]) -> None:
    assert patched(OBJECT, [operation])["spec"]["groups"] == groups
    assert OBJECT["spec"]["groups"] == [{"replicas": 0}, {"replicas": 1}]


def test_names_with_slashes_and_tildes_are_found() -> None:
    changed = patched(OBJECT, [op("replace", "/spec/a~1b", value=8), op("replace", "/spec/c~0d", value=9)])
    assert (changed["spec"]["a/b"], changed["spec"]["c~d"]) == (8, 9)


@pytest.mark.parametrize(
    "operations",
    [
        {},
        ["replace"],
        [op("replace", "/spec/missing", value=1)],
        [op("replace", "/spec/groups/2", value=1)],
        [op("add", "/spec/groups/3", value=1)],
        [op("remove", "/spec/groups/x")],
        [op("replace", "/spec/groups/0/replicas/deeper", value=1)],
        [op("test", "/spec/groups/0/replicas", value=3)],
        [op("move", "/spec/groups/0")],
        [op("replace", "spec")],
        [{"op": "replace"}],
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(operations: Any) -> None:
    with pytest.raises(Unpatchable):
        patched(OBJECT, operations)


def test_a_merge_patch_sets_and_removes_fields() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 5, "c": None}, "e": {"f": None}}) == {
        "a": {"b": 5},
        "d": 3,
        "e": {},
    }
    with pytest.raises(Unpatchable):
        merged({}, [])
