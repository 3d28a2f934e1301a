"""Hints for errors of a full disk that do not name the file, or hide the cause, as those of torch.save do."""

from __future__ import annotations

import errno
import io
import os
import shutil
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType

from nbaccel.views import wording

# torch's writer of zip files says only where it was: "[enforce fail at inline_container.cc:672] . unexpected pos".
_TORCH = "fail at inline_container.cc"
_WORDS = ("No space left on device", "Disk quota exceeded")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LITTLE_BYTES = 1 << 20  # a disk with less is full
_WRITERS = ("save", "dump", "write")  # begin the names of functions that write a file
_PATHS = ("f", "file", "filename", "path", "self")  # … and these parameters name it


def explain(error: BaseException) -> None:
    """Add the hint to an error as a note, once."""
    with suppress(Exception):  # a user's class may refuse notes
        if (found := hint(error)) and found not in getattr(error, "__notes__", ()):
            error.add_note(found)


def hint(error: BaseException) -> str:
    """A sentence with the file that found its disk full; "" for other errors, and for those that name it themselves."""
    if isinstance(error, OSError) and error.filename is not None:
        return ""
    is_certain = getattr(error, "errno", None) in _FULL or any(words in str(error) for words in _WORDS)
    path = _written(error) if is_certain or _TORCH in str(error) else None
    if path is None:
        return ""
    disk = shutil.disk_usage(next(folder for folder in path.absolute().parents if folder.exists()))
    sure = "No" if is_certain or disk.free < _LITTLE_BYTES else "Most likely no"
    return (
        f"{sure} space left on device for {path}: {wording.size(disk.free)} of {wording.size(disk.total)} are free "
        "there now. Make room, or write to a larger disk (tempfile's is that of TMPDIR)."
    )


def _written(error: BaseException) -> Path | None:
    """The file that was being written, as the innermost frame that has it names it."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        for name, value in frame.f_locals.items():
            if isinstance(value, io.IOBase):
                value = getattr(value, "name", None) if _is_for_writing(value) else None
            elif not (name in _PATHS and _is_a_writer(frame, name)):
                continue
            if isinstance(value, (str, os.PathLike)):
                return Path(value)
    return None


def _is_for_writing(file: io.IOBase) -> bool:
    return any(letter in str(getattr(file, "mode", "")) for letter in "wax+")


def _is_a_writer(frame: FrameType, parameter: str) -> bool:
    code = frame.f_code
    return code.co_name.startswith(_WRITERS) and parameter in code.co_varnames[: code.co_argcount]
