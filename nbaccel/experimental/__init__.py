"""Ray's path for what may still change: `tqdm_ray`, progress bars of tasks, and where objects lie.

>>> nbaccel.experimental.get_object_locations([ref])
{ObjectRef(...): {'node_ids': ['5f3a...'], 'object_size': 8000153, 'did_spill': False}}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import engine as engines
from nbaccel.elsewhere import submodules_by_attribute

if TYPE_CHECKING:
    from nbaccel.handles.remote import ObjectRef

__getattr__ = submodules_by_attribute(__name__, "locations", "state", "tqdm_ray")


def get_object_locations(obj_refs: Sequence[ObjectRef[Any]], timeout_ms: int = -1) -> dict[ObjectRef[Any], Any]:
    """The nodes that have each object, its size in bytes, and whether it was moved to disk.

    Small results travel with their messages and lie on no node: []. What is not there yet has the size None. Raises
    RuntimeError before init(). `timeout_ms` is Ray's; the answer here waits for nothing.
    """
    engine = engines.started()
    if engine is None:
        raise RuntimeError("get_object_locations() needs a cluster: call nbaccel.init() first.")
    refs = list(obj_refs)
    places = [msgspec.structs.asdict(each) for each in engine.object_locations(refs)]
    return dict(zip(refs, places, strict=True))


get_local_object_locations = get_object_locations

__all__ = ["get_local_object_locations", "get_object_locations", "locations", "state", "tqdm_ray"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
