"""ScalingConfig: what a worker group asks for, and every error of Ray Train's class with its type."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from nbaccel.train import ScalingConfig

REFUSED: dict[str, dict[str, Any]] = {
    "gpu without use_gpu": {"resources_per_worker": {"GPU": 1}},
    "a text as count": {"num_workers": "2"},
    "a list as count": {"num_workers": [1, 2]},
    "three counts": {"num_workers": (1, 2, 3)},
    "a fraction as count": {"num_workers": 1.5},
    "a negative count": {"num_workers": -1},
    "min above max": {"num_workers": (3, 2)},
    "gpu and tpu": {"use_gpu": True, "use_tpu": True},
    "tpu without use_tpu": {"resources_per_worker": {"TPU": 1}},
    "use_tpu with none": {"use_tpu": True, "resources_per_worker": {"TPU": 0}},
    "tpu workers without a topology": {"use_tpu": True, "num_workers": 2},
    "tpu workers without a type": {"use_tpu": True, "num_workers": 2, "topology": "2x2x2"},
    "labels of another length": {"num_workers": 2, "label_selector": [{"a": "b"}]},
    "a negative interval": {"elastic_resize_monitor_interval_s": -1},
}
ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "eight": {"num_workers": 8},
    "gpu": {"num_workers": 8, "use_gpu": True},
    "two gpus each": {"num_workers": 8, "use_gpu": True, "resources_per_worker": {"CPU": 4, "GPU": 2}},
    "half a gpu each": {"num_workers": 8, "use_gpu": True, "resources_per_worker": {"CPU": 4, "GPU": 0.5}},
    "a gpu is added": {"use_gpu": True, "resources_per_worker": {"CPU": 4}},
    "zeros are dropped": {"resources_per_worker": {"CPU": 2, "blue": 0}},
    "a type": {"use_gpu": True, "accelerator_type": "A100"},
    "elastic": {"num_workers": (1, 4)},
    "none": {"num_workers": 0},
    "a bool as count": {"num_workers": True},
    "custom and memory": {"resources_per_worker": {"CPU": 1, "memory": 1e9, "blue": 1}},
    "labels": {"num_workers": 2, "label_selector": [{"a": "b"}, {"a": "c"}]},
}
SUMS = ("total_resources", "num_cpus_per_worker", "num_gpus_per_worker", "additional_resources_per_worker")


@pytest.fixture(scope="module")
def rays() -> Any:
    """Ray's own class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ray.train").ScalingConfig


@pytest.mark.extra("ray")
@pytest.mark.parametrize("how", REFUSED)
def test_what_cannot_be_meant_is_refused_as_in_ray(how: str, rays: Any) -> None:
    with pytest.raises(ValueError):
        rays(**REFUSED[how])
    with pytest.raises(ValueError):
        ScalingConfig(**REFUSED[how])


def test_use_gpu_without_a_gpu_is_refused_also_where_ray_says_nothing() -> None:
    with pytest.raises(ValueError, match="`use_gpu` is True but `GPU` is set to 0"):
        ScalingConfig(use_gpu=True, resources_per_worker={"GPU": 0})


@pytest.mark.extra("ray")
@pytest.mark.parametrize("how", ACCEPTED)
def test_what_each_worker_and_all_of_them_hold_is_what_ray_says(how: str, rays: Any) -> None:
    ours, theirs = ScalingConfig(**ACCEPTED[how]), rays(**ACCEPTED[how])
    for name in (*SUMS, "min_workers", "max_workers", "elasticity_enabled"):
        assert getattr(ours, name) == getattr(theirs, name), name


def test_the_errors_name_the_argument_and_what_to_write() -> None:
    with pytest.raises(ValueError, match=r"`use_gpu` is False but `GPU` was found in `resources_per_worker`"):
        ScalingConfig(resources_per_worker={"GPU": 2})
    with pytest.raises(ValueError, match="must be an int or a tuple of two ints, not '8'"):
        ScalingConfig(num_workers="8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="choose one of PACK"):
        ScalingConfig(placement_strategy="TOGETHER")
    with pytest.raises(ValueError, match="'CPU': -1 is not a quantity"):
        ScalingConfig(resources_per_worker={"CPU": -1})


def test_tpus_of_several_hosts_are_refused_with_what_to_use() -> None:
    with pytest.raises(ValueError, match=r"`ray\.train` on a Ray cluster"):
        ScalingConfig(num_workers=2, use_tpu=True, topology="2x2x2", accelerator_type="TPU-V4")


def test_the_worker_groups_resources_of_the_examples() -> None:
    half = ScalingConfig(num_workers=8, use_gpu=True, resources_per_worker={"CPU": 4, "GPU": 0.5})
    assert half.total_resources == {"CPU": 32, "GPU": 4}
    assert half.bundles(8) == [{"CPU": 4, "GPU": 0.5}] * 8
    assert ScalingConfig(num_workers=1, use_gpu=True, accelerator_type="A100").bundles(1) == [
        {"GPU": 1, "accelerator_type:A100": 0.001}
    ]


def test_trainer_resources_warn_and_zero_takes_nothing() -> None:
    with pytest.warns(DeprecationWarning, match="needs no resources"):
        zero = ScalingConfig(num_workers=4, resources_per_worker={"CPU": 2}, trainer_resources={"CPU": 0})
    assert zero.total_resources == {"CPU": 8} and zero.bundles(4) == [{"CPU": 2}] * 4


def test_trainer_resources_that_are_not_zero_are_a_bundle_more() -> None:
    with pytest.warns(DeprecationWarning):
        one = ScalingConfig(num_workers=4, resources_per_worker={"CPU": 2}, trainer_resources={"CPU": 1})
    assert one.total_resources == {"CPU": 9}
    assert one.bundles(4) == [{"CPU": 2}] * 4 + [{"CPU": 1}]


def test_it_shows_what_was_given_and_is_equal_by_what_it_asks() -> None:
    assert repr(ScalingConfig(num_workers=2, use_gpu=True)) == "ScalingConfig(num_workers=2, use_gpu=True)"
    assert ScalingConfig(use_gpu=True) == ScalingConfig(use_gpu=True, resources_per_worker={"GPU": 1})
    assert ScalingConfig(num_workers=2) != ScalingConfig(num_workers=3)
    assert "<th>num_workers</th><td>2</td>" in ScalingConfig(num_workers=2)._repr_html_()
    assert "&lt;b&gt;" in ScalingConfig(resources_per_worker={"<b>": 1})._repr_html_()


def test_a_trial_takes_the_workers_as_bundles() -> None:
    config = ScalingConfig(num_workers=3, use_gpu=True, resources_per_worker={"CPU": 2}, placement_strategy="SPREAD")
    factory = config.as_placement_group_factory()
    assert (factory.bundles, factory.strategy) == ([{"CPU": 2, "GPU": 1}] * 3, "SPREAD")
    assert ScalingConfig.from_placement_group_factory(factory).as_placement_group_factory() == factory
