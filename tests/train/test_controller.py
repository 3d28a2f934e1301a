"""The controller of a run: events in, orders out."""

from __future__ import annotations

from nbaccel.train import controller as ct
from nbaccel.train.controller import (
    Commit,
    Controller,
    Died,
    DiscardPart,
    Failed,
    Finish,
    GroupReady,
    InterruptRanks,
    Kill,
    LetRunAhead,
    NoPlace,
    Notify,
    Phase,
    Reported,
    RequestStop,
    Returned,
    RunOutcome,
    RunTimePassed,
    StartGroup,
    Stopped,
    StopPressed,
    TakeDown,
    WakeRunAt,
)


def running(size: int = 2, max_failures: int = 0) -> Controller:
    controller = Controller(max_failures)
    assert controller.begin() == [StartGroup(0)]
    tell(controller, GroupReady(size))
    assert controller.phase is Phase.RUNNING
    return controller


def tell(controller: Controller, event: ct.Event, now: float = 0.0) -> list[ct.Order]:
    """The orders, without those to wake it."""
    return [order for order in controller.handle(event, now) if not isinstance(order, WakeRunAt)]


def test_a_run_finishes_when_all_ranks_have_returned() -> None:
    controller = running()
    assert tell(controller, Returned(1)) == []
    assert tell(controller, Returned(0)) == [TakeDown(), Finish(RunOutcome.FINISHED)]
    assert controller.has_ended and tell(controller, Died(0, 1)) == []


def test_a_worker_group_that_can_never_be_placed_ends_the_run() -> None:
    controller = Controller(max_failures=-1)
    controller.begin()
    assert tell(controller, NoPlace()) == [TakeDown(), Finish(RunOutcome.FAILED)]


# ---- checkpoints


def test_a_checkpoint_is_committed_when_every_rank_has_sent_its_report() -> None:
    controller = running()
    assert tell(controller, Reported(0, 0, True)) == []
    assert tell(controller, Reported(1, 0, True)) == [Commit(0)]
    assert tell(controller, Reported(1, 1)) == []
    assert tell(controller, Reported(0, 1)) == []


def test_checkpoints_are_committed_in_order() -> None:
    controller = running(3)
    for report in (0, 1):
        for rank in (0, 1):
            tell(controller, Reported(rank, report, True))
    assert tell(controller, Reported(2, 1)) == [Commit(0), Commit(1)]


def test_a_rank_that_has_returned_is_not_waited_for() -> None:
    controller = running()
    tell(controller, Reported(1, 0))
    tell(controller, Reported(0, 5, True))
    assert tell(controller, Returned(1)) == [Commit(5)]


def test_a_rank_that_is_interrupted_within_its_report_makes_no_checkpoint() -> None:
    """Its part may be there, but its report never comes: the run would go on after a report that nobody has."""
    controller = running(max_failures=1)
    tell(controller, Reported(0, 0, True))
    assert tell(controller, Reported(1, 0, True)) == [Commit(0)]
    tell(controller, Reported(1, 1, True))
    assert tell(controller, Died(1, 3.0), 3.0) == []  # rank 0 may be about to bring its part
    assert tell(controller, RunTimePassed(), 3.0 + ct.BEHIND_S) == [InterruptRanks((0,))]
    assert tell(controller, Stopped(0), 14.0) == [TakeDown(), Notify("restarting", (1,)), StartGroup(1)]


def test_a_rank_that_is_interrupted_within_its_first_report_makes_no_checkpoint() -> None:
    controller = running(max_failures=1)
    tell(controller, StopPressed())
    tell(controller, Reported(1, 0, True))
    assert tell(controller, Died(1, 3.0), 3.0) == [InterruptRanks((0,))]
    assert Commit(0) not in tell(controller, Stopped(0), 3.0)


def test_a_rank_that_the_second_press_interrupts_within_its_report_makes_no_checkpoint() -> None:
    controller = running()
    tell(controller, Reported(0, 0, True))
    tell(controller, Reported(1, 0, True))
    tell(controller, Reported(1, 1, True))
    tell(controller, StopPressed())
    tell(controller, StopPressed())
    assert tell(controller, Stopped(0)) == []
    assert tell(controller, Stopped(1)) == [TakeDown(), Finish(RunOutcome.STOPPED)]


