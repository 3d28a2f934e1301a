"""Fallback on Ray: decided when a task is submitted, by the same books that explain why it would wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbaccel.options import UNIT, Demand, ResourceOptions
from nbaccel.ray_engine import planning


class Choosing:
    """Mixed into the engine; needs `picture`."""

    def chosen(
        self: Any, options: ResourceOptions, demand_of: Callable[[Any], Demand]
    ) -> tuple[ResourceOptions, str, str]:
        """(the options to use, the words of the fallback that was taken or "", why it was taken)."""
        alternatives = options.fallbacks()
        if not alternatives:
            return options, "", ""
        _refuse(options)
        snapshot = self.picture(metrics=False)
        first = planning.verdict(snapshot, _quantities(demand_of(options)), options.label_selector)
        if first.fits_now or (first.ever and options.fallback_after_s is None):
            return options, "", ""
        for position, other in enumerate(alternatives):
            if planning.verdict(snapshot, _quantities(demand_of(other)), other.label_selector).ever:
                label = "cpu" if options.fallback == "cpu" else str((options.fallback or ())[position])
                return other, label, f"{label} was taken, because {first.reason}"
        return options, "", ""


def _refuse(options: ResourceOptions) -> None:
    if options.fallback_after_s:
        raise ValueError(
            f"fallback_after_s={options.fallback_after_s:g}: once Ray has a task, its demand cannot be changed, so a "
            "fallback is taken at once or never. Pass fallback_after_s=0, or use engine='local'."
        )
    if options.fallback_on:
        raise ValueError(
            "fallback_on= runs a task again elsewhere when it raises, which Ray cannot do for another demand. Catch "
            "the exception and submit the fallback yourself, or use engine='local'."
        )


def _quantities(demand: Demand) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in demand.items()}
