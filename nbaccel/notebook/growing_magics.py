"""`%accel_nodes` and `%accel_scale`: the nodes that come and go, and room that this notebook asks for."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbaccel import api, autoscaler, engine
from nbaccel.autoscaler.held_resources import bundles_of
from nbaccel.autoscaler.sdk import say_fixed
from nbaccel.notebook import arguments, options, view, views
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.notebook.followed_nodes import FollowedNodes
from nbaccel.notebook.one_line import said_in_one_line
from nbaccel.notebook.options import documented
from nbaccel.notebook.places import Displays
from nbaccel.notebook.view import View
from nbaccel.views import node_tables, wording
from nbaccel.views.snapshot import Snapshot

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
    @said_in_one_line
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
    @said_in_one_line
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
            say_fixed(running, "%accel_scale")
            return
        view.show(view.of_message(_said(asked)))


def _moved(node: str, number: int, size_bytes: int) -> str:
    if not number:
        return f"Nothing lies only on {node}."
    copied = f"{wording.count(number, 'object')} of {node} now ({wording.size(size_bytes)})"
    return f"The head's node has {copied}. {node} leaves when it has been idle long enough."


def _said(asked: dict[str, Any]) -> str:
    names = {"CPU": asked.get("num_cpus"), "GPU": asked.get("num_gpus")}
    counted = {name: float(number) for name, number in names.items() if number}
    if not counted:
        return "This notebook asks for no room any more; idle nodes leave after their time."
    room = wording.demand(counted)
    return f"This notebook asks for room for {room}, until %accel_scale 0 or its end. %accel_nodes shows what comes."
