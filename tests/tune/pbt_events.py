"""Populations for population based training, from a number: trials that report in a random order.

None of them ends: a trial that has ended stays a donor here, since trials do not pause for others, and is none in Ray.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

POPULATIONS = 300
SIZES = {0.1: 10, 0.2: 5, 0.25: 4, 0.4: 2, 0.5: 2}  # so many trials at most, that one is the only possible donor

Decide = Callable[[str, dict[str, Any]], str]  # a trial and its result -> the donor whose checkpoint it takes, or ""


class Population:
    """The options of the scheduler, and trials whose time goes on from a donor's checkpoint after each exploit."""

    def __init__(self, number: int) -> None:
        self._rng = rng = random.Random(number)
        fraction = rng.choice(sorted(SIZES))
        self.options = {
            "mode": rng.choice(["min", "max"]),
            "metric": "loss",
            "time_attr": "training_iteration",
            "perturbation_interval": rng.choice([1, 2, 4, 7]),
            "burn_in_period": rng.choice([0, 0, 3, 10]),
            "quantile_fraction": fraction,
            "hyperparam_mutations": {"rate": [1, 2, 3]},
        }
        self.trials = [f"t{index}" for index in range(rng.randint(2, SIZES[fraction]))]

    def play(self, decide: Decide) -> str:
        """Tell a scheduler all results. Returns a mark for each: the donor's name, "." for none."""
        rng = self._rng
        times, marks = dict.fromkeys(self.trials, 0), []
        for _ in range(rng.randint(20, 80)):
            trial, step, score = rng.choice(self.trials), rng.choice([1, 1, 2, 5]), rng.random()
            times[trial] += step
            donor = decide(trial, {"training_iteration": times[trial], "loss": round(score, 2)})
            if donor:
                times[trial] = times[donor]
            marks.append(donor or ".")
        return " ".join(marks)
