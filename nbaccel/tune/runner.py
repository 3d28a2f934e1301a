"""An experiment under way: the thread that does what `TrialDecisions` decides, and the handle that `fit` waits on.

```
  mailbox, refs of the trials, stop(), a clock ──► TrialDecisions ──► launcher, journal, folders, callbacks
                                 └───── one thread for each experiment ─────┘
```
"""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import nbaccel
from nbaccel import exceptions
from nbaccel.handles.internal_work import internal_actor
from nbaccel.handles.options import TaskOptions, task_options
from nbaccel.quantities import ACCELERATORS
from nbaccel.train import journal, storage
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.train.journal import Kept
from nbaccel.train.loops import UsersCode, is_of_users_code
from nbaccel.train.mailbox import Inbox, MailReader
from nbaccel.train.worker_group import group_name
from nbaccel.tune import experiment_journal
from nbaccel.tune.error import TuneError, as_tune_error, could_not_write, words_of
from nbaccel.tune.experiment_journal import ExperimentJournal, OpenExperiment, TrialFiles
from nbaccel.tune.logger import Callback
from nbaccel.tune.resources import TrialResources, resources_of
from nbaccel.tune.result_tables import ExperimentLive, ReporterCalls
from nbaccel.tune.schedulers.trial_scheduler import SCHEDULER_STATE, Decision, TrialScheduler
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_decisions import End, TrialDecisions
from nbaccel.tune.trial_session import (
    END,
    GO_ON,
    SAVE,
    ClassOptions,
    Ended,
    MetricMissingError,
    TrialAssignment,
    TrialMailbox,
    run_trial,
)
from nbaccel.util.placement_group import placement_group, remove_placement_group, why_never_placed
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from nbaccel.views import run_snapshot, wording
from nbaccel.views.explanations import Probe, Verdict
from nbaccel.views.sinks import notify
from nbaccel.waits import interruptible

_LAST_ANSWER_S = 5.0
_ASK_AGAIN_S = 0.1  # a search or a scheduler that lets no trial start, while none runs
_ASK_FOR_S = 60.0  # … so long
_BUDGET_GRACE_S = 5.0  # after the time budget, for trials that do not report


@dataclass(slots=True)
class _Attempt:
    """An attempt that was submitted."""

    number: int
    launched: Launched
    waits: bool
    since: float
    received: int = 0
    ended: Ended | None = None  # it has returned, and messages of it are on their way


