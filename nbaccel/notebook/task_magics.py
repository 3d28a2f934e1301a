"""What is asked about tasks: which there are, why they wait, what they printed; and cancelling them."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbaccel.notebook import arguments, cells, options, settings, view, views
from nbaccel.notebook.one_line import said_in_one_line
from nbaccel.notebook.options import documented


@magics_class
class TaskMagics(Magics):
    """Look at the tasks of this notebook's cluster."""

    shell: InteractiveShell

    def _parse(self, magic: str, line: str) -> dict[str, Any]:
        asked = arguments.parse(line, options.MAGICS[magic], self.shell.var_expand)
        if asked.get("cell") == "here":
            asked["cell"] = str(cells.install(self.shell).number)
        return asked

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Show the newest tasks: state, devices, process, cell, age, and why one waits or failed.")
    def accel_tasks(self, line: str) -> None:
        view.show(views.tasks(**{"limit": settings.of(self.shell).tasks_shown, **self._parse("accel_tasks", line)}))
