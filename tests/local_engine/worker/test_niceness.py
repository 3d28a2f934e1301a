"""Workers let other programs go first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import nbaccel
from nbaccel.local_engine import process
from tests.census import Place
from tests.heads import inside
from tests.rig import wait_until

VARIABLE = "RAY_worker_niceness"


@nbaccel.remote
def niceness() -> tuple[int, str]:
    group = Path(process.AUTOGROUP).read_text() if Path(process.AUTOGROUP).exists() else ""
    return os.getpriority(os.PRIO_PROCESS, 0), group


@pytest.mark.parametrize("wanted", ["", "3", "many"])
def test_workers_are_as_nice_as_the_environment_of_the_head_says(wanted: str) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    expected = {"": max(process.NICENESS, own), "3": max(3, own), "many": own}[wanted]
    forked, executed = niceness, niceness.options(runtime_env={"env_vars": {"PYTHONHASHSEED": "1"}})
    with inside(Place()):
        os.environ.pop(VARIABLE)
        os.environ |= {VARIABLE: wanted} if wanted else {}
        nbaccel.init(num_cpus=2)
        for each in (forked, executed):
            assert nbaccel.get(each.remote())[0] == expected
        if wanted != "many":  # which leaves all as it is
            wait_until(lambda: not group() or f"nice {expected}\n" in group(), "the session's")


def group() -> str:
    return nbaccel.get(niceness.remote())[1]


def test_a_session_that_has_to_wait_for_its_niceness_gets_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def busy(niceness: int) -> None:
        tries.append(niceness)
        if len(tries) < 3:
            raise BlockingIOError

    monkeypatch.setattr(process, "_set_group", busy)
    monkeypatch.setattr(process, "_PAUSE_S", 0.0)
    monkeypatch.setenv("RAY_worker_niceness", str(os.getpriority(os.PRIO_PROCESS, 0)))
    process.be_nice()
    wait_until(lambda: len(tries) == 3)
