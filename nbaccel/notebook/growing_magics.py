"""`%accel_nodes` and `%accel_scale`: the nodes that come and go, and room that this notebook asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

import msgspec
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbaccel import api, autoscaler, engine
from nbaccel.autoscaler import bundles_of
from nbaccel.autoscaler.sdk import notify_fixed
from nbaccel.notebook import arguments, options, view, views
from nbaccel.notebook.arguments import TypingMistake, in_one_line
from nbaccel.notebook.displays import Displays
from nbaccel.notebook.options import documented
from nbaccel.notebook.view import View
from nbaccel.views import node_tables, wording
from nbaccel.views.snapshot import OnSnapshot, Snapshot

MOST_FOLLOWED = 10  # outputs of %accel_nodes that are kept up to date: the newest ones
OF_THIS_NOTEBOOK = "notebook"  # the id of what this notebook asks for: the next %accel_scale replaces it


@magics_class
class GrowingMagics(Magics):
    """The magics about nodes that come and go."""

    shell: InteractiveShell

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._followed: FollowedNodes | None = None  # a terminal shows no output again
        if getattr(shell, "kernel", None) is not None:
            self._followed = FollowedNodes(lambda: Displays(shell, MOST_FOLLOWED), self._drawn)

    def _drawn(self, snapshot: Snapshot, note: str) -> View:
        return views.nodes_of(snapshot, self.shell.user_ns, note)

    def _parse(self, magic: str, line: str) -> tuple[dict[str, Any], list[str]]:
        return arguments.parse_with_words(line, options.MAGICS[magic], self.shell.var_expand)

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show the nodes that are here, arriving and leaving, and the types of nodes that can be added.")
    def accel_nodes(self, line: str) -> None:
        asked, words = self._parse("accel_nodes", line)
        if words:
            raise TypingMistake(f"%accel_nodes takes no words, but got {words[0]!r}.")
        if "move" in asked and api.is_initialized():
            view.show(view.of_message(_moved(asked["move"], *autoscaler.move_objects(asked["move"]))))
            return
        if self._followed is not None and api.is_initialized():
            self._followed.show(engine.current(), views.seen())
        else:
            view.show(views.nodes(self.shell.user_ns))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Ask for room for this notebook, added to what others ask for; 0 withdraws it, and so does its end.")
    def accel_scale(self, line: str) -> None:
        asked, words = self._parse("accel_scale", line)
        if words not in ([], ["0"]) or bool(words) == bool(asked.keys() & {"num_gpus", "num_cpus"}):
            raise TypingMistake("Say what to have room for, as in %accel_scale num_gpus=2, or %accel_scale 0 for none.")
        if not api.is_initialized():
            view.show(view.of_message(views.NOT_RUNNING))
            return
        dry_run = asked.pop("dry_run", False)
        bundles = bundles_of(asked.get("num_cpus"), asked.get("num_gpus"))
        running = engine.current()
        if dry_run:
            view.show(view.of_message(*node_tables.expected(running.expected_growth(bundles), running.snapshot())))
            return
        if not running.hold_resources(OF_THIS_NOTEBOOK, bundles):
            notify_fixed(running, "%accel_scale")
            return
        view.show(view.of_message(_request_words(asked)))


def _moved(node: str, number: int, size_bytes: int) -> str:
    if not number:
        return f"Nothing lies only on {node}."
    copied = f"{wording.count(number, 'object')} of {node} now ({wording.size(size_bytes)})"
    return f"The head's node has {copied}. {node} leaves when it has been idle long enough."


def _request_words(asked: dict[str, Any]) -> str:
    names = {"CPU": asked.get("num_cpus"), "GPU": asked.get("num_gpus")}
    counted = {name: float(number) for name, number in names.items() if number}
    if not counted:
        return "This notebook asks for no room any more; idle nodes leave after their time."
    room = wording.demand(counted)
    return f"This notebook asks for room for {room}, until %accel_scale 0 or its end. %accel_nodes shows what comes."


# ---- `%accel_nodes` in a kernel: plain outputs whose lines change in place as nodes come and go
#
# ```
#   engine's thread ── snapshot ──► the newest one ──► a thread of this module ── if the text differs ──► each output
#                                      time alone: "arriving for 12 s", once a second while a node comes or goes
# ```
# Messages count as activity of the kernel, and a hub stops idle kernels. The outputs are therefore followed until
# nothing has come or gone for ten minutes. A saved notebook keeps the last state, with its time.


FOLLOWED_S = 600.0  # after the last moment at which a node came or went
TICK_S = 1.0  # while a node comes or goes
QUIET_TICK_S = 30.0  # else: how long nodes are idle is told nevertheless
ENDED = "the cluster has ended"
LEFT = "no longer updated; %accel_nodes shows the present"

_numbers = count(1)  # each following has a reader of its own: the end of one cannot end the next

DrawNodes = Callable[[Snapshot, str], View]  # a snapshot, and the last line


class NodeOutputs(Protocol):
    """The outputs that are drawn again: `displays.Displays`, or a test's."""

    def show(self, data: dict[str, str], metadata: dict[str, str]) -> None: ...
    def draw(self, data: dict[str, str]) -> None: ...
    def draw_last(self, data: dict[str, str]) -> None: ...


