"""Submits trials: as a task, in a placement group if it asks for several bundles; and says how many more fit now."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import nbaccel
from nbaccel import exceptions
from nbaccel.train.gang import group_name
from nbaccel.train.mailbox import Inbox
from nbaccel.tune.resources import TrialResources
from nbaccel.tune.room_for_trials import RoomForTrials
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_session import TrialAssignment
from nbaccel.tune.trial_task import run_trial
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy

_SHORT_S = 0.05  # trials that took less than this are submitted ahead, to spare the way between two of them
_TASKS_AHEAD = 32  # so many trials wait where nodes may come: a cluster grows only for work that waits
_GANGS_AHEAD = 4  # each waits in a process of its own

Told = Callable[[Trial, int, "Future[Any]"], None]


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

    def __init__(self, inbox: Inbox, function: Any, mailbox: Any, told: Told) -> None:
        self._inbox = inbox
        self._payload = nbaccel.put((function,))
        self._mailbox = mailbox
        self._told = told
        self._task = nbaccel.remote(run_trial).options(max_retries=0)
        self._cluster = RoomForTrials()
        self.mean_s: float | None = None  # how long trials took

    def never_fits(self, asked: TrialResources) -> str:
        """Why no trial of this kind can ever start; "" if it can, also by a node that may come."""
        return self._cluster.never_fits(asked)

    def room(self, asked: TrialResources, in_flight: int) -> bool:
        """Whether one more trial is to be submitted: it fits now, or it is the only one, or a node may come for it."""
        if in_flight == 0:
            return True
        may_grow = self._cluster.may_grow_for(asked)
        least = asked.least
        slots = least.fits(self._cluster.totals)
        is_short = self.mean_s is not None and self.mean_s < _SHORT_S
        if is_short and not asked.is_gang and in_flight < 2 * slots:
            return True
        if may_grow and in_flight < slots + (_GANGS_AHEAD if asked.is_gang else _TASKS_AHEAD):
            return True
        # A trial that waits in `report` lends its CPU; it counts as held.
        return in_flight < slots and least.fits(nbaccel.available_resources()) > 0

    def launch(self, trial: Trial, asked: TrialResources, assignment: TrialAssignment, name: str) -> Launched:
        """Submit a trial; returns at once. Raises what a config raises that cannot be pickled."""
        task = self._task.options(name=name, **asked.task_options())
        if asked.is_gang or len(asked.bundles) == 1:
            launched = Launched()
            self._submit(launched, task, trial, assignment)
            return launched
        bundles = [dict(bundle) for bundle in asked.bundles]
        group = placement_group(bundles, asked.strategy, group_name(f"{name}'s room"))
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
        told = partial(self._told, trial, assignment.attempt)
        self._inbox.when(launched.ref, told, lambda: True)
