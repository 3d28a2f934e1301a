"""What a notebook changes in its own process after init() reaches new workers, or a notice says that it does not."""

from __future__ import annotations

import os
from itertools import count

import pytest

from nbaccel import engine as engines
from nbaccel.views import sinks

numbers = count(1)


@pytest.fixture
def next_cell(monkeypatch: pytest.MonkeyPatch):
    """Call it to begin the next cell."""

    def begin() -> None:
        number = next(numbers)
        monkeypatch.setattr(engines, "cell_source", lambda: (f"[{number}] line 1", b"cell %d" % number))

    begin()
    return begin


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    shown: list[str] = []
    monkeypatch.setattr(sinks.installed, "notice", lambda message: shown.append(message.message))
    return shown


def test_what_a_later_cell_changes_is_seen_or_named(nb, engine, next_cell, notices, monkeypatch, tmp_path):
    def seen(name):
        return os.environ.get(name), os.getcwd()

    look = nb.remote(seen)
    first = nb.get(look.remote("NB_LATER"))
    monkeypatch.setenv("NB_LATER", "secret words")
    monkeypatch.chdir(tmp_path)
    next_cell()
    after = nb.get(look.remote("NB_LATER"))
    next_cell()
    assert nb.get(look.remote("NB_LATER")) == after
    changed = f"NB_LATER and {tmp_path} (working directory)"
    told = [notice for notice in notices if "NB_LATER" in notice]
    if engine == "ray":
        assert after == first and len(told) == 1 and f"Workers on Ray do not see {changed}:" in told[0]
    else:
        assert after == ("secret words", str(tmp_path))
        assert told == ([f"Workers now see {changed}. Living actors keep what they had."] if engine == "local" else [])
    assert "secret words" not in "".join(notices)
