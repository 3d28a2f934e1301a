"""What one task changes of its process is put back before the next one, or the process ends and costs no retry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place
from tests.heads import rows
from tests.local_engine import spoiling
from tests.rig import DEADLINE_S, wait_until, written_so_far

WHOLE = {"num_cpus": 2}  # one after the other, in the process that was used last


@pytest.mark.parametrize("how", ["at once", "long"])
def test_what_can_be_put_back_is(cluster: Place, how: str) -> None:
    before = nbaccel.get(spoiling.facts.options(**WHOLE).remote())
    pid = nbaccel.get(spoiling.pid.options(**WHOLE).remote())
    for deed in spoiling.MENDED:
        nbaccel.get(spoiling.do.options(**WHOLE).remote(deed, how))
        assert nbaccel.get(spoiling.facts.options(**WHOLE).remote()) == before, deed
        assert nbaccel.get(spoiling.pid.options(**WHOLE).remote()) == pid, deed


def test_a_task_that_fails_has_its_process_put_back_as_well(cluster: Place) -> None:
    before = nbaccel.get(spoiling.facts.options(**WHOLE).remote())
    with pytest.raises(ValueError, match="after the deed"):
        nbaccel.get(spoiling.do.options(**WHOLE).remote("umask", "failing"))
    assert nbaccel.get(spoiling.facts.options(**WHOLE).remote()) == before


@pytest.mark.parametrize("deed", sorted(spoiling.ENDED))
def test_a_process_that_cannot_be_put_back_is_ended(cluster: Place, deed: str) -> None:
    before = nbaccel.get(spoiling.facts.options(**WHOLE).remote())
    pid = nbaccel.get(spoiling.do.options(**WHOLE).remote(deed))
    assert nbaccel.get(spoiling.facts.options(**WHOLE).remote()) == before
    assert nbaccel.get(spoiling.pid.options(**WHOLE).remote()) != pid


def test_tasks_that_were_sent_ahead_run_elsewhere_and_only_once(cluster: Place, tmp_path: Path) -> None:
    nbaccel.get([spoiling.noted.options(**WHOLE).remote(os.devnull, 1, "") for _ in range(50)])  # known to be short
    path = tmp_path / "ran"
    refs = [spoiling.noted.options(**WHOLE).remote(str(path), number, "our shared memory") for number in range(50)]
    assert nbaccel.get(refs) == list(range(50))
    assert [int(line) for line in path.read_text().split()] == list(range(50))


def test_the_user_is_told_once_why_a_process_was_replaced(cluster: Place, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        nbaccel.get(spoiling.do.options(name="closes", **WHOLE).remote("its stdout"))
    words = "closes has closed or replaced descriptor 1, which is its stdout"
    wait_until(lambda: words in written_so_far(2), "the notice")
    nbaccel.get(spoiling.pid.remote())
    assert capfd.readouterr().err.count(words) == 1


@pytest.mark.parametrize("deed", ["few open files", "small files"])
def test_a_task_that_lowers_its_limits_still_gives_its_large_result(cluster: Place, deed: str) -> None:
    for _ in range(3):  # the first write of a range and the ones through a mapping
        assert len(nbaccel.get(spoiling.large.options(**WHOLE).remote(deed))) == 1_000_000


def test_an_object_that_cannot_be_written_or_mapped_says_why(cluster: Place) -> None:
    for deed, why in (("small files", "RLIMIT_FSIZE"), ("our shared memory", "closed descriptor")):
        with pytest.raises(exceptions.RaySystemError, match=why):
            nbaccel.get(spoiling.put.options(**WHOLE).remote(deed))


@pytest.mark.parametrize("how", ["exit", "interrupt", "sleep"])
@pytest.mark.parametrize("kind", ["words", "pickling"])
def test_an_error_that_exits_or_sleeps_does_not_hold_its_worker(cluster: Place, kind: str, how: str) -> None:
    pid = nbaccel.get(spoiling.pid.options(**WHOLE).remote())
    with pytest.raises(exceptions.RayTaskError, match=r"Words|Unpicklable"):
        nbaccel.get(spoiling.throw.options(**WHOLE).remote(kind, how), timeout=DEADLINE_S)
    assert nbaccel.get(spoiling.pid.options(**WHOLE).remote()) == pid


@pytest.mark.parametrize("kind", ["words", "pickling"])
def test_an_error_that_swallows_the_alarm_ends_its_worker_and_no_other_task(cluster: Place, kind: str) -> None:
    pid = nbaccel.get(spoiling.pid.options(**WHOLE).remote())
    refs = [spoiling.throw.options(max_retries=3, **WHOLE).remote(kind, "swallow")]
    refs += [spoiling.pid.options(**WHOLE).remote() for _ in range(5)]
    words = r"(Words|Unpicklable) \(it could not be asked for its words .* did not stop when it was interrupted\)"
    with pytest.raises(exceptions.RayTaskError, match=words):
        nbaccel.get(refs[0], timeout=DEADLINE_S)
    assert pid not in nbaccel.get(refs[1:], timeout=DEADLINE_S)


def test_a_generator_whose_error_sleeps_keeps_what_it_has_yielded(cluster: Place) -> None:
    one, two = spoiling.yield_and_throw.options(**WHOLE).remote("words", "sleep")
    with pytest.raises(exceptions.RayTaskError, match="Words"):
        nbaccel.get(two, timeout=DEADLINE_S)
    assert nbaccel.get(one) == 1


def test_an_error_that_stays_in_c_code_ends_its_worker(cluster: Place) -> None:
    pid = nbaccel.get(spoiling.pid.options(**WHOLE).remote())
    with pytest.raises(exceptions.WorkerCrashedError):
        nbaccel.get(spoiling.throw.options(**WHOLE).remote("words", "stay in C"), timeout=DEADLINE_S)
    assert nbaccel.get(spoiling.pid.options(**WHOLE).remote()) != pid


@pytest.mark.parametrize("kind", ["words", "pickling"])
def test_an_actor_outlives_an_error_whose_words_exit(cluster: Place, kind: str) -> None:
    thrower = spoiling.Thrower.remote()
    with pytest.raises(exceptions.RayTaskError):
        nbaccel.get(thrower.throw.remote(kind, "exit"), timeout=DEADLINE_S)
    assert nbaccel.get(thrower.pid.remote())
    nbaccel.kill(thrower)
    wait_until(lambda: not [row for row in rows("actors") if row["state"] == "ALIVE"], "the actor's end")
