"""A program outside, such as the Jupyter server, finds a runtime by its file, watches it and acts on it."""

from __future__ import annotations

import os

import pytest

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.views import observing, sessions
from nbaccel.views.observer_lines import CancelTask, DoneLine, Explain, ExplanationsLine
from tests.rig import DEADLINE_S


def _own_record():
    """The file of this process: other programs of this user may run others."""
    records = sessions.find(engines.current().name)
    return next(record for record in records if record.owner_pid == os.getpid())


def test_an_observer_sees_what_waits_and_cancels_it(nb, late):
    task_id = late.ref.task_id().hex()
    with observing.connected(_own_record()) as observer:
        for snapshot in observer.snapshots():
            rows = {row.task_id: row for row in snapshot.tasks}
            if task_id in rows and rows[task_id].why:
                break
        assert snapshot.runtime.engine == engines.current().name
        assert rows[task_id].name.startswith("late_value")
    with observing.connected(_own_record()) as observer:
        explained = observer.answer(Explain(task_id), ExplanationsLine).explanations[0]
        assert "blue" in explained.sentence
        observer.answer(CancelTask(task_id), DoneLine)
    with pytest.raises(exceptions.TaskCancelledError):
        nb.get(late.ref, timeout=DEADLINE_S)


def test_the_jupyter_server_lists_it(nb):
    runtimes = pytest.importorskip("nbaccel_lab.runtimes")
    listed, _ = runtimes.scan(sessions.directory())
    found = next(each for each in listed if each.id == _own_record().session)
    assert (found.engine, found.owner_pid, found.speaks_ours) == (engines.current().name, os.getpid(), True)
