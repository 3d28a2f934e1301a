"""The names of `ray.util`. Each name is loaded when it is first used."""

import importlib
import sys
import types
from typing import Any

from nbaccel import elsewhere

_HOMES = {
    "ActorPool": "actor_pool",
    "as_completed": "streams",
    "map_unordered": "streams",
    "inspect_serializability": "check_serialize",
    "register_serializer": "serialization",
    "deregister_serializer": "serialization",
    "disable_log_once_globally": "debug",
    "enable_periodic_logging": "debug",
    "log_once": "debug",
    "list_named_actors": "lookup",
    "get_node_ip_address": "lookup",
    "placement_group_table": "placement_group",
    "get_placement_group": "placement_group",
    "get_current_placement_group": "placement_group",
    "remove_placement_group": "placement_group",
}
_ROOMS = (
    "accelerators",
    "actor_pool",
    "annotations",
    "collective",
    "debug",
    "joblib",
    "metrics",
    "multiprocessing",
    "queue",
    "scheduling_strategies",
    "serialization",
    "state",
    "tpu",
)

__all__ = ["placement_group", *_HOMES, *_ROOMS]


def _load(room: str) -> Any:
    return importlib.import_module(f"{__name__}.{room}")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(_load(_HOMES[name]), name)
    if name in _ROOMS:
        return _load(name)
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Util(types.ModuleType):
    """This module, where `placement_group` is a function although a submodule has the same name, as in Ray."""

    @property
    def placement_group(self) -> Any:
        return _load("placement_group").placement_group

    @placement_group.setter
    def placement_group(self, submodule: Any) -> None:
        """The import system puts the submodule here; sys.modules has it, so nothing is lost."""

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, as any module: cloudpickle packs it with functions that say `nbaccel.util.…`."""
        return importlib.import_module, (__name__,)


sys.modules[__name__].__class__ = _Util
