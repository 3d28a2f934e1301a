"""What counts as a change of a notebook's process; tests/engines and tests/reports show that workers follow it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nbaccel import surroundings


@pytest.fixture
def changes() -> surroundings.ChangesSinceInit:
    return surroundings.ChangesSinceInit()


def test_each_name_is_news_once_and_a_value_never(
    changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("first", "second"):
        monkeypatch.setenv("NB_TOKEN", value)
        assert changes.look() and changes.variables == {"NB_TOKEN": value}
        assert changes.news() == ("NB_TOKEN" if value == "first" else "")


def test_what_is_as_at_first_again_is_no_change(
    changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NB_TOKEN", "value")
    assert changes.look()
    monkeypatch.delenv("NB_TOKEN")
    assert changes.look() and changes.variables == {}


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JPY_PARENT_PID", "NBACCEL_WORKER"])
def test_what_each_process_has_of_its_own_is_not_followed(
    changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "7")
    changes.look()
    assert changes.variables == {} and changes.news() == ""


def test_many_names_are_counted(changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        monkeypatch.setenv(f"NB_{number:02}", "")
    changes.look()
    assert changes.news().endswith("NB_07 and 12 more")


def test_what_is_no_text_is_left_out(
    changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NB_BYTES", "\udcff")
    monkeypatch.setattr(sys, "path", [*sys.path, "/\udcff", Path("/no/text")])
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    monkeypatch.chdir(os.fsencode(tmp_path) + b"/\xff")
    changes.look()
    assert changes.variables == {} and surroundings.working_directory() == "/"
    assert "/no/text" not in surroundings.import_path()


def test_an_entry_of_the_path_for_the_directory_is_not_named_twice(
    changes: surroundings.ChangesSinceInit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.chdir(tmp_path)
    changes.look()
    assert changes.news() == f"{tmp_path} (working directory)"
