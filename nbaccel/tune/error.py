"""TuneError, under the path at which programs import it from Ray Tune."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbaccel.exceptions import RayError

if TYPE_CHECKING:
    from nbaccel.tune.result_grid import ResultGrid

__all__ = ["TuneError"]


# ---- tuneError, under Ray Tune's name


class TuneError(RayError, RuntimeError):
    """An experiment could not go on, or trials of `tune.run` failed.

    results  the trials so far, if there are any
    """

    results: ResultGrid | None = None


def as_tune_error(error: BaseException) -> BaseException:
    """An error of a user's hook as Ray raises it: a TuneError, which is an instance of the error's own class too."""
    if isinstance(error, TuneError) or not isinstance(error, Exception):
        return error
    kind = type(error)
    try:
        fused = type(kind.__name__, (TuneError, kind), {"__module__": kind.__module__, "__str__": kind.__str__})
        made = fused.__new__(fused, *error.args)
        made.args = error.args
        made.__dict__.update(error.__dict__)
    except Exception:  # a class that cannot be derived from, or has a constructor of its own kind
        return error
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    result: BaseException = made.with_traceback(error.__traceback__)
    return result


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
