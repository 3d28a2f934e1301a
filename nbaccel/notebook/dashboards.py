"""`nbaccel.dashboard()`: the live cockpit if the notebook can show it, otherwise the static card."""

from __future__ import annotations

import atexit
import importlib.util
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from nbaccel import api
from nbaccel import engine as engines
from nbaccel.notebook import displays, view, views

if TYPE_CHECKING:
    from nbaccel.notebook.widget import Cockpit

_cockpit: Cockpit | None = None  # one for each kernel


def dashboard() -> Any:
    """The live view of every device and its cell; as the last line of a cell it is shown.

    Needs `pip install nbaccel[lab]`; without it, or without a front end, this is the card of now.
    """
    return shown(details=True)


def shown(*, details: bool) -> Any:
    """The object to display: the cockpit with its tabs or in its compact form, or the card."""
    global _cockpit
    if not api.is_initialized() or not can_be_live():
        return views.status()
    from nbaccel.notebook.widget import Cockpit

    shell = get_ipython()
    in_kernel = shell is not None and getattr(shell, "kernel", None) is not None
    if _cockpit is None or _cockpit.comm is None:
        _cockpit = Cockpit(displays.Displays(shell)) if in_kernel else Cockpit()
        engines.before_end(_cockpit.engine_ends)
        atexit.register(_cockpit.kernel_ends)
    _cockpit.in_places = in_kernel and displays.can_be_used(shell)
    _cockpit.follow(engines.current(), views.seen(), details=details)
    return _cockpit


def place_now() -> str:
    """The CSS class of the places into which the page puts views of this kernel's cockpit; "" without one."""
    return _cockpit.live_place if _cockpit is not None and _cockpit.comm is not None else ""


def can_be_live() -> bool:
    """Whether a front end can show a widget.

    A kernel whose front end cannot be asked for input is run by a program (nbconvert, papermill). The saved output
    must be complete without a kernel, and a saved widget is not.
    """
    if importlib.util.find_spec("anywidget") is None:
        return False
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return shell is None and _in_marimo()
    return bool(getattr(kernel, "_allow_stdin", True))


def _in_marimo() -> bool:
    import sys

    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def show(*, details: bool) -> None:
    """Display it under the running cell."""
    from IPython.display import display

    thing = shown(details=details)
    if isinstance(thing, view.View):
        view.show(thing)
    else:
        display(thing)  # type: ignore[no-untyped-call]
