"""The code in a worker: an actor whose main thread runs the training function, and the rank's session.

The function runs in the main thread, where signals, asyncio.run() and profilers work. Reports are pushed to the
mailbox; nothing is polled.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import device_memory
from nbaccel.accelerators import visibility
from nbaccel.accelerators.table import VENDORS
from nbaccel.proc import host_address
from nbaccel.train import journal, session, storage
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import BackendConfig
from nbaccel.train.datasets import Datasets
from nbaccel.train.errors import StopTraining, is_out_of_memory
from nbaccel.train.loops import call
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.session import Metrics, packed
from nbaccel.views import full_disks

_OUR_FILES = str(Path(__file__).parent.parent) + os.sep
_LONGEST_CAUSE = 300  # characters
_FRAMES = 6  # of the user's own code that an error shows


@dataclass(slots=True)
class Assignment:
    """The facts that a worker needs to run as a rank."""

    worker_group: int
    seat: Seat
    run_name: str
    run_folder: str
    first_report: int
    checkpoint: str  # path of the one to go on from, "" without
    backend: BackendConfig
    device_kinds: dict[str, str] = field(default_factory=dict)
    restarts: int = 0
    max_restarts: int = 0
    travels: bool = False  # its files go to the driver as objects: they share no disk
    log_level: str = "INFO"
    waits_for_commits: bool = False  # before it brings its next checkpoint: not all of them are kept


@dataclass(slots=True)
class Payload:
    """What all ranks run: the training function, its config, and the trainer's datasets."""

    function: Callable[..., Any]
    config: Any
    datasets: Datasets


@dataclass(slots=True)
class LastWords:
    """The end of a function that raised; it reaches the driver before the exception does."""

    at: float
    report: int
    kind: str
    message: str
    frames: list[str]
    peak_bytes: int | None = None  # of device memory, where it ran out
    caused_by: str = ""  # the exception from which it was raised, in one line


