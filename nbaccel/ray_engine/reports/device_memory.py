"""`gpu_memory=` on Ray, which only knows fractions of devices: turns bytes into a fraction of the best fitting device.

How much memory a device has is asked of the small actor on each node that has GPUs, once for each set of nodes. Where
kinds of different sizes stand in one cluster, the kind is asked for too, since half of one is not half of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import msgspec
import ray

from nbaccel.handles.options import ResourceOptions
from nbaccel.quantities import UNIT
from nbaccel.ray_engine.reports.device_rows import type_of
from nbaccel.ray_engine.reports.small_actors import Agent
from nbaccel.scheduling.resources import bytes_text
from nbaccel.views.snapshot import NodeRow, Snapshot

Options = TypeVar("Options", bound=ResourceOptions)
FIRST_ANSWER_S = 60.0  # includes the start of the actors, which a busy machine takes its time for
_GPU = "GPU"


class Kind(msgspec.Struct, frozen=True):
    """GPUs of one accelerator type, and the memory of the smallest of them, in bytes."""

    type: str | None
    memory_bytes: int


class DeviceMemory:
    """The devices that the nodes of one cluster have. `agent` gives the small actor on a node."""

    def __init__(self, snapshot: Callable[[], Snapshot], agent: Callable[[str], Agent]) -> None:
        self._snapshot = snapshot
        self._agent = agent
        self._known: tuple[tuple[str, ...], list[Kind]] = ((), [])  # (node ids, their device kinds)

    def in_fractions(self, options: Options) -> Options | None:
        """The same options in Ray's terms; None when no device of the cluster is large enough.

        Raises ValueError when no node tells how much memory its GPUs have.
        """
        if not options.gpu_memory:
            return options
        kinds = self.kinds_of_gpus()
        if not kinds:
            raise ValueError(
                f"gpu_memory={bytes_text(options.gpu_memory)} cannot be turned into a fraction: no node of this "
                "cluster knows how much memory its GPUs have (they are logical, or their driver does not answer). Ask "
                "for a fraction yourself: num_gpus=0.25."
            )
        able = [
            kind
            for kind in kinds
            if kind.memory_bytes >= options.gpu_memory and options.accelerator_type in (None, kind.type)
        ]
        if not able:
            return None
        best = min(able, key=lambda kind: kind.memory_bytes)
        fraction = math.ceil(options.gpu_memory / best.memory_bytes * UNIT) / UNIT
        asked_type = options.accelerator_type or (best.type if len(kinds) > 1 else None)
        return msgspec.structs.replace(options, gpu_memory=None, num_gpus=fraction, accelerator_type=asked_type)

    def why_no_device_is_large_enough(self, options: ResourceOptions) -> str:
        """The reason, as a part of a sentence."""
        asked = bytes_text(options.gpu_memory or 0)
        largest = bytes_text(max(kind.memory_bytes for kind in self.kinds_of_gpus()))
        return f"no GPU here has {asked} of memory (the largest has {largest})"

    def kinds_of_gpus(self) -> list[Kind]:
        """What the nodes tell of their GPUs; [] when none tells."""
        nodes = [node for node in self._snapshot().nodes if node.alive and node.totals.get(_GPU)]
        key = tuple(sorted(node.node_id for node in nodes))
        if self._known[0] == key:
            return self._known[1]
        kinds, all_told = self._asked_kinds(nodes)
        if all_told or kinds:  # where nobody has told yet, somebody will when asked again
            self._known = (key, kinds)
        return kinds

    def _asked_kinds(self, nodes: list[NodeRow]) -> tuple[list[Kind], bool]:
        """Also whether all nodes have answered in time."""
        answers = [(node, self._agent(node.node_id).devices.remote()) for node in nodes]
        refs = [ref for _, ref in answers]
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=FIRST_ANSWER_S) if refs else ([], [])
        smallest: dict[str | None, int] = {}
        for node, ref in answers:
            for sample in ray.get(ref) if ref in ready else ():
                total = sample["metrics"]["memory_total_bytes"]
                if total:
                    kind = type_of(node)
                    smallest[kind] = min(total, smallest.get(kind, total))
        return [Kind(kind, total) for kind, total in smallest.items()], len(ready) == len(refs)
