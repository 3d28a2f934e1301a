"""Lists of events for ASHA, from a number: trials of differing speed and quality that report in a random order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

LISTS = 1_000


@dataclass
class EventList:
    """The options of the scheduler, and results or ends of trials in the order in which they arrive."""

    options: dict[str, Any]
    trials: list[str]
    events: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)  # "result" or "complete"


def event_list(number: int) -> EventList:
    """The event list of this number; it is the same each time."""
    rng = random.Random(number)
    options = {
        "mode": rng.choice(["min", "max"]),
        "metric": "loss",
        "max_t": rng.choice([9, 16, 27, 50, 100]),
        "grace_period": rng.choice([1, 1, 2, 5]),
        "reduction_factor": rng.choice([2, 3, 4, 1.5]),
        "stop_last_trials": rng.random() < 0.8,
    }
    trials = [f"t{index:02d}" for index in range(rng.randint(2, 12))]
    found = EventList(options, trials)
    times = dict.fromkeys(trials, 0)
    quality = {trial: rng.random() for trial in trials}
    alive = list(trials)
    for _ in range(rng.randint(10, 60)):
        trial = rng.choice(alive)
        times[trial] += rng.choice([1, 1, 1, 2, 5])
        result: dict[str, Any] = {"training_iteration": times[trial], "loss": _value(rng, quality[trial])}
        if rng.random() < 0.03:
            del result[rng.choice(["loss", "training_iteration"])]
        ends = rng.random() < 0.05 and len(alive) > 1
        found.events.append(("complete" if ends else "result", trial, result))
        if ends:
            alive.remove(trial)
    return found


def _value(rng: random.Random, quality: float) -> float:
    if rng.random() < 0.02:
        return float("nan")
    return round(quality + rng.gauss(0, 0.1), rng.choice([1, 6]))  # rounded: equal values occur