class RankSession:
    """The session of a rank."""

    def __init__(self, assignment: Assignment, mailbox: Any) -> None:
        self.seat = assignment.seat
        self.run_name = assignment.run_name
        self.run_folder = assignment.run_folder
        self.device_kinds = assignment.device_kinds
        self.restarts = assignment.restarts, assignment.max_restarts
        self.assignment = assignment
        self.next_report = assignment.first_report
        self.interrupted = False
        self.in_function = False  # where an interrupt is raised; elsewhere it is only noted
        self._mailbox = mailbox
        self._latest = assignment.checkpoint
        self._stop_after: int | None = None
        self._unanswered: Any = None
        self._meetings: dict[str, int] = {}
        self._brought: int | None = None  # the last report with a checkpoint

    def report(self, metrics: Metrics, checkpoint: Checkpoint | None, *, move: bool, name: str = "") -> None:
        number = self.next_report
        files = None
        if checkpoint is not None:
            self._wait_for_the_last_commit()
        self._read_answer()  # to the report before: when to stop
        with self._without_interrupt():  # half of a checkpoint would be lost
            if checkpoint is not None:
                files = self._bring(checkpoint, number, move=move)
                self._brought = number
            self.next_report = number + 1
            contents = (packed(metrics), checkpoint is not None, files, name)
            worker_group, rank = self.assignment.worker_group, self.seat.rank
            self._unanswered = self._mailbox.put.remote(worker_group, rank, "report", number, contents)
        if self._stop_after is not None and number >= self._stop_after:
            self._read_answer()
            raise StopTraining

    @contextmanager
    def _without_interrupt(self) -> Iterator[None]:
        """An interrupt that comes meanwhile is raised afterwards."""
        self.in_function = False
        try:
            yield
        finally:
            self.in_function = True
            if self.interrupted:
                signal.raise_signal(signal.SIGINT)  # in the main thread, whichever thread reports

    def _wait_for_the_last_commit(self) -> None:
        if self.assignment.waits_for_commits and self._brought is not None:
            nbaccel.get(self._mailbox.when_committed.remote(self.assignment.worker_group, self._brought))

    def reported_checkpoints(self, timeout_s: float | None) -> list[journal.Kept]:
        if self.assignment.travels:
            raise NotImplementedError(
                "get_all_reported_checkpoints() is not here where workers do not share the run's folder: give a folder "
                "that all machines share, RunConfig(storage_path=...)."
            )
        if self._brought is not None:
            nbaccel.get(
                self._mailbox.when_committed.remote(self.assignment.worker_group, self._brought), timeout=timeout_s
            )
        past = journal.read(self.run_folder)
        return past.kept if past is not None else []

    def _bring(self, checkpoint: Checkpoint, number: int, *, move: bool) -> Any:
        """Bring the files into the run's folder; an object with them where this process does not see that folder."""
        if not self.assignment.travels:
            storage.bring(checkpoint.path, self.run_folder, number, self.seat.rank, move=move)
            return None
        return nbaccel.put(storage.pack(checkpoint.path))

    def _read_answer(self) -> None:
        if self._unanswered is not None:
            answer = nbaccel.get(self._unanswered)
            self._unanswered = None
            self._stop_after = answer if answer is not None else self._stop_after

    def latest_checkpoint(self) -> Checkpoint | None:
        return Checkpoint(self._latest) if self._latest else None

    def meet(self, kind: str, value: Any) -> Any:
        self._meetings[kind] = self._meetings.get(kind, 0) + 1
        name = f"{kind}/{self._meetings[kind]}"
        return nbaccel.get(self._mailbox.meet.remote(self.assignment.worker_group, name, self.seat.rank, value))

    def stop_requested(self) -> bool:
        if self._stop_after is None:
            self._stop_after = nbaccel.get(self._mailbox.stop_after.remote(self.assignment.worker_group))
        return self._stop_after is not None

    def connected(self, backend: str) -> None:
        self._send_words("backend", backend)

    def notify(self, sentence: str) -> None:
        self._send_words("notify", sentence)

    def _send_words(self, kind: str, words: str) -> None:
        worker_group, rank = self.assignment.worker_group, self.seat.rank
        nbaccel.get(self._mailbox.put.remote(worker_group, rank, kind, self.next_report, words))

    def send_last(self, kind: str, contents: Any) -> None:
        """Send the last message of this rank; the mailbox has all messages when this returns."""
        self._read_answer()
        worker_group, rank = self.assignment.worker_group, self.seat.rank
        nbaccel.get(self._mailbox.put.remote(worker_group, rank, kind, self.next_report, contents))


