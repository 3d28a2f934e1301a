"""The task that runs a trial: it calls the trainable in its process's main thread, with a session around it."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from nbaccel import exceptions
from nbaccel.train import errors, session
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.errors import StopTraining, TrialInterrupted
from nbaccel.train.loops import exited
from nbaccel.train.session import Metrics, plain
from nbaccel.tune.trainable import OF_EACH_RESULT, SHOULD_CHECKPOINT, OwnTrial, Trainable
from nbaccel.tune.trainables import class_of, is_class, takes_config
from nbaccel.tune.trial_mailbox import END, SAVE
from nbaccel.tune.trial_session import HeldByTrial, TrialAssignment, TrialSession, Whereabouts, returned, with_lists

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
        with at(assignment):
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
        errors.explain(error)
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


# ---- runs a class of trainables in a trial: step after step, a report for each, and a checkpoint where one is due
#
# A checkpoint is due every `checkpoint_frequency` steps, at the end if `checkpoint_at_end` says so, when the scheduler
# wants one (population based training, a pause), and when a result has should_checkpoint=True.


_resting: dict[str, Trainable] = {}  # by experiment: an object that may serve another trial of this process


def run_class(given: Any, config: dict[str, Any], trial: TrialSession) -> None:
    """Run a trial to its end. Raises what the class raises, and StopTraining if the driver has ended it."""
    options = trial.assignment.of_class
    with _object(given, config, trial) as made:
        while True:
            result = made.train()
            due = bool(options.frequency) and made.iteration % options.frequency == 0
            checkpoint = _saved(made, trial) if due or result.get(SHOULD_CHECKPOINT) else None
            answer = trial.send(_metrics_of_step(result), checkpoint, move=True)
            ends = bool(answer & END or result.get("done"))
            if checkpoint is None and (answer & SAVE or (ends and options.at_end)):
                trial.send_checkpoint(_saved(made, trial))
            if ends:
                break
        if options.exports:
            made.export_model(list(options.exports))
    if answer & END:
        raise StopTraining


def _metrics_of_step(result: dict[str, Any]) -> Metrics:
    """What a step has reported; a trial adds the rest itself."""
    own = {name: value for name, value in result.items() if name not in OF_EACH_RESULT}
    return plain(with_lists(own), "step()")


def _saved(made: Trainable, trial: TrialSession) -> Checkpoint:
    folder = tempfile.mkdtemp(prefix=".saved-", dir=trial.run_folder)
    try:
        return made.save(folder).checkpoint
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextlib.contextmanager
def _object(given: Any, config: dict[str, Any], trial: TrialSession) -> Iterator[Trainable]:
    """The trial's object, which has begun where the trial goes on; it is stopped, or rests for the next trial."""
    assignment = trial.assignment
    trial_resources = HeldByTrial(assignment.resources, assignment.bundles, assignment.strategy)
    facts = OwnTrial(assignment.trial, assignment.name, assignment.folder, trial_resources)
    cls = class_of(given)
    made = _reset(cls, config, facts, assignment.experiment) or cls(config, facts=facts)
    rests = False
    try:
        if (checkpoint := trial.latest_checkpoint()) is not None:
            made.restore(checkpoint)
        made.counts_on(assignment.iteration, assignment.spent_s)
        yield made
        rests = assignment.of_class.reuses
    finally:
        if rests:
            _resting[assignment.experiment] = made
        else:
            made.stop()


def _reset(cls: type[Trainable], config: dict[str, Any], facts: OwnTrial, experiment: str) -> Trainable | None:
    """The object that rests, if its reset_config has taken this config; one that has not, or another's, is stopped."""
    made = _resting.pop(experiment, None)
    for other in _resting.values():
        other.stop()
    _resting.clear()
    if made is None or type(made).__qualname__ != cls.__qualname__:
        return None
    if made.reset(config, facts=facts):
        return made
    made.stop()
    return None


# ----
# where a trial's code runs: in the trial's folder, and what it prints goes into files there if that was asked for


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
