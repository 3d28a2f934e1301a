"""Callers and actors of the tests of who dies. Workers import this module: it needs no test library."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions


@nbaccel.remote
def same(value: Any) -> Any:
    return value


@nbaccel.remote
class Called:
    """An actor that may be called directly."""

    def pid(self) -> int:
        return os.getpid()

    def echo(self, value: Any) -> Any:
        return value

    def wait_for(self, path: str) -> None:
        while not os.path.exists(path):
            time.sleep(0.01)


@nbaccel.remote
class CalledAsync:
    """The same, with a loop: calls are begun in their order and end as they like."""

    async def pid(self) -> int:
        return os.getpid()

    async def echo(self, value: Any) -> Any:
        return value

    async def wait_for(self, path: str) -> None:
        while not os.path.exists(path):
            await asyncio.sleep(0.01)


CALLED = {"one by one": Called, "asyncio": CalledAsync}


@nbaccel.remote
class Keeper:
    """It lives longer than the caller, and holds what that has given it."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def keep(self, name: str, boxed: list[Any]) -> None:
        self.kept[name] = boxed[0]

    def outcome(self, name: str) -> Any:
        """The result, or the name of its error."""
        return outcome(self.kept[name])


def outcome(ref: Any) -> Any:
    """The result of a call, or the name of its error."""
    try:
        return nbaccel.get(ref)
    except exceptions.RayError as error:
        return type(error).__name__


def call(actor: Any, method: str, *args: Any) -> Any:
    """Call a method. All calls come from this line, of which only the first one goes through the head for its terms."""
    return getattr(actor, method).remote(*args)


def sent_directly(actor: Any) -> int:
    """How many calls this process has sent directly to the actor."""
    started: Any = engines.started()
    way = started.direct.connections.get(actor._actor_id_bytes) if started.direct is not None else None
    return way.sent if way is not None else 0


def connected(kind: str = "one by one") -> Any:
    """An actor whose next calls are direct, if those of this process may be."""
    actor = CALLED[kind].options(num_cpus=0).remote()
    started: Any = engines.started()
    nbaccel.get([call(actor, "pid"), call(actor, "echo", 0), call(actor, "wait_for", "/")])
    if started.direct is not None:
        way = started.direct.connections[actor._actor_id_bytes]
        while not way.is_open or way._at_head:
            time.sleep(0.01)
    return actor


CALLER = """
import os, sys
import nbaccel
from tests.local_engine import direct_programs as programs
nbaccel.init(address="auto", namespace="cells")
keeper = programs.Keeper.options(name="keeper", lifetime="detached", num_cpus=0).remote()
actor = programs.connected(os.environ["KIND"])
pid = nbaccel.get(programs.call(actor, "pid"))
after = programs.call(actor, "echo", 5)
nbaccel.get(after)
nbaccel.get(keeper.keep.remote("after", [after]))
in_flight = programs.call(actor, "wait_for", "/nowhere")
behind_it = programs.call(actor, "echo", 6)
programs.call(actor, "echo", 7)
if os.environ["KIND"] == "asyncio":
    nbaccel.get(behind_it)  # it overtakes
nbaccel.get(keeper.keep.remote("in flight", [in_flight]))
nbaccel.get(keeper.keep.remote("behind it", [behind_it]))
print("ready", pid, programs.sent_directly(actor), flush=True)
sys.stdin.readline()
"""

ORPHAN = """
import os, signal, sys, time
import nbaccel
from tests.local_engine import direct_programs as programs
nbaccel.init(num_cpus=2)
actor = programs.connected(os.environ["KIND"])
pid = nbaccel.get(programs.call(actor, "pid"))
after = programs.call(actor, "echo", 5)
nbaccel.get(after)
in_flight = programs.call(actor, "wait_for", "/nowhere")
another = programs.same.remote(in_flight)
programs.call(actor, "echo", 6)
print("sent directly:", programs.sent_directly(actor))
os.kill(nbaccel.snapshot().runtime.pid, signal.SIGKILL)
def outcome(make):
    try:
        return programs.outcome(make())
    except nbaccel.exceptions.RayError as error:
        return type(error).__name__
print("in flight, for the caller:", outcome(lambda: in_flight))
print("in flight, for another:", outcome(lambda: another))
print("after, for the caller:", outcome(lambda: after))
print("after, for another:", outcome(lambda: programs.same.remote(after)))
print("before:", outcome(lambda: programs.call(actor, "echo", 7)))
while os.path.exists(f"/proc/{pid}"):
    time.sleep(0.01)
print("the actor has ended")
"""
