"""A search space in the journal: what comes back draws the same values, and what would not come back is not stored."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune import setting_up
from nbaccel.tune.search import variant_generator

SPACE = {
    "lr": tune.loguniform(1e-4, 1e-1),
    "momentum": tune.quniform(0, 1, 0.25),
    "width": tune.choice([8, None, "auto", (1, 2), {"deep": tune.uniform(0, 1)}]),
    "layers": tune.randint(1, 9),
    "batch": tune.qlograndint(8, 128, 8),
    "noise": tune.randn(0, 2),
    "steps": tune.qrandn(10, 3, 1),
    "nested": {"list": [tune.uniform(0, 1), True], "pair": (1, tune.lograndint(1, 100))},
    "seed": tune.grid_search([1, 2]),
    "fixed": 0.5,
}


def drawn(space: dict[str, Any]) -> list[dict[str, Any]]:
    rng = random.Random(7)
    return [config for _ in range(20) for config in variant_generator.variants(space, rng)]


def test_a_space_comes_back_and_draws_the_same_configs() -> None:
    again = setting_up.read(json.loads(json.dumps(setting_up.stored(SPACE))))
    assert again is not None and drawn(again) == drawn(SPACE)


@pytest.mark.parametrize(
    "value",
    [
        tune.sample_from(lambda config: 1),
        len,
        tune.choice([len]),
        tune.grid_search([object()]),
        float("nan"),
        {1: 2},
        {"__domain__": ["Float"]},
        tune.choice(list(range(100_000))),
    ],
    ids=["function", "builtin", "choice of functions", "grid of objects", "nan", "no name", "a mark", "too large"],
)
def test_what_would_not_come_back_exactly_is_not_stored(value: Any) -> None:
    assert setting_up.stored({"lr": tune.uniform(0, 1), "odd": value}) is None
    assert setting_up.read(None) is None
