"""Processes and their deaths: what dies is named, what lives goes on, and nothing is left over."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

import nbaccel
from nbaccel import exceptions
from tests.census import Place, carriers
from tests.local_engine import misbehaving, programs
from tests.rig import DEADLINE_S, Gate, is_alive, wait_until

# ---- workers


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGBUS])
def test_a_worker_killed_by_a_signal_is_named_with_it(cluster: Place, number: signal.Signals) -> None:
    with pytest.raises(exceptions.WorkerCrashedError, match=f"was killed by {number.name}") as caught:
        nbaccel.get(misbehaving.kill_oneself.options(max_retries=0).remote(int(number)))
    assert caught.value.signal_number == number


def test_the_error_of_a_worker_that_died_has_the_last_lines_of_its_stderr(cluster: Place) -> None:
    with pytest.raises(exceptions.WorkerCrashedError) as caught:
        nbaccel.get(misbehaving.complain_and_end.options(max_retries=0).remote(["first", *"abcdef", "half"]))
    first, rest = str(caught.value).split("\n", 1)
    assert first.endswith("exited with code 7.") and caught.value.exit_code == 7
    assert rest.split("\n") == ["The last lines of its stderr:", *(f"  {each}" for each in "bcdef"), "  half"]


def test_the_errors_of_an_actor_that_died_have_the_last_lines_of_its_stderr(cluster: Place) -> None:
    actor = misbehaving.Fragile.remote()
    nbaccel.get(actor.pid.remote())
    for call in (actor.complain_and_end, actor.pid):
        with pytest.raises(exceptions.ActorDiedError, match=r"stderr:\n  terminate called$"):
            nbaccel.get(call.remote())


def test_an_error_has_no_lines_that_another_function_has_written_to_stderr(cluster: Place) -> None:
    for _ in range(10):  # until both have run in one process
        pid = nbaccel.get(misbehaving.complain.remote("an earlier line"))
        with pytest.raises(exceptions.WorkerCrashedError) as caught:
            nbaccel.get(misbehaving.kill_oneself.options(max_retries=0).remote(int(signal.SIGKILL)))
        assert "stderr" not in str(caught.value)
        if caught.value.pid == pid:
            return
    raise AssertionError("the tasks never ran in one process")


def test_a_dead_worker_is_tried_again_three_times(cluster: Place, tmp_path: Path) -> None:
    with pytest.raises(exceptions.WorkerCrashedError, match="after 4 attempts"):
        nbaccel.get(misbehaving.die_noted.remote(str(tmp_path / "runs"), 99))
    assert (tmp_path / "runs").read_text() == "xxxx"


def test_a_task_that_survives_its_third_try_gives_its_result(cluster: Place, tmp_path: Path) -> None:
    assert nbaccel.get(misbehaving.die_noted.remote(str(tmp_path / "runs"), 3)) == "alive"


def test_code_that_raises_is_not_tried_again(cluster: Place, tmp_path: Path) -> None:
    with pytest.raises(misbehaving.Broken):
        nbaccel.get(misbehaving.raise_noted.remote(str(tmp_path / "runs")))
    assert (tmp_path / "runs").read_text() == "x"


def test_code_that_raises_is_tried_again_when_that_was_asked_for(cluster: Place, tmp_path: Path) -> None:
    with pytest.raises(misbehaving.Broken):
        nbaccel.get(misbehaving.raise_noted.options(retry_exceptions=True).remote(str(tmp_path / "runs")))
    assert (tmp_path / "runs").read_text() == "xxxx"


def test_a_lost_worker_fails_only_its_own_task(cluster: Place) -> None:
    lost = misbehaving.kill_oneself.options(max_retries=0).remote(int(signal.SIGKILL))
    others = [misbehaving.echo.remote(i) for i in range(20)]
    assert nbaccel.get(others) == list(range(20))
    with pytest.raises(exceptions.WorkerCrashedError):
        nbaccel.get(lost)


def test_an_actor_that_dies_says_so_to_its_callers(cluster: Place) -> None:
    actor = misbehaving.Fragile.remote()
    assert nbaccel.get(actor.pid.remote()) > 0
    with pytest.raises(exceptions.ActorDiedError, match="SIGKILL"):
        nbaccel.get(actor.die.remote())
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(actor.pid.remote())


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 2}])
@pytest.mark.parametrize("kind", ["Fragile", "AsyncFragile"])
def test_an_actor_that_exits_is_dead_in_whatever_way_it_runs(
    cluster: Place, kind: str, options: dict[str, int]
) -> None:
    actor = getattr(misbehaving, kind).options(**options).remote()
    with pytest.raises(exceptions.ActorDiedError, match="exited with code 3"):
        nbaccel.get(actor.exit.remote())


def test_an_actor_with_restarts_lives_again_in_a_new_process(cluster: Place) -> None:
    actor = misbehaving.Fragile.options(max_restarts=1, max_task_retries=1).remote()
    first = nbaccel.get(actor.pid.remote())
    os.kill(first, signal.SIGKILL)
    assert nbaccel.get(actor.pid.remote()) not in (first, 0)


def test_a_result_that_others_hold_outlives_the_process_that_asked_for_it(cluster: Place) -> None:
    @nbaccel.remote(num_cpus=0)
    def child(gate: Any) -> str:
        nbaccel.get(gate.wait.remote())
        return "done"

    @nbaccel.remote(num_cpus=0)
    class Parent:
        def start(self, gate: Any) -> list[Any]:
            return [child.remote(gate)]

    gate = Gate.remote()
    parent = Parent.remote()
    [ref] = nbaccel.get(parent.start.remote(gate))
    wait_until(lambda: nbaccel.get(gate.arrived.remote()) == 1, "the child at the gate")
    nbaccel.kill(parent)
    nbaccel.get(gate.open.remote())
    assert nbaccel.get(ref) == "done"


# ---- what tasks start


def test_what_a_task_started_ends_with_its_worker(cluster: Place) -> None:
    pid = nbaccel.get(misbehaving.start_child.options(num_gpus=1).remote())
    wait_until(lambda: not is_alive(pid), "the child's end")


def test_a_worker_whose_forked_child_holds_its_connection_is_dead_nevertheless(cluster: Place) -> None:
    with pytest.raises(exceptions.WorkerCrashedError, match="SIGKILL"):
        nbaccel.get(misbehaving.fork_and_die.options(max_retries=0).remote())


@pytest.mark.parametrize("how", ["shutdown", "sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), 9)", "kill the head"])
def test_grandchildren_in_sessions_of_their_own_are_not_left(place: Place, how: str) -> None:
    program = programs.GRANDCHILDREN + {
        "shutdown": "nbaccel.shutdown()",
        "kill the head": "os.kill(nbaccel.snapshot().runtime.pid, 9)\nwait_for_loss()",
    }.get(how, how)
    done = place.run(program)
    assert "started" in done.stdout, done.stderr
    place.assert_nothing_left()


# ---- helpers of the head


def _kill_zygote(killed: set[int]) -> None:
    """Kill the head's zygote, once there is one that was not killed before."""
    pid = wait_until(lambda: _zygote(killed), "a zygote")
    os.kill(pid, signal.SIGKILL)
    killed.add(pid)


