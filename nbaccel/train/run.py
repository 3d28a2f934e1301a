"""A run under way: the thread that carries out the controller's orders, and the handle that users hold.

```
  mailbox, refs of the workers, stop(), a clock ──events──► Controller ──orders──► workers, journal, folder, callbacks
                                                    └────── one thread for each run ─────┘
```
The thread begins with the run and ends with it, not with the cell that started it.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import nbaccel
from nbaccel import exceptions, stacks
from nbaccel.handles.internal_work import internal_task
from nbaccel.proc import host_address
from nbaccel.train import controller as ct
from nbaccel.train import failures, session, storage
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import TrainRunContext
from nbaccel.train.controller import Failed, Reported, Returned, Stopped, StopPressed
from nbaccel.train.errors import ControllerError, StopTraining, TrainingFailedError, is_out_of_memory
from nbaccel.train.forwarding import Forwarding, TrialHost
from nbaccel.train.journal import Kept
from nbaccel.train.loops import call
from nbaccel.train.mailbox import Inbox, MailReader
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.records import Records
from nbaccel.train.result import Result, of_run
from nbaccel.train.run_facts import Live, RunFacts, epochs_of
from nbaccel.train.session import Metrics, unpacked
from nbaccel.train.storage import OpenRun
from nbaccel.train.worker import LastWords, Payload
from nbaccel.train.worker_group import Gathering, WorkerGroup, never_fits, new_mailbox
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from nbaccel.util.state import row_queries
from nbaccel.views import full_disks, run_snapshot, sinks
from nbaccel.views.sinks import notify
from nbaccel.views.snapshot import DeviceRow, NodeRow
from nbaccel.views.stack_text import FRAME, is_ours, is_users
from nbaccel.waits import interruptible

_notified: set[str] = set()  # sentences of ranks, in this process: they hold for the next run as well
_LAST_ANSWER_S = 5.0  # a mailbox that does not answer for so long is killed


class Run:
    """A training run, as `trainer.start()` returns it.

    name, path  of the run and of its folder
    """

    def __init__(
        self,
        open_run: OpenRun,
        payload: Payload,
        context: TrainRunContext,
        forwarding: Forwarding | None = None,
    ) -> None:
        self.name = open_run.name
        self.path = open_run.folder
        self._open = open_run
        self._payload: Payload | None = payload
        self._scaling = context.scaling_config
        self._config = context.run_config
        self._backend = context.backend_config
        self._forwarding = forwarding  # to the trial in which it runs
        self._records = Records(open_run, context)
        self._controller = ct.Controller(self._config.failure_config.max_failures)
        self._inbox = Inbox()
        facts = RunFacts(context.run_id, self.name, self.path, time.time(), epochs=epochs_of(payload.config))
        facts.each = self._scaling._resources_per_worker_not_none
        facts.goes_on_from(self._records.past.reports)
        self._live = Live(facts, lambda: self._records.past.kept, self._config.checkpoint_config, self._was_asked)
        self._ended = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._worker_group: WorkerGroup | None = None
        self._seats_before: list[Seat] = []
        self._mailbox: Any = None
        self._payload_ref: Any = None
        self._mail: MailReader | None = None
        self._wake_at: float | None = None
        self._last_words: dict[int, LastWords] = {}
        self._errors: dict[int, BaseException] = {}
        self._notes: dict[int, str] = {}  # by rank: who else used its device when it ran out of memory
        self._notified_kinds: set[str] = set()
        self._return_value: Any = None
        self._no_place: BaseException | None = None
        self._thread = threading.Thread(target=self._main, name=f"nbaccel-train-{self.name}", daemon=True)

    # ---- methods for users; any thread may call these

    def stop(self) -> None:
        """Ask the run to end, one step of the ladder for each call: after the same report in all ranks, then with
        KeyboardInterrupt in their functions, then at once.
        """
        self._inbox.put(lambda: self._handle(ct.StopPressed()))

    def interrupt_once(self, requested: Any) -> None:
        """Interrupt the ranks once a ref is ready and True."""

        def received(future: Future[Any]) -> None:
            if future.exception() is None and future.result():
                for _ in range(self._controller.presses, 2):  # the ladder's first step waits for a report
                    self._handle(ct.StopPressed())

        self._inbox.when(requested, received, lambda: True)

    def _was_asked(self, what: str) -> None:
        """Handle a request from a view; called in a thread of the engine."""
        self._inbox.put(lambda: self._stop_as_asked(what))

    def _stop_as_asked(self, what: str) -> None:
        if run_snapshot.asks_to_stop(what, self._live.facts.stops):
            self._handle(ct.StopPressed())

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    @property
    def metrics(self) -> dict[str, Any] | None:
        """The metrics of the last report so far."""
        return self._records.last_metrics

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the run; returns its Result. Raises TrainingFailedError, or TimeoutError after `timeout` seconds."""
        if not interruptible.until(self._ended.wait, timeout):
            raise TimeoutError(f"The run {self.name} goes on after {timeout:g} s.")
        self._thread.join()  # it has nothing more to do, and what it refers to goes with it
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def wait_with_ladder(self) -> Result:
        """Like `result`, but every KeyboardInterrupt (Ctrl-C, the Stop button) goes one step down the ladder instead of
        ending the wait.
        """
        while True:
            try:
                return self.result()
            except KeyboardInterrupt:
                if self._ended.is_set():
                    raise
                self.stop()

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {'running' if self.running else 'ended'}, path={self.path!r})"

    def _ipython_display_(self) -> None:
        """Show the snapshot under the cell; it changes with the run."""
        sinks.installed.show_run(self._live.snapshot(), repr(self))

    # ---- the thread

    def begin(self) -> None:
        """Start the run. Raises ControllerError when its worker group can never be placed."""
        self._refuse_what_never_fits()
        self._live.show()
        self._thread.start()

    def _refuse_what_never_fits(self) -> None:
        snapshot = nbaccel.snapshot()
        if snapshot.runtime.engine != "local" or snapshot.node_types:
            return  # the cluster may grow
        reason = never_fits(self._scaling, self._scaling.min_workers, nbaccel.cluster_resources())
        if reason:
            error = ControllerError(reason)
            error.result = self._records.close("failed", error, None)
            raise error

    def _main(self) -> None:
        try:
            self._payload_ref = nbaccel.put(self._payload)
            self._mailbox = new_mailbox(self.name)
            self._carry_out(self._controller.begin())
            while not self._ended.is_set():
                self._one_event()
                self._live.show_if_due()
        except BaseException as error:  # the thread's last line: whoever waits for the run must learn of it
            self._fell(error)

    def _one_event(self) -> None:
        happened = self._inbox.next(min((at for at in (self._wake_at, self._live.due) if at is not None), default=None))
        if happened is not None:
            happened()
            self._live.changed()
        elif self._wake_at is not None and time.monotonic() >= self._wake_at:
            self._wake_at = None
            self._handle(ct.RunTimePassed())

    def _handle(self, event: ct.Event) -> None:
        self._live.facts.happened(event)
        self._carry_out(self._controller.handle(event, time.monotonic()))

    def _carry_out(self, orders: list[ct.Order]) -> None:
        for order in orders:
            self._act(order)

    def _act(self, order: ct.Order) -> None:
        match order:
            case ct.StartGroup(number):
                self._start_worker_group(number)
            case ct.Commit(report):
                self._commit(report)
            case ct.DiscardPart(report):
                storage.discard_part(self.path, report)
            case ct.LetRunAhead():
                self._mailbox.committed.remote(self._controller.number, math.inf)
            case ct.RequestStop():
                self._mailbox.stop.remote(self._controller.number)
                if self._forwarding is None:
                    words = f"{self.name} stops after its next report. Stop again interrupts the function."
                    notify("train", words, self._live.facts.id)
            case ct.InterruptRanks(ranks):
                self._interrupt(ranks)
            case ct.Kill(ranks):
                for rank in ranks:
                    self._kill(rank)
            case ct.Notify():
                self._notify_about(order)
            case ct.TakeDown():
                self._take_down()
            case ct.Finish():
                self._finish(order.outcome, order.first_rank)
            case ct.WakeRunAt(at):
                self._wake_at = at

    def _commit(self, report: int) -> None:
        self._records.commit(report)
        self._mailbox.committed.remote(self._controller.number, report)
        if self._forwarding is not None:
            self._forwarding.committed(report, Checkpoint(self._records.latest_path()))
            self._look_at_the_trial()

    def _look_at_the_trial(self) -> None:
        """Stop the run once its trial is to end."""
        if self._forwarding is not None and self._forwarding.ends is not None and not self._controller.presses:
            self.stop()

    # ---- a worker group

    def _start_worker_group(self, number: int) -> None:
        storage.clear_parts(self.path)
        self._last_words, self._errors, self._notes = {}, {}, {}
        self._worker_group = Gathering(
            self._inbox,
            self._mailbox,
            self._scaling,
            self._config,
            self._backend,
            self._records,
            self.name,
            self._seats_before,
        ).begin(number, self._controller, self)
        self._worker_group_begins()

    def _worker_group_begins(self) -> None:
        assert self._worker_group is not None
        if self._forwarding is not None:
            self._forwarding.worker_group_begins(self._worker_group.group)
        self._live.facts.worker_group_begins(self._worker_group.size)

    def worker_group_shrinks(self, worker_group: WorkerGroup) -> None:
        """Go on with a smaller worker group in place of one that waited."""
        self._worker_group = worker_group
        self._worker_group_begins()

    def workers_connect(self) -> None:
        """Show that a framework's own preparations begin."""
        self._live.facts.workers_connect(self._backend.imports)

    def worker_group_ready(self, worker_group: WorkerGroup) -> None:
        """Begin the function: all ranks have their seats."""
        self._records.worker_group_stands(self._controller.number, worker_group.seats)
        self._live.facts.worker_group_stands(worker_group.seats, self._records.first_report)
        self._handle(ct.GroupReady(worker_group.size))
        number, mailbox = self._controller.number, self._mailbox
        take = partial(mailbox.take.remote, number)
        self._mail = MailReader(
            self._inbox, take, self._read, self._mailbox_failed, lambda: self._worker_group is worker_group
        )
        for rank, ref in enumerate(worker_group.run(self._payload_ref)):
            self._inbox.when(
                ref, partial(self._function_ended, self._mail, rank), lambda: self._worker_group is worker_group
            )
        self._mail.follow()

    def worker_group_waits(self, sentence: str) -> None:
        """Tell the user that there is no place for the worker group at present."""
        self._live.facts.waits(sentence)
        notify("train", f"{self.name} waits for its workers: {sentence}")

    def folder_is_not_shared(self, sentence: str) -> None:
        """Tell the user once that checkpoints travel."""
        self._notify_once(sentence)

    def no_place(self, error: BaseException) -> None:
        """Tell the controller that the run can have no worker group; `error` says why."""
        self._no_place = error
        self._handle(ct.NoPlace())

    def worker_failed(self, rank: int, error: BaseException) -> None:
        """Tell the controller of a worker's exception or death, or of what became of one that is out of reach."""
        worker_group = self._worker_group
        if not isinstance(error, exceptions.ActorUnavailableError) or worker_group is None or not worker_group.seats:
            self._worker_failed(rank, error)
            return
        self._notify_once(f"rank {rank} cannot be reached. The run goes on or ends when the cluster knows why.")
        failures.when_decided(
            worker_group,
            rank,
            lambda: self._inbox.put(
                lambda: self._worker_failed(rank, error) if worker_group is self._worker_group else None
            ),
            lambda: worker_group is self._worker_group and self._controller.presses < 3,
        )

    def _worker_failed(self, rank: int, error: BaseException) -> None:
        words = self._last_words.get(rank)
        seats = self._worker_group.seats if self._worker_group is not None else []
        has_died = isinstance(error, (exceptions.RayActorError, exceptions.WorkerCrashedError))
        if has_died and seats:
            error = failures.instead_of(error, seats[rank], row_queries.every(NodeRow))
        self._errors[rank] = error.with_traceback(None)  # of this process: how we waited for it
        if words is not None and seats and is_out_of_memory(words.kind):
            devices = row_queries.every(DeviceRow)
            self._notes[rank] = failures.memory_of(seats[rank], seats, words.peak_bytes, devices)
        at = words.at if words is not None else time.time()
        self._handle(ct.Died(rank, at) if has_died else ct.Failed(rank, at))

    # ---- news

    def _mailbox_failed(self, error: BaseException) -> None:
        self.no_place(failures.mailbox_ended(error, self._records.latest_name()))

    def _read(self, messages: Any) -> None:
        for rank, kind, number, contents in messages:
            if kind == "report":
                data, has_files, files, name = contents
                metrics = unpacked(data)
                if files is not None and not self._arrived(files, number, rank):
                    continue
                self._records.report(rank, number, metrics, name)
                if rank == 0:
                    self._live.facts.reported(number, metrics, time.time())
                if rank == 0 and self._forwarding is not None:
                    self._forwarding.reported(number, metrics, has_files=has_files)
                    self._look_at_the_trial()
                self._handle(ct.Reported(rank, number, has_files))
                self._records.call_after_report(number)
            elif kind == "failed":
                self._last_words[rank] = contents
            elif kind == "backend":
                self._live.facts.backend = contents
            elif kind == "notify" and contents not in _notified:
                _notified.add(contents)
                notify("train", f"{self.name}: {contents}")

    def _arrived(self, files: Any, number: int, rank: int) -> bool:
        """Put files that have travelled into the run's folder.

        Returns whether they could be got: a rank that dies takes them with it, and its checkpoint is not complete.
        """
        try:
            found = nbaccel.get(files)
        except exceptions.RayError:
            return False
        storage.arrive(found, self.path, number, rank)
        return True

    def _notify_once(self, sentence: str) -> None:
        if sentence not in self._notified_kinds:
            self._notified_kinds.add(sentence)
            notify("train", f"{self.name}: {sentence}")

    def _function_ended(self, mail: MailReader, rank: int, future: Future[Any]) -> None:
        """Handle the end of a rank's function, after all messages that it has sent before."""
        mail.after_all(lambda: self._settle_rank(rank, future))

    def _settle_rank(self, rank: int, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            self.worker_failed(rank, error)
            return
        how, value = future.result()
        if rank == 0:
            self._return_value = value
        self._handle(ct.Returned(rank) if how == "returned" else ct.Stopped(rank))

    # ---- orders

    def _interrupt(self, ranks: tuple[int, ...]) -> None:
        if self._worker_group is not None and self._worker_group.seats:
            chosen = [self._worker_group.seats[rank] for rank in ranks]
            threading.Thread(
                target=interrupt_ranks, args=(chosen,), name="nbaccel-train-interrupt", daemon=True
            ).start()

    def _kill(self, rank: int) -> None:
        if self._worker_group is not None:
            try:
                self._worker_group.kill(rank)
            except exceptions.RayError:
                pass  # it is gone

    def _notify_about(self, order: ct.Notify) -> None:
        if order.what == "restarting":
            notify("train", failures.restarting(self.name, order.ranks[0], self._errors, self._records, self._config))
            self._live.facts.failures += 1
            self._records.failure(failures.short(order.ranks[0], self._errors))
            self._records.call_after_exception(self._errors)
            return
        if order.what in ("interrupted", "hangs") and self._forwarding is not None:
            return  # nobody presses: the trial ends it
        if order.what == "interrupted":
            notify("train", f"{self.name} interrupts the function. Stop again ends its processes.")
            return
        worker_group = self._worker_group
        assert worker_group is not None

        def look() -> None:
            chosen = [worker_group.seats[rank] for rank in order.ranks]
            standing = [place_of(stack) for stack in stacks_of(chosen)]
            if order.what == "unheard" and ("unheard" in self._notified_kinds or not any(map(is_waiting, standing))):
                return  # it may never report
            self._notified_kinds.add(order.what)
            notify("train", failures.about_ranks(self.name, order, standing))

        threading.Thread(target=look, name="nbaccel-train-look", daemon=True).start()

    def _take_down(self) -> None:
        if self._worker_group is not None:
            self._worker_group.take_down()
            self._seats_before = self._worker_group.seats
            self._worker_group = None
            storage.clear_parts(self.path)

    def _finish(self, outcome: ct.RunOutcome, first: int) -> None:
        error: TrainingFailedError | None = None
        if outcome is ct.RunOutcome.FAILED:
            error = self._failed_with(first)
        if self._forwarding is not None:
            self._forwarding.run_ends()
        self._close(outcome.value, error)

    def _failed_with(self, first: int) -> TrainingFailedError:
        if first >= 0:
            self._records.call_after_exception(self._errors)
            return failures.worker_group_error(
                first, self._errors, self._last_words, self._records, self._notes.get(first, "")
            )
        if isinstance(self._no_place, TrainingFailedError):
            return self._no_place
        return ControllerError("The run ended for a reason that is not known.", self._no_place)

    def _close(self, how: str, error: TrainingFailedError | None) -> None:
        self._inbox.close()
        if self._live.facts.stops:
            notify("train", "", self._live.facts.id)
        if self._mailbox is not None:
            try:
                self._end_mailbox()
            except exceptions.RayError:
                pass  # it has ended with its cluster
        self._mailbox = self._payload_ref = self._mail = None
        self._payload = None  # with it goes what the function has captured, such as handles of actors
        self._result = self._records.close(how, error, self._return_value)
        if error is not None:
            error.result = self._result
            self._error = error
        self._errors = {}
        self._live.end(how, failures.first_line(error))
        self._ended.set()

    def _end_mailbox(self) -> None:
        """End the mailbox after its open answers, so that no question fails."""
        news = [self._mail.request] if self._mail is not None else []
        answers = [self._mailbox.begin.remote(-1, 0, 0), *news]
        nbaccel.wait(answers, num_returns=len(answers), timeout=_LAST_ANSWER_S)
        nbaccel.kill(self._mailbox)

    def _fell(self, error: BaseException) -> None:
        """End the run after an error outside of the controller's events: the disk, a callback, the cluster's end."""
        wrapped = failures.of_the_run(self.name, self.path, error)
        try:
            self._take_down()
            self._close("failed", wrapped)
        except BaseException as second:
            wrapped.add_note(f"Ending the run failed as well: {type(second).__name__}: {second}")
            wrapped.result = of_run(self.path, self._open.past, self._config.checkpoint_config, error=wrapped)
            self._result, self._error = wrapped.result, wrapped
            self._live.end("failed", failures.first_line(wrapped))
        finally:
            self._ended.set()  # whoever waits goes on, whatever has failed above


# ---- signals to the ranks, on another machine by a small task: an interrupt, and the question where each stands


_WAITS_IN = {
    "all_reduce": "all_reduce",
    "broadcast": "broadcast",
    "barrier": "barrier",
    "all_gather": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "meet": "train.collective",
}


def interrupt_ranks(seats: Sequence[Seat]) -> None:
    """Raise KeyboardInterrupt in these workers' functions."""
    _everywhere([seat.facts for seat in seats], _send_interrupt)


def stacks_of(seats: Sequence[Seat]) -> list[str]:
    """The stack of each of these workers' functions, innermost frame first; "" for one that does not answer."""
    return _everywhere([seat.facts for seat in seats], stacks.of)


def _everywhere(facts: Sequence[Facts], what: Callable[[int], str]) -> list[str]:
    here = socket.gethostname()
    ask = internal_task(what, num_cpus=0, max_retries=0)
    requested = {
        number: ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(each.node_id, soft=False)).remote(
            each.pid
        )
        for number, each in enumerate(facts)
        if each.host != here
    }
    return [
        nbaccel.get(requested[number]) if number in requested else what(each.pid) for number, each in enumerate(facts)
    ]


