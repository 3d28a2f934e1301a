"""Runs a class of trainables in a trial: step after step, a report for each, and a checkpoint where one is due.

A checkpoint is due every `checkpoint_frequency` steps, at the end if `checkpoint_at_end` says so, when the scheduler
wants one (population based training, a pause), and when a result has should_checkpoint=True.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.errors import StopTraining
from nbaccel.train.metrics import Metrics, plain
from nbaccel.tune.array_metrics import with_lists
from nbaccel.tune.trainable import OF_EACH_RESULT, SHOULD_CHECKPOINT, OwnTrial, Trainable
from nbaccel.tune.trainables import class_of
from nbaccel.tune.trial_mailbox import END, SAVE
from nbaccel.tune.trial_session import HeldByTrial, TrialSession

_resting: dict[str, Trainable] = {}  # by experiment: an object that may serve another trial of this process


def run_class(given: Any, config: dict[str, Any], trial: TrialSession) -> None:
    """Run a trial to its end. Raises what the class raises, and StopTraining if the driver has ended it."""
    options = trial.assignment.of_class
    with _object(given, config, trial) as made:
        while True:
            result = made.train()
            due = bool(options.frequency) and made.iteration % options.frequency == 0
            checkpoint = _saved(made, trial) if due or result.get(SHOULD_CHECKPOINT) else None
            answer = trial.send(_metrics(result), checkpoint, move=True)
            ends = bool(answer & END or result.get("done"))
            if checkpoint is None and (answer & SAVE or (ends and options.at_end)):
                trial.send_checkpoint(_saved(made, trial))
            if ends:
                break
        if options.exports:
            made.export_model(list(options.exports))
    if answer & END:
        raise StopTraining


def _metrics(result: dict[str, Any]) -> Metrics:
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
    trial_resources = HeldByTrial(assignment.resources, assignment.bundles)
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
