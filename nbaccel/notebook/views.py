"""The magics as plain functions, for notebooks without magics (marimo) and for code: each returns what it would show.

Example::

    from nbaccel import notebook
    notebook.devices()      # as %accel_devices
"""

from __future__ import annotations

from collections.abc import Collection

from nbaccel import api, tables
from nbaccel.notebook import view
from nbaccel.notebook.view import View
from nbaccel.snapshot import Snapshot, TaskRow

NOT_RUNNING = "nbaccel is not running here. Start it with %accel_init or nbaccel.init()."


# The last picture that was shown: Tab offers its tasks without asking anyone.
_last_seen: Snapshot | None = None


def seen() -> Snapshot:
    """The picture of now, remembered for Tab. Raises RaySystemError where nothing runs."""
    global _last_seen
    _last_seen = api.snapshot()
    return _last_seen


def last_seen() -> Snapshot | None:
    """The last picture that was shown, None before the first."""
    return _last_seen


def status() -> View:
    """The cluster card of this notebook's cluster; as `%accel_status`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    return view.of_cluster(seen())


def devices(*, everything: bool = False) -> View:
    """Every offered device and who holds it, `everything` for the others too; as `%accel_devices`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    return view.of_table(tables.devices(seen(), everything=everything))


def tasks(*, state: Collection[str] = (), cell: str = "", limit: int = 20) -> View:
    """The newest tasks, of these states ("running", "waiting", …) and this cell ("7"); as `%accel_tasks`."""
    if not api.is_initialized():
        return view.of_message(NOT_RUNNING)
    picture = seen()
    rows = chosen(picture, state=state, cell=cell)
    newest = sorted(rows, key=lambda row: row.submitted_at or 0.0)[-limit:] if limit else rows
    return view.of_table(tables.tasks(picture, newest))


def chosen(picture: Snapshot, *, state: Collection[str] = (), cell: str = "") -> list[TaskRow]:
    """The tasks of a picture that are in these states and were submitted by this cell."""
    return [
        row
        for row in picture.tasks
        if (not state or tables.state_word(row.state) in state or row.state in state)
        and (not cell or row.cell.startswith(f"[{cell.strip('[]')}]"))
    ]
