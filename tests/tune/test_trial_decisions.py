"""Decisions about trials, without a process."""

from __future__ import annotations

from typing import Any

from nbaccel.tune.schedulers import ASHAScheduler
from nbaccel.tune.schedulers.trial_scheduler import Decision, TrialScheduler
from nbaccel.tune.stopper import DictStopper
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_decisions import End, Rules, TrialDecisions


def experiment(count: int, scheduler: Any = None, stopper: Any = None, **rules: Any) -> TrialDecisions:
    made = TrialDecisions(scheduler, stopper, Rules(**rules))
    for number in range(count):
        made.add(Trial(f"t{number}", number, {"x": number}))
    return made


def started(made: TrialDecisions) -> list[str]:
    """The trials that may start now."""
    found = []
    while (trial := made.next()) is not None:
        found.append(trial.id)
    return found


def test_trials_start_in_order_and_no_more_than_allowed() -> None:
    made = experiment(3, max_concurrent=2)
    assert started(made) == ["t0", "t1"]
    assert made.on_ended(made.trials["t1"], End.RETURNED) is TrialState.DONE
    assert started(made) == ["t2"] and not made.is_over


def test_a_trial_that_does_not_fit_is_the_next_one_again() -> None:
    made = experiment(2)
    trial = made.next()
    assert trial is not None
    made.put_back(trial)
    assert trial.attempts == 0 and made.next() is trial


def test_trials_that_have_ended_do_not_start() -> None:
    made = TrialDecisions()
    made.add(Trial("t0", 0, {}, TrialState.DONE))
    made.add(Trial("t1", 1, {}, TrialState.RUNNING))  # of a driver that was killed
    assert started(made) == ["t1"]


def test_a_failed_trial_starts_again_so_often() -> None:
    made = experiment(1, max_failures=1)
    trial = made.next()
    assert trial is not None and made.on_ended(trial, End.FAILED) is TrialState.PENDING
    assert made.next() is trial and made.on_ended(trial, End.FAILED) is TrialState.ERROR
    assert made.is_over and trial.attempts == 2 and trial.failures == 2


def test_a_failure_may_end_the_experiment() -> None:
    made = experiment(3, fail_fast=True)
    trial = made.next()
    assert trial is not None
    made.on_ended(trial, End.FAILED)
    assert made.failed_fast is trial and made.is_stopping and started(made) == [] and made.is_over


def test_after_a_stop_each_report_ends_its_trial_and_none_begins() -> None:
    made = experiment(2, max_concurrent=1)
    trial = made.next()
    assert trial is not None and made.on_result(trial, {}).kind == "continue"
    made.press()
    assert made.on_result(trial, {}).kind == "stop"
    assert made.on_ended(trial, End.STOPPED) is TrialState.PENDING  # a restored run goes on with it
    assert started(made) == [] and made.is_over


def test_what_is_decided_about_a_trial_stays_decided() -> None:
    made = experiment(1, stopper=DictStopper({"n": 2}))
    trial = made.next()
    assert trial is not None
    assert [made.on_result(trial, {"n": n}).kind for n in (1, 2, 0)] == ["continue", "stop", "stop"]
    assert made.on_ended(trial, End.STOPPED) is TrialState.STOPPED


class Exploits(TrialScheduler):
    """The first trial takes over the second."""

    def on_result(self, trial: str, result: Any) -> Decision:
        return Decision("exploit", "t1", {"x": 10}) if trial == "t0" else Decision("continue")


def test_an_exploited_trial_is_first_in_line() -> None:
    made = experiment(3, Exploits(), max_concurrent=1)
    trial = made.next()
    assert trial is not None and made.on_result(trial, {}).kind == "exploit"
    assert made.on_ended(trial, End.STOPPED) is TrialState.PENDING
    assert (trial.config, trial.donor) == ({"x": 10}, "t1") and made.next() is trial


def test_a_trial_that_has_gone_on_for_as_long_as_any_may_has_finished() -> None:
    made = experiment(2, ASHAScheduler("n", "loss", "min", max_t=4, grace_period=2, reduction_factor=2))
    first, second = made.next(), made.next()
    assert first is not None and second is not None
    assert [made.on_result(first, {"n": n, "loss": 1}).kind for n in (2, 4)] == ["continue", "stop"]
    assert made.on_result(second, {"n": 2, "loss": 9}).kind == "stop"
    assert [made.on_ended(each, End.STOPPED) for each in (first, second)] == [TrialState.DONE, TrialState.STOPPED]


def test_an_interrupted_trial_has_not_ended() -> None:
    made = experiment(1)
    trial = made.next()
    assert trial is not None
    made.press()
    assert made.on_ended(trial, End.INTERRUPTED) is TrialState.PENDING and made.is_over


def test_a_person_may_end_one_trial() -> None:
    made = experiment(3, max_concurrent=1, max_failures=5)
    trial = made.next()
    assert trial is not None and not made.stop_trial(trial), "it runs: it ends at its next report"
    assert made.on_result(trial, {"x": 1}).kind == "stop"
    assert made.on_ended(trial, End.STOPPED) is TrialState.STOPPED
    assert made.stop_trial(made.trials["t1"]) and made.trials["t1"].state is TrialState.STOPPED, "it had not begun"
    assert started(made) == ["t2"] and not made.is_stopping


def test_a_trial_that_a_person_ends_is_not_tried_again() -> None:
    made = experiment(1, max_failures=5)
    trial = made.next()
    assert trial is not None
    made.stop_trial(trial)
    assert made.on_ended(trial, End.FAILED) is TrialState.ERROR
