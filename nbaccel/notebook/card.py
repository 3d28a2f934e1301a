"""The card of a cluster that `init()` shows, as text and as HTML, drawn from a snapshot alone: four lines.

They say what the live card says (`cockpit/draw_card.js`): what is busy, what is free, who holds the devices, and the
one thing that is most worth knowing. `status_card.py` has all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from nbaccel.notebook import card_lines, parts
from nbaccel.notebook.parts import Html
from nbaccel.views import tables, totals, wording
from nbaccel.views.snapshot import Snapshot

End = Literal["shut down", "left", "died"]  # of a cluster, as this notebook sees it


def mimebundle(snapshot: Snapshot) -> dict[str, str]:
    """The card for `_repr_mimebundle_`: text/plain for terminals and nbconvert, text/html for notebooks."""
    return {"text/plain": text(snapshot), "text/html": html(snapshot)}


def mimebundle_at(snapshot: Snapshot) -> dict[str, str]:
    """The card with its time, because a saved card may be read long after."""
    said = wording.as_of(snapshot.time)
    return {"text/plain": f"{text(snapshot)}\n{said}", "text/html": html(snapshot, said)}


def last_mimebundle(
    snapshot: Snapshot, how: End = "shut down", *, past: Sequence[Html] = (), used: str = ""
) -> dict[str, str]:
    """The card of a cluster that has ended, or that this notebook has left: what it had, and the ends of its tasks.

    `past` has what views have asked about the past: it is drawn below; `used` is its line of text.
    """
    head = _last_lines(snapshot, how)
    alerts = [each for each in snapshot.alerts if how == "left" or each.kind != "infeasible"]  # nothing waits any more
    said = card_lines.alert_words(alerts)
    lines = [*head, used, f"attention: {said}" if said else ""]
    first, *rest = head
    facts = [parts.words(words, strong=not at) for at, words in enumerate(first.split(" · "))]
    shown = [parts.first_line(facts, tables.headline(snapshot)), *map(parts.line, rest), *past]
    shown += [parts.attention(said)] if said else []
    return {"text/plain": "\n".join(line for line in lines if line), "text/html": parts.box(shown)}


def _last_lines(snapshot: Snapshot, how: End) -> list[str]:
    words = {
        "shut down": "Shut down at {}",
        "left": "Left at {}; the shared cluster runs on",
        "died": "Its head has gone; this was known at {}",
    }[how].format(wording.moment(snapshot.time))
    over = {state: number for state, number in snapshot.counts.items() if state in tables.ENDED}
    # Of a cluster that was left, the tasks of other notebooks go on.
    under_way = 0 if how == "left" else sum(snapshot.counts.values()) - sum(over.values())
    done = tables.task_counts(msgspec.structs.replace(snapshot, counts=over))
    first = wording.sentence([words, done, f"{under_way} ended with it" if under_way else ""])
    return [line for line in (first, _had(snapshot)) if line]


def _had(snapshot: Snapshot) -> str:
    """ "It had CPU 2 · GPU 2 · 2 × NVIDIA A100.": its resources, and the models of its devices."""
    models = Counter(tables.device_model(row) for row in snapshot.devices)
    told = [] if totals.more_devices(snapshot) else [f"{number} × {model}" for model, number in models.items()]
    return f"It had {wording.sentence([tables.resources(snapshot, ended=True), *told])}." if snapshot.nodes else ""


def text(snapshot: Snapshot) -> str:
    """The card in plain text.

    Example::

        1 of 2 GPUs busy · 1 running
        1 of 2 CPUs busy · 2 logical devices
        GPU 0 ● train · cell [3] line 14 · 8 s; GPU 1 ○ free
        Nothing waits, and nothing needs attention.
    """
    lines = [
        tables.first_line(snapshot),
        _second_line(snapshot),
        card_lines.devices_text(snapshot),
        card_lines.most_text(snapshot),
    ]
    return "\n".join(line for line in lines if line)


def html(snapshot: Snapshot, at: str = "") -> str:
    """The card as HTML; `at` says when it was so. It needs no script and stays correct when it is saved."""
    title = tables.headline(snapshot)
    return parts.box(
        [
            parts.header(tables.busy(snapshot), tables.counted(snapshot), title, at),
            parts.note(_second_line(snapshot)),
            card_lines.devices_html(snapshot),
            card_lines.most_html(snapshot),
        ]
    )


def _second_line(snapshot: Snapshot) -> str:
    """What else is busy, and how many devices there is no such hardware for: no line of the card names a model."""
    counts = totals.devices(snapshot)
    kinds = {"logical": sum(each.logical for each in counts), "simulated": sum(each.simulated for each in counts)}
    unreal = [wording.count(number, f"{kind} device") for kind, number in kinds.items() if number]
    has = tables.beside_busy(snapshot)
    return wording.sentence([has, *unreal]) if has else tables.headline(snapshot)
