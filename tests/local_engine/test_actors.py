"""Actors of the local engine alone: the words of their deaths, their restarts, and what they say at their end."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import sys
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.state import list_actors
from tests.rig import wait_until, written_so_far

pytestmark = pytest.mark.usefixtures("cluster")


@nbaccel.remote
class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self) -> int:
        self.count += 1
        return self.count

    def die(self) -> None:
        os._exit(3)


# ---- deaths and restarts


def test_a_death_is_told_with_its_exit_code_and_the_last_one_is_final() -> None:
    actor = Counter.options(max_restarts=1, max_task_retries=1).remote()
    with pytest.raises(exceptions.ActorUnavailableError, match="code 3"):
        nbaccel.get(actor.die.options(max_task_retries=0).remote())
    assert nbaccel.get(actor.add.remote()) == 1
    with pytest.raises(exceptions.ActorDiedError, match="code 3"):
        nbaccel.get(actor.die.remote())


def test_a_restart_storm_ends_with_the_exit_code() -> None:
    @nbaccel.remote(max_restarts=2)
    class Storm:
        def __init__(self) -> None:
            os._exit(1)

        def call(self) -> None: ...

    with pytest.raises(exceptions.ActorDiedError, match="exited with code 1"):
        nbaccel.get(Storm.remote().call.remote())


def test_a_call_that_ends_the_process_and_those_behind_it_are_made_again_where_they_have_retries_only() -> None:
    actor = Counter.options(max_restarts=5).remote()
    before = [actor.add.remote() for _ in range(30)]
    fatal = actor.die.remote()
    behind = actor.add.remote()
    patient = [actor.add.options(max_task_retries=1).remote() for _ in range(3)]
    assert nbaccel.get(before) == list(range(1, 31))
    for call in (fatal, behind):
        with pytest.raises(exceptions.ActorUnavailableError):
            nbaccel.get(call)
    assert nbaccel.get(patient) == [1, 2, 3]
    assert [row.num_restarts for row in list_actors() if row.actor_id == actor._actor_id.hex()] == [1]


def test_an_actor_that_waits_says_why() -> None:
    counter = Counter.options(num_gpus=50).remote()
    row = wait_until(lambda: [row for row in list_actors() if row.actor_id == counter._actor_id.hex() and row.why])[0]
    assert row.state == "PENDING_CREATION" and "50" in row.why


# ---- what a class may look like


@pytest.mark.parametrize("broken", [lambda self: 1 / 0, lambda self: ""])
def test_an_actor_without_a_name_for_itself_is_an_actor(broken: Any) -> None:
    nameless = type("Nameless", (), {"__repr__": broken, "answer": lambda self: 42})
    assert nbaccel.get(nbaccel.remote(nameless).remote().answer.remote()) == 42


def test_a_class_that_is_made_by_new_is_an_actor() -> None:
    point = nbaccel.remote(namedtuple("Point", "x y"))
    assert nbaccel.get(point.remote(3, y=4).index.remote(4)) == 1
    with pytest.raises(TypeError):
        point.remote(1, 2, 3)


def test_a_member_of_a_class_that_cannot_be_pickled_is_named_with_its_class() -> None:
    class Guarded:
        lock = threading.Lock()

    with pytest.raises(TypeError, match=r"Guarded\.lock \(_thread\.lock\) cannot be pickled"):
        nbaccel.remote(Guarded).remote()


# ---- ends


@nbaccel.remote
class Diarist:
    """Writes down how it ends."""

    def __init__(self, diary: Path) -> None:
        self.diary = diary
        atexit.register(self._write, diary, "atexit")

    @staticmethod
    def _write(diary: Path, word: str) -> None:
        with diary.open("a") as file:
            file.write(word + " ")

    def __ray_shutdown__(self) -> None:
        self._write(self.diary, "shutdown")
        print(nbaccel.get(Counter.remote().add.remote()))  # it can still ask for things

    def ready(self) -> bool:
        return True

    def leave(self) -> None:
        nbaccel.actor.exit_actor()

    def exit(self) -> None:
        raise SystemExit(3)


ENDS = {
    "exit_actor": lambda actor: actor.leave.remote(),
    "__ray_terminate__": lambda actor: actor.__ray_terminate__.remote(),
    "sys.exit": lambda actor: actor.exit.remote(),
    "out of scope": lambda actor: None,
}


@pytest.mark.parametrize("end", list(ENDS))
def test_the_last_words_of_an_actor_come_before_its_exit_handlers(end: str, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    actor = Diarist.remote(diary)
    nbaccel.get(actor.ready.remote())
    ENDS[end](actor)
    del actor
    wait_until(lambda: diary.exists() and diary.read_text() == "shutdown atexit ")


@pytest.mark.parametrize("group", [None, "side"])
@pytest.mark.parametrize("how", ["task", "callback", "asyncio.run", "thread"])
def test_an_actor_that_leaves_in_code_that_nobody_waits_for_prints_nothing_of_it(
    capfd: pytest.CaptureFixture[str], how: str, group: str | None
) -> None:
    @nbaccel.remote(concurrency_groups={"side": 1})
    class Leaves:
        def __ray_shutdown__(self) -> None:
            print("last words", file=sys.stderr)  # in one order with what comes before

        async def go(self) -> None:
            if how == "callback":
                asyncio.get_running_loop().call_soon(nbaccel.actor.exit_actor)
            elif how == "asyncio.run":
                await asyncio.to_thread(asyncio.run, self.begin())
            elif how == "thread":
                thread = threading.Thread(target=nbaccel.actor.exit_actor)
                thread.start()
                thread.join()
            else:
                await self.begin()
            await asyncio.sleep(0)

        async def begin(self) -> None:
            asyncio.create_task(self.leave())  # noqa: RUF006 - nobody is to ask how it ends
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        async def leave(self) -> None:
            nbaccel.actor.exit_actor()

    actor: Any = Leaves.remote()
    with contextlib.suppress(exceptions.ActorDiedError):
        nbaccel.get(actor.go.options(concurrency_group=group).remote())
    wait_until(lambda: "last words" in written_so_far(2), "the actor's end")
    assert "ActorExit" not in capfd.readouterr().err
