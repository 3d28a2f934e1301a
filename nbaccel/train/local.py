"""`num_workers=0`: the training function in this process, for breakpoints; reports and checkpoints as in a gang."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbaccel.proc import host_address
from nbaccel.train import failures, full_disk, session, storage
from nbaccel.train.callbacks import TrainRunContext
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.controller import Failed, Reported, Returned, Stopped, StopPressed
from nbaccel.train.errors import StopTraining
from nbaccel.train.forwarding import TrialHost
from nbaccel.train.journal import Kept
from nbaccel.train.loops import call
from nbaccel.train.metrics import Metrics
from nbaccel.train.opening import OpenRun
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.records import Records
from nbaccel.train.result import Result
from nbaccel.train.run_facts import Live, RunFacts, epochs_of
from nbaccel.train.saying import say
from nbaccel.train.worker import Payload
from nbaccel.views import run_snapshot

_running = threading.RLock()  # held by the thread whose function runs here


@contextmanager
def alone() -> Iterator[None]:
    """While a function runs in this process. Raises ValueError if another thread runs one: they share report()."""
    if not _running.acquire(blocking=False):
        raise ValueError(
            "A training function with num_workers=0 is running in another thread of this process, and train.report() "
            "would mix the two. Wait for it, or give this one a process: ScalingConfig(num_workers=1)."
        )
    try:
        yield
    finally:
        _running.release()


class LocalSession:
    """The session of a function that runs in the driver's own process; it is rank 0 of 1."""

    def __init__(self, open_run: OpenRun, records: Records, live: Live, trial: TrialHost | None = None) -> None:
        facts = Facts("", host_address(), socket.gethostname(), os.getpid())
        self.seat = Seat(0, facts, 0, 1, 0, 1, 0, 1)
        self.run_name = open_run.name
        self.run_folder = open_run.folder
        self.device_kinds: dict[str, str] = {}
        self.restarts = 0, 0
        self._records = records
        self._live = live
        self._trial = trial
        self._next = records.first_report
        self._thread = threading.current_thread()

    def was_asked(self, what: str) -> None:
        """Take a view's request to stop; called in a thread of the engine.

        The first ends the function after its next report, the second interrupts it, as the Stop button of a cell does.
        """
        facts = self._live.facts
        if run_snapshot.asks_to_stop(what, facts.stops):
            facts.happened(StopPressed())
            if facts.stops == 2 and self._thread is threading.main_thread() and self._thread.ident is not None:
                signal.pthread_kill(self._thread.ident, signal.SIGINT)

    def report(self, metrics: Metrics, checkpoint: Checkpoint | None, *, move: bool, name: str = "") -> None:
        number, self._next = self._next, self._next + 1
        if checkpoint is not None:
            storage.bring(checkpoint.path, self.run_folder, number, move=move)
        self._records.report(0, number, metrics, name)
        if checkpoint is not None:
            self._records.commit(number)
        self._live.facts.reported(number, metrics, time.time())
        self._live.facts.happened(Reported(0, number))
        self._live.changed()
        self._live.show_if_due()
        self._records.call_after_report(number)
        if self._trial is not None:
            ends = self._trial.take_report(metrics, self.latest_checkpoint() if checkpoint is not None else None)
            if ends is not None:
                raise ends
        if self.stop_requested():
            raise StopTraining

    def reported_checkpoints(self, timeout_s: float | None) -> list[Kept]:
        return list(self._records.past.kept)

    def latest_checkpoint(self) -> Checkpoint | None:
        path = self._records.latest_path()
        return Checkpoint(path) if path else None

    def meet(self, kind: str, value: Any) -> Any:
        return value

    def stop_requested(self) -> bool:
        return self._live.facts.stops > 0

    def connected(self, backend: str) -> None:
        """Do nothing: there is only one rank to connect."""

    def say(self, sentence: str) -> None:
        say("train", sentence)


def run_here(open_run: OpenRun, payload: Payload, context: TrainRunContext, trial: TrialHost | None = None) -> Result:
    """Run the function in this thread. Its exceptions are raised unchanged, with this process's own frames.

    Returns its Result, also if a view has stopped it.

    trial  in which it runs: its reports go on there, and what ends the trial is raised in the function
    """
    records = Records(open_run, context)
    facts = RunFacts(context.run_id, open_run.name, open_run.folder, time.time(), epochs=epochs_of(payload.config))
    live = Live(
        facts, lambda: records.past.kept, context.run_config.checkpoint_config, lambda what: session_.was_asked(what)
    )
    session_ = LocalSession(open_run, records, live, trial)
    facts.goes_on_from(records.past.reports)
    records.gang_begins(1)
    records.gang_stands(0, [session_.seat])
    facts.gang_stands([session_.seat], records.first_report)
    live.show()
    outer = session.entered()  # of a trial that calls fit()
    session.enter(session_, payload.datasets)
    try:
        with context.backend_config.train_func_context():
            value = call(payload.function, payload.config)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, StopTraining)):
            result = records.close("stopped", None, None)
            facts.happened(Stopped(0))
            live.end("stopped", "")
            if facts.stops:
                return result
            raise
        full_disk.explain(error)
        records.failure(failures.short(0, {0: error}))
        records.close("failed", error if isinstance(error, Exception) else None, None)
        facts.happened(Failed(0, time.time()))
        live.end("failed", failures.short(0, {0: error}))
        raise
    finally:
        session.enter(*outer)
    result = records.close("finished", None, value)
    facts.happened(Returned(0))
    live.end("finished", "")
    return result
