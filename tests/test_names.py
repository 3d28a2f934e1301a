"""Where Ray's names are found: by import, and by attribute after `import nbaccel`."""

import importlib
import subprocess
import sys

import pytest

import nbaccel

# One for each submodule that Ray has by attribute, and a name in it.
BY_ATTRIBUTE = [
    "_private.runtime_env.constants.RAY_JOB_CONFIG_JSON_ENV_VAR",
    "_private.services.get_node_ip_address",
    "_private.state.available_resources_per_node",
    "_private.worker.BaseContext",
    "_raylet.UniqueID",
    "actor.ActorHandle",
    "autoscaler.sdk.request_resources",
    "cluster_utils.cluster_not_supported",
    "dag.InputNode",
    "experimental.get_object_locations",
    "experimental.state.api.list_tasks",
    "experimental.state.common.ActorState",
    "experimental.state.exception.RayStateApiException",
    "experimental.tqdm_ray.tqdm",
    "job_config.JobConfig",
    "runtime_env.RuntimeEnv",
    "util.accelerators.NVIDIA_TESLA_V100",
    "util.actor_pool.ActorPool",
    "util.collective.collective.allreduce",
    "util.collective.types.ReduceOp",
    "util.metrics.Counter",
    "util.multiprocessing.Pool",
    "util.queue.Queue",
    "util.scheduling_strategies.PlacementGroupSchedulingStrategy",
    "util.state.api.list_actors",
    "util.state.common.RAY_MAX_LIMIT_FROM_API_SERVER",
    "util.state.exception.RayStateApiException",
    "util.state.list_nodes",
]


def test_submodules_are_there_by_attribute_without_an_import_of_their_own():
    program = "import nbaccel\n" + "".join(f"nbaccel.{name}\n" for name in BY_ATTRIBUTE)
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", BY_ATTRIBUTE)
def test_submodules_are_there_by_import(name):
    module, _, inside = name.rpartition(".")
    assert hasattr(importlib.import_module(f"nbaccel.{module}"), inside)


def test_ids_of_what_belongs_to_no_job_are_unique_ids():
    for kind in (nbaccel.NodeID, nbaccel.WorkerID, nbaccel.FunctionID, nbaccel.ActorClassID):
        assert issubclass(kind, nbaccel.UniqueID) and kind.size() == 28
        assert kind.from_random() != nbaccel.UniqueID.from_random()
    assert not issubclass(nbaccel.ActorID, nbaccel.UniqueID)


def test_languages_are_shown_by_their_names():
    assert repr(nbaccel.Language.PYTHON) == "PYTHON" and nbaccel.Language.PYTHON is not nbaccel.Language.JAVA


def test_how_many_rows_an_answer_has_at_most_is_said_by_rays_variable():
    program = (
        "from nbaccel.util.state.common import RAY_MAX_LIMIT_FROM_API_SERVER as most\n"
        "from nbaccel.util.state.row_queries import chosen\nfrom nbaccel.util.state.common import TaskState\n"
        "assert most == 40_000 and chosen(TaskState, [], None, 40_000) == []"
    )
    environ = {"RAY_MAX_LIMIT_FROM_API_SERVER": "40000"}
    subprocess.run([sys.executable, "-c", program], env=environ, check=True)


def test_a_backend_of_collective_operations_is_named_in_any_case():
    backend = nbaccel.util.collective.Backend
    assert backend("gloo") == backend.GLOO == backend("torch_gloo")
    with pytest.raises(ValueError, match="mpi"):
        backend("mpi")
