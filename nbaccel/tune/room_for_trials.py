"""Says whether a trial could ever start, before one of its kind is submitted, and whether nodes may come for more.

Each kind of request is judged once. If a node is lost later, trials that need it wait for another one, and the engine
says so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import nbaccel
from nbaccel.handles.options import TaskOptions, task_options
from nbaccel.quantities import ACCELERATORS
from nbaccel.tune.resources import TrialResources
from nbaccel.util.placement_group import why_never_placed
from nbaccel.views.explanations import Probe, Verdict

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


class RoomForTrials:
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
        if not asked.is_gang and len(asked.bundles) == 1:
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
    is_task = not asked.is_gang and len(asked.bundles) == 1
    has_device = "gpu_memory" in asked.options or any(name in ACCELERATORS for name in asked.total)
    if is_task and has_device and "fallback" not in asked.options:
        return f"{change}, let it run without a device ('fallback': 'cpu'), or start a cluster that has it."
    return f"{change}, or start a cluster that has it."
