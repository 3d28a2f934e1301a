"""The card of a training run, drawn from its RunSnapshot alone, live and in a saved notebook."""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from nbaccel.notebook import blocks, curves
from nbaccel.notebook.blocks import Html
from nbaccel.views import palette, run_snapshot, wording
from nbaccel.views.run_snapshot import RUN_SIGNS, CheckpointTick, RankDot, RunSnapshot
from nbaccel.views.snapshot import Snapshot

MOST_DOTS = 16  # more ranks than this are counted instead
MOST_POINTS = 64  # of a drawn curve: it is some 200 pixels wide


def mimebundle(run: RunSnapshot, now: float) -> dict[str, str]:
    """The card as text and as HTML."""
    return {"text/plain": text(run, now), "text/html": html(run, now)}


def text(run: RunSnapshot, now: float) -> str:
    """The card in plain text."""
    lines = [run_snapshot.one_line(run, now), run_snapshot.worker_words(run), f"path {wording.plain(run.path)}"]
    lines += [f"{run_snapshot.load_words(run)} {wording.plain(run.load)}"] if run.load else []
    return "\n".join([*lines, _as_of(run, now)])


def html(run: RunSnapshot, now: float) -> str:
    """The card as HTML; it needs nothing else and stays correct when it is saved."""
    return blocks.box(_shown(run, now))


def _shown(run: RunSnapshot, now: float) -> list[Html]:
    checkpoints = run_snapshot.checkpoint_words(run)
    best = run_snapshot.best_of(run)
    return [
        blocks.paragraph(
            blocks.join(
                [
                    Html(f"{state(run)} {blocks.words(run.name, strong=True)}"),
                    blocks.words(run_snapshot.time_words(run, now)),
                    blocks.words(run_snapshot.progress_words(run)),
                ],
                " · ",
            ),
            kind="header",
        ),
        blocks.note(run_snapshot.worker_words(run)) if run.ranks else blocks.NOTHING,
        _why(run),
        _ranks(run),
        _curves(run, best),
        blocks.line(f"{checkpoints}, marked ★" if best is not None and run.curves else checkpoints),
        blocks.empty(run_snapshot.load_words(run), run.load) if run.load else blocks.NOTHING,
        blocks.note(wording.plain(run.path)),
        blocks.note(how_on(run)),
        blocks.note(_as_of(run, now)),
    ]


def state(run: RunSnapshot) -> Html:
    """Its shape and its word; one that runs has its colour."""
    return _dot(run.state, run.name)


def _dot(state: str, name: str, id: str = "") -> Html:
    """A state's shape and word; a running rank has a shade of the run's colour."""
    colour = {"failed": palette.FAILURE, "running": palette.colour(palette.HUES.of(name), id)}.get(
        state, palette.WAITING
    )
    return Html(
        f'<span class="nbaccel-pill">{blocks.sign(RUN_SIGNS.get(state, "◌"), colour)} {blocks.words(state)}</span>'
    )


def _why(run: RunSnapshot) -> Html:
    if not run.why:
        return blocks.NOTHING
    return blocks.attention(wording.plain(run.why)) if run.state == "failed" else blocks.line(wording.plain(run.why))


def _ranks(run: RunSnapshot) -> Html:
    """A dot for each rank; for many ranks, the number in each state."""
    if len(run.ranks) > MOST_DOTS:
        return blocks.line(f"ranks: {run_snapshot.rank_counts(run.ranks, run.workers)}")
    return blocks.paragraph(blocks.join([_rank(each, run.name) for each in run.ranks], " · "))


def _rank(rank: RankDot, name: str) -> Html:
    devices = wording.device_ids(rank.devices)
    about = wording.sentence([f"pid {rank.pid}" if rank.pid else "", devices, rank.node])
    report = "" if rank.report is None else f", report {rank.report}"
    said = blocks.words(f"rank {rank.rank}", title=about)
    return Html(f"{said} {_dot(rank.state, name, f'rank {rank.rank}')}{blocks.words(report, quiet=True)}")


def _curves(run: RunSnapshot, best: CheckpointTick | None) -> Html:
    """A small drawing for each metric that was reported more than once, beside each other where there is room."""
    marks = curves.Marks([each.report for each in run.checkpoints], None if best is None else best.report)
    colour = palette.colour(palette.HUES.of(run.name))
    several = [
        curves.Series(wording.plain(each.name), run_snapshot.few_points(each.points, MOST_POINTS), colour)
        for each in run.curves
        if len(each.points) > 1
    ]
    if not several:
        return blocks.NOTHING
    look = "display:inline-block;vertical-align:top;margin:4px 16px 4px 0;max-width:100%"
    drawn = "".join(f'<div style="{look}">{curves.small(each, x="report", marks=marks)}</div>' for each in several)
    return Html(drawn + curves.table("Metrics", several, "report"))


def how_on(run: RunSnapshot) -> str:
    """How to stop a run that is under way, or to resume one that has not finished."""
    if run.is_under_way:
        return "Stop: the notebook's Stop button, or run.stop(), once for after the next report, again to interrupt it"
    if run.state == "finished":
        return ""
    start = f"from {run.checkpoints[-1].name}" if run.checkpoints else "from its beginning, since it has no checkpoint"
    return f"Resume: run the cell again; a run of the same name goes on {start}"


