"""Ctrl-C at any moment: it never tears a frame, loses an answer or leaves something behind."""

from __future__ import annotations

import nbaccel
from tests.census import Place
from tests.local_engine import misbehaving


def test_ten_thousand_interrupts_at_random_moments_break_nothing(place: Place) -> None:
    done = place.run("from tests.local_engine import interrupted\ninterrupted.main(10_000)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("all well 10000 "), done.stdout


def test_an_interrupted_get_can_be_repeated(place: Place) -> None:
    done = place.run(misbehaving.INTERRUPTED_GET)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", "finished 1", "array 5"]


def test_a_cancelled_task_that_was_submitting_leaves_its_worker_usable(cluster: Place) -> None:
    for _ in range(20):
        ref = misbehaving.submit_forever.remote()
        nbaccel.get(misbehaving.echo.options(num_cpus=0).remote(1))
        nbaccel.cancel(ref)
        try:
            nbaccel.get(ref)
        except nbaccel.exceptions.TaskCancelledError:
            pass
    assert nbaccel.get([misbehaving.echo.remote(i) for i in range(50)]) == list(range(50))
