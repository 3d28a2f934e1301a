"""Ray's `ray.cloudpickle` path: the pickling that functions, classes and values travel with."""

from cloudpickle import (
    CloudPickler,
    Pickler,
    dump,
    dumps,
    load,
    loads,
    register_pickle_by_value,
    unregister_pickle_by_value,
)

__all__ = [
    "CloudPickler",
    "Pickler",
    "dump",
    "dumps",
    "load",
    "loads",
    "register_pickle_by_value",
    "unregister_pickle_by_value",
]
