"""Actor handles and refs that a notebook holds where nobody sees them: earlier outputs and the last error's frames.

An actor ends with its last handle. After `del actor`, one may still be in `Out[7]` or `_`, or in a function's local
variable, which the traceback of the last error keeps. `release` lets go of those.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel.handles.refs import ObjectRef
from nbaccel.handles.remote import ActorHandle
from nbaccel.notebook.ref_names import items_of

LATEST = ("_", "__", "___")


def found(shell: InteractiveShell) -> list[str]:
    """Where handles are held: `actor Model in Out[7]`, `actor Model in variable a of train, in the last traceback`."""
    outputs = [f"{held} in Out[{number}]" for number, value in _outputs(shell) for held in _held(value)]
    variables = [
        f"{held} in variable {name} of {frame.f_code.co_name}, in the last traceback"
        for frame in _frames()
        for name, value in list(frame.f_locals.items())
        for held in _held(value)
    ]
    return outputs + variables


def release(shell: InteractiveShell) -> list[str]:
    """Let go of them; what they were."""
    what = found(shell)
    for number, value in _outputs(shell):
        if any(_held(value)):
            shell.user_ns.get("Out", {}).pop(number, None)
            for names in (shell.user_ns, shell.user_ns_hidden):  # IPython writes outputs into both
                names.pop(f"_{number}", None)
    for name in LATEST:
        if any(_held(shell.user_ns.get(name))):
            shell.user_ns[name] = shell.user_ns_hidden[name] = ""
            setattr(shell.displayhook, name, "")
    for error in _last_errors():
        traceback.clear_frames(error.__traceback__)
        for frame, _line in traceback.walk_tb(error.__traceback__):
            frame.f_locals  # noqa: B018 - reading it drops what an earlier reading has kept of a cleared frame
    gc.collect()
    return what


def _outputs(shell: InteractiveShell) -> list[tuple[int, Any]]:
    return list(shell.user_ns.get("Out", {}).items())


def _held(value: Any) -> Iterator[str]:
    """The handles and refs of a value: itself, or items of a list or dict."""
    for each in (value, *(item for _, item in items_of(value))):
        if isinstance(each, ActorHandle):
            yield f"actor {each._class_name}"
        elif isinstance(each, ObjectRef):
            yield f"ref {each.hex()[:8]}"


def _last_errors() -> Iterator[BaseException]:
    error: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _frames() -> Iterator[FrameType]:
    """The frames of functions in the last error; a cell's own frame has the notebook's variables."""
    for error in _last_errors():
        for frame, _line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_name != "<module>":
                yield frame