class TrainWorker:
    """The actor of a worker. Its calls follow each other: `facts`, then those of a backend, then `run`."""

    def __init__(self) -> None:
        self._session: RankSession | None = None
        self._temporary = ""  # a folder in place of the run's

    def facts(self, run_folder: str, probe: str) -> Facts:
        """The facts of this worker. The file `probe` of its node in the run's folder shows the driver that both see one
        disk.
        """
        context = nbaccel.get_runtime_context()
        folder = storage.own_folder(run_folder, f"{probe}{context.get_node_id()}")
        self._temporary = folder if folder != run_folder else ""
        ids = {name: list(found) for name, found in context.get_accelerator_ids().items() if found}
        families = {
            vendor.variable: vendor.resource
            for vendor in VENDORS
            if vendor.resource in ids and vendor.variable in os.environ
        }
        return Facts(
            context.get_node_id(),
            host_address(),
            socket.gethostname(),
            os.getpid(),
            ids,
            {name: os.environ[name] for name in families},
            families,
            folder,
        )

    def execute(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function of a backend, before or after the training function."""
        return function(*args, **kwargs)

    def prepare(self, assignment: Assignment, mailbox: Any, files: storage.Files | None) -> None:
        """Take the seat: set the environment and create the session.

        `files`: those of the checkpoint to go on from, for a rank that does not see it.
        """
        seat = assignment.seat
        if files is not None:
            assignment.checkpoint = os.path.join(assignment.run_folder, os.path.basename(assignment.checkpoint))
            storage.unpack(files, assignment.checkpoint)
        os.environ.update(seat.variables)
        _log_at(assignment.log_level)
        self._session = RankSession(assignment, mailbox)
        session.enter(self._session)
        _listen(self._session)  # from now on: to load the function and its data may take seconds

    def run(self, payload: Payload) -> tuple[str, Any]:
        """Run the training function; ("returned", its value in rank 0) or ("stopped", None). Raises what it raised."""
        session_ = self._session
        assert session_ is not None, "prepare() comes first"
        session.enter(session_, payload.datasets)
        with _signals(session_):
            try:
                session_.in_function = True
                if session_.interrupted:  # before the function was here
                    raise KeyboardInterrupt
                with session_.assignment.backend.train_func_context():
                    value = call(payload.function, payload.config)
                session_.in_function = False
                session_.send_last("returned", None)
                return "returned", _without_tensors(value) if session_.seat.rank == 0 else None
            except StopTraining:
                session_.in_function = False
                session_.send_last("stopped", None)
                return "stopped", None
            except BaseException as error:
                session_.in_function = False
                if session_.interrupted:
                    return "stopped", None
                if (hint := visibility.hint(error)) and nbaccel.get_gpu_ids():
                    error.add_note(hint)
                full_disks.explain(error)
                session_.send_last("failed", _last_words(error, session_.next_report))
                raise
            finally:
                session.enter(None)
                if self._temporary:
                    shutil.rmtree(self._temporary, ignore_errors=True)


def _log_at(level: str) -> None:
    """Let what the function logs under our name, and under Ray Train's, appear from this level on."""
    for name in ("nbaccel.train", "ray.train"):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if not logger.handlers:
            logger.addHandler(logging.StreamHandler())


def _without_tensors(value: Any) -> Any:
    """The function's value. Raises ValueError for torch tensors, which the driver may not be able to load (as Ray)."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    for part in parts:
        if type(part).__module__.partition(".")[0] == "torch" and hasattr(part, "device"):
            raise ValueError(
                "The training function returned a torch tensor. Return numbers, such as tensor.item(); what is larger "
                "goes into a checkpoint."
            )
    return value


@contextmanager
def _signals(session_: RankSession) -> Iterator[None]:
    """SIGINT ends the function.

    Ray blocks SIGINT in its workers' main thread, where the function runs; it is unblocked meanwhile.
    """
    before = _listen(session_)
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _listen(session_: RankSession) -> Any:
    """Have SIGINT end the function, or keep it from beginning; returns the handler before."""

    def interrupted(number: int, frame: Any) -> None:
        session_.interrupted = True
        if session_.in_function:
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    return signal.signal(signal.SIGINT, interrupted) if is_main else None


def _last_words(error: BaseException, next_report: int) -> LastWords:
    message = "\n".join((str(error).strip(), *getattr(error, "__notes__", ())))
    return LastWords(
        time.time(),
        next_report,
        type(error).__name__,
        message,
        _own_frames(error),
        device_memory.measure(sys.maxsize).peak_bytes if is_out_of_memory(type(error).__name__) else None,
        _cause(error),
    )


def _cause(error: BaseException) -> str:
    """The first of the exceptions from which this one was raised, in one line."""
    seen: list[BaseException] = []
    while error.__cause__ is not None and error.__cause__ not in seen:
        error = error.__cause__
        seen.append(error)
    return f"{type(error).__name__}: {error}".splitlines()[0][:_LONGEST_CAUSE] if seen else ""


def _own_frames(error: BaseException) -> list[str]:
    """The frames of the user's code, innermost last; frames of libraries only if there are no others."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_OUR_FILES)]
    own = [each for each in frames if "site-packages" not in each.filename and "lib/python" not in each.filename]
    lines = []
    for each in (own or frames)[-_FRAMES:]:
        lines.append(f'  File "{each.filename}", line {each.lineno}, in {each.name}')
        if each.line:
            lines.append(f"    {each.line.strip()[:200]}")
    return lines
