"""Submits trials: as a task, in a placement group if it asks for several bundles; and says how many more fit now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

import nbaccel
from nbaccel import exceptions
from nbaccel.handles.options import TaskOptions, task_options
from nbaccel.quantities import ACCELERATORS
from nbaccel.train.mailbox import Inbox
from nbaccel.train.worker_group import group_name
from nbaccel.tune.resources import TrialResources
from nbaccel.tune.trial import Trial
from nbaccel.tune.trial_session import TrialAssignment, run_trial
from nbaccel.util.placement_group import placement_group, remove_placement_group, why_never_placed
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from nbaccel.views.explanations import Probe, Verdict

_SHORT_S = 0.05  # trials that took less than this are submitted ahead, to spare the way between two of them
_TASKS_AHEAD = 32  # so many trials wait where nodes may come: a cluster grows only for work that waits
_GANGS_AHEAD = 4  # each waits in a process of its own

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
        if is_short and not asked.is_worker_group and in_flight < 2 * slots:
            return True
        if may_grow and in_flight < slots + (_GANGS_AHEAD if asked.is_worker_group else _TASKS_AHEAD):
            return True
        # A trial that waits in `report` lends its CPU; it counts as held.
        return in_flight < slots and least.fits(nbaccel.available_resources()) > 0

    def launch(self, trial: Trial, asked: TrialResources, assignment: TrialAssignment, name: str) -> Launched:
        """Submit a trial; returns at once. Raises what a config raises that cannot be pickled."""
        task = self._task.options(name=name, **asked.task_options())
        if asked.is_worker_group or asked.is_task:
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

    def never_fits(self, asked: TrialResources) -> str:
        """Why no trial of this kind can ever start; "" if it can, or if nobody knows."""
        kind = repr(asked)
        if kind not in self._never:
            why = self._why_never(asked)
            self._never[kind] = f"No trial can ever start: {why} {_remedy(asked)}" if why else ""
        return self._never[kind]

    def _why_never(self, asked: TrialResources) -> str:
        if asked.is_task:
            return self._task_never(task_options(**asked.task_options()))
        return self._sum_never(asked) or self._bundles_never(asked)

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

    def _sum_never(self, asked: TrialResources) -> str:
        if self._grows or not self._is_local:
            return ""
        for name, amount in asked.total.items():
            there = self.totals.get(name, 0)
            if amount > there and not name.startswith("accelerator_type:"):
                return f"each asks for {amount:g} {name} in all, and there are {there:g}."
        return ""

    def _bundles_never(self, asked: TrialResources) -> str:
        """Whether the bundles fit together on nodes that are here or may come."""
        reason = why_never_placed([dict(bundle) for bundle in asked.bundles], asked.strategy)
        return f"for each, a placement group is asked for: {reason}." if reason else ""

    def may_grow_for(self, asked: TrialResources) -> bool:
        """Whether a node may come for one more trial. Looks again once a second, and then knows the new totals too."""
        now = time.monotonic()
        if self._grows and now >= self._look_at:
            self._look_at = now + _LOOK_S
            self.totals = nbaccel.cluster_resources()
            self._may_come = self._can_grow_for(asked)
        return self._may_come

    def _can_grow_for(self, asked: TrialResources) -> bool:
        """Whether one more node may come that holds a bundle of such a trial."""
        rows = [row for row in nbaccel.snapshot().node_types if not row.given_up]
        able = [row for row in rows if not row.max or row.here + row.arriving < row.max]
        counted = [
            {name: amount for name, amount in bundle.items() if name != "memory" and ":" not in name}
            for bundle in asked.bundles
        ]
        return any(
            all(row.resources.get(name, 0) >= amount for name, amount in bundle.items())
            for row in able
            for bundle in counted
        )


def _remedy(asked: TrialResources) -> str:
    change = "Change what a trial asks for (resources_per_trial, tune.with_resources, or a trainer's scaling_config)"
    has_device = "gpu_memory" in asked.options or any(name in ACCELERATORS for name in asked.total)
    if asked.is_task and has_device and "fallback" not in asked.options:
        return f"{change}, let it run without a device ('fallback': 'cpu'), or start a cluster that has it."
    return f"{change}, or start a cluster that has it."
