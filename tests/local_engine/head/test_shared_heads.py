"""Heads that several drivers share, and who may not."""

from __future__ import annotations

import os
import signal

import pytest

import nbaccel
from nbaccel import engine as engines
from tests.census import Place
from tests.heads import rows
from tests.local_engine import misbehaving, programs, sharing
from tests.local_engine import test_surroundings as surrounded
from tests.rig import DEADLINE_S, is_alive, wait_until


def test_a_driver_that_dies_on_a_shared_head_takes_only_its_own_along(own_head: Place) -> None:
    place = own_head
    try:
        started = place.command("start", "--head", "--num-cpus=2", "--num-gpus=2")
        assert started.returncode == 0, started.stderr
        nbaccel.init(address="auto")
        actor = misbehaving.Fragile.options(num_gpus=1).remote()
        pid = nbaccel.get(actor.pid.remote())
        other = place.start(programs.HOLDER)
        assert other.stdout is not None
        held = other.stdout.readline()
        while held and not held.startswith("holds"):
            held = other.stdout.readline()
        assert held == "holds [1]\n", other.communicate()
        other.kill()
        other.communicate()
        wait_until(lambda: nbaccel.available_resources().get("GPU") == 1, "the other's GPU")
        assert nbaccel.get(actor.pid.remote()) == pid
        assert [row["state"] for row in rows("actors")].count("ALIVE") == 1
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


def test_what_a_driver_held_is_let_go_when_it_leaves(own_head: Place) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto")
        for ending in ("", "import os; os._exit(0)"):
            done = place.run(programs.HOARDER + ending)
            assert "hoarded" in done.stdout, done.stderr
            wait_until(lambda: not rows("objects"), "the hoarder's objects to go")
            wait_until(lambda: not [row for row in rows("actors") if row["state"] != "DEAD"], "its actors to go")
            wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all to be free")
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


def test_drivers_of_a_killed_daemon_are_told_and_sweep_up(own_head: Place) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    nbaccel.init(address="auto")
    child = nbaccel.get(misbehaving.start_child_apart.remote())
    ref = misbehaving.wait_for_file.remote("/nowhere")
    os.kill(nbaccel.snapshot().runtime.pid, signal.SIGKILL)
    with pytest.raises(nbaccel.exceptions.HeadDiedError):
        nbaccel.get(ref)
    wait_until(lambda: not is_alive(child), "the end of what a worker had started")
    nbaccel.shutdown()
    # Who looks next clears away the session of the dead.
    assert "No nbaccel head of yours runs" in place.command("status").stderr


def test_a_driver_that_a_shared_head_shuts_out_leaves_the_head_to_the_others(own_head: Place) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto")
        done = place.run(programs.SHUT_OUT)
        assert done.returncode == 0, done.stderr
        assert "Lost the head: the head ended the connection: this connection said Done, which is not" in done.stdout
        assert nbaccel.get(misbehaving.echo.remote(3)) == 3
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


def test_a_stopped_driver_does_not_keep_the_cpus_of_tasks_that_wait_in_print(own_head: Place) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=1").returncode == 0
    begun = place.root / "begun"
    other = place.start(programs.FLOODER.format(path=str(begun)))
    try:
        nbaccel.init(address="auto")
        wait_until(begun.exists, "the flood")
        other.send_signal(signal.SIGSTOP)
        assert nbaccel.get(sharing.same.remote(1), timeout=DEADLINE_S) == 1
        wait_until(lambda: nbaccel.available_resources().get("CPU") == 1, "the flood to wait in print")
        other.send_signal(signal.SIGCONT)
        wait_until(lambda: not nbaccel.available_resources().get("CPU"), "the flood to go on")
    finally:
        other.kill()
        other.communicate()
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0


LOOKS = """
import os
import nbaccel
from tests.local_engine.test_surroundings import seen

nbaccel.init(address="auto", namespace="shared")
assert nbaccel.get(seen.remote("NB_LATER"))[0] is None
os.chdir("/")
named = nbaccel.get_actor("named")
value, directory = nbaccel.get(named.seen.remote("NB_LATER"))
assert value == "1" and directory != "/", (value, directory)
assert nbaccel.get(named.seen_by_a_task_of_its_own.remote("NB_LATER")) in (None, "1")
"""


def test_a_notebook_that_changes_its_process_changes_no_other_and_no_caller_changes_an_actor(
    own_head: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = own_head
    assert place.command("start", "--head", "--num-cpus=2").returncode == 0
    try:
        nbaccel.init(address="auto", namespace="shared")
        monkeypatch.setenv("NB_LATER", "1")
        monkeypatch.setattr(engines, "cell_source", lambda: ("[1] line 1", b"cell 1"))
        assert nbaccel.get(surrounded.seen.remote("NB_LATER"))[0] == "1"
        named = surrounded.Named.options(name="named").remote()
        here = nbaccel.get(named.seen.remote("NB_LATER"))
        monkeypatch.delenv("NB_LATER")
        done = place.run(LOOKS)
        assert done.returncode == 0, done.stderr
        assert here[0] == "1" and nbaccel.get(named.seen.remote("NB_LATER")) == here
        assert nbaccel.get(named.seen_by_a_task_of_its_own.remote("NB_LATER")) == "1"
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0
