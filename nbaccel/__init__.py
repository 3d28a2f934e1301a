"""Accelerators from notebooks: remote tasks and actors on assigned devices, under Ray Core's names.

>>> import nbaccel
>>> nbaccel.init(num_gpus=2)
>>> @nbaccel.remote(num_gpus=0.5)
... def ids():
...     return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]
>>> nbaccel.get(ids.remote())
['0']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

from nbaccel import elsewhere, exceptions
from nbaccel.views import notebook_hooks

if TYPE_CHECKING:
    from nbaccel import actor, util
    from nbaccel.api import (
        available_resources,
        cancel,
        cluster_resources,
        get,
        get_actor,
        get_gpu_ids,
        is_initialized,
        kill,
        method,
        nodes,
        put,
        remote,
        shutdown,
        snapshot,
        timeline,
        wait,
    )
    from nbaccel.executor import Executor, as_completed
    from nbaccel.explaining import explain, probe, recycle, ref_of, stack
    from nbaccel.handles.ids import ActorClassID, FunctionID, Language, UniqueID
    from nbaccel.handles.refs import DynamicObjectRefGenerator
    from nbaccel.handles.remote import (
        ActorID,
        JobID,
        NodeID,
        ObjectRef,
        ObjectRefGenerator,
        PlacementGroupID,
        TaskID,
        WorkerID,
    )
    from nbaccel.logging_config import LoggingConfig
    from nbaccel.runtime_context import get_runtime_context
    from nbaccel.starting import init
    from nbaccel.views.snapshot import Snapshot
    from nbaccel.waits.progress_bar import progress

    ObjectID = ObjectRef

elsewhere.install()
LOCAL_MODE, SCRIPT_MODE, WORKER_MODE = 2, 0, 1

__all__ = [
    "ActorClassID",
    "ActorID",
    "DynamicObjectRefGenerator",
    "Executor",
    "FunctionID",
    "JobID",
    "Language",
    "LoggingConfig",
    "NodeID",
    "ObjectID",
    "ObjectRef",
    "ObjectRefGenerator",
    "PlacementGroupID",
    "TaskID",
    "UniqueID",
    "WorkerID",
    "actor",
    "as_completed",
    "available_resources",
    "cancel",
    "cluster_resources",
    "dashboard",
    "exceptions",
    "explain",
    "get",
    "get_actor",
    "get_gpu_ids",
    "get_runtime_context",
    "init",
    "is_initialized",
    "kill",
    "method",
    "nodes",
    "probe",
    "progress",
    "put",
    "recycle",
    "ref_of",
    "remote",
    "report_progress",
    "shutdown",
    "snapshot",
    "stack",
    "timeline",
    "util",
    "wait",
]

_ROOMS = {
    "_private",
    "_raylet",
    "actor",
    "api",
    "autoscaler",
    "cloudpickle",
    "cluster_utils",
    "dag",
    "engine",
    "experimental",
    "handles",
    "job_config",
    "remote_function",
    "runtime_context",
    "runtime_env",
    "serve",
    "train",
    "tune",
    "types",
    "util",
}
_OLDER = {"state", "worker"}  # attributes in Ray too, and no modules: older names of what is in _private
_MODULES = {
    "api": (
        "available_resources cancel cluster_resources get get_actor get_gpu_ids is_initialized kill method nodes "
        "put remote shutdown snapshot timeline wait"
    ),
    "handles.ids": "ActorClassID FunctionID Language UniqueID",
    "handles.refs": "DynamicObjectRefGenerator",
    "handles.remote": "ActorID JobID NodeID ObjectRef ObjectRefGenerator PlacementGroupID TaskID WorkerID",
    "logging_config": "LoggingConfig",
    "runtime_context": "get_runtime_context",
    "starting": "init",
    "explaining": "explain probe recycle ref_of stack",
    "executor": "Executor as_completed",
    "waits.progress_bar": "progress",
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name on its first use: `import nbaccel` stays light, for commands that need little of it."""
    if name in _LAZY:
        value = getattr(importlib.import_module(f"nbaccel.{_LAZY[name]}"), name)
        return globals().setdefault(name, value)
    if name == "ObjectID":
        return __getattr__("ObjectRef")
    if name in _OLDER:
        return importlib.import_module(f"nbaccel._private.{name}")
    if name in _ROOMS or name in elsewhere.LIBRARIES:
        return importlib.import_module(f"nbaccel.{name}")
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    """What is there, and what is imported on its first use."""
    return sorted({*globals(), *__all__, *_ROOMS})


def dashboard() -> Any:
    """The live view of every device and its cell; as the last line of a cell it is shown.

    Needs `pip install nbaccel[lab]`. Without anywidget, or without a front end, this is the card of now. Raises
    ImportError where IPython is not installed.
    """
    try:
        from nbaccel.notebook.dashboards import dashboard as shown
    except ModuleNotFoundError as error:
        raise ImportError(f"dashboard() needs {error.name}: pip install 'nbaccel[lab]'", name=error.name) from None
    return shown()


def report_progress(done: float, total: float) -> None:
    """Report how far the running task is; views show it beside the task. Outside of a task this does nothing.

    >>> @nbaccel.remote
    ... def work(steps):
    ...     for step in range(steps):
    ...         nbaccel.report_progress(step + 1, steps)
    >>> nbaccel.get(work.remote(3))
    """
    from nbaccel import engine

    engine.current().report_progress(done, total)


class _Notebook:
    """The notebook room, which is imported when it is needed."""

    def attach(self) -> None:
        from nbaccel.notebook import attaching

        attaching.attach()

    def card_as_text(self, snapshot: Snapshot) -> str:
        from nbaccel.notebook import card

        return card.text(snapshot)

    def card(self, snapshot: Snapshot) -> dict[str, Any]:
        from nbaccel.notebook import card

        return dict(card.mimebundle(snapshot))


notebook_hooks.connect(_Notebook())


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext nbaccel`."""
    from nbaccel.notebook import magics

    magics.register(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext nbaccel`."""
    from nbaccel.notebook import magics

    unregister = getattr(magics, "unregister", None)
    if unregister is not None:
        unregister(ipython)