def test_ranks_that_never_report_hold_up_a_checkpoint_only_once() -> None:
    controller = running(3)
    assert controller.handle(Reported(0, 0, True), 10.0)[-1] == WakeRunAt(10.0 + ct.SILENT_S)
    assert tell(controller, RunTimePassed(), 15.0) == [Notify("silent", (1, 2)), Commit(0)]
    assert tell(controller, Reported(0, 1, True), 16.0) == [Commit(1)]


def test_the_part_of_a_rank_that_was_silent_for_too_long_makes_no_second_checkpoint() -> None:
    controller = running(size=2)
    tell(controller, Reported(0, 0, True), 10.0)
    assert tell(controller, RunTimePassed(), 15.0) == [Notify("silent", (1,)), Commit(0)]
    assert Commit(0) not in tell(controller, Reported(1, 0, True), 16.0)
    assert Commit(1) in tell(controller, Reported(0, 1, True), 17.0) + tell(controller, Reported(1, 1, True), 18.0)


def test_the_parts_of_a_rank_that_was_silent_for_too_long_do_not_stay() -> None:
    controller = running(size=3)
    tell(controller, Reported(0, 0, True), 10.0)
    assert Commit(0) in tell(controller, RunTimePassed(), 15.0)
    assert tell(controller, Reported(0, 1, True), 16.0) == [Commit(1)]
    assert tell(controller, Reported(1, 0, True), 17.0) == []  # rank 2 may be about to bring its own
    assert tell(controller, Reported(2, 0, True), 18.0) == [DiscardPart(0)]
    assert tell(controller, Reported(2, 1, True), 19.0) == []
    assert tell(controller, Returned(1), 20.0) == [DiscardPart(1)]


def test_a_rank_whose_part_is_missing_is_named_and_others_no_longer_wait_for_it() -> None:
    controller = running()
    tell(controller, Reported(1, 0))
    tell(controller, Reported(0, 1, True))
    assert tell(controller, RunTimePassed(), ct.MISSING_S) == [Notify("missing", (1,), 1), LetRunAhead()]
    assert tell(controller, RunTimePassed(), 2 * ct.MISSING_S - 1) == []


# ---- failures


def test_a_failure_waits_for_the_checkpoints_of_ranks_that_are_behind() -> None:
    controller = running(3, max_failures=1)
    for rank in (1, 2):
        tell(controller, Reported(rank, 0))
        tell(controller, Reported(rank, 1))
    assert tell(controller, Failed(1, 1.0), 1.0) == [Kill((1,))]
    assert tell(controller, Reported(0, 0, True), 2.0) == [Commit(0)]
    assert tell(controller, Failed(2, 2.5), 2.5) == [Kill((2,))]
    assert tell(controller, Reported(0, 1, True), 3.0) == [Commit(1), InterruptRanks((0,))]
    assert tell(controller, Stopped(0), 3.0) == [TakeDown(), Notify("restarting", (1,)), StartGroup(1)]


def test_a_failure_waits_no_longer_for_a_rank_than_a_checkpoint_is_worth() -> None:
    controller = running(3)
    tell(controller, Reported(0, 0), 10.0)
    tell(controller, Reported(1, 0), 10.0)
    tell(controller, Reported(1, 1), 11.0)
    assert WakeRunAt(10.0 + ct.SILENT_S) in controller.handle(Failed(1, 11.0), 11.0)  # for rank 2, which never reports
    assert tell(controller, RunTimePassed(), 10.0 + ct.SILENT_S) == []
    assert tell(controller, RunTimePassed(), 11.0 + ct.BEHIND_S) == [InterruptRanks((0, 2))]


def test_a_press_of_stop_ends_the_wait_for_ranks_that_are_behind() -> None:
    controller = running()
    tell(controller, Reported(1, 0))
    assert tell(controller, Failed(1, 1.0), 1.0) == [Kill((1,))]
    assert tell(controller, StopPressed(), 1.0) == [InterruptRanks((0,))]
    assert tell(controller, RunTimePassed(), 2.0) == []


