"""TuneError, under Ray Tune's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbaccel.exceptions import RayError

if TYPE_CHECKING:
    from nbaccel.tune.result_grid import ResultGrid


class TuneError(RayError, RuntimeError):
    """An experiment could not go on, or trials of `tune.run` failed.

    results  the trials so far, if there are any
    """

    results: ResultGrid | None = None


def words_of(error: BaseException) -> str:
    """One line about an error: its class and message, and the notes that explain it."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines()
    notes = " ".join(note[:300] for note in getattr(cause, "__notes__", ()))
    return f"{type(cause).__name__}: {lines[0][:300] if lines else ''}" + (f" ({notes})" if notes else "")


def could_not_write(name: str, folder: str, error: OSError) -> TuneError:
    """The error of an experiment whose folder cannot be written any more, most likely since the disk is full."""
    found = TuneError(
        f"The experiment {name} could not write to {folder}: {error.strerror or error}. Make room and go on with "
        f"tune.Tuner.restore({folder!r}, trainable)."
    )
    found.__cause__ = error
    return found
