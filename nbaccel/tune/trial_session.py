"""The functions that a trial may call, and the session of a trial: `report`, `get_checkpoint`, `get_context`."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import gc
import inspect
import math
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import nbaccel
from nbaccel import exceptions
from nbaccel.proc import host_address
from nbaccel.train import session, storage
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.errors import SessionMisuseError, StopTraining, TrialInterrupted
from nbaccel.train.forwarding import TrialHost
from nbaccel.train.journal import Kept
from nbaccel.train.loops import exited
from nbaccel.train.mailbox import Batch
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.session import Metrics, plain
from nbaccel.tune import experiment_journal
from nbaccel.tune.comparing import nested
from nbaccel.tune.schedulers.trial_scheduler import DEFAULT_METRIC
from nbaccel.tune.trainable import (
    OF_EACH_RESULT,
    SHOULD_CHECKPOINT,
    OwnTrial,
    Trainable,
    class_of,
    is_class,
    takes_config,
)
from nbaccel.views import full_disks
from nbaccel.views.sinks import notify

if TYPE_CHECKING:
    from nbaccel.util.placement_group import PlacementGroup


@dataclass(frozen=True, slots=True)
class ClassOptions:
    """How a class of trainables is run: how often it saves, what it exports, and whether an object serves several."""

    frequency: int = 0
    at_end: bool = False
    exports: tuple[str, ...] = ()
    reuses: bool = False


@dataclass(slots=True)
class TrialAssignment:
    """The facts that a process needs to run a trial.

    waits      whether each report waits for the driver's decision
    metric     that every report must have; "" for none
    iteration  reports that the trial has made before
    spent_s    seconds that it has run before
    name       what it is called
    works_in_folder  its process works in the trial's folder
    log_files  the files for what it prints, of stdout and of stderr; "" for none
    of_class   how a class of trainables is run
    bundles    of its resources, which are the sum; the first may be empty
    strategy   how they are placed
    """

    trial: str
    attempt: int
    experiment: str
    folder: str  # of the trial
    resources: dict[str, float]
    waits: bool = False
    metric: str = ""
    first_report: int = 0
    checkpoint: str = ""
    iteration: int = 0
    spent_s: float = 0.0
    name: str = ""
    works_in_folder: bool = True
    log_files: tuple[str, str] = ("", "")
    of_class: ClassOptions = field(default_factory=ClassOptions)
    bundles: tuple[dict[str, float], ...] = ()
    saved: int = 0  # checkpoints of attempts before
    strategy: str = "PACK"


ADDED = {"training_iteration", "time_this_iter_s", "time_total_s", "timestamp"}


class MetricMissingError(ValueError):
    """A report does not have the metric that the experiment compares."""


Whereabouts = tuple[int, str, str, dict[str, list[str]]]  # pid, host, its address, devices by resource


class TrialSession(TrialHost):
    """The session of a trial; for `nbaccel.train`'s functions it is rank 0 of 1.

    is_a_run  the trial is a trainer's run: all of its reports count
    runs      how many have begun in the trial
    run_at    the folder and the name of the latest one
    """

    def __init__(self, assignment: TrialAssignment, mailbox: Any) -> None:
        facts = Facts("", host_address(), socket.gethostname(), os.getpid())
        self.seat = Seat(0, facts, 0, 1, 0, 1, 0, 1)
        self.run_name = assignment.experiment
        self.device_kinds: dict[str, str] = {}
        self.restarts = assignment.attempt - 1, 0
        self.assignment = assignment
        self.sent = 0
        self.whereabouts: Whereabouts = (0, "", "", {})
        self._mailbox = mailbox
        self._number, self._saved = assignment.first_report, assignment.saved
        self._iteration = assignment.iteration
        self._latest = assignment.checkpoint
        self._unanswered: Any = None
        self._answer = GO_ON
        self.is_a_run = False
        self.run_at = ("", "")
        self.runs = 0
        self._foreign_was_reported = False
        self._pid, self._turn = os.getpid(), threading.RLock()
        self._began_at = self._reported_at = time.monotonic()

    @property
    def run_folder(self) -> str:
        """The trial's folder, on a machine that may not have it yet."""
        os.makedirs(self.assignment.folder, exist_ok=True)
        return self.assignment.folder

    def begin(self) -> None:
        """Tell the driver where the trial runs."""
        ids = nbaccel.get_runtime_context().get_accelerator_ids()
        devices = {name: list(found) for name, found in ids.items() if found}
        self.whereabouts = (os.getpid(), self.seat.facts.host, self.seat.facts.address, devices)
        self._mailbox.put.remote(self.assignment.trial, self.assignment.attempt, "begun", 0, self.whereabouts)

    def report(self, metrics: Metrics, checkpoint: Checkpoint | None, *, move: bool, name: str = "") -> None:
        if name:
            raise NotImplementedError(
                "report(checkpoint_dir_name=...) is not here in a trial: its checkpoints are checkpoint_000007 and so "
                "on, by their number. Leave the argument out."
            )
        if os.getpid() != self._pid:  # forked, maybe while another thread had its turn
            self._pid, self._turn = os.getpid(), threading.RLock()
        with self._turn:  # the threads of a trial report one after the other
            if self.send(metrics, checkpoint, move=move) & END:
                raise StopTraining

    def reported_checkpoints(self, timeout_s: float | None) -> list[Kept]:
        raise NotImplementedError(
            "get_all_reported_checkpoints() is not here in a trial: get_checkpoint() is its latest one, and "
            "Result.best_checkpoints has all that are kept."
        )

    def send(self, metrics: Metrics, checkpoint: Checkpoint | None, *, move: bool) -> int:
        """Report, and return the driver's answer: of this report if it waits, else of one before."""
        filled = self.filled(metrics)
        number, self._number = self._number, self._number + 1
        if checkpoint is not None:
            self._bring(checkpoint, move=move)
        contents = (filled, checkpoint is not None)
        waits = self.assignment.waits or checkpoint is not None or bool(filled.get("done"))
        self._read_answer()
        self.sent += 1
        self._put("report", number, contents, waits)
        if waits or self._answer & END:
            self._read_answer()
        answer, self._answer = self._answer, self._answer & END
        return answer

    def send_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Bring a checkpoint of the latest report after it."""
        self._bring(checkpoint, move=True)
        self._put("saved", self._number - 1, None, True)
        self._read_answer()

    def _bring(self, checkpoint: Checkpoint, *, move: bool) -> None:
        experiment_journal.bring(checkpoint.path, self.run_folder, self.assignment.attempt, self._saved, move=move)
        self._latest = os.path.join(self.run_folder, storage.folder_name(self._saved))
        self._saved += 1

    def _put(self, kind: str, number: int, contents: Any, waits: bool) -> None:
        self._unanswered = self._mailbox.put.remote(
            self.assignment.trial, self.assignment.attempt, kind, number, contents, waits
        )

    # ---- for a run that the trial fits

    def place_of_run(self, name: str) -> tuple[str, str]:
        """A place of this attempt: a process of an earlier one, whose driver was killed, may still write in its own."""
        self.runs += 1
        name = name if self.runs == 1 else f"{name}-{self.runs}"
        self.run_at = (os.path.join(self.run_folder, f"attempt_{self.assignment.attempt:03d}"), name)
        return self.run_at

    def take_report(self, metrics: Metrics, checkpoint: Checkpoint | None) -> BaseException | None:
        """Report for the run. A run that is only a part of the trial may report other metrics: they stay there."""
        missing = self._missing(metrics)
        if missing is not None and not self.is_a_run:
            if not self._foreign_was_reported:
                self._foreign_was_reported = True
                self.notify(f"The reports of the run {self.run_at[1]} stay with it. {missing}")
            return None
        try:
            self.report(metrics, checkpoint, move=False)
        except (StopTraining, MetricMissingError) as error:
            return error.with_traceback(None)
        return None

    def worker_group_begins(self, group: PlacementGroup) -> None:
        self._mailbox.put.remote(self.assignment.trial, self.assignment.attempt, "holds", 0, group)

    def fit_begins(self) -> Any:
        return self._mailbox.fit_begins.remote(self.assignment.trial, self.assignment.attempt)

    def fit_ends(self) -> bool:
        return bool(nbaccel.get(self._mailbox.fit_ends.remote(self.assignment.trial, self.assignment.attempt)))

    # ---- reports

    def filled(self, metrics: Metrics) -> Metrics:
        """The metrics with the counters that Ray Tune adds."""
        self._iteration += 1
        now = time.monotonic()
        last, self._reported_at = self._reported_at, now
        found = metrics | {
            "training_iteration": self._iteration,
            "time_this_iter_s": now - last,
            "time_total_s": self.assignment.spent_s + now - self._began_at,
            "timestamp": int(time.time()),
        }
        missing = self._missing(found)
        if missing is not None:
            raise missing
        return found

    def _missing(self, metrics: Mapping[str, Any]) -> MetricMissingError | None:
        """The error of a report without the metric that trials are compared by."""
        wanted = self.assignment.metric
        if not wanted or nested(metrics, wanted) is not None or wanted in metrics:
            return None
        names = sorted(metrics.keys() - ADDED)
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.5)
        hint = (
            f" Did you mean {close[0]!r}?" if close else " Report it, or name one of these in TuneConfig(metric=...)."
        )
        return MetricMissingError(
            f"The experiment compares trials by the metric {wanted!r}, but a report has only: "
            f"{', '.join(names) or 'nothing'}.{hint}"
        )

    def _read_answer(self) -> None:
        if self._unanswered is not None:
            self._answer |= nbaccel.get(self._unanswered)
            self._unanswered = None

    def latest_checkpoint(self) -> Checkpoint | None:
        return Checkpoint(self._latest) if self._latest else None

    def meet(self, kind: str, value: Any) -> Any:
        return value

    def stop_requested(self) -> bool:
        if not self._answer & END:
            is_stopped = self._mailbox.is_stopped.remote(self.assignment.trial, self.assignment.attempt)
            self._answer |= END if nbaccel.get(is_stopped) else GO_ON
        return bool(self._answer & END)

    def connected(self, backend: str) -> None:
        """Do nothing: there is only one rank to connect."""

    def notify(self, sentence: str) -> None:
        notify("tune", sentence)

    def finish(self) -> None:
        """Wait until the driver can read all that was sent."""
        self._read_answer()


def report(metrics: Mapping[str, Any], *, checkpoint: Checkpoint | None = None) -> None:
    """Report metrics of this trial, optionally with a checkpoint.

    metrics     a dict of numbers, texts and booleans, also nested; small arrays become lists. training_iteration,
                time_total_s and timestamp are added
    checkpoint  a folder; its files are in the trial's folder when this returns

    If a scheduler, a stopper or a person has ended the trial, this raises an exception that `except Exception` does not
    catch; `finally` blocks run. Raises ValueError for metrics of other types, or if the metric that the experiment
    compares is missing. Outside of a trial and of a run it warns and does nothing, as in Ray.

    >>> def train_model(config):
    ...     for epoch in range(3):
    ...         tune.report({"loss": 1 / (epoch + 1)})
    >>> round(tune.Tuner(train_model).fit()[0].metrics["loss"], 2)
    0.33
    """
    if _is_outside("tune.report"):
        return
    _current("tune.report")
    session.report_as(
        "tune.report()", with_lists(dict(metrics) if isinstance(metrics, Mapping) else metrics), checkpoint
    )


def get_checkpoint() -> Checkpoint | None:
    """The checkpoint to continue from: the trial's latest, or one that PBT chose. None in a new trial.

    >>> def train_model(config):
    ...     checkpoint = tune.get_checkpoint()
    ...     start = checkpoint.load() + 1 if checkpoint else 0
    ...     tune.report({"epoch": start}, checkpoint=tune.Checkpoint.save(start))
    >>> tune.Tuner(train_model).fit()[0].checkpoint.load()
    0
    """
    return None if _is_outside("tune.get_checkpoint") else _current("tune.get_checkpoint").latest_checkpoint()


class HeldByTrial(dict[str, float]):
    """What a trial holds: a dict of the sum, with the names of a PlacementGroupFactory, which Ray Tune gives."""

    def __init__(
        self, total: Mapping[str, float], bundles: Sequence[Mapping[str, float]] = (), strategy: str = "PACK"
    ) -> None:
        super().__init__(total)
        self.bundles = [dict(bundle) for bundle in bundles if bundle] or [dict(total)]
        self.strategy = strategy
        self.head_cpus = (bundles or self.bundles)[0].get("CPU", 0)  # of the first bundle

    @property
    def required_resources(self) -> dict[str, float]:
        return dict(self)


class TuneContext:
    """The facts of the trial that runs in this process."""

    def __init__(self, trial: TrialSession) -> None:
        self._assignment = trial.assignment

    def get_experiment_name(self) -> str:
        """The experiment's name."""
        return self._assignment.experiment

    def get_trial_name(self) -> str:
        """The trial's name: "train_f21cc_00000"."""
        return self._assignment.name or self._assignment.trial

    def get_trial_id(self) -> str:
        """The trial's id: "f21cc_00000"."""
        return self._assignment.trial

    def get_trial_dir(self) -> str:
        """The trial's folder, for files of your own."""
        Path(self._assignment.folder).mkdir(parents=True, exist_ok=True)
        return self._assignment.folder

    def get_trial_resources(self) -> HeldByTrial:
        """The sum of what the trial holds."""
        return HeldByTrial(self._assignment.resources, self._assignment.bundles, self._assignment.strategy)

    def get_world_size(self) -> int:
        """Always 1: a trial is one process."""
        return 1

    def get_world_rank(self) -> int:
        return 0