def test_the_rank_that_failed_first_is_to_blame_and_the_others_are_ended() -> None:
    controller = running(3)
    assert tell(controller, Failed(1, at=5.0)) == [Kill((1,)), InterruptRanks((0, 2))]
    assert controller.phase is Phase.ENDING
    assert tell(controller, Failed(0, at=5.1)) == [Kill((0,))]
    assert tell(controller, Stopped(2)) == [TakeDown(), Finish(RunOutcome.FAILED, 1)]


def test_the_clock_of_the_failure_counts_not_its_arrival() -> None:
    controller = running()
    tell(controller, Failed(1, at=7.0))
    assert tell(controller, Failed(0, at=6.0))[-1] == Finish(RunOutcome.FAILED, 0)


def test_a_process_that_died_comes_before_those_who_lost_it() -> None:
    controller = running()
    tell(controller, Failed(0, at=5.0))  # "connection reset", a millisecond after rank 1 was killed
    assert tell(controller, Died(1, at=5.02))[-1] == Finish(RunOutcome.FAILED, 1)


def test_whoever_does_not_take_the_interrupt_is_killed() -> None:
    controller = running()
    assert WakeRunAt(100.0 + ct.FINALLY_S) in controller.handle(Died(0, 100.0), 100.0)
    assert tell(controller, RunTimePassed(), 104.9) == []
    assert tell(controller, RunTimePassed(), 105.0) == [Kill((1,))]
    assert tell(controller, Died(1, 105.1), 105.1) == [TakeDown(), Finish(RunOutcome.FAILED, 0)]


def test_a_run_that_may_fail_starts_its_worker_group_again() -> None:
    controller = running(1, max_failures=1)
    assert tell(controller, Died(0, 1.0)) == [TakeDown(), Notify("restarting", (0,)), StartGroup(1)]
    tell(controller, GroupReady(1))
    assert tell(controller, Died(0, 2.0)) == [TakeDown(), Finish(RunOutcome.FAILED, 0)]


def test_a_run_that_may_fail_without_end_does_so() -> None:
    controller = running(1, max_failures=-1)
    for number in range(1, 20):
        assert tell(controller, Died(0, 1.0))[-1] == StartGroup(number)
        tell(controller, GroupReady(1))


def test_a_worker_that_dies_before_the_function_begins_is_a_failure_too() -> None:
    controller = Controller(max_failures=1)
    controller.begin()
    assert tell(controller, Died(1, 1.0)) == [TakeDown(), Notify("restarting", (1,)), StartGroup(1)]
    assert tell(controller, Failed(0, 1.0)) == [TakeDown(), Finish(RunOutcome.FAILED, 0)]


# ---- the ladder


def test_the_first_press_lets_all_ranks_stop_after_a_report() -> None:
    controller = running()
    assert tell(controller, StopPressed()) == [RequestStop()]
    assert tell(controller, Stopped(0)) == []
    assert tell(controller, Stopped(1)) == [TakeDown(), Finish(RunOutcome.STOPPED)]


def test_ranks_that_never_report_are_interrupted_after_the_others_have_stopped() -> None:
    controller = running(3)
    tell(controller, Reported(0, 0))
    tell(controller, Reported(2, 0))
    tell(controller, StopPressed(), 10.0)
    tell(controller, Stopped(0), 11.0)
    assert tell(controller, RunTimePassed(), 11.0 + ct.STOPPED_S) == [InterruptRanks((1,))]
    assert tell(controller, RunTimePassed(), 12.0 + ct.FINALLY_S) == [Kill((1,))]


def test_the_second_press_interrupts_and_the_third_kills() -> None:
    controller = running()
    tell(controller, StopPressed())
    assert tell(controller, StopPressed()) == [InterruptRanks((0, 1)), Notify("interrupted", (0, 1))]
    tell(controller, Stopped(0))
    assert tell(controller, StopPressed()) == [Kill((1,))]
    assert tell(controller, Died(1, 3.0)) == [TakeDown(), Finish(RunOutcome.STOPPED)]


