"""What counts as a change of code; that tasks see it is shown with real kernels."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel.freshness import LocalModules, fingerprint


def with_default(value: Any) -> Callable[..., Any]:
    def helper(given: Any = value) -> Any:
        return given

    return helper


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 2), (1, 1.0), ("a" * 5000, "b" * 5000), (b"a" * 5000, "a" * 5000), ([1, [2]], [1, [3]]), ({"a": 1}, {"a": 2})],
    ids=["number", "type", "long text", "bytes", "list", "dict"],
)
def test_another_default_is_a_change_and_the_same_is_none(before: Any, after: Any) -> None:
    assert fingerprint(with_default(before)) == fingerprint(with_default(before))
    assert fingerprint(with_default(before)) != fingerprint(with_default(after))


def test_a_default_that_holds_itself_is_looked_at_so_far_and_no_further() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert fingerprint(with_default(endless)) == fingerprint(with_default(endless))


def test_data_that_is_no_plain_value_counts_by_its_class_only() -> None:
    first, second = object(), object()
    assert fingerprint(with_default(first)) == fingerprint(with_default(second))


def test_an_installed_package_is_one_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = {**sysconfig.get_paths(), "purelib": str(tmp_path)}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)
    modules = LocalModules()
    modules.changed()
    assert not modules.changed()
    os.utime(tmp_path, (0, 0))  # as every installer does
    assert modules.changed() and not modules.changed()
