"""What travels of a hook in a task's environment."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine import setup_hooks
from nbaccel.ray_engine.starting import import_shipped


def test_a_hook_becomes_a_variable_and_the_other_variables_stay():
    import_shipped()
    given = {"worker_process_setup_hook": "os.getpid", "env_vars": {"A": "1"}, "working_dir": "w"}
    carried = setup_hooks.carried(given)
    assert carried["env_vars"].keys() == {"A", setup_hooks.VARIABLE}
    assert "worker_process_setup_hook" not in carried
    assert carried["working_dir"] == "w"
    assert "worker_process_setup_hook" in given
    assert setup_hooks.carried({"pip": ["x"]}) == {"pip": ["x"]}
    assert importlib.import_module("nbaccel_in_ray.setup_hooks").VARIABLE == setup_hooks.VARIABLE


def test_a_hook_that_captures_too_much_for_a_variable_is_refused_in_words():
    import_shipped()
    large = bytes(range(256)) * 500

    def hook():
        return large

    with pytest.raises(ValueError, match=r"hook takes 1[56]\d,\d+ bytes.*100,000"):
        setup_hooks.carried({"worker_process_setup_hook": hook})
