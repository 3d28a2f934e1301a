"""What nbaccel uses of Ray that is not public: each name once, with what is lost where a version of Ray lacks it.

Drivers and workers use it from here; `nbaccel.ray_preflight` has what is asked before a cluster is joined.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

import ray
from ray._private import ray_logging as ray_logging
from ray._private import serialization as serialization
from ray._private import state
from ray._private import worker as worker
from ray._private.ray_constants import LOG_PREFIX_TASK_NAME

Row = dict[str, Any]
MARK: str = LOG_PREFIX_TASK_NAME  # how a line begins that names a task for Ray's log monitor

# "module:attribute" -> what does not work without it.
NAMES = {
    "ray._private.worker:Worker.is_canceled": "the generator of an actor goes on though its call was cancelled, and "
    "get_runtime_context().is_canceled() is False",
    "ray._private.worker:Worker.get_serialization_context": "nothing",
    "ray._private.ray_constants:RAY_DISABLE_WORKER_LOG_PREFIX": "this variable is not heard",
    "ray._private.worker:print_to_stdstream": "lines of workers are Ray's, not those of a cell",
    "ray._private.worker:print_worker_logs": "lines of workers are Ray's, not those of a cell",
    "ray._private.ray_logging:global_worker_stdstream_dispatcher": "lines of workers are Ray's, not those of a cell",
    "ray._private.ray_constants:LOG_PREFIX_TASK_NAME": "no line is at the cell of its task",
    "ray._private.ray_constants:AUTOSCALER_RESOURCE_REQUEST_CHANNEL": "resources of the first autoscaler are not held",
    "ray._private.thirdparty.pynvml:nvmlInit": "devices have no metrics",
    "ray._private.state:actors": "no actor is listed",
    "ray._private.state:workers": "no worker is listed",
    "ray._private.state:jobs": "no job is listed",
    "ray._private.state:available_resources_per_node": "no resource of a node is known to be free",
    "ray._private.state:state.get_cluster_config": "the nodes that KubeRay may add are not known",
    "ray._private.serialization:split_buffer": "small arrays inside other objects are read-only",
    "ray._private.serialization:unpack_pickle5_buffers": "small arrays inside other objects are read-only",
    "ray._private.serialization:SerializationContext.serialize": "what of a result cannot be pickled is not named",
    "ray._private.runtime_env.py_modules:upload_py_modules_if_needed": "tasks bring no folders",
    "ray._private.runtime_env.working_dir:upload_working_dir_if_needed": "tasks bring no folders",
    "ray._raylet:CoreWorker.get_current_task_attempt_number": "nothing runs",
    "ray._raylet:CoreWorker.get_objects": "a failed task whose value nobody asked for has no kind of error",
    "ray._raylet:InnerGcsClient.get_all_resource_usage": "no line says that a task waits",
    "ray._raylet:InnerGcsClient.get_cluster_status": "resources of the second autoscaler are not held",
    "ray.core.generated.common_pb2:ErrorType": "a failed task whose value nobody asked for has no kind of error",
    "ray.core.generated.gcs_pb2:TaskEvents": "the timeline has no phases",
    "ray.core.generated.node_manager_pb2:GetObjectsInfoRequest": "objects are not listed",
    "ray.core.generated.autoscaler_pb2:GetClusterStatusReply": "resources of the second autoscaler are not held",
    "ray:ObjectRefGenerator._next_sync": "streams are not read",
}


def missing() -> dict[str, str]:
    """The names that this Ray lacks, with what is lost."""
    return {name: loss for name, loss in NAMES.items() if not _is_here(name)}


def _is_here(name: str) -> bool:
    module, _, attributes = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError):
        return False
    return True


# ---- this process and the task that it runs


def core() -> Any:
    """Ray's compiled part of this process, which knows the running task of each thread."""
    return worker.global_worker.core_worker


def is_worker() -> bool:
    """Whether Ray has started this process for tasks or an actor."""
    return bool(worker.global_worker.mode == ray.WORKER_MODE)


