"""All about the cluster, as text and as HTML: `%accel_status`, and what a notebook keeps of the open cockpit.

The card (`card.py`) is its short form.
"""

from __future__ import annotations

from nbaccel.notebook import experiment_card, parts, run_card, static_tables
from nbaccel.views import experiment_snapshot, run_snapshot, tables, wording
from nbaccel.views.snapshot import Snapshot

WAITING_SHOWN = 5  # reasons that are told; further ones are only counted, because thousands of tasks may wait


def mimebundle_at(snapshot: Snapshot) -> dict[str, str]:
    """Text and HTML with their time, because they may be read long after."""
    said = wording.as_of(snapshot.time)
    return {"text/plain": f"{text(snapshot)}\n{said}", "text/html": html(snapshot, said)}


def text(snapshot: Snapshot) -> str:
    """Plain text.

    Example::

        1 of 2 GPUs busy · 1 running
        1 of 2 CPUs busy

        Device  Model                 State   In use  Held by
        GPU 0   NVIDIA GPU (logical)  ● held  1       GPUActor (pid 52420, cell [3] line 14)

        nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711
    """
    lines = [line for line in (tables.first_line(snapshot), tables.beside_busy(snapshot)) if line]
    lines += ["", tables.as_text(tables.devices(snapshot))]
    for shown in (run_snapshot.table(snapshot), experiment_snapshot.table(snapshot)):
        lines += ["", tables.as_text(shown)] if shown.rows else []
    lines += [f"◌ {line}" for line in _waiting_lines(snapshot)]
    lines += [f"attention: {wording.plain(alert.message)}" for alert in snapshot.alerts]
    return "\n".join([*lines, "", tables.headline(snapshot)])


def html(snapshot: Snapshot, at: str = "") -> str:
    """HTML; `at` says when it was so. It needs no script and stays correct when it is saved."""
    return parts.box(
        [
            parts.header(tables.busy(snapshot), tables.counted(snapshot), tables.headline(snapshot), at),
            parts.note(tables.beside_busy(snapshot)),
            static_tables.devices(snapshot, tiled=True),
            run_card.table(snapshot),
            experiment_card.table(snapshot),
            *(parts.line(f"◌ {line}") for line in _waiting_lines(snapshot)),
            *(parts.attention(wording.plain(alert.message)) for alert in snapshot.alerts),
        ]
    )


def _waiting_lines(snapshot: Snapshot) -> list[str]:
    """Why tasks wait: one line for alike tasks, and how many more tasks wait."""
    untold = tables.waiting_untold(snapshot, snapshot.alerts)
    told = sum(number for _, number in tables.waiting_alike(snapshot)) - sum(number for _, number in untold)
    groups = untold[:WAITING_SHOWN]
    lines = [tables.waiting_line(row, number) for row, number in groups]
    waiting = tables.counted(snapshot).get("waiting", 0)
    more = max(waiting, len(tables.waiting(snapshot))) - told - sum(number for _, number in groups)
    return [*lines, f"and {wording.count(more, 'more task')}"] if more > 0 else lines
