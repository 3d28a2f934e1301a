"""`%accel_dashboard`: the live cockpit under a cell."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbaccel.notebook import arguments, dashboards, options
from nbaccel.notebook.one_line import said_in_one_line
from nbaccel.notebook.options import documented


@magics_class
class DashboardMagics(Magics):
    """The magic that shows the cluster live."""

    shell: InteractiveShell

    @line_magic
    @no_var_expand
    @said_in_one_line
    @documented("Show every device, what it does and for which cell, live, with buttons to cancel.")
    def accel_dashboard(self, line: str) -> None:
        arguments.parse(line, options.MAGICS["accel_dashboard"], self.shell.var_expand)
        dashboards.show(details=True)
