"""The cluster card that `init()` and `%accel_status` show, as text and as HTML, drawn from a snapshot alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from nbaccel.notebook import experiment_card, parts, run_card, static_tables
from nbaccel.notebook.parts import Html
from nbaccel.views import experiment_snapshot, run_snapshot, tables, wording
from nbaccel.views.snapshot import Snapshot

WAITING_SHOWN = 5  # reasons on the card; further ones are only counted, because thousands of tasks may wait


def mimebundle(snapshot: Snapshot) -> dict[str, str]:
    """The card for `_repr_mimebundle_`: text/plain for terminals and nbconvert, text/html for notebooks."""
    return {"text/plain": text(snapshot), "text/html": html(snapshot)}


def mimebundle_at(snapshot: Snapshot) -> dict[str, str]:
    """The card with its time, because a saved card may be read long after."""
    said = wording.as_of(snapshot.time)
    return {"text/plain": f"{text(snapshot)}\n{said}", "text/html": html(snapshot, said)}


def last_mimebundle(
    snapshot: Snapshot, *, left: bool = False, past: Sequence[Html] = (), used: str = ""
) -> dict[str, str]:
    """The card of a cluster that has ended, or that this notebook has `left`: its devices and the ends of its tasks.

    `past` has what views have asked about the past: it is drawn below; `used` is its line of text.
    """
    head, devices = _last_lines(snapshot, left), _last_devices(snapshot)
    alerts = [
        alert.message for alert in snapshot.alerts if left or alert.kind != "infeasible"
    ]  # nothing waits any more
    lines = [*head, "", tables.as_text(devices)] if devices.rows else head
    lines += [used] if used else []
    lines += [f"attention: {wording.plain(alert)}" for alert in alerts]
    first, *rest = head
    facts = [parts.words(words, strong=not at) for at, words in enumerate(first.split(" · "))]
    shown = [parts.first_line(facts, tables.headline(snapshot)), *map(parts.line, rest)]
    shown += [static_tables.of_table(devices)] if devices.rows else []
    shown += past
    return {"text/plain": "\n".join(lines), "text/html": parts.box([*shown, *map(parts.attention, alerts)])}


def _last_lines(snapshot: Snapshot, left: bool) -> list[str]:
    at = wording.moment(snapshot.time)
    words = f"Left at {at}; the shared cluster runs on" if left else f"Shut down at {at}"
    over = {state: number for state, number in snapshot.counts.items() if state in tables.ENDED}
    under_way = 0 if left else sum(snapshot.counts.values()) - sum(over.values())  # the tasks of other notebooks go on
    done = tables.task_counts(msgspec.structs.replace(snapshot, counts=over))
    first = wording.sentence([words, done, f"{under_way} ended with it" if under_way else ""])
    return [line for line in (first, _had(snapshot)) if line]


def _had(snapshot: Snapshot) -> str:
    models = Counter(tables.device_model(row) for row in snapshot.devices)
    alike = [f"{number} × {model}" for model, number in models.items()] if len(models) == 1 else []
    return f"It had {wording.sentence([tables.resources(snapshot, ended=True), *alike])}." if snapshot.nodes else ""


def _last_devices(snapshot: Snapshot) -> tables.Table:
    """The devices that there were, without holders; none if they are all alike, because a line says so."""
    if len({tables.device_model(row) for row in snapshot.devices}) == 1:
        return tables.Table("Devices", ())
    free = [msgspec.structs.replace(row, holders=[], free_reason="", metrics=None) for row in snapshot.devices]
    table = tables.devices(msgspec.structs.replace(snapshot, devices=free))
    return tables.without_columns(table, {"State", "In use", "Held by", "Memory"})


def text(snapshot: Snapshot) -> str:
    """The card in plain text.

    Example::

        1 of 2 GPUs busy · 1 running
        CPU 1 of 2 free · GPU 1 of 2 free

        Device  Model                 State   In use  Held by
        GPU 0   NVIDIA GPU (logical)  ● held  1       GPUActor (pid 52420, cell [3] line 14)

        nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711
    """
    lines = [line for line in (tables.first_line(snapshot), tables.resources(snapshot)) if line]
    lines += ["", tables.as_text(tables.devices(snapshot))]
    for shown in (run_snapshot.table(snapshot), experiment_snapshot.table(snapshot)):
        lines += ["", tables.as_text(shown)] if shown.rows else []
    lines += [f"◌ {line}" for line in _waiting_lines(snapshot)]
    lines += [f"attention: {wording.plain(alert.message)}" for alert in snapshot.alerts]
    return "\n".join([*lines, "", tables.headline(snapshot)])


def html(snapshot: Snapshot, at: str = "") -> str:
    """The card as HTML; `at` says when it was so. It needs no script and stays correct when it is saved."""
    return parts.box(
        [
            parts.header(tables.busy(snapshot), tables.counted(snapshot), tables.headline(snapshot), at),
            parts.note(tables.resources(snapshot)),
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
