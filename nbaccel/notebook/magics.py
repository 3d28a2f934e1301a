"""`%accel_init`, `%accel_status`, `%accel_devices`, `%accel_shutdown`: first contact with a cluster.

A magic reads its line by the table in `options`, calls one public function and shows a view. A mistake in the line and
a refusal of the cluster are one line of text; a traceback means a bug of ours.
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbaccel import api
from nbaccel.notebook import arguments, completion, dashboards, mistyped_magics, options, settings, view, views
from nbaccel.notebook.attaching import attach
from nbaccel.notebook.cell_magics import CellMagics
from nbaccel.notebook.dashboard_magics import DashboardMagics
from nbaccel.notebook.growing_magics import GrowingMagics
from nbaccel.notebook.one_line import said_in_one_line
from nbaccel.notebook.options import documented
from nbaccel.notebook.starting import Starter
from nbaccel.notebook.task_magics import TaskMagics
from nbaccel.views import sessions


def register(ipython: InteractiveShell) -> None:
    """Register magics, completion and the watch of cells, for `%load_ext nbaccel`. A second call changes nothing."""
    ipython.register_magics(ClusterMagics, TaskMagics, CellMagics, DashboardMagics, GrowingMagics)
    completion.install(ipython)
    mistyped_magics.install(ipython)
    attach(ipython)


@magics_class
class ClusterMagics(Magics):
    """Start, see and end the cluster of this notebook."""

    shell: InteractiveShell

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        # It belongs to the shell: after %reload_ext it still knows what the cluster was started with.
        self._starter: Starter = shell.__dict__.setdefault("_nbaccel_starter", Starter(api, sessions.find))

    def _parse(self, magic: str, line: str) -> dict[str, Any]:
        return arguments.parse(line, options.MAGICS[magic], self.shell.var_expand)

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Start a cluster for this notebook and show its card; the same again only shows the card.")
    def accel_init(self, line: str) -> None:
        asked = self._parse("accel_init", line)
        shared, restart = asked.pop("shared", False), asked.pop("restart", False)
        for sentence in self._starter.start(asked, shared=shared, restart=restart):
            view.show(view.of_message(sentence))
        dashboards.show(details=False)

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Show the cluster: what is free, which device is held by whom, what waits and why.")
    def accel_status(self, line: str) -> None:
        _show(views.status(), as_json=self._parse("accel_status", line).get("json", False))

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Show every device with its holders and the cells that they belong to.")
    def accel_devices(self, line: str) -> None:
        asked = self._parse("accel_devices", line)
        _show(views.devices(everything=asked.get("all", False)), as_json=asked.get("json", False))

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Show every actor that lives: its devices, process and cell, and how many calls wait for it.")
    def accel_actors(self, line: str) -> None:
        self._parse("accel_actors", line)
        view.show(views.actors())

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("End this notebook's cluster, or leave the shared one; nothing is left running.")
    def accel_shutdown(self, line: str) -> None:
        self._parse("accel_shutdown", line)
        view.show(view.of_message(self._starter.stop()))

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Change how nbaccel shows itself; without options, show the settings.")
    def accel_config(self, line: str) -> None:
        current = settings.of(self.shell)
        current.change(self._parse("accel_config", line))
        view.show(view.of_table(current.as_table()))


def _show(shown: view.View, *, as_json: bool) -> None:
    if as_json and api.is_initialized():
        print(api.snapshot().to_json().decode())  # noqa: T201 - text that a person copies
    else:
        view.show(shown)
