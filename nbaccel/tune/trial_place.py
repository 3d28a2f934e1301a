"""Where a trial's code runs: in the trial's folder, and what it prints goes into files there if that was asked for."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from nbaccel.tune.trial_session import TrialAssignment

ORIGINAL = "TUNE_ORIG_WORKING_DIR"  # Ray's variable: the folder from which the program was started


@contextlib.contextmanager
def at(assignment: TrialAssignment) -> Iterator[None]:
    """Work in the trial's folder, and go back."""
    with contextlib.ExitStack() as stack:
        if assignment.works_in_folder:
            stack.enter_context(_in_folder(assignment.folder))
        if any(assignment.log_files):
            stack.enter_context(_printing_into(assignment))
        yield


@contextlib.contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    before, variable = os.getcwd(), os.environ.get(ORIGINAL)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    os.environ[ORIGINAL] = before
    try:
        yield
    finally:
        os.chdir(before)
        if variable is None:
            os.environ.pop(ORIGINAL, None)
        else:
            os.environ[ORIGINAL] = variable


@contextlib.contextmanager
def _printing_into(assignment: TrialAssignment) -> Iterator[None]:
    out, err = (os.path.join(assignment.folder, name) if name else "" for name in assignment.log_files)
    os.makedirs(assignment.folder, exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = {path: stack.enter_context(open(path, "a", buffering=1)) for path in {out, err} - {""}}
        if out:
            stack.enter_context(contextlib.redirect_stdout(_Both(sys.stdout, files[out])))
        if err:
            stack.enter_context(contextlib.redirect_stderr(_Both(sys.stderr, files[err])))
        yield


class _Both:
    """A stream that writes into a file as well."""

    def __init__(self, stream: TextIO, file: TextIO) -> None:
        self._stream, self._file = stream, file

    def write(self, text: str) -> int:
        self._file.write(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._file.flush()
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