class Runner:
    """An experiment under way."""

    def __init__(self, opened: OpenExperiment, experiment: TrialDecisions, plan: RunnerPlan) -> None:
        self.name = opened.name
        self.path = opened.folder
        self.note = opened.note
        self.compared_by = plan.compared_by
        self.study = plan.study
        self.experiment = experiment
        self._open = opened
        self._journal = opened.journal
        self._checkpoints = TrialCheckpoints(opened.folder, opened.journal, plan.run_config.checkpoint_config)
        self._files = TrialFiles()
        self._reporter = ReporterCalls(plan.run_config.progress_reporter, experiment.scheduler)
        self._plan = plan
        experiment.copies = self._checkpoints.copy_donor
        self._inbox = Inbox()
        self._live = ExperimentLive(self.name, self.path, experiment, plan.compared_by, plan.total, self._was_asked,
                                    is_hidden=plan.run_config.verbose == 0, ran_s=opened.past.lasted_s())  # fmt: skip
        self._attempts: dict[str, _Attempt] = {}
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._mailbox: Any = None
        self._launcher: Launcher | None = None
        self._mail: MailReader | None = None
        self._steps = 0  # of the loop
        self._waits_since: float | None = None  # nothing runs, and no trial may start yet
        self._written = set(experiment.trials)  # trials that the journal has
        self._stop_was_reported = self._anew_was_reported = False
        self._has_metric = any(trial.reports for trial in experiment.trials.values())
        self._budget_at: float | None = None
        self._interrupt_at: float | None = None
        self._thread = threading.Thread(target=self._main, name=f"nbaccel-tune-{self.name}", daemon=True)

    # ---- any thread

    def begin(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Go one step down the ladder: no new trials and an end at the next report; interrupt; kill."""
        self._inbox.put(self._press)

    def _was_asked(self, what: str) -> None:
        """Take a request of a view: "stop 0", or "stop-trial 0 a1b2_00003"; the number is of the presses before it."""
        word, _, rest = what.partition(" ")
        if word == "stop-trial":
            before, _, name = rest.partition(" ")
            self._inbox.put(lambda: self._press_trial(name, before))
        elif run_snapshot.asks_to_stop(what, self.experiment.presses):
            self.stop()

    def wait_with_ladder(self) -> None:
        """Wait for the end; every KeyboardInterrupt is a `stop`. Raises what ended the experiment."""
        while True:
            try:
                interruptible.until(self._ended.wait, None)
                self._thread.join()
                break
            except KeyboardInterrupt:
                if self._ended.is_set():
                    raise
                self.stop()
        if self._error is not None:
            raise self._error

    # ---- the thread

    def _main(self) -> None:
        try:
            self._mailbox = internal_actor(TrialMailbox, num_cpus=0, max_concurrency=10_000).remote()
            self._launcher = Launcher(self._inbox, self._plan.function, self._mailbox, self._task_ended)
            if self._plan.time_budget_s is not None:
                self._budget_at = time.monotonic() + self._plan.time_budget_s
            self._each(self._set_up)
            self._give_back_states()
            take, inbox = self._mailbox.take.remote, self._inbox
            if not self._open.past.ended:
                self._files.repair(self.experiment.trials.values())
            self._reporter.begin(self._plan.total, self._plan.compared_by)
            self._mail = MailReader(inbox, take, self._read, self._mailbox_failed, lambda: not self._ended.is_set())
            self._mail.follow()
            self._refill()
            self._live.changed()
            while not self._ended.is_set():
                self._step(self._inbox.next(self._next_time()))
        except BaseException as error:  # the thread's last line: whoever waits must learn of it
            self._fell(error)

    def _step(self, happened: Callable[[], None] | None) -> None:
        """Take what has happened, and what time has brought."""
        self._steps += 1
        self.experiment.controller.iteration = self._steps
        self._call_step("on_step_begin")
        if happened is not None:
            happened()
            self._live.changed()
        self._as_time_passes()
        self._carry_out_orders()
        if self.experiment.is_stopping and not self._stop_was_reported:
            self._stop_trials()
        if self._ended.is_set():
            return
        self._refill()
        if self._ended.is_set():
            return
        self._call_step("on_step_end")
        with UsersCode():
            self._reporter.step(self.experiment.trials)

    def _next_time(self) -> float | None:
        again = time.monotonic() + _ASK_AGAIN_S if self._waits_since is not None else None
        times = (self._budget_at, self._interrupt_at, self._live.due, again, self._reporter.due())
        return min((at for at in times if at is not None), default=None)

    def _as_time_passes(self) -> None:
        now = time.monotonic()
        if self._budget_at is not None and now >= self._budget_at:
            self._budget_at = None
            self.experiment.stop(f"its time budget of {self._plan.time_budget_s:g} s is over")
            self._stop_trials()
            self._interrupt_at = now + _BUDGET_GRACE_S
        if self._interrupt_at is not None and now >= self._interrupt_at:
            self._interrupt_at = None
            self._interrupt()
        if self._live.due is not None and now >= self._live.due:
            self._journal.sync()  # before an end of a trial is seen
        self._live.show_if_due(now)

    # ---- starting trials

    def _refill(self) -> None:
        experiment, launcher = self.experiment, self._launcher
        assert launcher is not None
        given = self._plan.resources
        same = None if callable(given) else resources_of(given, {})  # what every trial asks for
        while same is None or launcher.room(same, len(self._attempts)):  # a search learns until a trial can begin
            with UsersCode():  # of a search, such as sample_from
                trial = experiment.next()
            if trial is None:
                break
            if trial.id not in self._written:
                self._written.add(trial.id)
                self._journal.trial(trial)
            try:
                resources = resources_of(self._plan.resources, trial.config)
            except Exception as error:  # a user's function of the config, or its mistake
                self._attempt_failed(trial, error, for_good=True)
                continue
            never = launcher.never_fits(resources)
            if never and same is None:  # others may ask for less
                self._attempt_failed(trial, TuneError(never), for_good=True)
                continue
            if never:
                raise TuneError(never)
            if not launcher.room(resources, len(self._attempts)):
                experiment.put_back(trial)
                break
            self._launch(launcher, trial, resources)
        if experiment.is_over:
            self._finish()
        else:
            self._refuse_to_wait_for_ever()

    def _refuse_to_wait_for_ever(self) -> None:
        """Raises TuneError if no trial runs, and none was let start for a long time."""
        if self._attempts or self.experiment.running:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = time.monotonic()
        elif time.monotonic() - self._waits_since > _ASK_FOR_S:
            raise TuneError(
                f"No trial runs, and none was let start for {_ASK_FOR_S:g} s. "
                f"{type(self.experiment.scheduler).__name__}.choose_trial_to_run() or the search's suggest() returns "
                "None each time."
            )

    def _carry_out_orders(self) -> None:
        """Do what the scheduler has ordered about trials."""
        ordered, self.experiment.ordered = self.experiment.ordered, []
        for trial in ordered:
            if trial.has_ended:
                self._over(trial)
            elif (attempt := self._attempts.get(trial.id)) is not None:
                answer = _answer(self.experiment.fate(trial))
                self._mailbox.stop.remote(trial.id, attempt.number, answer)

    def _launch(self, launcher: Launcher, trial: Trial, resources: Any) -> None:
        if trial.donor and not trial.start_from:
            self._checkpoints.take_over(trial)
        trial.forget_after_checkpoint()
        trial.counters_before = trial.counters
        trial.resources = resources
        self._journal.attempt(trial)
        self._files.begin(trial)
        assignment = TrialAssignment(
            trial.id,
            trial.attempts,
            self.name,
            self._checkpoints.folder(trial),
            resources.total,
            self.experiment.decides,
            self._plan.metric,
            trial.next_report,
            self._checkpoints.start_of(trial) or self._plan.begins_from,
            int(trial.counters.get("training_iteration", 0)),
            trial.counters.get("time_total_s", 0.0),
            str(trial),
            self._plan.works_in_folder,
            self._plan.log_files,
            self._plan.of_class,
            ({}, *resources.bundles) if resources.is_headless else resources.bundles,
            trial.saved,
            resources.strategy,
        )
        try:
            launched = launcher.launch(trial, resources, assignment, wording.encodable(f"{self.name} {trial.id}"))
        except Exception as error:  # a config that does not pickle, an option that the engine refuses
            self._attempt_failed(trial, error, for_good=True)
            return
        trial.begins(time.time())
        self._attempts[trial.id] = _Attempt(trial.attempts, launched, assignment.waits, time.monotonic())
        self._call("on_trial_start", trial, status=Trial.PENDING)
        if assignment.checkpoint:
            self._call("on_trial_restore", trial)

    # ---- news

    def _mailbox_failed(self, error: BaseException) -> None:
        raise TuneError(
            "The process through which trials report has ended. tune.Tuner.restore(path, trainable) goes on."
        ) from error

    def _read(self, messages: Any) -> None:
        answers: dict[tuple[str, int], int] = {}
        for name, number, kind, report, contents in messages:
            attempt = self._attempts.get(name)
            if attempt is None or attempt.number != number:
                if kind in ("report", "saved"):
                    answers[name, number] = END  # of an attempt that has ended: a thread of it may wait
                continue
            trial = self.experiment.trials[name]
            if kind == "begun":
                trial.runs_at(contents)
                continue
            if kind == "holds":
                attempt.launched.groups.append(contents)
                continue
            if kind == "saved":
                self._commit(trial, report, trial.last)
                self._call_of_checkpoint(trial)
                answers[name, number] = GO_ON
                continue
            metrics, has_files = contents
            attempt.received += 1
            answer = self._report(trial, report, metrics, has_files=has_files)
            if attempt.waits or has_files or metrics.get("done"):
                answers[name, number] = answer
            elif answer:
                self._mailbox.stop.remote(name, number, answer)
        if answers:
            self._mailbox.answer.remote(answers)
        for name, attempt in list(self._attempts.items()):
            if attempt.ended is not None and attempt.received >= attempt.ended[1]:
                self._settle(self.experiment.trials[name], attempt)

    def _report(self, trial: Trial, number: int, metrics: dict[str, Any], *, has_files: bool) -> int:
        """Note a report; returns the answer to the trial."""
        self._has_metric = True
        trial.earlier_config = None
        trial.reports.append({"report": number, "metrics": metrics})
        self._journal.report(trial, number, metrics)
        if has_files:
            self._commit(trial, number, metrics)
        result = trial.result(metrics)
        self._files.report(trial, result)
        with UsersCode():  # a stopper, a scheduler's functions, Optuna's storage
            decision = self.experiment.on_result(trial, result)
            self._plan.on_result(trial, result, decision.kind == "stop")
        if decision.kind == "exploit":
            self._checkpoints.copy_donor(trial, self.experiment.trials[decision.donor])
        if decision.kind == "stop":
            result["done"] = True
        self._call("on_trial_result", trial, result)
        if has_files:
            self._call_of_checkpoint(trial)
        return _answer(decision)

    def _commit(self, trial: Trial, number: int, metrics: dict[str, Any]) -> None:
        self._checkpoints.commit(trial, number, metrics)
        self.experiment.scheduler.has_checkpoint(trial.id)

    def _call_of_checkpoint(self, trial: Trial) -> None:
        self._call("on_checkpoint", trial, trial.checkpoint)
        self._call("on_trial_save", trial)

    # ---- ends

    def _task_ended(self, trial: Trial, number: int, future: Future[Any]) -> None:
        attempt = self._attempts.get(trial.id)
        if attempt is None or attempt.number != number:
            return
        error = future.exception()
        if error is None:
            attempt.ended = future.result()
            if attempt.received >= attempt.ended[1]:
                self._settle(trial, attempt)
            return
        assert self._mail is not None
        self._mail.after_all(lambda: self._attempt_failed(trial, error))  # what it reported before comes first

    def _settle(self, trial: Trial, attempt: _Attempt) -> None:
        assert attempt.ended is not None
        how, _, last, whereabouts = attempt.ended
        trial.runs_at(whereabouts)
        if trial.earlier_config is not None and last is None and not attempt.received:
            trial.config, trial.earlier_config = trial.earlier_config, None  # its reports are of this one
            self._journal.trial(trial)
        if last is not None:
            number = (trial.reports[-1]["report"] + 1) if trial.reports else 0
            self._report(trial, number, last, has_files=False)
        took = time.monotonic() - attempt.since
        assert self._launcher is not None
        mean = self._launcher.mean_s
        self._launcher.mean_s = took if mean is None else 0.8 * mean + 0.2 * took
        if how == "interrupted":
            self._end(trial, End.STOPPED if trial.stops else End.INTERRUPTED)
        else:
            self._end(trial, End.RETURNED if how == "returned" else End.STOPPED)

    def _attempt_failed(self, trial: Trial, error: BaseException, *, for_good: bool = False) -> None:
        if isinstance(error, exceptions.TaskCancelledError) and trial.stops:
            self._end(trial, End.STOPPED)
            return
        if isinstance(error, exceptions.TaskCancelledError) and self.experiment.is_stopping:
            self._end(trial, End.INTERRUPTED)
            return
        cause = getattr(error, "cause", None)
        if not self._has_metric and (isinstance(error, MetricMissingError) or isinstance(cause, MetricMissingError)):
            raise as_tune_error(ValueError(str(cause or error))) from None
        trial.error = error.with_traceback(None)
        trial.error_words = words_of(error)
        if for_good:
            trial.failures = max(trial.failures, self.experiment.rules.max_failures)
        self._end(trial, End.FAILED)

    def _end(self, trial: Trial, how: End) -> None:
        attempt = self._attempts.pop(trial.id, None)
        if attempt is not None:
            attempt.launched.close()
        trial.ended_at = time.time()  # of this attempt; an interrupted trial is not told again
        state = self.experiment.on_ended(trial, how)
        if how is End.FAILED:
            self._files.failed(trial)
        if state is TrialState.PENDING:
            if how is End.FAILED:
                start = trial.kept[-1].folder if trial.kept else "its beginning"
                notify("tune", f"Trial {trial.id} failed ({trial.error_words}); it goes on from {start}.")
                self._call("on_trial_recover", trial)
            if trial.is_paused and not trial.kept and not self._anew_was_reported:
                self._anew_was_reported = True
                notify(
                    "tune",
                    f"Trial {trial.id} has paused without a checkpoint, so it begins anew when it goes on. Report "
                    "checkpoints, and begin from get_checkpoint().",
                )
            return
        self._over(trial)

    def _over(self, trial: Trial) -> None:
        """A trial has ended for good."""
        trial.ended_at = time.time()
        experiment_journal.clear(self._checkpoints.folder(trial))
        self._files.end(trial)
        self._journal.state(trial)
        with UsersCode():
            self._plan.on_trial_end(trial)
            if type(self.experiment.scheduler).save is not TrialScheduler.save:
                self.experiment.scheduler.save(os.path.join(self.path, SCHEDULER_STATE))
        if trial.state is TrialState.ERROR:
            self._call("on_trial_error", trial)
        else:
            self._call("on_trial_complete", trial, status=Trial.RUNNING)
        self._keep_states()

    # ---- stopping

    def _press_trial(self, name: str, before: str) -> None:
        """End one trial: at its next report; the second time interrupt it, the third time end its process."""
        trial = self.experiment.trials.get(name)
        if trial is None or trial.has_ended or not run_snapshot.asks_to_stop(f"stop {before}", trial.stops):
            return
        if self.experiment.stop_trial(trial):
            self._over(trial)
            return
        launched, number = self._attempts[name].launched, trial.attempts
        if trial.stops > 2:
            launched.interrupt(force=True)
            return
        if trial.stops > 1:
            self._interrupt([(name, number)])
            return

        def received(has_begun: Future[Any]) -> None:
            if not has_begun.result():  # it may wait for its resources for ever
                launched.interrupt()

        self._inbox.when(self._mailbox.stop.remote(name, number), received, lambda: True)

    def _press(self) -> None:
        presses = self.experiment.press()
        if presses == 1:
            words = f"{self.name}: no new trials; those that run end at their next report. Stop again interrupts."
            notify("tune", words, self._live.id)
            self._stop_trials()
        elif presses == 2:
            words = f"{self.name}: the functions are interrupted. Stop a third time ends the processes of those left."
            notify("tune-interrupts", words, self._live.id)
            self._interrupt()
        else:
            for attempt in self._attempts.values():
                attempt.launched.interrupt(force=True)

    def _stop_trials(self) -> None:
        self._stop_was_reported = True
        begun = self._mailbox.stop_all.remote()
        if self.experiment.failed_fast is not None:
            self._interrupt()
            return
        self._inbox.when(begun, lambda future: self._cancel_the_rest(future.result()), lambda: True)

    def _cancel_the_rest(self, begun: set[tuple[str, int]]) -> None:
        """Cancel trials that have not begun: they may wait for their resources for ever."""
        self._cancel([each for each in self._in_flight() if each not in begun])

    def _in_flight(self) -> list[tuple[str, int]]:
        return [(name, attempt.number) for name, attempt in self._attempts.items()]

    def _interrupt(self, attempts: list[tuple[str, int]] | None = None) -> None:
        """Interrupt attempts, by default all: the run that a trial fits, or else the trial's function."""
        others = self._mailbox.interrupt.remote(attempts if attempts is not None else self._in_flight())
        self._inbox.when(others, lambda future: self._cancel(future.result()), lambda: True)

    def _cancel(self, attempts: Iterable[tuple[str, int]]) -> None:
        for name, number in attempts:
            attempt = self._attempts.get(name)
            if attempt is not None and attempt.number == number:
                attempt.launched.interrupt()

    def _finish(self) -> None:
        if self.experiment.failed_fast is not None and self._plan.run_config.failure_config.fail_fast not in (
            True,
            False,
        ):
            self._error = self.experiment.failed_fast.error
        for trial in self.experiment.stop_those_that_wait():
            self._journal.state(trial)
        how = "stopped" if self.experiment.is_stopping else "finished"
        self._each(lambda callback: callback.on_experiment_end(list(self.experiment.trials.values())))
        with UsersCode():
            self._reporter.end(self.experiment.trials)
        self._close(how)

    def _close(self, how: str) -> None:
        self._inbox.close()
        if self.experiment.presses:
            notify("tune", "", self._live.id)
        for name, attempt in self._attempts.items():
            trial = self.experiment.trials[name]
            trial.state, trial.ended_at = TrialState.PENDING, time.time()  # interrupted
            try:
                attempt.launched.interrupt(force=True)
                attempt.launched.close()
            except exceptions.RayError:
                pass  # the cluster has ended
        self._attempts.clear()
        if self._mailbox is not None:
            try:
                nbaccel.wait([self._mailbox.wake.remote()], timeout=_LAST_ANSWER_S)
                nbaccel.wait([self._mail.request] if self._mail is not None else [], timeout=_LAST_ANSWER_S)
                nbaccel.kill(self._mailbox)
            except (exceptions.RayError, ValueError):
                pass  # as above
        self._mailbox = self._mail = self._launcher = None
        try:
            if how != "failed":
                self._files.wait()
            self._journal.end(how)
        finally:
            self._files.close()
            self._open.close()
            self._live.end(how, str(self._error or "") if how == "failed" else self.experiment.stop_reason)
        self._ended.set()

    def _fell(self, error: BaseException) -> None:
        """End the experiment after an error outside of trials: the disk, a callback, a metric that no trial reports."""
        self._error = error
        if is_of_users_code(error):
            self._error = error = as_tune_error(error)
            error.add_note(
                f"The experiment {self.name} ended here. tune.Tuner.restore({self.path!r}, trainable) goes on."
            )
        elif isinstance(error, OSError):
            self._error = could_not_write(self.name, self.path, error)
        try:
            self._close("failed")
        except BaseException as second:
            self._error.add_note(f"Ending the experiment failed as well: {type(second).__name__}: {second}")
            self._ended.set()

    # ---- callbacks

    def _each(self, call: Callable[[Any], None]) -> None:
        with UsersCode():
            for callback in self._plan.run_config.callbacks:
                call(callback)

    def _set_up(self, callback: Callback) -> None:
        """Tell a callback of the experiment, as much as its `setup` takes."""
        stop = self._plan.run_config.stop
        facts: dict[str, Any] = {
            "stop": dict(stop) if isinstance(stop, Mapping) else {},
            "num_samples": self._plan.num_samples,
            "total_num_samples": self._plan.total,
            "time_budget_s": self._plan.time_budget_s,
        }
        taken = inspect.signature(callback.setup).parameters
        takes_all = any(each.kind is each.VAR_KEYWORD for each in taken.values())
        callback.setup(**{name: value for name, value in facts.items() if takes_all or name in taken})

    def _call(self, name: str, trial: Trial, *more: Any, status: str = "") -> None:
        if not self._plan.run_config.callbacks:
            return
        self._journal.sync()
        self._files.wait()
        trials = list(self.experiment.trials.values())
        trial.status_in_call = status
        try:
            self._each(lambda callback: getattr(callback, name)(self._steps, trials, trial, *more))
        finally:
            trial.status_in_call = ""

    def _keep_states(self) -> None:
        """Write what callbacks want back in a restored experiment, if one of them wants something."""
        callbacks = self._plan.run_config.callbacks
        if any(type(each).get_state is not Callback.get_state for each in callbacks):
            with UsersCode():
                states = [each.get_state() for each in callbacks]
            self._journal.callbacks(states)

    def _give_back_states(self) -> None:
        with UsersCode():
            for callback, state in zip(self._plan.run_config.callbacks, self._open.past.callbacks, strict=False):
                if isinstance(state, dict):
                    callback.set_state(state)

    def _call_step(self, name: str) -> None:
        if any(getattr(type(each), name) is not getattr(Callback, name) for each in self._plan.run_config.callbacks):
            trials = list(self.experiment.trials.values())
            self._each(lambda callback: getattr(callback, name)(self._steps, trials))


def _answer(decision: Decision) -> int:
    ends = END if decision.kind != "continue" else GO_ON
    return ends | (SAVE if decision.saves else GO_ON)


# ---- what the runner of an experiment needs beside the experiment


@dataclass(slots=True)
class RunnerPlan:
    """How trials are run, and who is told of what they do.

    on_result     told of each result, and whether it ends its trial
    on_trial_end  told of each trial that has ended for good, before the next one starts
    study         Optuna's, for the results
    total         how many trials there will be, if that is known
    num_samples   as it was asked for; -1: without an end
    begins_from   the folder of a checkpoint with which trials begin that have none
    works_in_folder, log_files, of_class  of each trial, as in TrialAssignment
    """

    function: Any
    resources: Any
    run_config: RunConfig
    metric: str = ""  # that each report must have
    time_budget_s: float | None = None
    compared_by: tuple[str | None, str | None] = (None, None)  # metric and mode, for the results
    on_result: Callable[[Trial, Mapping[str, Any], bool], None] = lambda trial, result, ends: None
    on_trial_end: Callable[[Trial], None] = lambda trial: None
    study: Any = None
    total: int | None = None
    num_samples: int = 1
    works_in_folder: bool = True
    log_files: tuple[str, str] = ("", "")
    of_class: ClassOptions = field(default_factory=ClassOptions)
    begins_from: str = ""


# ---- the checkpoints of the trials of an experiment: which one an attempt begins with, and which stay
#
# The journal names a checkpoint before anything relies on it, and forgets one before its files go: a driver that is
# killed in between leaves files that nobody needs, and never a trial without the checkpoint that it had.


class TrialCheckpoints:
    """The checkpoints of all trials, for the experiment's thread. Its methods raise OSError if the disk is full."""

    def __init__(self, experiment_folder: str, journal: ExperimentJournal, config: CheckpointConfig) -> None:
        self._experiment = experiment_folder
        self._journal = journal
        self._config = config

    def folder(self, trial: Trial) -> str:
        return os.path.join(self._experiment, trial.folder_name)

    def start_of(self, trial: Trial) -> str:
        """The checkpoint with which the trial's next attempt begins; "" for none."""
        folder = trial.kept[-1].folder if trial.kept else trial.start_from
        return os.path.join(self.folder(trial), folder) if folder else ""

    def commit(self, trial: Trial, number: int, metrics: dict[str, Any]) -> str:
        """Take up the checkpoint of a report, whose files are there, and delete surplus ones; returns its folder."""
        folder = self.folder(trial)
        kept = Kept(experiment_journal.commit(folder, trial.attempts, trial.saved), number, metrics)
        trial.kept.append(kept)
        trial.saved += 1
        self._journal.checkpoint(trial, kept)
        self._journal.sync()
        for old in journal.to_delete(trial.kept, self._config):
            self._journal.deleted(trial, old.folder)
            storage.delete(folder, old.folder)
            trial.kept.remove(old)
        return os.path.join(folder, kept.folder)

    def copy_donor(self, trial: Trial, donor: Trial) -> None:
        """Copy the checkpoint with which the trial's next attempt begins, before the donor replaces or deletes it."""
        source = self.start_of(donor)
        trial.counted = donor.counters
        experiment_journal.copy(source, self.folder(trial), _exploited(trial.attempts + 1))

    def take_over(self, trial: Trial) -> None:
        """Begin with the donor's checkpoint, and leave those of this trial that are not to be kept."""
        trial.first_report = (trial.reports[-1]["report"] + 1) if trial.reports else 0
        own = [each.folder for each in trial.kept] + [_exploited(attempt) for attempt in range(trial.attempts)]
        trial.kept.clear()
        trial.start_from = _exploited(trial.attempts)
        self._journal.trial(trial)
        if self._config.num_to_keep is not None:
            for old in own:
                storage.delete(self.folder(trial), old)


def _exploited(attempt: int) -> str:
    """The folder of the checkpoint that a trial took over for this attempt."""
    return f"exploited_{attempt:03d}"


# ---- submits trials: as a task, in a placement group if it asks for several bundles; and says how many more fit now


_SHORT_S = 0.05  # trials that took less than this are submitted ahead, to spare the way between two of them
_TASKS_AHEAD = 32  # so many trials wait where nodes may come: a cluster grows only for work that waits
_GROUPS_AHEAD = 4  # each waits in a process of its own

OnAnswer = Callable[[Trial, int, "Future[Any]"], None]


class Launched:
    """A submitted attempt of a trial.

    groups  what was reserved for it, and by the runs that it fits
    """

    def __init__(self, group: Any = None) -> None:
        self.ref: Any = None
        self.groups = [group] if group is not None else []

    def interrupt(self, *, force: bool = False) -> None:
        """End the trial's function with a KeyboardInterrupt; `force` ends its process. One that waits never runs."""
        if self.ref is not None:
            nbaccel.cancel(self.ref, force=force)

    def close(self) -> None:
        """Give back what was reserved; a run that has ended well has given back its own."""
        self.ref = None
        for group in self.groups:
            try:
                remove_placement_group(group)
            except exceptions.RayError:
                pass  # the cluster has ended
        self.groups.clear()


class Launcher:
    """Submits the trials of one experiment, for the experiment's thread."""

    def __init__(self, inbox: Inbox, function: Any, mailbox: Any, on_answer: OnAnswer) -> None:
        self._inbox = inbox
        self._payload = nbaccel.put((function,))
        self._mailbox = mailbox
        self._on_answer = on_answer
        self._task = nbaccel.remote(run_trial).options(max_retries=0)
        self._cluster = FreeCapacity()
        self.mean_s: float | None = None  # how long trials took

    def never_fits(self, resources: TrialResources) -> str:
        """Why no trial of this kind can ever start; "" if it can, also by a node that may come."""
        return self._cluster.never_fits(resources)

    def room(self, resources: TrialResources, in_flight: int) -> bool:
        """Whether one more trial is to be submitted: it fits now, or it is the only one, or a node may come for it."""
        if in_flight == 0:
            return True
        may_grow = self._cluster.may_grow_for(resources)
        least = resources.least
        slots = least.fits(self._cluster.totals)
        is_short = self.mean_s is not None and self.mean_s < _SHORT_S
        if is_short and not resources.is_worker_group and in_flight < 2 * slots:
            return True
        if may_grow and in_flight < slots + (_GROUPS_AHEAD if resources.is_worker_group else _TASKS_AHEAD):
            return True
        # A trial that waits in `report` lends its CPU; it counts as held.
        return in_flight < slots and least.fits(nbaccel.available_resources()) > 0

    def launch(self, trial: Trial, resources: TrialResources, assignment: TrialAssignment, name: str) -> Launched:
        """Submit a trial; returns at once. Raises what a config raises that cannot be pickled."""
        task = self._task.options(name=name, **resources.task_options())
        if resources.is_worker_group or resources.is_task:
            launched = Launched()
            self._submit(launched, task, trial, assignment)
            return launched
        bundles = [dict(bundle) for bundle in resources.bundles]
        group = placement_group(bundles, resources.strategy, group_name(f"{name}'s room"))
        launched = Launched(group)
        place = PlacementGroupSchedulingStrategy(group, 0, placement_group_capture_child_tasks=True)
        try:
            self._submit(launched, task.options(scheduling_strategy=place), trial, assignment)
        except BaseException:
            launched.close()
            raise
        return launched

    def _submit(self, launched: Launched, task: Any, trial: Trial, assignment: TrialAssignment) -> None:
        launched.ref = task.remote(self._payload, trial.config, assignment, self._mailbox)
        on_answer = partial(self._on_answer, trial, assignment.attempt)
        self._inbox.when(launched.ref, on_answer, lambda: True)


# ---- says whether a trial could ever start, before one of its kind is submitted, and whether nodes may come for more
#
# Each kind of request is judged once. If a node is lost later, trials that need it wait for another one, and the
# engine says so.


_LOOK_S = 1.0  # how long the size of a growing cluster counts as known
_ASKED_OF_A_PROBE = (
    "num_cpus",
    "num_gpus",
    "memory",
    "resources",
    "gpu_memory",
    "accelerator_type",
    "label_selector",
)


class FreeCapacity:
    """What a cluster can hold, for the thread of one experiment.

    totals  what the nodes that are here have
    """

    def __init__(self) -> None:
        snapshot = nbaccel.snapshot()
        self._is_local = snapshot.runtime.engine == "local"
        self._grows = bool(snapshot.node_types)
        self._never: dict[str, str] = {}
        self._look_at = 0.0
        self._may_come = False
        self.totals: Mapping[str, float] = nbaccel.cluster_resources()

    def never_fits(self, resources: TrialResources) -> str:
        """Why no trial of this kind can ever start; "" if it can, or if nobody knows."""
        kind = repr(resources)
        if kind not in self._never:
            why = self._why_never(resources)
            self._never[kind] = f"No trial can ever start: {why} {_remedy(resources)}" if why else ""
        return self._never[kind]

    def _why_never(self, resources: TrialResources) -> str:
        if resources.is_task:
            return self._task_never(task_options(**resources.task_options()))
        return self._sum_never(resources) or self._bundles_never(resources)

    def _task_never(self, options: TaskOptions) -> str:
        """Ask the engine about each choice; it is the one who places them."""
        found: list[Probe] = []
        for choice in (options, *options.fallbacks()):
            given = {name: getattr(choice, name) for name in _ASKED_OF_A_PROBE}
            probe = nbaccel.probe(**{name: value for name, value in given.items() if value not in (None, {})})
            if probe.verdict is not Verdict.NEVER:
                return ""
            found.append(probe)
        reasons = "; ".join(dict.fromkeys(probe.reason for probe in found))
        asks = [probe.asks for probe in found if probe.asks]
        return f"each asks for {' or '.join(asks)}, but {reasons}." if asks else f"{reasons}."

    def _sum_never(self, resources: TrialResources) -> str:
        if self._grows or not self._is_local:
            return ""
        for name, amount in resources.total.items():
            there = self.totals.get(name, 0)
            if amount > there and not name.startswith("accelerator_type:"):
                return f"each asks for {amount:g} {name} in all, and there are {there:g}."
        return ""

    def _bundles_never(self, resources: TrialResources) -> str:
        """Whether the bundles fit together on nodes that are here or may come."""
        reason = why_never_placed([dict(bundle) for bundle in resources.bundles], resources.strategy)
        return f"for each, a placement group is asked for: {reason}." if reason else ""

    def may_grow_for(self, resources: TrialResources) -> bool:
        """Whether a node may come for one more trial. Looks again once a second, and then knows the new totals too."""
        now = time.monotonic()
        if self._grows and now >= self._look_at:
            self._look_at = now + _LOOK_S
            self.totals = nbaccel.cluster_resources()
            self._may_come = self._can_grow_for(resources)
        return self._may_come

    def _can_grow_for(self, resources: TrialResources) -> bool:
        """Whether one more node may come that holds a bundle of such a trial."""
        rows = [row for row in nbaccel.snapshot().node_types if not row.given_up]
        able = [row for row in rows if not row.max or row.here + row.arriving < row.max]
        counted = [
            {name: amount for name, amount in bundle.items() if name != "memory" and ":" not in name}
            for bundle in resources.bundles
        ]
        return any(
            all(row.resources.get(name, 0) >= amount for name, amount in bundle.items())
            for row in able
            for bundle in counted
        )


def _remedy(resources: TrialResources) -> str:
    change = "Change what a trial asks for (resources_per_trial, tune.with_resources, or a trainer's scaling_config)"
    has_device = "gpu_memory" in resources.options or any(name in ACCELERATORS for name in resources.total)
    if resources.is_task and has_device and "fallback" not in resources.options:
        return f"{change}, let it run without a device ('fallback': 'cpu'), or start a cluster that has it."
    return f"{change}, or start a cluster that has it."
