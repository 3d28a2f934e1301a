"""Any order of events: a run ends exactly once, commits in order, and never waits for what cannot come."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbaccel.train import controller as ct


class AnyRun(RuleBasedStateMachine):
    """Ranks, a user and a clock do as they like; the worker group does what it is told, late."""

    @initialize(size=st.integers(1, 4), max_failures=st.sampled_from([0, 1, 2]))
    def begin(self, size: int, max_failures: int) -> None:
        self.size, self.max_failures, self.now = size, max_failures, 0.0
        self.controller = ct.Controller(max_failures)
        self.finished: list[ct.Finish] = []
        self.groups = 0
        self.placing = False
        self.alive: set[int] = set()
        self.doomed: set[int] = set()
        self.cut_short: set[int] = set()  # ranks that have stopped after an interrupt
        self.reports: dict[int, int] = {}
        self.commits: list[int] = []
        self.wakes: list[float] = []
        self.down = True
        self.obey(self.controller.begin())

    def tell(self, event: ct.Event) -> None:
        self.obey(self.controller.handle(event, self.now))

    def obey(self, orders: list[ct.Order]) -> None:
        for order in orders:
            assert not self.finished, "an order after the end"
            match order:
                case ct.StartGroup(number):
                    assert number == self.groups and self.down, (
                        "a worker group starts after the last one was taken down"
                    )
                    self.groups += 1
                    self.placing, self.down, self.commits = True, False, []
                    self.alive, self.doomed, self.cut_short, self.reports = set(), set(), set(), {}
                case ct.Commit(report):
                    assert report not in self.commits and self.commits == sorted(self.commits)
                    lost = [rank for rank in self.cut_short if 0 <= self.reports.get(rank, -1) < report]
                    assert not lost, "an interrupted rank may have been within this report"
                    self.commits.append(report)
                case ct.InterruptRanks(ranks) | ct.Kill(ranks):
                    self.doomed |= set(ranks)
                case ct.TakeDown():
                    self.down, self.placing = True, False
                    self.alive = set()
                case ct.Finish():
                    assert self.down, "the worker group is taken down before the run ends"
                    self.finished.append(order)
                case ct.WakeRunAt(at):
                    self.wakes.append(at)

    @precondition(lambda self: self.placing)
    @rule()
    def the_worker_group_stands(self) -> None:
        self.placing = False
        self.alive = set(range(self.size))
        self.tell(ct.GroupReady(self.size))

    @precondition(lambda self: self.placing)
    @rule(rank=st.integers(0, 3))
    def a_worker_dies_early(self, rank: int) -> None:
        self.tell(ct.Died(rank % self.size, self.now))

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), has_files=st.booleans())
    def a_rank_reports(self, data: st.DataObject, has_files: bool) -> None:
        rank = data.draw(st.sampled_from(sorted(self.alive)))
        self.reports[rank] = self.reports.get(rank, -1) + 1
        self.tell(ct.Reported(rank, self.reports[rank], has_files))

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), how=st.sampled_from(["returns", "stops", "fails", "dies"]))
    def a_rank_ends(self, data: st.DataObject, how: str) -> None:
        rank = data.draw(st.sampled_from(sorted(self.alive)))
        self.alive.discard(rank)
        if how == "stops" and rank in self.doomed:
            self.cut_short.add(rank)
        kinds = {"returns": ct.Returned(rank), "stops": ct.Stopped(rank)}
        self.tell(kinds.get(how) or (ct.Failed if how == "fails" else ct.Died)(rank, self.now))

    @rule()
    def somebody_presses_stop(self) -> None:
        self.tell(ct.StopPressed())

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0, 30.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.tell(ct.RunTimePassed())

    @rule(rank=st.integers(0, 5))
    def news_of_nobody(self, rank: int) -> None:
        """A message of a rank that is over, or that never was."""
        if rank not in self.alive and not self.placing:
            self.tell(ct.Reported(rank, 99, True))

    @invariant()
    def it_restarts_no_more_often_than_it_may(self) -> None:
        assert self.groups <= self.max_failures + 1
        assert len(self.finished) <= 1
        assert bool(self.finished) == self.controller.has_ended

    @invariant()
    def a_worker_group_without_ranks_is_over(self) -> None:
        if not self.finished and not self.placing:
            assert self.alive, "all ranks have ended, and the run waits for nothing"

    def teardown(self) -> None:
        """Three presses, and the death of whoever was killed, end any run."""
        if self.finished:
            return
        for _ in range(3):
            self.tell(ct.StopPressed())
        for rank in sorted(self.alive & self.doomed):
            self.tell(ct.Died(rank, self.now))
        assert self.finished


TestAnyRun = AnyRun.TestCase
TestAnyRun.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
