"""A run inside a trial of `nbaccel.tune`: its reports go on to the trial, and what ends the trial ends the run.

```
  ranks ── report ──► Run ── Forwarding ──► TrialHost: the session of the trial ──► the experiment
                      ▲                       │ the trial is to end
                      └───────── stop ────────┘
```
The run lives in the trial's folder, and begins with the trial's checkpoint if it has none of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbaccel.train import session
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import RunConfig
from nbaccel.train.errors import TrialInterrupted
from nbaccel.train.session import Metrics

if TYPE_CHECKING:
    from nbaccel.train.result import Result
    from nbaccel.train.run import Run
    from nbaccel.util.placement_group import PlacementGroup


class TrialHost(ABC):
    """The session of a trial, in whose process runs begin."""

    @abstractmethod
    def take_report(self, metrics: Metrics, checkpoint: Checkpoint | None) -> BaseException | None:
        """Report for a run; returns what ends the trial, to be raised where the run was fitted."""

    @abstractmethod
    def place_of_run(self, name: str) -> tuple[str, str]:
        """The folder in which the next run begins, and its name."""

    @abstractmethod
    def latest_checkpoint(self) -> Checkpoint | None: ...

    @abstractmethod
    def worker_group_begins(self, group: PlacementGroup) -> None:
        """Learn what the run's worker group holds: if the trial's process is killed, nobody else gives it back."""

    @abstractmethod
    def fit_begins(self) -> Any:
        """A ref that is True once the run is to be interrupted, and False once it has ended."""

    @abstractmethod
    def fit_ends(self) -> bool:
        """Returns whether the run was to be interrupted."""


def host() -> TrialHost | None:
    """The trial whose function runs in this process; None outside of trials."""
    entered, _ = session.entered()
    return entered if isinstance(entered, TrialHost) else None


def config_inside(host: TrialHost, config: RunConfig, default_name: str) -> RunConfig:
    """The config of a run in the trial's folder: two trials that name their runs alike must not share one."""
    folder, name = host.place_of_run(config.name or default_name)
    return replace(config, storage_path=folder, storage_filesystem=None, name=name)


class Forwarding:
    """Hands the reports of rank 0 to the trial, in their order, for the thread of the run.

    host  the trial
    ends  what ends the trial; None while it goes on
    """

    def __init__(self, host: TrialHost) -> None:
        self.ends: BaseException | None = None
        self.host = host
        self._next = 0
        self._waiting: dict[int, Metrics] = {}  # reports that are not handed on, because of files on their way
        self._bringing: set[int] = set()
        self._loose: Checkpoint | None = None  # of a report that has gone on without it: other ranks brought it

    def worker_group_begins(self, group: PlacementGroup) -> None:
        """Forget what the former worker group did not finish: it is reported again."""
        self._waiting.clear()
        self._bringing.clear()
        self.host.worker_group_begins(group)

    def reported(self, number: int, metrics: Metrics, *, has_files: bool) -> None:
        """Take a report of rank 0. One that was handed on before a restart is not handed on again."""
        if number < self._next:
            return
        self._waiting[number] = metrics
        if has_files:
            self._bringing.add(number)
        self._hand_on(None)

    def committed(self, number: int, checkpoint: Checkpoint) -> None:
        """Take a checkpoint whose files are all there."""
        if number in self._bringing:
            self._bringing.discard(number)
            self._hand_on((number, checkpoint))
        elif number >= self._next or not self._bringing:
            self._loose = checkpoint

    def run_ends(self) -> None:
        """Hand on the reports whose files have not come."""
        self._bringing.clear()
        self._hand_on(None)

    def _hand_on(self, brought: tuple[int, Checkpoint] | None) -> None:
        for number in sorted(self._waiting):
            if number in self._bringing or self.ends is not None:
                return
            metrics = self._waiting.pop(number)
            checkpoint = brought[1] if brought is not None and brought[0] == number else self._loose
            self._loose = None
            self._next = number + 1
            self.ends = self.host.take_report(metrics, checkpoint)


def wait_inside(run: Run, forwarding: Forwarding) -> Result:
    """Wait for a run that a trial fits.

    An interrupt of the trial comes as a message to the run and not as a signal: a cancelled task is killed soon, its
    run's calls are cancelled with it, and the ranks would have no time for their `finally` blocks.
    Raises what ends the trial, also if the run ended well meanwhile.
    """
    run.interrupt_once(forwarding.host.fit_begins())
    try:
        result = run.result()
    except KeyboardInterrupt:  # somebody has cancelled the trial's task nevertheless
        if run.running:
            run.stop()
            run.stop()
        raise
    except Exception:
        if forwarding.host.fit_ends():
            raise TrialInterrupted from None
        raise
    if forwarding.host.fit_ends():
        raise TrialInterrupted
    ends, forwarding.ends = forwarding.ends, None
    if ends is not None:
        try:
            raise ends
        finally:
            del ends  # its traceback would hold this frame, and the frame the error: a cycle with the run's refs in it
    return result