def _send_interrupt(pid: int) -> str:
    stacks.send_signal(pid, signal.SIGINT)
    return ""


def place_of(stack: str) -> str:
    """Where a function stands, in words: "waits in all_reduce (train.py line 31)", or "(cell [7] line 31)" of a
    notebook; "" for no stack.
    """
    frames = [found for line in stack.splitlines() if (found := FRAME.search(line))]
    called = [each for each in frames if not is_ours(each["file"])]
    if not called:
        return ""  # its function has not begun, or has ended
    own = next((each for each in called if is_users(each["file"])), called[0])
    place = sinks.installed.place(own["file"], own["line"])
    outer = frames.index(own)
    for each in frames[:outer]:
        if each["name"] in _WAITS_IN:
            return f"waits in {_WAITS_IN[each['name']]} ({place})"
    return f"is in {own['name']} ({place})"


def is_waiting(standing: str) -> bool:
    """Whether these words of `place_of` are of a rank that waits for others."""
    return standing.startswith("waits in ")


# ---- num_workers=0: the function in this process, for breakpoints; reports and checkpoints as in a group of workers


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

    def notify(self, sentence: str) -> None:
        notify("train", sentence)


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
    records.worker_group_begins(1)
    records.worker_group_stands(0, [session_.seat])
    facts.worker_group_stands([session_.seat], records.first_report)
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
        full_disks.explain(error)
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
