"""The task that runs a trial: it calls the trainable in its process's main thread, with a session around it."""

from __future__ import annotations

import contextlib
import gc
import inspect
from collections.abc import Callable
from typing import Any

from nbaccel import exceptions
from nbaccel.train import full_disk, session
from nbaccel.train.errors import StopTraining, TrialInterrupted
from nbaccel.train.loops import exited
from nbaccel.train.metrics import Metrics, plain
from nbaccel.tune import trial_place
from nbaccel.tune.class_loop import run_class
from nbaccel.tune.trainables import is_class, takes_config
from nbaccel.tune.trial_session import TrialAssignment, TrialSession, Whereabouts, returned

# "returned", "stopped" or "interrupted", the number of reports that were sent before, a last one, and where it ran
Ended = tuple[str, int, Metrics | None, Whereabouts]

_RESULT = "The trainable's result"  # in messages about what it returned or yielded


def run_trial(payload: Any, config: dict[str, Any], assignment: TrialAssignment, mailbox: Any) -> Ended:
    """Run one attempt of a trial. The last metrics come with the end, so that a short trial needs no message.

    Raises what the trainable raises.
    """
    trial = TrialSession(assignment, mailbox)
    trial.begin()
    session.enter(trial)
    try:
        with trial_place.at(assignment):
            last = _call(payload[0], config, trial)
        trial.finish()
        return "returned", trial.sent, last, trial.whereabouts
    except StopTraining:
        return "stopped", trial.sent, None, trial.whereabouts
    except TrialInterrupted:
        return "interrupted", trial.sent, None, trial.whereabouts
    except SystemExit as exit:
        _finish_failed(trial)
        raise exited("trainable", exit) from exit
    except Exception as error:
        full_disk.explain(error)
        _finish_failed(trial)
        raise
    finally:
        session.enter(None)
        if trial.runs:
            gc.collect()  # cycles of a run's futures hold refs, and a worker that then rests collects nothing


def _finish_failed(trial: TrialSession) -> None:
    """Wait for the last report: an error does not say how many there are, and may reach the driver before it."""
    with contextlib.suppress(exceptions.RayError):  # the mailbox has ended, and the driver with it
        trial.finish()


def _call(function: Callable[..., Any], config: dict[str, Any], trial: TrialSession) -> Metrics | None:
    if is_class(function):
        run_class(function, config, trial)
        return None
    value = function(config) if takes_config(function) else function()
    if inspect.isgenerator(value):
        for each in value:
            if each is not None:
                session.report_as(_RESULT, _metrics(each))
        return None
    found = returned(value)
    if found is None:
        return None
    return trial.filled(plain(found, _RESULT))


def _metrics(value: Any) -> Metrics:
    found = returned(value)
    assert found is not None
    return found
