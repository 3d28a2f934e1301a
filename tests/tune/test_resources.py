"""What a trial asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbaccel
from nbaccel import tune
from nbaccel.tune.resources import requested_by, resources_of


def test_keys_may_be_in_lower_or_upper_case() -> None:
    assert resources_of({"cpu": 2, "gpu": 0.5}, {}).total == resources_of({"CPU": 2, "GPU": 0.5}, {}).total
    found = resources_of({"gpu": 1, "memory": 100, "custom_resources": {"blue": 2}, "red": 1, "TPU": 0}, {})
    assert found.total == {"GPU": 1, "memory": 100, "blue": 2, "red": 1}  # no CPU, as in Ray
    assert found.task_options() == {"num_cpus": 0, "num_gpus": 1, "memory": 100, "resources": {"blue": 2, "red": 1}}
    assert resources_of(None, {}).total == {"CPU": 1}


def test_options_of_tasks_may_be_asked_for_as_well() -> None:
    found = resources_of({"gpu": 1, "gpu_memory": "8GB", "fallback": "cpu"}, {})
    assert found.task_options() == {"num_cpus": 0, "num_gpus": 1, "gpu_memory": "8GB", "fallback": "cpu"}


def test_how_many_trials_fit() -> None:
    assert resources_of({"cpu": 1, "gpu": 0.5}, {}).fits({"CPU": 3, "GPU": 2}) == 3
    assert resources_of({"gpu": 0.1}, {}).fits({"GPU": 0.3}) == 3
    assert resources_of({"gpu": 1}, {}).fits({"CPU": 3}) == 0


def test_several_bundles() -> None:
    factory = tune.PlacementGroupFactory([{"CPU": 1}, {"GPU": 1}, {"GPU": 1}], strategy="SPREAD")
    found = resources_of(factory, {})
    assert found.total == factory.required_resources == {"CPU": 1, "GPU": 2} and found.strategy == "SPREAD"
    assert found.task_options() == {"num_cpus": 1, "num_gpus": 0}
    assert factory == tune.PlacementGroupFactory(factory.bundles, "SPREAD") and repr(factory).startswith("Placement")
    with pytest.raises(ValueError, match="takes a list of dicts"):
        tune.PlacementGroupFactory([])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"num_gpus": 1}, "the key 'num_gpus': write 'gpu'"),
        ({"num_cpus": 1}, "the key 'num_cpus': write 'cpu'"),
        ({"resources": {"blue": 1}}, "write 'custom_resources'"),
        ({"gpuu": 1}, "the key 'gpuu'. Did you mean 'gpu'?"),
        ({"gpu": 1, "gpu_mem": "8GB"}, "Did you mean 'gpu_memory'?.*custom_resources"),
        ({"extra_cpu": 1}, "a PlacementGroupFactory with a second bundle"),
        ({"gpu": -1}, r"'gpu' must be a number from 0, not -1\.$"),
        ({"gpu": "1"}, r"'gpu' must be a number from 0, not '1'\.$"),
        ({"cpus": 3}, "write 'cpu'"),
        (3, "are a dict such as"),
    ],
)
def test_what_looks_like_a_mistake_is_told(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tune.with_resources(len, given)


def test_resources_stay_with_the_function() -> None:
    def train(config: dict[str, Any]) -> None:
        return None

    bound = tune.with_resources(train, {"gpu": 1})
    assert requested_by(bound) == {"gpu": 1} and bound.__name__ == "train" and requested_by(train) is None
    with pytest.raises(ValueError, match="must be a function of the config"):
        tune.with_resources(3, {"gpu": 1})
    with pytest.raises(ValueError, match="both say what a trial holds"):
        tune.run(bound, resources_per_trial={"gpu": 1})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gpu": 1.5}, "Ask for 1 or 2, or for a part below 1"),
        ({1: 2}, "named by texts such as 'cpu', not 1"),
        ({"custom_resources": [1]}, "is a dict such as"),
        (tune.PlacementGroupFactory([{"CPU": 1}, {"GPU": 1.5}]), "Ask for 1 or 2"),
    ],
)
def test_amounts_that_no_node_can_ever_give_are_told_before_a_trial_starts(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tune.with_resources(print, given)


def test_amounts_may_be_numbers_of_numpy() -> None:
    assert resources_of({"cpu": np.int64(2), "gpu": np.float32(0.5)}, {}).total == {"CPU": 2.0, "GPU": 0.5}


def of_tasks(config: dict[str, Any]) -> dict[str, Any]:
    """The CPUs of the bundle are free for the trial's own tasks."""
    held = tune.get_context().get_trial_resources()
    there = nbaccel.get(nbaccel.remote(num_cpus=2)(lambda: "ran").remote(), timeout=60)
    return {"there": there, "held": [held.bundles, held.head_cpus, held.strategy, held.required_resources]}


@pytest.mark.usefixtures("cluster")
def test_an_empty_first_bundle_leaves_the_others_to_the_tasks_of_the_trial(tmp_path: Path) -> None:
    factory = tune.PlacementGroupFactory([{}, {"CPU": 2}], strategy="SPREAD")
    assert factory.head_bundle_is_empty and factory.head_cpus == 0 and factory.required_resources == {"CPU": 2}
    config = tune.RunConfig(storage_path=str(tmp_path))
    (result,) = results = tune.Tuner(tune.with_resources(of_tasks, factory), run_config=config).fit()
    assert result.error is None and result.metrics is not None and result.metrics["there"] == "ran"
    assert result.metrics["held"] == [[{"CPU": 2}], 0, "SPREAD", {"CPU": 2}]
    assert results._trials[0].placement_group_factory == tune.PlacementGroupFactory([{}, {"CPU": 2}], "SPREAD")
