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
    """One line about an error: its class and message."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines()
    return f"{type(cause).__name__}: {lines[0][:300] if lines else ''}"