class FollowedEngine(Protocol):
    """The part of an engine that following needs."""

    def watch(self, callback: OnSnapshot | None, *, metrics: bool = True, reader: str = "view") -> None: ...


class FollowedNodes:
    """What `%accel_nodes` shows in one kernel: all outputs of one engine show the same."""

    def __init__(self, outputs: Callable[[], NodeOutputs], draw: DrawNodes) -> None:
        self._outputs = outputs
        self._draw = draw
        self._following: Following | None = None

    def show(self, engine: FollowedEngine, now: Snapshot) -> None:
        """Show a new output under the running cell, and keep all outputs of this engine as it is from now on."""
        if self._following is not None and self._following.shows_also(engine, now):
            return
        reader = f"nodes-{next(_numbers)}"
        self._following = Following(engine, now, self._outputs(), self._draw, reader)
        threading.Thread(target=self._following.run, name="nbaccel-nodes", daemon=True).start()


class Following:
    """The outputs that follow one engine, from the first one to ten minutes after the last change."""

    def __init__(
        self,
        engine: FollowedEngine,
        now: Snapshot,
        outputs: NodeOutputs,
        draw: DrawNodes,
        reader: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._outputs = outputs
        self._draw = draw
        self._reader = reader
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._is_over = False
        self._text = ""  # that is shown
        self._show(now)
        engine.watch(self._came, metrics=False, reader=reader)

    def shows_also(self, engine: FollowedEngine, now: Snapshot) -> bool:
        """Show another output; False if this engine is not followed, or no longer."""
        with self._lock:
            if self._is_over or engine is not self._engine:
                return False
            self._show(now)
            return True

    def _show(self, now: Snapshot) -> None:
        self._outputs.show(self._bundle(now), {})
        self._take(now)
        self._until = self._clock() + FOLLOWED_S

    def _take(self, snapshot: Snapshot) -> None:
        self._newest, self._came_at = snapshot, self._clock()

    def _came(self, snapshot: Snapshot | None) -> None:
        """A snapshot, or the end of the engine; in the engine's thread."""
        with self._lock:
            if snapshot is not None:
                self._take(snapshot)
            elif not self._is_over:
                self._end(ENDED)
        self._changed.set()

    def run(self) -> None:
        """Draw what changes until the end."""
        while (wait_s := self.look()) is not None:
            self._changed.wait(wait_s)
            self._changed.clear()
        self._engine.watch(None, reader=self._reader)

    def look(self) -> float | None:
        """Draw what has changed; in how many seconds to look again if nothing comes, None at the end."""
        with self._lock:
            if self._is_over:
                return None
            now = self._now()
            if _something_comes_or_goes(now):
                self._until = self._clock() + FOLLOWED_S
            if self._clock() >= self._until:
                self._end(LEFT)
                return None
            if self._draw(now, "").text != self._text:
                self._outputs.draw(self._bundle(now))
            return TICK_S if _something_comes_or_goes(now) else QUIET_TICK_S

    def _now(self) -> Snapshot:
        """The newest snapshot at the present time: ages go on while nothing happens."""
        return msgspec.structs.replace(self._newest, time=self._newest.time + self._clock() - self._came_at)

    def _end(self, why: str) -> None:
        self._is_over = True
        self._outputs.draw_last(self._bundle(self._now(), f"; {why}"))

    def _bundle(self, now: Snapshot, more: str = "") -> dict[str, str]:
        self._text = self._draw(now, "").text
        drawn = self._draw(now, f"as of {wording.moment(now.time)}{more}")
        return {"text/plain": drawn.text, "text/html": drawn.html}


def _something_comes_or_goes(now: Snapshot) -> bool:
    leaves = any(
        node.alive and not node.kept_by and node.leaves_at is not None and node.leaves_at > now.time
        for node in now.nodes
    )
    tries = any(kind.failures and not kind.given_up and kind.next_try_at for kind in now.node_types)
    return bool(now.arrivals) or leaves or tries
