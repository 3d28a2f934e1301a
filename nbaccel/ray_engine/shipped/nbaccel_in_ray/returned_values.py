"""Has the error of a returned value that cannot be pickled name the part to blame, on nodes that have nbaccel."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import ray

import nbaccel_in_ray
from nbaccel_in_ray import internals

SerializationContext: Any = internals.serialization.SerializationContext
_rays_serialize = SerializationContext.serialize


def name_culprits() -> None:
    """In a worker. What its code submits or puts is looked at where that is done."""
    if internals.is_worker():
        SerializationContext.serialize = _serialize


def _serialize(context: Any, value: Any) -> Any:
    try:
        return _rays_serialize(context, value)
    except Exception as error:  # whatever the value's pickling raises
        room = nbaccel_in_ray.nbaccel_here() if _is_called_by_ray(sys._getframe().f_back) else None
        if room is not None:
            room.refuse_returned(ray.get_runtime_context().get_task_name(), value, error)
        raise


def _is_called_by_ray(frame: FrameType | None) -> bool:
    """Whether the frames are those of a worker's loop alone: Ray's compiled code has none of its own."""
    return frame is None or frame.f_code.co_name == "main_loop"
