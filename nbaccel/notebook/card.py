"""The cluster card: what `init()` and `%accel_status` show, as text and as HTML, drawn from a snapshot alone."""

from __future__ import annotations

from nbaccel import tables, wording
from nbaccel.notebook import markup
from nbaccel.snapshot import Snapshot

WAITING_SHOWN = 5  # reasons on the card; the rest is a count, since ten thousand tasks may wait


def mimebundle(snapshot: Snapshot) -> dict[str, str]:
    """The card for `_repr_mimebundle_`: text/plain for terminals and nbconvert, text/html for notebooks."""
    return {"text/plain": text(snapshot), "text/html": html(snapshot)}


def text(snapshot: Snapshot) -> str:
    """The card in plain text.

    Example::

        nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711
        CPU 1 of 2 free · GPU 0 of 2 free

        Device  Model                 State   In use  Held by
        GPU 0   NVIDIA GPU (logical)  ● held  1       GPUActor (pid 52420, cell [3] line 14)
    """
    head = [tables.headline(snapshot), tables.resources(snapshot), tables.task_counts(snapshot)]
    lines = [line for line in head if line]
    lines += ["", tables.as_text(tables.devices(snapshot))]
    lines += [f"waiting: {line}" for line in _waiting_lines(snapshot)]
    lines += [f"attention: {wording.plain(alert.message)}" for alert in snapshot.alerts]
    return "\n".join(lines)


def html(snapshot: Snapshot) -> str:
    """The card as HTML: complete in itself, true when it is saved, without a script."""
    return markup.box(
        [
            markup.title(tables.headline(snapshot)),
            markup.paragraph(tables.resources(snapshot)),
            markup.paragraph(tables.task_counts(snapshot)),
            markup.table(tables.devices(snapshot)),
            *(markup.paragraph(f"waiting: {line}") for line in _waiting_lines(snapshot)),
            *(markup.alert(alert.message) for alert in snapshot.alerts),
        ]
    )


def _waiting_lines(snapshot: Snapshot) -> list[str]:
    waiting = tables.waiting(snapshot)
    lines = [tables.waiting_line(row) for row in waiting[:WAITING_SHOWN]]
    number = sum(count for state, count in snapshot.counts.items() if tables.state_word(state) == "waiting")
    more = max(number, len(waiting)) - len(lines)
    return [*lines, f"and {wording.count(more, 'more task')}"] if more > 0 else lines
