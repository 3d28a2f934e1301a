"""Ray's libraries that are not here, and the module paths that are."""

import importlib

import pytest

import nbaccel


@pytest.mark.parametrize("name", ["data", "serve", "tune", "train", "rllib", "workflow", "job_submission"])
def test_a_library_that_is_not_here_says_where_it_is(name):
    with pytest.raises(ModuleNotFoundError, match=rf"There is no nbaccel.{name}.*engine='ray'.*import ray.{name}"):
        importlib.import_module(f"nbaccel.{name}")
    assert not hasattr(nbaccel, name)
    with pytest.raises(AttributeError, match="engine='ray'"):
        getattr(nbaccel, name)


def test_rays_module_paths_lead_to_the_same_things():
    from nbaccel.cloudpickle import dumps, loads
    from nbaccel.remote_function import RemoteFunction
    from nbaccel.runtime_context import get_runtime_context

    assert isinstance(nbaccel.remote(len), RemoteFunction) and nbaccel.remote_function.RemoteFunction is RemoteFunction
    assert get_runtime_context is nbaccel.get_runtime_context
    captured = 3
    assert loads(dumps(lambda: captured))() == 3 and nbaccel.cloudpickle.loads is loads
