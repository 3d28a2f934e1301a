"""The display settings that a person may change: by `%accel_config`, or for good in `ipython_config.py`.

Example (in ipython_config.py)::

    c.NotebookSettings.lines_per_cell = 1000
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets import Float, Int, TraitError
from traitlets.config import Configurable

from nbaccel.views.tables import Table


class NotebookSettings(Configurable):
    """The settings of one shell; each trait's help is what `%accel_config` shows."""

    lines_per_cell = Int(200, min=0, help="lines of tasks' output under one cell; the rest is folded into a count").tag(
        config=True
    )
    lines_per_s = Float(20.0, min=0.1, help="lines a second under one cell, after a first burst").tag(config=True)
    burst_lines = Int(60, min=1, help="lines at once, before lines_per_s counts").tag(config=True)
    errors_shown = Int(4, min=1, help="how many of many failures are shown in full").tag(config=True)
    tasks_shown = Int(20, min=1, help="rows of %accel_tasks").tag(config=True)

    def change(self, asked: dict[str, Any]) -> None:
        """Changes settings; raises ValueError with the bounds for a wrong value."""
        for name, value in asked.items():
            try:
                setattr(self, name, value)
            except TraitError:
                least = getattr(self.traits()[name], "min", 0)
                raise ValueError(f"'{name}={value}': it must be at least {least}.") from None

    def as_table(self) -> Table:
        """Every setting with its value and meaning."""
        rows = [
            (name, str(getattr(self, name)), trait.help) for name, trait in sorted(self.traits(config=True).items())
        ]
        return Table("Settings", ("Setting", "Value", "Meaning"), rows)


def of(shell: InteractiveShell) -> NotebookSettings:
    """The settings of this shell, created from its configuration at the first call."""
    settings = shell.__dict__.get("_nbaccel_settings")
    if not isinstance(settings, NotebookSettings):
        settings = shell.__dict__["_nbaccel_settings"] = NotebookSettings(parent=shell)
    return settings