def test_what_a_rank_raises_when_the_third_press_has_killed_it_is_no_failure() -> None:
    controller = running()
    for _ in range(3):
        tell(controller, StopPressed())
    assert tell(controller, Failed(0, 3.0)) == []  # SystemExit, as Ray ends a process
    assert tell(controller, Died(1, 3.0)) == [TakeDown(), Finish(RunOutcome.STOPPED)]


def test_ranks_that_the_second_press_has_interrupted_have_all_the_time_they_need() -> None:
    controller = running()
    tell(controller, StopPressed())
    tell(controller, StopPressed())
    tell(controller, Stopped(0), 1.0)
    assert tell(controller, RunTimePassed(), 1.0 + ct.STOPPED_S) == []  # rank 1 is in its `finally` blocks
    assert tell(controller, RunTimePassed(), 2.0 + ct.STOPPED_S + ct.FINALLY_S) == [Notify("hangs", (1,))]


def test_a_rank_that_goes_on_after_the_second_press_is_named_once() -> None:
    controller = running()
    tell(controller, StopPressed())
    tell(controller, StopPressed(), 1.0)
    tell(controller, Stopped(0), 2.0)
    assert tell(controller, RunTimePassed(), 1.0 + ct.HANGS_S) == [Notify("hangs", (1,))]
    assert tell(controller, RunTimePassed(), 9.0 + ct.HANGS_S) == []
    assert tell(controller, StopPressed(), 20.0) == [Kill((1,))]


def test_a_run_that_waits_for_its_place_stops_at_once() -> None:
    controller = Controller()
    controller.begin()
    assert tell(controller, StopPressed()) == [TakeDown(), Finish(RunOutcome.STOPPED)]


def test_a_run_that_finishes_although_it_was_asked_to_stop_has_finished() -> None:
    controller = running(1)
    tell(controller, StopPressed())
    assert tell(controller, Returned(0)) == [TakeDown(), Finish(RunOutcome.FINISHED)]


def test_a_failure_while_it_stops_is_told_and_not_made_good() -> None:
    controller = running(1, max_failures=3)
    tell(controller, StopPressed())
    assert tell(controller, Failed(0, 1.0)) == [Kill((0,)), TakeDown(), Finish(RunOutcome.FAILED, 0)]


# ---- what is odd is said


def test_a_rank_that_goes_on_long_after_another_has_returned_is_named_once() -> None:
    controller = running()
    assert WakeRunAt(20.0 + ct.EARLY_S) in controller.handle(Returned(0), 20.0)
    assert tell(controller, RunTimePassed(), 30.0) == [Notify("early", (1,))]
    assert tell(controller, RunTimePassed(), 59.0) == []


def test_a_run_that_says_nothing_is_asked_where_it_stands() -> None:
    controller = running()
    assert tell(controller, RunTimePassed(), ct.STILL_S) == [Notify("unheard", (0, 1))]
    assert tell(controller, RunTimePassed(), 2 * ct.STILL_S - 1) == []
    assert tell(controller, RunTimePassed(), 2 * ct.STILL_S) == [Notify("unheard", (0, 1))]
    tell(controller, Reported(0, 0), 1000.0)
    assert tell(controller, RunTimePassed(), 1000.0 + ct.STILL_S) == [Notify("still", (0, 1))]
    assert tell(controller, RunTimePassed(), 1100.0) == []
    tell(controller, Reported(0, 1), 1101.0)
    assert tell(controller, RunTimePassed(), 1101.0 + ct.STILL_S) == [Notify("still", (0, 1))]


def test_events_of_ranks_that_are_through_change_nothing() -> None:
    controller = running()
    tell(controller, Returned(0))
    for event in (Returned(0), Failed(0, 1.0), Died(0, 1.0), Reported(0, 9, True), Stopped(0), Reported(7, 0)):
        assert tell(controller, event) == []
    assert controller.phase is Phase.RUNNING
