"""Shows nbaccel's errors in a notebook: the user's code and line, and the task with its device and cell.

The remote traceback comes as text without the lines of cells, since a worker has no notebook to look them up in; this
kernel has, so they are filled in here, and the kernel's temporary file names become cell numbers. nbaccel's own frames
are only shown under `%xmode Verbose`, also where Stop has ended a wait.
"""

from __future__ import annotations

import asyncio
import difflib
import functools
import inspect
import linecache
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext, suppress
from types import ModuleType, TracebackType
from typing import Any

import IPython
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine as engines
from nbaccel import exceptions, read_only_arrays, roots
from nbaccel.exceptions import RayError, RayTaskError
from nbaccel.notebook import settings
from nbaccel.notebook.cell_run import BodySyntaxError
from nbaccel.views import wording

FRAME = re.compile(r'^(?P<indent>[\s|]*)File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_OUR_DIRECTORY = roots.PACKAGE + os.sep
_IPYTHONS_DIRECTORY = os.path.dirname(IPython.__file__) + os.sep
MISTAKES = (TypeError, ValueError, AttributeError, RuntimeError, ImportError)  # what a wrong call ends with
_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


def install(shell: InteractiveShell) -> None:
    """Installs this form for nbaccel's errors, and for what nbaccel raised of a call that it does not understand.

    Others stay as they are; one about a read-only array, or a name that nbaccel does not have, gets a note.
    """
    ours = (RayError, KeyboardInterrupt, asyncio.CancelledError, BodySyntaxError, UsageError, *MISTAKES)
    shell.set_custom_exc(ours, _show)  # type: ignore[no-untyped-call]


def _show(
    shell: InteractiveShell,
    kind: type,
    error: BaseException,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> list[str]:
    """IPython's handler for our errors: shows it and gives the lines that the kernel's reply carries."""
    if isinstance(error, (UsageError, *MISTAKES)) and not isinstance(error, RayError):
        return _show_with_hint(shell, kind, error, traceback, tb_offset)
    if isinstance(error, BodySyntaxError):
        kind = SyntaxError
        lines = list(shell.SyntaxTB.structured_traceback(kind, error, None))
    elif isinstance(error, RayError):
        lines = _lines(shell, kind, error, traceback, tb_offset)
    else:
        users = traceback if _mode(shell) == "Verbose" else _down_to_ours(traceback)
        lines = list(shell.InteractiveTB.structured_traceback(kind, error, users, tb_offset=tb_offset))
    _remember(shell, kind, error, traceback, lines)
    shell._showtraceback(kind, error, lines)
    return lines


def _show_with_hint(
    shell: InteractiveShell, kind: type, error: Exception, traceback: TracebackType, tb_offset: int | None
) -> list[str]:
    """IPython shows it as any other error, with the note that belongs to it, down to the call that was wrong."""
    read_only = isinstance(error, ValueError) and engines.started() is not None and read_only_arrays.hint(error)
    note = read_only or hint_for(error, _magics(shell))
    if note and isinstance(error, UsageError):
        error.args = (f"{error} {note}",)  # IPython prints it without notes
    elif note:
        with suppress(Exception):  # the class may refuse notes
            error.add_note(note)
    users = traceback if _mode(shell) == "Verbose" or not _is_of_ours(traceback) else _down_to_ours(traceback)
    shell.showtraceback((kind, error, users), tb_offset=tb_offset, running_compiled_code=True)
    return []


def _magics(shell: InteractiveShell) -> list[str]:
    manager = shell.magics_manager
    known = [*manager.magics["line"], *manager.magics["cell"], *manager.lazy_magics]
    return list(dict.fromkeys(name for name in known if name.startswith("accel")))


def _is_of_ours(traceback: TracebackType) -> bool:
    """Whether nbaccel raised it about a call from outside: no code of others ran below."""
    below = False
    following: TracebackType | None = traceback
    while following is not None:
        ours = following.tb_frame.f_code.co_filename.startswith(_OUR_DIRECTORY)
        if below and not ours:
            return False
        below = below or ours
        following = following.tb_next
    return below


def _lines(
    shell: InteractiveShell, kind: type, error: RayError, traceback: TracebackType, tb_offset: int | None
) -> list[str]:
    headline = f"{_RED}{kind.__name__}{_PLAIN}: "
    if _mode(shell) == "Verbose":
        with exceptions.untied(error) if isinstance(error, RayTaskError) else nullcontext():
            return list(shell.InteractiveTB.structured_traceback(kind, error, traceback, tb_offset=tb_offset))
    if errors := getattr(error, "errors", None):
        return _several(errors, f"{headline}{error}", shell)
    if isinstance(error, RayTaskError):
        lines = render(error, shell, traceback)
        return lines[-1:] if _mode(shell) == "Minimal" else lines
    frames = [] if _mode(shell) == "Minimal" else _users_frames(traceback, shell)
    words = with_cell_lines(without_ours(str(error)), shell)  # the message of an error in an actor's constructor
    return [*frames, *([""] if frames else []), f"{headline}{words}"]


def _remember(
    shell: InteractiveShell, kind: type, error: BaseException, traceback: TracebackType, lines: list[str]
) -> None:
    """Store the error for `%tb` and `%debug`, which would otherwise show an earlier one.

    They get the cell's own frame only: the frames below would keep their values, such as tensors, until the next error.
    """
    following = traceback.tb_next
    cell = TracebackType(None, following.tb_frame, following.tb_lasti, following.tb_lineno) if following else None
    sys.last_type, sys.last_value = kind, error
    sys.last_traceback = TracebackType(cell, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    shell.InteractiveTB.tb = sys.last_traceback
    if isinstance(error, RayError):
        error.__dict__["_render_traceback_"] = functools.partial(list, lines)


def _mode(shell: InteractiveShell) -> str:
    return str(getattr(shell.InteractiveTB, "mode", ""))


def render(
    error: RayTaskError, shell: InteractiveShell | None = None, traceback: TracebackType | None = None
) -> list[str]:
    """The lines to show: the task's own frames, then where it ran, then what was raised."""
    told, message = _split(error.traceback_str, error.cause)
    frames = with_cell_lines(without_ours(told), shell).splitlines()
    kind = message.partition(":")[0]
    message = message.replace(kind, f"{_RED}{kind}{_PLAIN}", 1)
    lines = [*frames, "", where(error)]
    waited = _waiting_line(traceback, shell)
    return [*lines, waited, "", message] if waited else [*lines, "", message]


def _several(errors: list[RayError], summary: str, shell: InteractiveShell) -> list[str]:
    """A few tracebacks in full and the number of the others: a hundred alike ones say no more than four."""
    most = settings.of(shell).errors_shown
    lines: list[str] = []
    for error in errors[:most]:
        words = render(error, shell) if isinstance(error, RayTaskError) else [f"{type(error).__name__}: {error}"]
        lines += [*words, "", "─" * 40]
    if len(errors) > most:
        lines += [f"and {len(errors) - most} more, which %accel_tasks state=failed shows", ""]
    return [*lines, summary]


def where(error: RayTaskError) -> str:
    """ "in train, on GPU 1, pid 4711, from cell [7] line 3"."""
    name = f"{error.actor}.{error.function_name}" if error.actor else error.function_name
    facts = [f"in {wording.plain(name)}"]
    devices = wording.device_ids(error.device_ids)
    facts += [f"on {devices}"] if devices else []
    facts += [f"pid {error.pid}"] if error.pid else []
    facts += [f"from {wording.cell(error.cell)}"] if error.cell else []
    return ", ".join(facts)


def without_ours(text: str) -> str:
    """The task's traceback without nbaccel's own frames, such as those that run the body of `%%accel`."""
    kept: list[str] = []
    ours = ""
    for line in text.splitlines():
        match = FRAME.match(line)
        if match is not None:
            ours = match["indent"] + "  " if match["file"].startswith(_OUR_DIRECTORY) else ""
        elif not (ours and line.startswith(ours)):
            ours = ""
        if not ours:
            kept.append(line)
    return "\n".join(kept)


def with_cell_lines(text: str, shell: InteractiveShell | None) -> str:
    """Fills in the source lines that the worker could not know, and names cells by their number."""
    lines = text.splitlines()
    result: list[str] = []
    for number, line in enumerate(lines):
        match = FRAME.match(line)
        if match is None:
            result.append(line)
            continue
        place = _cell_name(match["file"], shell) or f'File "{match["file"]}"'
        result.append(f"{match['indent']}{place}, line {match['line']}, in {match['function']}")
        following = lines[number + 1] if number + 1 < len(lines) else ""
        source = linecache.getline(match["file"], int(match["line"])).strip()
        if source and not following.startswith(match["indent"] + "  "):
            result.append(f"{match['indent']}  {source}")
    return "\n".join(result)


def _cell_name(filename: str, shell: InteractiveShell | None) -> str:
    named: Any = shell.compile.format_code_name(filename) if shell is not None else None
    return " ".join(named) if named else ""


def _split(text: str, cause: BaseException | None) -> tuple[str, str]:
    """The frames, and the error text: all lines after the last frames, indented or not."""
    if isinstance(cause, BaseExceptionGroup):
        return text, f"{type(cause).__name__}: {cause}"  # its parts are shown above
    lines = text.splitlines()
    said = str(cause or "").splitlines()
    if len(said) > 1 and lines[-len(said) + 1 :] == said[1:]:
        return "\n".join(lines[: -len(said)]), "\n".join(lines[-len(said) :])
    last = max((number for number, line in enumerate(lines) if line.startswith("  ")), default=-1)
    return "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])


def _users_frames(traceback: TracebackType | None, shell: InteractiveShell) -> list[str]:
    """The frames from the cell down to the call of nbaccel, without IPython's and the line that it makes of a magic."""
    frames: list[str] = []
    through_ipython = False
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename.startswith(_OUR_DIRECTORY):
            # IPython generated the line that calls our magic; the user did not write it.
            frames = frames[:-1] if through_ipython else frames
            break
        through_ipython = filename.startswith(_IPYTHONS_DIRECTORY)
        if not through_ipython and (frames or _cell_name(filename, shell)):
            frames.append(_frame(traceback, shell))
        traceback = traceback.tb_next
    return frames


def _down_to_ours(traceback: TracebackType) -> TracebackType | None:
    """The traceback down to the call of nbaccel, without IPython's frames for a magic; all of it without a call."""
    above: list[TracebackType] = []
    following: TracebackType | None = traceback
    while following is not None and not following.tb_frame.f_code.co_filename.startswith(_OUR_DIRECTORY):
        above.append(following)
        following = following.tb_next
    if following is None:
        return traceback
    while len(above) > 2 and above[-1].tb_frame.f_code.co_filename.startswith(_IPYTHONS_DIRECTORY):
        above.pop()
    made: TracebackType | None = None
    for each in reversed(above):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def _frame(traceback: TracebackType, shell: InteractiveShell) -> str:
    """Two lines: the place, and its source line."""
    filename, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
    place = _cell_name(filename, shell) or f'File "{filename}"'
    function = traceback.tb_frame.f_code.co_name
    within = "" if function == "<module>" else f", in {function}"
    return f"  {place}, line {line}{within}\n    {linecache.getline(filename, line).strip()}"


def _waiting_line(traceback: TracebackType | None, shell: InteractiveShell | None) -> str:
    """The line of this notebook that was waiting for the task."""
    while traceback is not None:
        filename, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        cell = _cell_name(filename, shell)
        if cell:
            below = traceback.tb_next
            if below is not None and below.tb_frame.f_code.co_filename.startswith(_IPYTHONS_DIRECTORY):
                return ""  # of a magic: IPython generated this line
            return f"raised at {cell}, line {line}: {linecache.getline(filename, line).strip()}"
        traceback = traceback.tb_next
    return ""


# ---- what a person probably meant, from an error that Python raised about a name or a value of nbaccel's


MOST_NAMES = 12  # that are listed
_KEYWORD = re.compile(r"^(?P<owner>[\w.]+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'")
_MODULE = re.compile(r"^module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_MAGIC = re.compile(r"function `%+(?P<name>accel_\w*)")
_REF = re.compile(r"'ObjectRef'")
REF_IS_NO_VALUE = (
    "A ref stands for a result that may not be there yet: nbaccel.get(ref) waits for it and returns the value."
)
_OF_VALUES = frozenset({"result", "value", "get", "results", "done", "item", "wait"})  # what futures have elsewhere


def hint_for(error: BaseException, magics: Collection[str]) -> str:
    """One or two sentences; "" where nothing is known. `magics` are the names of nbaccel's."""
    message = str(error)
    if isinstance(error, AttributeError):
        told = _MODULE.search(message)  # a module's own __getattr__ gives only this text
        return _of_attribute(
            *((sys.modules.get(told["module"]), told["name"]) if told else (error.obj, error.name or ""))
        )
    if magic := _MAGIC.search(message):
        kinds = [name.removeprefix("accel_") for name in magics]  # what they have in common makes none alike
        likely = _did_you_mean(magic["name"].removeprefix("accel_"), kinds, "%accel_")
        return likely or f"nbaccel's magics are {_listed(magics, '%')}."
    if isinstance(error, TypeError) and (wrong := _KEYWORD.search(message)):
        return _of_keyword(wrong["owner"], wrong["name"])
    return REF_IS_NO_VALUE if isinstance(error, TypeError) and _REF.search(message) else ""


def _of_attribute(owner: object, name: str) -> str:
    if not _is_ours(owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__):
        return ""
    if type(owner).__name__ == "ObjectRef" and name in _OF_VALUES:
        return REF_IS_NO_VALUE
    public = [each for each in {*dir(owner), *getattr(owner, "__all__", ())} if not each.startswith("_")]
    return _did_you_mean(name, public) or (REF_IS_NO_VALUE if type(owner).__name__ == "ObjectRef" else "")


def _of_keyword(owner: str, name: str) -> str:
    for found in _of_this_name(owner.rpartition(".")[2]):
        takes = [each for each in inspect.signature(found).parameters if each != "self"]
        if takes:
            return " ".join(filter(None, [_did_you_mean(name, takes), f"{owner} takes {_listed(takes)}."]))
    return ""


def _of_this_name(name: str) -> Iterator[type]:
    """The classes of nbaccel's modules that have this name."""
    for module_name, module in list(sys.modules.items()):
        found = getattr(module, name, None) if _is_ours(module_name) else None
        if isinstance(found, type) and _is_ours(found.__module__):
            yield found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _did_you_mean(name: str, known: Collection[str], before: str = "") -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {before}{close[0]}?" if close else ""


def _listed(names: Iterable[str], before: str = "") -> str:
    every = sorted(names) if before else list(names)
    shown = ", ".join(f"{before}{name}" for name in every[:MOST_NAMES])
    return shown + (", …" if len(every) > MOST_NAMES else "")
