"""A rank's process, without a worker group: interrupts that come before and after its function."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbaccel.train import DataConfig
from nbaccel.train.configs import BackendConfig
from nbaccel.train.datasets import Datasets
from nbaccel.train.errors import StopTraining
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.worker import Assignment, Payload, RankSession, TrainWorker


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainWorker]:
    """It has its seat, and a mailbox that takes everything."""
    monkeypatch.setattr(RankSession, "send_last", lambda *message: None)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)  # as in a worker between tasks
    made = TrainWorker()
    facts = Facts("n", "10.0.0.1", "blue", os.getpid())
    made.prepare(
        Assignment(0, Seat(0, facts, 0, 1, 0, 1, 0, 1), "r", str(tmp_path), 0, "", BackendConfig()), None, None
    )
    yield made
    signal.signal(signal.SIGINT, before)


def run(worker: TrainWorker, function: Any) -> tuple[str, Any]:
    return worker.run(Payload(function, None, Datasets({}, DataConfig())))


def test_an_interrupt_while_the_function_is_on_its_way_keeps_it_from_beginning(worker: TrainWorker) -> None:
    begun: list[int] = []
    interrupt()
    assert run(worker, lambda: begun.append(1)) == ("stopped", None)
    assert begun == []


def test_an_interrupt_ends_the_function(worker: TrainWorker) -> None:
    def function() -> None:
        interrupt()
        raise AssertionError("it goes on")

    assert run(worker, function) == ("stopped", None)


@pytest.mark.parametrize("how", ["returned", "stopped"])
def test_an_interrupt_after_the_functions_end_changes_nothing(
    worker: TrainWorker, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def function() -> int:
        if how == "stopped":
            raise StopTraining
        return 3

    monkeypatch.setattr(RankSession, "send_last", lambda *message: interrupt())
    assert run(worker, function) == (how, 3 if how == "returned" else None)


def test_what_a_function_logs_appears_from_the_level_of_the_run_on(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import logging; from nbaccel.train import worker; worker._log_at('INFO'); worker._log_at('INFO')\n"
        "log = logging.getLogger('ray.train.mine'); log.info('seen'); log.debug('not seen')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert capfd.readouterr().err == "seen\n"
