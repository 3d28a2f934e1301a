"""Functions that are called when a worker starts: what travels of them, and what is told when they fail."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("ray")

import nbaccel
from nbaccel import exceptions
from nbaccel.ray_engine.rays import import_shipped
from nbaccel.ray_engine.submission import shipping


def test_a_hook_becomes_a_variable_and_the_other_variables_stay():
    import_shipped()
    given = {"worker_process_setup_hook": "os.getpid", "env_vars": {"A": "1"}, "working_dir": "w"}
    carried = shipping.carried_hooks(given)
    assert carried["env_vars"].keys() == {"A", shipping.VARIABLE}
    assert "worker_process_setup_hook" not in carried
    assert carried["working_dir"] == "w"
    assert "worker_process_setup_hook" in given
    assert shipping.carried_hooks({"pip": ["x"]}) == {"pip": ["x"]}
    assert importlib.import_module("nbaccel_in_ray.setup_hooks").VARIABLE == shipping.VARIABLE


def test_a_hook_that_captures_too_much_for_a_variable_is_refused_in_words():
    import_shipped()
    large = bytes(range(256)) * 500

    def hook():
        return large

    with pytest.raises(ValueError, match=r"hook takes 1[56]\d,\d+ bytes.*100,000"):
        shipping.carried_hooks({"worker_process_setup_hook": hook})


@pytest.fixture
def with_hook() -> Iterator[Callable[[Any], None]]:
    """Starts a Ray whose workers call this first."""
    yield lambda hook: nbaccel.init(engine="ray", num_cpus=1, runtime_env={"worker_process_setup_hook": hook})
    nbaccel.shutdown()


@nbaccel.remote
def hooked() -> str | None:
    return os.environ.get("NB_HOOKED")


@nbaccel.remote
class Hooked:
    def look(self) -> str | None:
        return os.environ.get("NB_HOOKED")


@pytest.mark.ray
@pytest.mark.timeout(400)
def test_the_hook_of_a_whole_job_runs_in_each_worker(with_hook: Callable[[Any], None]) -> None:
    def hook() -> None:
        os.environ["NB_HOOKED"] = "yes"

    with_hook(hook)
    assert nbaccel.get([hooked.remote(), Hooked.remote().look.remote()], timeout=60) == ["yes", "yes"]


@pytest.mark.ray
@pytest.mark.timeout(400)
def test_a_hook_of_a_whole_job_that_fails_is_told_by_each_task(with_hook: Callable[[Any], None]) -> None:
    with_hook("os.there_is_no_such_function")
    for ref in (hooked.remote(), Hooked.remote().look.remote()):
        with pytest.raises(exceptions.RuntimeEnvSetupError, match=r"AttributeError.*there_is_no_such_function"):
            nbaccel.get(ref, timeout=60)
