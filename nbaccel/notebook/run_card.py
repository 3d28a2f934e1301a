"""The card of a training run, drawn from its RunSnapshot alone, live and in a saved notebook."""

from __future__ import annotations

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
    lines = [run_snapshot.one_line(run, now), run_snapshot.gang_words(run), f"path {wording.plain(run.path)}"]
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
        blocks.note(run_snapshot.gang_words(run)) if run.ranks else blocks.NOTHING,
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