def get_context() -> TuneContext:
    """The facts of this trial. Raises SessionMisuseError outside of a trial.

    >>> def train_model(config): return {"resources": tune.get_context().get_trial_resources().required_resources}
    >>> tune.Tuner(train_model).fit()[0].metrics["resources"]
    {'CPU': 1.0}
    """
    return TuneContext(_current("tune.get_context"))


def _is_outside(name: str) -> bool:
    """Whether neither a trial nor a worker runs here, which a warning says at the user's line."""
    if session.is_there():
        return False
    warnings.warn(f"`{name}` does nothing outside of a trial: Tuner and tune.run call the function.", stacklevel=3)
    return True


def _current(name: str) -> TrialSession:
    found = session.current(name) if session.is_there() else None
    if not isinstance(found, TrialSession):
        raise SessionMisuseError(
            f"`{name}` cannot be used outside of a trial: call it in the function that you give to Tuner or tune.run."
        )
    return found


def returned(value: Any) -> Metrics | None:
    """The metrics that a trainable's return value means: a number is "_metric", a dict is itself; None is nothing.

    Ray drops results that are false, such as 0 and 0.0; here they count.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return dict(with_lists(value))
    item = getattr(value, "item", None)
    number = item() if callable(item) else value
    if isinstance(number, (int, float)):
        return {DEFAULT_METRIC: number}
    raise ValueError(
        f"The trainable returned a {type(value).__name__}. It may return a dict of metrics, a number or nothing, or "
        "yield dicts; files go into a checkpoint."
    )


# ---- metrics that are small arrays of numbers become lists, as the journal and result.json can hold them


MOST = 10_000  # values of an array; a larger one is refused, as by nbaccel.train
_PLAIN = (bool, int, float, str, type(None))


def with_lists(value: Any) -> Any:
    """The same metrics, with a list in the place of each array of more than one number; without one, as they are."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        made = {name: with_lists(each) for name, each in value.items()}
        return made if any(made[name] is not each for name, each in value.items()) else value
    if type(value) in (list, tuple):
        items = [with_lists(each) for each in value]
        return items if any(one is not each for one, each in zip(items, value, strict=True)) else value
    shape, to_list = getattr(value, "shape", None), getattr(value, "tolist", None)
    if not shape or not callable(to_list) or _size(shape) > MOST:
        return value
    return to_list()


