"""What the lanes of the history are called: "GPU 0", "GPU 0 · MIG 3 (1g.5gb)", "node-2 GPU 0" of several nodes."""

from __future__ import annotations

from nbaccel.views import device_labels, wording
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.run import lane_of
from nbaccel.views.snapshot import Snapshot


class LaneLabels:
    """The labels of one cluster's lanes; without a snapshot, and for a device that has gone, the lane's own words."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._labels: dict[str, str] = {}
        self._places: dict[str, int] = {}
        if snapshot is None:
            return
        nodes = {node.node_id: wording.plain(node.name) for node in snapshot.nodes}
        for (node_id, resource, id), label in device_labels.labels(snapshot.devices).items():
            node = nodes.get(node_id, "") if len(nodes) > 1 else ""
            self._labels[lane_of(node_id, resource, id)] = f"{node} {label}".strip()
        self._places = {lane: place for place, lane in enumerate(self._labels)}

    def place(self, lane: str) -> int:
        """The place of a lane's device among all; those that have gone come first."""
        return self._places.get(lane, -1)

    def of(self, lane: str) -> str:
        if lane == WITHOUT_DEVICE:
            return "CPU"
        known = self._labels.get(lane)
        return known if known is not None else wording.plain(" ".join(lane.split("/", 2)[1:]))
