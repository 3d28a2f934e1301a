"""The card of a cluster that `init()` shows, as text and as HTML, drawn from a snapshot alone: four lines.

They say what the live card says (`views/frame.tsx`): what is busy, what is free, who holds the devices, and the
one thing that is most worth knowing. `view.py` has all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from nbaccel.notebook import blocks, experiment_card, run_card, static_tables
from nbaccel.notebook.blocks import Html
from nbaccel.views import experiment_snapshot, node_tables, palette, run_snapshot, tables, task_lines, totals, wording
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import Alert, DeviceRow, Holder, Snapshot

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
    said = alert_words(alerts)
    lines = [*head, used, f"attention: {said}" if said else ""]
    first, *rest = head
    facts = [blocks.words(words, strong=not at) for at, words in enumerate(first.split(" · "))]
    shown = [blocks.first_line(facts, tables.headline(snapshot)), *map(blocks.line, rest), *past]
    shown += [blocks.attention(said)] if said else []
    return {"text/plain": "\n".join(line for line in lines if line), "text/html": blocks.box(shown)}


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
        devices_text(snapshot),
        most_text(snapshot),
    ]
    return "\n".join(line for line in lines if line)


def html(snapshot: Snapshot, at: str = "") -> str:
    """The card as HTML; `at` says when it was so. It needs no script and stays correct when it is saved."""
    title = tables.headline(snapshot)
    return blocks.box(
        [
            blocks.header(tables.busy(snapshot), tables.counted(snapshot), title, at),
            blocks.note(_second_line(snapshot)),
            devices_html(snapshot),
            most_html(snapshot),
        ]
    )


def _second_line(snapshot: Snapshot) -> str:
    """What else is busy, and how many devices there is no such hardware for: no line of the card names a model."""
    counts = totals.devices(snapshot)
    kinds = {"logical": sum(each.logical for each in counts), "simulated": sum(each.simulated for each in counts)}
    unreal = [wording.count(number, f"{kind} device") for kind, number in kinds.items() if number]
    has = tables.beside_busy(snapshot)
    return wording.sentence([has, *unreal]) if has else tables.headline(snapshot)


# ----
# the card's last two lines, as text and as HTML: who holds the devices, and the one thing that is most worth knowing
#
# The page draws the same (`views/frame.tsx`).


MOST_LISTED = 8  # devices that are told one by one
GROUPS_SHOWN = 8  # names of holders of more devices
CALM = "Nothing waits, and nothing needs attention."
NO_TASK, NO_TASK_CODE = "No task yet. A call makes one:", "f.remote()"


# ---- who holds the devices


@dataclass
class _Held:
    """What a holder has of all devices."""

    name: str
    hue: int
    number: int = 0
    share: float = 0.0

    @property
    def words(self) -> str:
        return self.name if self.number == 1 else f"{self.name} × {self.number}"


@dataclass
class _Holders:
    """The holders of many devices, the largest first, and what nobody here holds."""

    groups: list[_Held] = field(default_factory=list)
    free: int = 0
    taken: int = 0
    gone: int = 0  # with their nodes
    shown: int = 0  # the devices by whose rows holders are told; 0: all

    @property
    def rest(self) -> str:
        """What is not told by name."""
        free, taken = f"{self.free} free" if self.free else "", f"{self.taken} taken by others" if self.taken else ""
        more = f"and {len(self.groups) - GROUPS_SHOWN} more" if len(self.groups) > GROUPS_SHOWN else ""
        shown = f"of {self.shown} shown" if self.shown else ""
        return wording.sentence([more, shown, free, taken, f"{self.gone} gone" if self.gone else ""])


def devices_text(snapshot: Snapshot) -> str:
    """ "GPU 0 ● train · cell [3] · 8 s; GPU 1 ○ free"; of many devices "Held by shard × 128, Model × 2 · 3 free"."""
    shown = _shown(snapshot)
    if not shown:
        return tables.devices(snapshot).empty
    if len(shown) > MOST_LISTED:
        holders = _holders_of(shown, snapshot)
        names = ", ".join(group.words for group in holders.groups[:GROUPS_SHOWN])
        return wording.sentence([f"Held by {names}" if names else "Nobody holds one", holders.rest])
    named = tables.labels_of_devices(snapshot.devices)
    return "; ".join(f"{named[_key(row)]} {_sign(row)} {_who(row, snapshot)}" for row in shown)


def devices_html(snapshot: Snapshot) -> Html:
    """The same with a bar in the holders' colours: for each device, or for many together."""
    shown = _shown(snapshot)
    if not shown:
        return static_tables.devices(snapshot)
    if len(shown) > MOST_LISTED:
        return blocks.paragraph(_many(_holders_of(shown, snapshot), len(shown) + totals.more_devices(snapshot)))
    named = tables.labels_of_devices(snapshot.devices)
    return blocks.strip(_device(row, named[_key(row)], snapshot) for row in shown)


def _device(row: DeviceRow, label: str, snapshot: Snapshot) -> tuple[Html, str]:
    """What is shown of a device, and the same in words, for where it is cut."""
    bar = blocks.bar(static_tables.shares(row, snapshot), width_px=28)
    held = [_holder(holder, snapshot) for holder in row.holders]
    who = blocks.join(held, ", ") if held else blocks.words(_who(row, snapshot), quiet=True)
    return blocks.join([blocks.words(label, strong=True), bar, who]), f"{label}: {_who(row, snapshot)}"


def _holder(holder: Holder, snapshot: Snapshot) -> Html:
    about = "".join(f" · {fact}" for fact in static_tables.holder_facts(holder, snapshot))
    return Html(blocks.words(wording.plain(holder.name)) + (blocks.words(about, quiet=True) if about else ""))


