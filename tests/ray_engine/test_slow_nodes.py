"""What nodes tell of their devices' memory, where their first answer takes too long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from nbaccel.handles.options import task_options
from nbaccel.ray_engine.reports import device_rows
from nbaccel.views.snapshot import NodeRow, Runtime, Snapshot


class Cluster:
    """One node with a GPU of 40 GiB; stands for Ray and for the service actor on the node."""

    def __init__(self) -> None:
        self.answers = False
        self.devices = SimpleNamespace(remote=lambda: "ref")

    def take(self) -> Snapshot:
        node = NodeRow("5f" * 28, "head", True, True, {"GPU": 1.0}, {"GPU": 1.0})
        return Snapshot(Runtime("ray", "0", "3"), nodes=[node])

    def agent(self, node_id: str) -> Any:
        return self

    def wait(self, refs: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        return (refs, []) if self.answers else ([], refs)

    def get(self, ref: str) -> list[dict[str, Any]]:
        return [{"metrics": {"memory_total_bytes": 40 << 30}}]


def test_a_node_that_answers_too_late_once_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    monkeypatch.setattr(device_rows, "ray", cluster)
    memory = device_rows.DeviceMemory(cluster.take, cluster.agent)
    options = task_options(gpu_memory="10GiB")
    with pytest.raises(ValueError, match="no node of this cluster knows"):
        memory.in_fractions(options)
    cluster.answers = True
    told = memory.in_fractions(options)
    assert told is not None and told.num_gpus == 0.25
    cluster.answers = False  # what is known need not be asked again
    assert memory.in_fractions(options) == told
