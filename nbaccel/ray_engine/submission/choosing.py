"""Judges the choices of a task or actor on Ray when it is submitted, with the books that explain why it would wait.

A choice that the existing nodes can never meet is left out immediately. Among the others, `attempts` (in Ray's workers)
decides later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from nbaccel.handles.options import Demand, ResourceOptions
from nbaccel.quantities import UNIT
from nbaccel.ray_engine.reports import planning
from nbaccel.ray_engine.reports.planning import AutoscalerFacts
from nbaccel.scheduling.reasons import Feasibility
from nbaccel.views.snapshot import Snapshot

Options = TypeVar("Options", bound=ResourceOptions)
BELIEVED_S = 1.0  # how long a verdict on a demand is believed: nodes come and go


class RayChoice(NamedTuple, Generic[Options]):
    """One way to run: its options, its fallback in words ("" for the first choice), and why it is taken."""

    options: Options
    label: str = ""
    why: str = ""


class Choices(NamedTuple, Generic[Options]):
    """The remaining choices, in order."""

    left: list[RayChoice[Options]]
    busy: str = ""  # why the first of them does not start now; "" when it would
    never: str = ""  # why nothing of it can ever be met; "" when something can


class FeasibilitySource(Protocol):
    """The facts that choosing needs from the cluster."""

    def take(self, *, metrics: bool) -> Snapshot: ...
    def autoscaler(self) -> AutoscalerFacts: ...


class Fractions(Protocol):
    """What turns an amount of device memory into a fraction of a device."""

    def in_fractions(self, options: Options) -> Options | None: ...
    def why_no_device_is_large_enough(self, options: ResourceOptions) -> str: ...


class Choosing:
    """Judges for one engine. `refuses`: what can never be met is an error and not a line that waits;
    `why_group_is_refused` says why the placement group of such work can never be placed, or "".
    """

    def __init__(
        self,
        nodes: FeasibilitySource,
        devices: Fractions,
        why_group_is_refused: Callable[[ResourceOptions], str],
        *,
        refuses: bool,
    ) -> None:
        self._nodes = nodes
        self._devices = devices
        self._why_group_is_refused = why_group_is_refused
        self._refuses = refuses
        self._verdicts: dict[tuple[tuple[str, object], ...], tuple[float, str]] = {}  # believed until then

    def choices(self, options: Options, demand_of: Callable[[Options], Demand]) -> Choices[Options]:
        """The choices that can be met here; the first choice if none can."""
        alternatives = options.fallbacks()
        if not alternatives:
            return self._only(options, demand_of)
        snapshot = self._nodes.take(metrics=False)
        found = []
        for asked, label in zip((options, *alternatives), ["", *_labels(options)], strict=True):
            option = self._devices.in_fractions(asked)
            if option is None:
                found.append(
                    (asked, label, Feasibility(False, False, self._devices.why_no_device_is_large_enough(asked)))
                )
                continue
            found.append((option, label, self._judged(snapshot, quantities(demand_of(option)), option.label_selector)))
        return _sorted_out(found, options, demand_of)

    def _judged(self, snapshot: Snapshot, demand: dict[str, float], labels: dict[str, str]) -> Feasibility:
        """What the nodes that there are can do, and where they cannot, what the cluster's autoscaler may add."""
        found = planning.verdict(snapshot, demand, labels)
        if found.ever:
            before = planning.line_before(snapshot, demand) if found.fits_now else ""
            return Feasibility(False, True, before, found.resources, found.places) if before else found
        word, why = planning.addable(self._nodes.autoscaler(), demand)
        return Feasibility(False, True, f"{found.reason}; {why}", found.resources, found.places) if word else found

    def _only(self, asked: Options, demand_of: Callable[[Options], Demand]) -> Choices[Options]:
        options = self._devices.in_fractions(asked)
        if options is None:
            raise ValueError(
                f"{self._devices.why_no_device_is_large_enough(asked)}; Ray cannot be asked to wait for one."
            )
        asks_elsewhere = options.fallback_strategy or options.scheduling_strategy is not None
        careless = not self._refuses or asks_elsewhere
        refused = self._why_group_is_refused(options)
        if refused:
            never = f"asks for {planning.asked(quantities(demand_of(options)))}, but cannot be placed: {refused}."
            return Choices([RayChoice(options)], never=never)
        return Choices([RayChoice(options)], never="" if careless else self._never(options, demand_of))

    def _never(self, options: Options, demand_of: Callable[[Options], Demand]) -> str:
        """Why this can never be met; asked of the cluster once a second for each demand."""
        demand = quantities(demand_of(options))
        key = (*sorted(demand.items()), *sorted(options.label_selector.items()))
        until, sentence = self._verdicts.get(key, (0.0, ""))
        if time.monotonic() > until:
            found = planning.verdict(self._nodes.take(metrics=False), demand, options.label_selector)
            sentence = (
                "" if found.ever or planning.addable(self._nodes.autoscaler(), demand)[0] else refusal(demand, found)
            )
            self._verdicts[key] = (time.monotonic() + BELIEVED_S, sentence)
        return sentence


def _sorted_out(
    found: list[tuple[Options, str, Feasibility]], options: Options, demand_of: Callable[[Options], Demand]
) -> Choices[Options]:
    first = found[0][2]
    able = [(option, label, verdict) for option, label, verdict in found if verdict.ever]
    if not able and options.gpu_memory:
        raise ValueError(f"{first.reason}; Ray cannot be asked to wait for one.")
    if not able:
        return Choices([RayChoice(options)], never=refusal(quantities(demand_of(options)), first))
    busy = "" if able[0][2].fits_now else able[0][2].reason
    left = [RayChoice(option, label) for option, label, _ in able]
    if left[0].label:
        left[0] = left[0]._replace(why=f"{left[0].label} was taken, because {first.reason}")
    if options.fallback_after_s is None and not options.fallback_on:
        left = left[:1]
    return Choices(left, busy)


def refusal(demand: dict[str, float], found: Feasibility) -> str:
    """What is said of a demand that can never be met, behind the name of who asks."""
    return f"asks for {planning.asked(demand)}, but cannot be placed: {found.reason}."


def _labels(options: ResourceOptions) -> list[str]:
    return ["cpu"] if options.fallback == "cpu" else [str(choice) for choice in options.fallback or ()]


def quantities(demand: Demand) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}