def is_cancelled() -> bool:
    """Whether the running call was cancelled."""
    return bool(getattr(worker.global_worker, "is_canceled", False))


def attempt() -> int:
    """How often the running task was started before."""
    return int(core().get_current_task_attempt_number())


def session_folder() -> str:
    """Ray's folder of this session, which all processes of a node have. AttributeError through Ray Client."""
    return str(worker._global_node.get_session_dir_path())


def session_name() -> str:
    """The name of Ray's session, public since 2.54."""
    context = ray.get_runtime_context()
    return str(context.get_session_name()) if hasattr(context, "get_session_name") else _name_by_folder()


def _name_by_folder() -> str:
    try:
        return os.path.basename(session_folder())
    except AttributeError:
        return ""  # Ray Client does not know it


def temporary_folder() -> str:
    """The folder of Ray's sessions, "" through Ray Client; public since 2.60."""
    context = ray.get_runtime_context()
    try:
        return str(context.get_temp_dir() if hasattr(context, "get_temp_dir") else os.path.dirname(session_folder()))
    except AttributeError:
        return ""


def functions() -> Any:
    """What counts the calls of each function in this worker."""
    return worker.global_worker.function_actor_manager


# ---- pickling


def serialization_context() -> Any:
    return worker.global_worker.get_serialization_context()


def upload_py_modules(environment: Row, **keywords: Any) -> Row:
    """The environment with its local `py_modules` in Ray's store."""
    from ray._private.runtime_env.py_modules import upload_py_modules_if_needed

    return _uploaded(upload_py_modules_if_needed, environment, keywords)


def upload_working_dir(environment: Row, **keywords: Any) -> Row:
    """The environment with its local `working_dir` in Ray's store."""
    from ray._private.runtime_env.working_dir import upload_working_dir_if_needed

    return _uploaded(upload_working_dir_if_needed, environment, keywords)


def _uploaded(upload: Callable[..., Any], environment: Row, keywords: Row) -> Row:
    if "include_gitignore" in inspect.signature(upload).parameters:
        keywords = {"include_gitignore": True, **keywords}  # what .gitignore names is left out; before, it always was
    return dict(upload(environment, **keywords))


# ---- streams and errors


def next_ref(stream: Any) -> Any:
    """The ref of the next place in a stream of Ray's, whose value may not be there yet."""
    return stream._get_next_ref_n(1)[0] if hasattr(stream, "_get_next_ref_n") else stream._get_next_ref()


def error_type(ref: Any) -> str:
    """Ray's word for the error that is there for a ref of Ray's, "" for a value; nothing is unpickled for that."""
    from ray.core.generated.common_pb2 import ErrorType

    try:
        ((_data, metadata, *_),) = core().get_objects([ref], 0)
    except (AttributeError, TypeError, ValueError, ray.exceptions.RayError):
        return ""  # Ray Client, or a value on another machine, which is never an error
    number = (metadata or b"").split(b",")[0]
    return str(ErrorType.Name(int(number))) if number.isdigit() else ""


def is_taken(error: BaseException) -> bool:
    """Whether an actor was not created because its name belongs to another."""
    kind = getattr(ray.exceptions, "ActorAlreadyExistsError", None)
    return "already taken" in str(error) or (kind is not None and isinstance(error, kind))


# ---- Ray's tables


def actors(actor_id: str | None = None) -> Row:
    """The rows of all actors by their ids, or the row of one."""
    return dict(state.actors(actor_id) if actor_id else state.actors())


def workers() -> Row:
    return dict(state.workers())


def jobs() -> list[Row]:
    return list(state.jobs())


def free_resources() -> Row:
    """What is free, by node."""
    return dict(state.available_resources_per_node())


def cluster_config() -> Any:
    """The kinds of nodes that KubeRay may add; None where it is not there."""
    return state.state.get_cluster_config()


