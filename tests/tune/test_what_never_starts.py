"""Trials that no node could ever hold are refused before the first of them is submitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune import TuneError, Tuner
from tests.tune import trainables

pytestmark = pytest.mark.usefixtures("cluster")  # four CPUs, and two GPUs whose memory is not known

Kept = Callable[..., tune.RunConfig]
SPACE = {"x": tune.grid_search([1, 2])}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"gpu": 1, "gpu_memory": "8GB"},
            "asks for 1 GPU with 8 GB of GPU memory, but the memory of the GPU .*not kno",
        ),
        ({"cpu": 1, "label_selector": {"zone": "a"}}, "on a node labelled zone=a, but no node has the labels zone=a"),
        ({"gpu": 1, "accelerator_type": "H100"}, "but there is no accelerator of type H100"),
        ({"cpu": 5}, "asks for 5 CPUs, but this machine has 4 CPUs"),
        ({"cpu": 5, "gpu": 1, "fallback": "cpu"}, "asks for 5 CPUs and 1 GPU or 5 CPUs, but"),
        (tune.PlacementGroupFactory([{"CPU": 1}, {"GPU": 2}, {"GPU": 1}]), "asks for 3 GPU in all, and there are 2"),
        (tune.PlacementGroupFactory([{"CPU": 1}] * 2, "STRICT_SPREAD"), "its 2 bundles do not fit together"),
    ],
)
def test_a_request_that_no_node_can_ever_meet_is_refused_with_its_reason(asked: Any, words: str, kept: Kept) -> None:
    tuner = Tuner(tune.with_resources(trainables.square, asked), param_space=SPACE, run_config=kept())
    with pytest.raises(TuneError, match=rf"^No trial can ever start: .*{words}") as told:
        tuner.fit()
    assert "It waits" not in str(told.value)


def test_where_it_follows_from_a_config_only_the_trials_of_that_config_fail(kept: Kept) -> None:
    def asked(config: dict[str, Any]) -> dict[str, Any]:
        return {"cpu": 1, "label_selector": {"zone": "a"}} if config["x"] > 1 else {"cpu": 1}

    space = {"x": tune.grid_search([1, 2, 3])}
    results = Tuner(tune.with_resources(trainables.square, asked), param_space=space, run_config=kept()).fit()
    assert [each.state for each in results] == ["done", "error", "error"]
    (words,) = results.failures()
    assert "no node has the labels zone=a" in words


def test_a_fallback_makes_a_trial_possible(kept: Kept) -> None:
    asked = {"gpu": 1, "gpu_memory": "8GB", "fallback": "cpu"}
    results = Tuner(tune.with_resources(trainables.square, asked), param_space=SPACE, run_config=kept()).fit()
    assert [each.state for each in results] == ["done", "done"]


def test_options_of_tasks_have_no_place_in_a_bundle() -> None:
    with pytest.raises(ValueError, match=r"A bundle .*'gpu_memory'.*tune.with_resources\(trainable, \{"):
        tune.PlacementGroupFactory([{"CPU": 1}, {"GPU": 1, "gpu_memory": "8GB"}])