def _many(holders: _Holders, total: int) -> Html:
    total = max(total - holders.gone, 1)
    shares = [(group.share / total, palette.colour(group.hue)) for group in holders.groups]
    shares += [(holders.taken / total, palette.TAKEN)] if holders.taken else []
    names = [
        blocks.key(palette.colour(group.hue), blocks.words(group.words)) for group in holders.groups[:GROUPS_SHOWN]
    ]
    said = blocks.join([blocks.words("Held by" if names else "Nobody holds one"), blocks.join(names, ", ")])
    return blocks.join([blocks.bar(shares, width_px=160), blocks.join([said, blocks.words(holders.rest)], " · ")])


def _shown(snapshot: Snapshot) -> list[DeviceRow]:
    return tables.device_rows(snapshot)


def _key(row: DeviceRow) -> tuple[str, str, str]:
    return row.node_id, row.resource, row.id


def _sign(row: DeviceRow) -> str:
    return tables.device_state(row).partition(" ")[0]


def _who(row: DeviceRow, snapshot: Snapshot) -> str:
    if not row.holders:
        state = tables.device_state(row).partition(" ")[2]
        return f"{state}: {wording.plain(row.free_reason)}" if row.free_reason else state
    return ", ".join(
        wording.sentence([wording.plain(holder.name), *static_tables.holder_facts(holder, snapshot)])
        for holder in row.holders
    )


def _holders_of(shown: Sequence[DeviceRow], snapshot: Snapshot) -> _Holders:
    groups = dict[str, _Held]()
    for row in shown:
        for holder in row.holders:
            if holder.name not in groups:
                hue = HUES.of(static_tables.holder_subject(holder, snapshot))
                groups[holder.name] = _Held(wording.plain(holder.name), hue)
            groups[holder.name].number += 1
            groups[holder.name].share += min(1.0, holder.amount)
    unheld = [row for row in shown if not row.holders]
    states = Counter(tables.device_state(row) for row in unheld)
    ordered = sorted(groups.values(), key=lambda group: -group.number)
    if totals.more_devices(snapshot):
        counts = totals.devices(snapshot)
        free, taken = sum(each.free for each in counts), sum(each.taken for each in counts)
        return _Holders(ordered, free, taken, states[tables.LOST], len(shown))
    return _Holders(ordered, states[tables.FREE], states[tables.TAKEN], states[tables.LOST])


# ---- what is most worth knowing


def most_text(snapshot: Snapshot) -> str:
    """An alert, why a task waits, how far training is, a node that moves; otherwise that there is no such thing."""
    if snapshot.alerts:
        return f"attention: {alert_words(snapshot.alerts)}"
    said = _waits(snapshot) or _under_way_text(snapshot) or node_tables.moving(snapshot)
    return said or (CALM if snapshot.counts else f"{NO_TASK} {NO_TASK_CODE}")


def most_html(snapshot: Snapshot) -> Html:
    """The same as HTML."""
    if snapshot.alerts:
        return blocks.attention(alert_words(snapshot.alerts))
    waits = _waits(snapshot)
    if waits:
        return blocks.line(waits)
    said = _under_way_html(snapshot) or blocks.line(node_tables.moving(snapshot))
    return said or (blocks.note(CALM) if snapshot.counts else blocks.empty(NO_TASK, NO_TASK_CODE))


def alert_words(alerts: Sequence[Alert]) -> str:
    """The first alert, and how many more there are; "" without an alert."""
    return wording.sentence([wording.plain(alerts[0].message), _more(len(alerts) - 1)]) if alerts else ""


def _more(number: int) -> str:
    return f"and {number} more" if number > 0 else ""


def _waits(snapshot: Snapshot) -> str:
    """Why most of the waiting tasks wait: "◌ × 3 train waits 5 s: Both GPUs are busy: …"; "" if none waits."""
    lines, waiting = task_lines.of_snapshot(snapshot), tables.counted(snapshot).get("waiting", 0)
    if not lines:
        return f"◌ {wording.count(waiting, 'waiting task')}" if waiting else ""
    first = lines[0]
    return wording.sentence([f"◌ {first.brief(snapshot.time)}", _more(task_lines.others(snapshot, [first]))])


def _under_way_text(snapshot: Snapshot) -> str:
    """The experiment or run that is under way, in one line."""
    now = snapshot.time
    lines = [experiment_snapshot.one_line(each, now) for each in _experiments(snapshot)]
    return next(iter([*lines, *(run_snapshot.one_line(run, now) for run in _runs(snapshot))]), "")


def _under_way_html(snapshot: Snapshot) -> Html:
    now = snapshot.time
    for each in _experiments(snapshot):
        facts = [experiment_snapshot.trial_words(each), experiment_snapshot.best_words(each)]
        time = experiment_snapshot.time_words(each, now)
        return _one_line(each.name, experiment_card.state(each), [time, *facts])
    for run in _runs(snapshot):
        facts = [run_snapshot.progress_words(run), run_snapshot.metric_words(run)]
        return _one_line(run.name, run_card.state(run), [run_snapshot.time_words(run, now), *facts])
    return blocks.NOTHING


def _one_line(name: str, state: Html, facts: Sequence[str]) -> Html:
    said = blocks.words(wording.sentence(facts), quiet=True)
    return blocks.paragraph(blocks.join([blocks.words(wording.plain(name), strong=True), state, said]))


def _experiments(snapshot: Snapshot) -> list[experiment_snapshot.ExperimentSnapshot]:
    return [each for each in experiment_snapshot.of_snapshot(snapshot) if each.is_under_way]


def _runs(snapshot: Snapshot) -> list[run_snapshot.RunSnapshot]:
    return [run for run in run_snapshot.in_order(run_snapshot.of_snapshot(snapshot)) if run.is_under_way]
