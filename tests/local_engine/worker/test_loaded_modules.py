"""What counts as a module of the user's."""

from __future__ import annotations

import sys
import types

import pytest

from nbaccel.local_engine.worker.main import LoadedModules


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ([], False),
        (["wave", "xml.dom.minidom"], False),  # Python's own
        (["nbaccel.something", "pytest.other"], False),  # of packages that are there from the start
        (["plotting"], True),
        (["wave", "toolbox", "toolbox.saws"], True),
    ],
)
def test_a_module_of_a_package_that_is_neither_pythons_nor_there_from_the_start(
    names: list[str], counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = LoadedModules()
    assert not loaded.are_users()
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert loaded.are_users() is counts


def test_once_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = LoadedModules()
    monkeypatch.setitem(sys.modules, "plotting", types.ModuleType("plotting"))
    assert loaded.are_users()
    monkeypatch.delitem(sys.modules, "plotting")
    assert loaded.are_users()