def _zygote(killed: set[int]) -> int | None:
    """The oldest of the head's children with that title: a worker has it too until it has begun."""
    born = {}
    for child in psutil.Process(nbaccel.snapshot().runtime.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "zygote" in " ".join(child.cmdline()):
                born[child.pid] = child.create_time()
    oldest = min(born, key=lambda pid: (born[pid], pid), default=None)
    return None if oldest in killed else oldest


def test_a_dead_zygote_is_restarted_and_nobody_notices(cluster: Place) -> None:
    killed: set[int] = set()
    _kill_zygote(killed)
    assert nbaccel.get([misbehaving.echo.options(num_gpus=1).remote(i) for i in range(4)]) == [0, 1, 2, 3]
    actor = misbehaving.Fragile.remote()
    _kill_zygote(killed)
    other = misbehaving.Fragile.remote()
    assert nbaccel.get([actor.pid.remote(), other.pid.remote()])


def test_a_dead_log_process_loses_no_line_and_repeats_none(place: Place) -> None:
    done = place.run(programs.KILLED_LOG)
    assert done.returncode == 0, done.stderr
    seen = re.findall(r"\(count_slowly pid=\d+\) (line \d+)\n", done.stdout)
    assert seen == [f"line {i}" for i in range(20_000)]


# ---- the head and its drivers


def test_drivers_are_told_at_once_when_the_head_is_killed(place: Place) -> None:
    done = place.run(programs.KILLED_HEAD)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["HeadDiedError SIGKILL", "HeadDiedError SIGKILL", "again 1"]


@pytest.mark.parametrize(
    "ending", ["pass", "sys.exit(3)", "raise ValueError", "os._exit(4)", "os.kill(os.getpid(), 9)"]
)
def test_a_program_that_ends_without_shutdown_leaves_nothing(place: Place, ending: str) -> None:
    done = place.run(programs.BUSY + ending)
    assert done.returncode == {"pass": 0, "sys.exit(3)": 3, "raise ValueError": 1, "os._exit(4)": 4}.get(ending, -9)
    place.assert_nothing_left()


def test_a_driver_stopped_by_ctrl_c_leaves_nothing(place: Place) -> None:
    program = place.start(programs.BUSY + "nbaccel.get(running)")
    assert program.stdout is not None
    assert program.stdout.readline() == "busy\n"
    program.send_signal(signal.SIGINT)
    _out, err = program.communicate(timeout=DEADLINE_S)
    assert "KeyboardInterrupt" in err
    place.assert_nothing_left()


def test_whoever_waits_when_the_cluster_is_shut_down_is_told(place: Place) -> None:
    done = place.run(programs.WAITING_AT_SHUTDOWN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["3 True", "ObjectLostError True"]


def test_two_heads_live_side_by_side(place: Place) -> None:
    both = [place.start(programs.BUSY + "sys.stdin.readline()") for _ in range(2)]
    for program in both:
        assert program.stdout is not None
        assert program.stdout.readline() == "busy\n"
    both[0].kill()
    both[0].communicate()
    _out, err = both[1].communicate("go\n")
    assert both[1].returncode == 0, err
    place.assert_nothing_left()


def test_daemon_threads_that_wait_when_a_script_ends_end_without_a_word(place: Place) -> None:
    done = place.run(programs.DAEMON_THREADS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")
    place.assert_nothing_left()


def test_a_fork_of_the_driver_may_start_a_head_of_its_own(place: Place) -> None:
    done = place.run(programs.FORKED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["child True 1", "parent 2"]


def test_a_task_that_forks_through_multiprocessing_works(cluster: Place) -> None:
    assert nbaccel.get(misbehaving.fork_a_pool.remote()) == [0, 1, 4, 9]


def test_signals_of_the_terminal_reach_the_driver_only(place: Place) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", programs.INTERRUPTED],
        env=place.environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "waiting\n"
    os.killpg(program.pid, signal.SIGINT)
    out, _err = program.communicate(timeout=DEADLINE_S)
    assert out == "interrupted\nstill here 7\n"


@pytest.mark.slow
def test_every_task_ends_while_processes_are_killed_at_random(place: Place) -> None:
    done = place.run("from tests.local_engine import chaos\nchaos.main(seconds=5)")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("all ended"), done.stdout


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("raise", 1)])
def test_a_process_that_a_task_forked_ends_where_the_task_would(cluster: Place, how: str, code: int) -> None:
    assert nbaccel.get(misbehaving.return_in_a_fork.remote(how), timeout=DEADLINE_S) == code
    forks = misbehaving.Forks.remote()
    assert nbaccel.get(forks.and_returns.remote(how), timeout=DEADLINE_S) == code


def test_a_process_that_a_task_forked_is_told_that_it_has_no_head(cluster: Place) -> None:
    said = misbehaving.get_in_a_fork.remote(str(cluster.root / "the-child-has-asked"))
    assert "was forked from" in nbaccel.get(said)


def test_the_first_error_of_many_is_raised_before_the_others_are_there(cluster: Place) -> None:
    slow = misbehaving.wait_for_file.remote(str(cluster.root / "go"))
    with pytest.raises(misbehaving.Broken):
        nbaccel.get([slow, misbehaving.raise_noted.remote(str(cluster.root / "runs"))])
    (cluster.root / "go").touch()
    assert nbaccel.get(slow) == "gone"


SPILLED = """
import os, signal
import numpy, nbaccel
nbaccel.init(num_cpus=1, object_store_memory=8 << 20)
refs = [nbaccel.put(numpy.zeros(5 << 17)) for _ in range(4)]
(record,) = nbaccel.views.sessions.find()
print(record.directory, os.listdir(record.directory), flush=True)
os.kill(record.pid, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_start_removes_what_a_head_left_that_was_killed_with_its_driver(place: Place) -> None:
    program = place.start("import nbaccel.views.sessions\n" + SPILLED)
    assert program.stdout is not None
    folder = Path(program.stdout.readline().split()[0])
    wait_until(lambda: "T" in Path(f"/proc/{program.pid}/stat").read_text().split()[2], "the program to stand still")
    for pid in carriers(place.token):
        os.kill(pid, signal.SIGKILL)
    program.communicate()
    assert folder.is_dir()
    other = place.start("import nbaccel, sys\nnbaccel.init(num_cpus=1)\nsys.stdin.readline()")
    wait_until(lambda: not folder.exists(), "the end of the killed head's directory")
    other.communicate("\n")
    place.assert_nothing_left()


@nbaccel.remote
class Parent:
    """Starts a process in a session of its own, and one that such a process starts in another."""

    def start(self) -> tuple[int, list[int]]:
        inner = (
            "import subprocess as s; print(s.Popen(['sleep', '1000'], start_new_session=True).pid, flush=True); input()"
        )
        outer = subprocess.Popen(
            [sys.executable, "-c", inner],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert outer.stdout is not None
        return os.getpid(), [outer.pid, int(outer.stdout.readline())]

    def leave(self) -> None:
        nbaccel.actor.exit_actor()


def _signalled(number: signal.Signals) -> Any:
    return lambda actor, pid: os.kill(pid, number)


ENDS = {
    "SIGKILL": _signalled(signal.SIGKILL),
    "SIGSEGV": _signalled(signal.SIGSEGV),
    "kill": lambda actor, pid: nbaccel.kill(actor),
    "exit_actor": lambda actor, pid: actor.leave.remote(),
    "no handle": lambda actor, pid: None,
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_worker_ends_what_it_started_in_sessions_of_their_own(cluster: Place, end: str) -> None:
    actor, other = Parent.remote(), Parent.remote()
    pid, started = nbaccel.get(actor.start.remote())
    _, kept = nbaccel.get(other.start.remote())
    ENDS[end](actor, pid)
    del actor
    wait_until(lambda: not any(map(is_alive, [pid, *started])), f"the end of {started}")
    assert all(map(is_alive, kept))
    nbaccel.kill(other)
    wait_until(lambda: not any(map(is_alive, kept)))


def test_a_child_forked_while_threads_of_its_worker_hold_locks_is_refused(cluster: Place) -> None:
    answer = nbaccel.get(misbehaving.fork_while_locked.remote(), timeout=DEADLINE_S)
    assert answer == "RaySystemError RaySystemError RaySystemError"
