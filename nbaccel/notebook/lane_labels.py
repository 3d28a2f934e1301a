"""What the lanes of the history are called: "GPU 0", "GPU 0 · MIG 3 (1g.5gb)", "node-2 GPU 0" of several nodes."""

from __future__ import annotations

from nbaccel.notebook import parts
from nbaccel.notebook.parts import Html
from nbaccel.views import device_labels, wording
from nbaccel.views.history.book import WITHOUT_DEVICE
from nbaccel.views.history.run import lane_of
from nbaccel.views.node_names import node_names
from nbaccel.views.snapshot import Snapshot


class LaneLabels:
    """The labels of one cluster's lanes; without a snapshot, and for a device that has gone, the lane's own words."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._labels: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._nodes: dict[str, tuple[str, str]] = {}  # by the first digits of their ids: in short, and whole
        if snapshot is None:
            return
        for (node_id, resource, id), label in device_labels.labels(snapshot.devices).items():
            self._labels[lane_of(node_id, resource, id)] = label
        if len(snapshot.nodes) > 1:
            names = node_names(snapshot.nodes)
            self._nodes = {
                lane_of(node.node_id, "", "").partition("/")[0]: (names[node.node_id], wording.plain(node.name))
                for node in snapshot.nodes
            }
        self._places = {lane: place for place, lane in enumerate(self._labels)}

    def place(self, lane: str) -> int:
        """The place of a lane's device among all; those that have gone come first."""
        return self._places.get(lane, -1)

    def of(self, lane: str) -> str:
        """The words of a lane."""
        node, _whole = self._node(lane)
        return f"{node} {self._device(lane)}".strip()

    def drawn(self, lane: str) -> Html:
        """The same, with the whole name of the node in its title."""
        node, whole = self._node(lane)
        named = parts.words(node, quiet=True, title=whole) if node else parts.NOTHING
        return parts.join([named, parts.words(self._device(lane), strong=True)])

    def _node(self, lane: str) -> tuple[str, str]:
        return self._nodes.get(lane.partition("/")[0], ("", ""))

    def _device(self, lane: str) -> str:
        if lane == WITHOUT_DEVICE:
            return "CPU"
        return self._labels.get(lane) or wording.plain(" ".join(lane.split("/", 2)[1:]))