def task_events() -> list[Any]:
    """What Ray has measured of all tasks."""
    known = state.state
    if hasattr(known, "_get_all_task_events"):
        return list(known._get_all_task_events())
    from ray.core.generated.gcs_pb2 import TaskEvents

    if hasattr(known, "_connect_and_get_accessor"):
        accessor = known._connect_and_get_accessor()
    else:  # before 2.54
        known._check_connected()
        accessor = known.global_state_accessor
    return [TaskEvents.FromString(each) for each in accessor.get_task_events()]


def waiting_demands(timeout_s: float) -> Iterable[tuple[dict[str, float], int]]:
    """How many requests for the same resources the nodes could not start yet, of all jobs of the cluster."""
    reply = worker.global_worker.gcs_client.get_all_resource_usage(timeout=timeout_s)
    for each in reply.resource_usage_data.resource_load_by_shape.resource_demands:
        yield dict(each.shape), each.num_ready_requests_queued + each.num_infeasible_requests_queued + each.backlog_size


def objects_of_node(address: str, limit: int, timeout_s: float) -> Any:
    """What the processes of the node at "host:port" know of objects. ImportError where grpc is missing."""
    try:
        from ray._private.grpc_utils import init_grpc_channel
    except ModuleNotFoundError:  # before 2.54
        from ray._private.utils import init_grpc_channel
    from ray.core.generated import node_manager_pb2, node_manager_pb2_grpc

    channel = init_grpc_channel(address)
    try:
        stub = node_manager_pb2_grpc.NodeManagerServiceStub(channel)
        return stub.GetObjectsInfo(node_manager_pb2.GetObjectsInfoRequest(limit=limit), timeout=timeout_s)
    finally:
        channel.close()


def nvml() -> Any:
    """Ray's copy of pynvml; raises whatever keeps it from being used."""
    from ray._private.thirdparty import pynvml

    pynvml.nvmlInit()
    return pynvml


def word(kind: str, number: int) -> str:
    """The word for a number of Ray's messages, such as a TaskStatus."""
    return str(getattr(importlib.import_module("ray.core.generated.common_pb2"), kind).Name(number))


def autoscaler_status(timeout_s: float) -> Any:
    """What the second autoscaler knows of the cluster, as Ray's own message."""
    from ray.core.generated.autoscaler_pb2 import GetClusterStatusReply

    raylet: Any = importlib.import_module("ray._raylet")
    client = raylet.GcsClient(address=str(ray.get_runtime_context().gcs_address))
    reply = GetClusterStatusReply()
    reply.ParseFromString(client.get_cluster_status(timeout_s=timeout_s))
    return reply


def request_key() -> str:
    """Where the head's store has the request for the first autoscaler."""
    from ray._private.ray_constants import AUTOSCALER_RESOURCE_REQUEST_CHANNEL

    return str(AUTOSCALER_RESOURCE_REQUEST_CHANNEL)


# ---- what Ray prints


def are_lines_bare() -> bool:
    """Whether lines of workers have no prefix, as the program has asked."""
    from ray._private import ray_constants

    is_structured = worker.global_worker.job_logging_config is not None
    return is_structured or bool(getattr(ray_constants, "RAY_DISABLE_WORKER_LOG_PREFIX", False))


# ---- the mark of actors that nbaccel makes for itself: Ray's table keeps nothing of an actor but its class's names
#
# The mark is in the qualified name, which no class statement can give: a user's class of the same name has none.


INTERNAL_MARK = "nbaccel's own."


def qualified(name: str) -> str:
    """The qualified name of an internal class; what follows the last dot stays the name of the class."""
    return INTERNAL_MARK + name.rpartition(".")[2]


def is_marked(class_name: str) -> bool:
    """Whether Ray's name of an actor's class is that of an internal one."""
    return class_name.startswith(INTERNAL_MARK)


def marked(cls: type) -> type:
    """An internal class, to be made an actor."""
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, "__qualname__": qualified(cls.__name__)})
