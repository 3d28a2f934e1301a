"""The timeline of a saved notebook: the picture that the page has drawn of it, and a table of the same runs.

The table stands alone where no page has drawn one, as in `%accel_timeline`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbaccel.notebook import blocks, page_pictures, static_tables
from nbaccel.notebook.blocks import Html
from nbaccel.views import palette, tables, wording
from nbaccel.views.history.answers import RunKind, RunsAnswer
from nbaccel.views.history.book import WITHOUT_DEVICE, lane_of
from nbaccel.views.node_tables import node_names
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Snapshot

MOST_ROWS = 64
MOST_NAMES = 8  # of the colours' names below the picture
NOTHING = "No task has run yet. Each device and function has a row here: f.remote()"
_COLUMNS = ("Lane", "Task", "State", "Runs", "Took in all", "From", "To")


@dataclass(slots=True)
class Runs:
    """The runs of one function on one device that ended alike. Times are seconds since the answer's origin."""

    kind: RunKind
    lane: str
    number: int = 0
    took_s: float = 0.0
    begin: float = float("inf")
    end: float = 0.0
    is_merged: bool = False  # the time between runs is included
    is_mixed: bool = False  # some are of other functions

    @property
    def name(self) -> str:
        return wording.plain(self.kind.function) + (" and others" if self.is_mixed else "")

    def add(self, start: float, took_s: float, number: int) -> None:
        self.number += number
        self.took_s += took_s
        self.begin, self.end = min(self.begin, start), max(self.end, start + took_s)
        self.is_merged = self.is_merged or number > 1


def table(answer: RunsAnswer, snapshot: Snapshot | None = None, cell: str = "") -> tables.Table:
    """A row for the runs of each function on each device, or for those of one of this notebook's cells: "3"."""
    found = _runs(answer, snapshot, cell)
    labels = LaneLabels(snapshot)
    first = min((each.begin for each in found), default=0.0)
    rows = [_row(each, labels.of(each.lane), first) for each in found[:MOST_ROWS]]
    more = f"and {wording.count(len(found) - MOST_ROWS, 'more row')}" if len(found) > MOST_ROWS else ""
    return tables.Table("Timeline", _COLUMNS, rows, NOTHING, more)


def sections(answer: RunsAnswer, snapshot: Snapshot, pictures: Html = blocks.NOTHING) -> list[Html]:
    """The pictures with their colours' names and the table; the table alone without pictures."""
    drawn = Html(pictures + _names(_runs(answer, snapshot, ""))) if pictures else blocks.NOTHING
    return page_pictures.with_table(drawn, [static_tables.of_table(table(answer, snapshot))])


def _row(runs: Runs, label: str, first: float) -> tuple[str, ...]:
    word = tables.state_word(runs.kind.state)
    state = "" if runs.is_mixed else f"{blocks.SIGNS.get(word, '◌')} {word}"
    took = f"{'within ' if runs.is_merged else ''}{runs.took_s:.2f} s"
    return label, runs.name, state, str(runs.number), took, f"{runs.begin - first:.2f} s", f"{runs.end - first:.2f} s"


def _runs(answer: RunsAnswer, snapshot: Snapshot | None, cell: str) -> list[Runs]:
    """By devices, in the order of the snapshot: those that have gone come first, and what needed none last."""
    own = {0, snapshot.runtime.job} if snapshot is not None else {0}  # a page is told 0
    kinds = {kind.index: kind for kind in answer.kinds if not cell or _is_of(kind, cell, own)}
    found: dict[tuple[str, str, str, bool], Runs] = {}
    for lane, (index, start_ms, took_ms, number) in _bars(answer):
        kind = kinds.get(index)
        if kind is not None:
            key = lane, kind.function, kind.state, number < 0
            runs = found.setdefault(key, Runs(kind, lane, is_mixed=number < 0))
            runs.add(start_ms / 1000, took_ms / 1000, abs(number))
    labels = LaneLabels(snapshot)
    order = {key: (key[0] == WITHOUT_DEVICE, labels.place(key[0]), key) for key in found}
    return [found[key] for key in sorted(found, key=order.__getitem__)]


def _bars(answer: RunsAnswer) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    for lane in (*answer.ended, *answer.running):
        for kind, start_ms, took_ms, *rest in lane.bars:
            yield answer.lanes[lane.lane], (kind, start_ms, took_ms, rest[0] if rest else 1)


def _is_of(kind: RunKind, cell: str, own: set[int]) -> bool:
    return kind.job in own and wording.plain(kind.cell).partition(" ")[0] == f"[{cell.strip('[]')}]"


def _names(found: list[Runs]) -> Html:
    """Whose colours these are, those with the most runs first."""
    numbers: dict[str, int] = {}
    for runs in found:
        numbers[runs.kind.function] = numbers.get(runs.kind.function, 0) + runs.number
    named = []
    for function in sorted(numbers, key=lambda each: -numbers[each])[:MOST_NAMES]:
        name, number = wording.plain(function), numbers[function]
        said = blocks.words(f"{name} × {number}" if number > 1 else name, title=name)
        named.append(blocks.key(palette.colour(HUES.of(palette.owner(function))), said))
    return blocks.paragraph(blocks.join(named, " · "), kind="small")


# ---- what the lanes of the history are called: "GPU 0", "GPU 0 · MIG 3 (1g.5gb)", "node-2 GPU 0" of several nodes


class LaneLabels:
    """The labels of one cluster's lanes; without a snapshot, and for a device that has gone, the lane's own words."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._labels: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._nodes: dict[str, tuple[str, str]] = {}  # by the first digits of their ids: in short, and whole
        if snapshot is None:
            return
        for (node_id, resource, id), label in tables.labels_of_devices(snapshot.devices).items():
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
        named = blocks.words(node, quiet=True, title=whole) if node else blocks.NOTHING
        return blocks.join([named, blocks.words(self._device(lane), strong=True)])

    def _node(self, lane: str) -> tuple[str, str]:
        return self._nodes.get(lane.partition("/")[0], ("", ""))

    def _device(self, lane: str) -> str:
        if lane == WITHOUT_DEVICE:
            return "CPU"
        return self._labels.get(lane) or wording.plain(" ".join(lane.split("/", 2)[1:]))
