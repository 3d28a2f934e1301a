"""Opens the driver's door for observers, such as the Jupyter server."""

from __future__ import annotations

import sys
import warnings

from nbaccel import __version__
from nbaccel.engine import Engine
from nbaccel.views import sessions
from nbaccel.views.driver_door import DriverDoor, DriverFacts
from nbaccel.views.snapshot import OnSnapshot


def opened_door(engine: Engine) -> DriverDoor | None:
    """The door; None, with a warning, if its socket or its file cannot be written: the cluster is used nevertheless."""

    def watch(callback: OnSnapshot | None, rows: int) -> None:
        engine.watch(callback, rows=rows, reader="observers")

    door = DriverDoor(engine, watch, DriverFacts("ray", __version__, sys.version.split()[0]))
    try:
        door.open()
    except OSError as error:
        warnings.warn(
            f"The Jupyter server cannot list this cluster: its socket or its file in {sessions.directory()} cannot be "
            f"written ({error.strerror or error}). {sessions.advice(error, 'JUPYTER_RUNTIME_DIR')}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return door