def _size(shape: Any) -> int:
    size = 1
    for each in shape:
        size *= each
    return size


# ---- runs one trial: a function, or a class step by step


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
        full_disks.explain(error)
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


# ---- the meeting point of an experiment's trials and its driver: one service actor
#
# ```
#   trial ── put(report) ──► mailbox ── take() ──► driver
#         ◄── stop? ─────────┘     ◄── answer() ─┘
# ```
# Where something decides about each report (a scheduler, a stopper), a trial waits in `report` until the driver has
# answered, so that it ends after exactly the report that ends it. Else it goes on at once, and learns at its next
# report whether it was stopped. Reports for which nobody waits are taken several at a time: an answer costs the driver
# more than a report.


GO_ON, END, SAVE = 0, 1, 2  # the bits of an answer: END the trial, SAVE a checkpoint of what was reported
GATHER_S = 0.01  # between two answers to the driver, if no trial waits

Message = tuple[str, int, str, int, Any]  # trial, attempt, kind, number, contents


class TrialMailbox:
    """An asyncio actor."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._taken = 0  # messages that the driver has got
        self._news = asyncio.Event()
        self._urgent = asyncio.Event()
        self._taken_at = -math.inf
        self._waiting: dict[tuple[str, int], asyncio.Future[int]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._stopped: dict[tuple[str, int], int] = {}  # the answers to their next reports
        self._all_stopped = False
        # Of each run that an attempt fits (several, if it has threads); True once it is interrupted.
        self._fitting: defaultdict[tuple[str, int], list[asyncio.Future[bool]]] = defaultdict(list)

    async def put(self, trial: str, attempt: int, kind: str, number: int, contents: Any, waits: bool = False) -> int:
        """Leave a message for the driver; returns its answer."""
        if kind == "begun":
            self._begun.add((trial, attempt))
        self._messages.append((trial, attempt, kind, number, contents))
        self._news.set()
        if waits:
            self._urgent.set()
            answer = self._waiting[trial, attempt] = asyncio.get_running_loop().create_future()
            given: int = await answer
            if given:
                return given
        return self._stopped.get((trial, attempt), END if self._all_stopped else GO_ON)

    async def is_stopped(self, trial: str, attempt: int) -> bool:
        """Whether this attempt of a trial is to end."""
        return self._all_stopped or (trial, attempt) in self._stopped

    async def take(self, max_wait_s: float) -> Batch:
        """The messages since the last call, with the number of the first; waits up to a timeout for one."""
        if not self._messages and max_wait_s:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), max_wait_s)
        gather_s = self._taken_at + GATHER_S - time.monotonic()
        if gather_s > 0 and max_wait_s and not self._waiting:
            self._urgent.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), gather_s)
        self._taken_at = time.monotonic()
        messages, self._messages = self._messages, []
        first, self._taken = self._taken, self._taken + len(messages)
        return first, messages

    async def answer(self, answers: Mapping[tuple[str, int], int]) -> None:
        """Answer attempts of trials that wait."""
        for each, given in answers.items():
            waiting = self._waiting.pop(each, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(given)

    async def stop(self, trial: str, attempt: int, answer: int = END) -> bool:
        """End this attempt of a trial at its next report; returns whether it has begun."""
        self._stopped[trial, attempt] = answer
        return (trial, attempt) in self._begun

    async def stop_all(self) -> set[tuple[str, int]]:
        """End every trial at its next report; returns the attempts that have begun."""
        self._all_stopped = True
        return self._begun

    async def fit_begins(self, trial: str, attempt: int) -> bool:
        """Wait until the run that a trial fits is to be interrupted; returns False once the run has ended."""
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._fitting[trial, attempt].append(waiting)
        return await waiting

    async def fit_ends(self, trial: str, attempt: int) -> bool:
        """Returns whether the run was interrupted."""
        waiting = self._fitting[trial, attempt].pop()
        was_interrupted = waiting.done()
        if not was_interrupted:
            waiting.set_result(False)
        return was_interrupted

    async def interrupt(self, attempts: Sequence[tuple[str, int]]) -> set[tuple[str, int]]:
        """Interrupt the runs that these attempts fit; returns the attempts that fit none."""
        others = set()
        for each in attempts:
            fitting = self._fitting.get(each)
            if not fitting:
                others.add(each)
                continue
            for waiting in fitting:
                if not waiting.done():
                    waiting.set_result(True)
        return others

    async def wake(self) -> None:
        """Let `take` return, since the driver wants no more news."""
        self._news.set()
        self._urgent.set()