def _as_of(run: RunSnapshot, now: float) -> str:
    return f"as of {wording.moment(now)}" if run.is_under_way else ""


# ---- rows of the cluster's card


def table(snapshot: Snapshot) -> Html:
    """A row for each run of the cluster; "" without a run."""
    runs = run_snapshot.in_order(run_snapshot.of_snapshot(snapshot))
    if not runs:
        return blocks.NOTHING
    heads = [[blocks.name_cell(run.name), state(run)] for run in runs]
    return blocks.table_with(heads, run_snapshot.table(snapshot))


# ---- shows the cards of runs and of experiments: a card has an id, by which the front end updates its copies
#
# Where a page puts live views into places, the card of what is under way is such a place: the cockpit's module draws it
# there, with Stop. Below the live view is the card as a picture, which the notebook's file keeps. It is sent when the
# state changes, and else every `PICTURE_S`, so that a saved or reloaded notebook does not show an older state.


RUNS_REMEMBERED = 100
PICTURE_S = 10.0  # how old the picture below a live view may become while something changes
_NAME = re.compile(r"[\w-]+")
Send = Callable[[str, dict[str, Any], dict[str, Any]], None]  # message type, content, parent


class _HasId(Protocol):
    """What has a card."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def is_under_way(self) -> bool: ...


Shown = TypeVar("Shown", bound=_HasId)


class RunCards(Generic[Shown]):
    """The cards of the runs of one kernel, or of its experiments. `send` publishes for a cell, from any thread.

    `parent_now` gives the parent of the running cell; `draw` makes a card at a time; `place_now` gives the CSS class of
    the page's places for live views, "" if it has none.
    """

    def __init__(
        self,
        send: Send,
        parent_now: Callable[[], bytes],
        draw: Callable[[Shown, float], dict[str, str]],
        clock: Callable[[], float] = time.time,
        place_now: Callable[[], str] = str,
    ) -> None:
        self._send = send
        self._parent_now = parent_now
        self._draw = draw
        self._clock = clock
        self._place_now = place_now
        self._sent: dict[str, tuple[str, str, float]] = {}  # run's id -> the state, the place and when it was sent
        self._parents: OrderedDict[str, dict[str, Any]] = OrderedDict()  # run's id -> the cell in which it began

    def run(self, snapshot: Shown) -> None:
        """Show a run under the running cell, or update its cards."""
        parent = self._parents.get(snapshot.id)
        place = self._place_of(snapshot)
        state, sent_to, sent_at = self._sent.get(snapshot.id, ("", "", 0.0))
        if place and (state, sent_to) == (snapshot.state, place) and self._clock() < sent_at + PICTURE_S:
            return  # the page draws it
        if parent is None:
            self.show(snapshot)
        else:
            self._send("update_display_data", self._content(snapshot), parent)

    def show(self, snapshot: Shown) -> None:
        """Show a run under the running cell, even if it is shown elsewhere."""
        parent = self._parent_now()
        place = json.loads(parent) if parent else {}
        self._parents.setdefault(snapshot.id, place)
        if len(self._parents) > RUNS_REMEMBERED:
            self._sent.pop(self._parents.popitem(last=False)[0], None)
        self._send("display_data", self._content(snapshot), place)

    def is_known(self, id: str) -> bool:
        """Whether it is shown under some cell."""
        return id in self._parents

    def is_here(self, id: str) -> bool:
        """Whether a run has its first card under the running cell."""
        parent = self._parent_now()
        return bool(parent) and self._parents.get(id) == json.loads(parent)

    def _content(self, snapshot: Shown) -> dict[str, Any]:
        now = self._clock()
        data = self._draw(snapshot, now)
        place = self._place_of(snapshot)
        self._sent[snapshot.id] = snapshot.state, place, now
        if place:
            data = live_bundle(place, data, details=False, of=snapshot.id, at=snapshot.id)
        return {"data": data, "metadata": {}, "transient": {"display_id": f"nbaccel-{snapshot.id}"}}

    def _place_of(self, snapshot: Shown) -> str:
        """The class of its place; "" if it is no live view."""
        return self._place_now() if snapshot.is_under_way else ""


# ---- the output that is a place for a live view: plain HTML whose classes tell the page what to draw over it


def live_bundle(key: str, card: dict[str, str], *, details: bool, of: str = "", at: str = "") -> dict[str, str]:
    """The output that reserves a place for views of the model with this key: `of` one run or experiment, or of all.

    `at` names the output: if its picture is drawn anew, the page's live view stays.
    """
    opens = (" nbaccel-details" if details else "") + (f" nbaccel-of-{of}" if of else "")
    named = f" nbaccel-at-{at}" if at else ""
    return {**card, "text/html": f'<div class="nbaccel-place {key}{opens}{named}">{card["text/html"]}</div>'}


def place_key(model: str, session: str) -> str:
    """The classes of a place: of the model that draws there, and of the head, which the Jupyter server can ask too."""
    return f"{model} nbaccel-head-{session}" if _NAME.fullmatch(session) else model
