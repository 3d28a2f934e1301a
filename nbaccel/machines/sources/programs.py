"""Runs a program of the batch system with a limit of time, so that one that hangs does not stop what asked it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ANSWER_TIMEOUT_S = 20.0  # a busy controller of Slurm answers within some seconds


class SourceRefusal(RuntimeError):
    """A source of machines could not do what it was asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What a program has printed, and how it ended."""

    code: int
    out: str
    err: str


def ask(
    line: Sequence[str],
    *,
    given: str = "",
    environ: Mapping[str, str] | None = None,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> ProgramAnswer:
    """Run the program with `given` as its input. Raises SourceRefusal if it is missing or does not end in time."""
    try:
        process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
            errors="replace",
            start_new_session=True,  # its children end with it
        )
    except OSError as error:
        raise SourceRefusal(
            f"{line[0]} cannot be run on this machine ({error.strerror}). It has to be on the PATH of the head."
        ) from None
    with process:
        try:
            out, err = process.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise SourceRefusal(
                f"{line[0]} has not answered for {timeout_s:g} s and was ended. Try it by itself: {line[0]}"
            ) from None
        finally:
            _end_group(process)
    return ProgramAnswer(process.returncode, out, err)


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what is left of the program; nothing, if it has ended by itself with all that it had started."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
