"""Answers to "why does it wait?" and "what would it meet?", in the words of `nbaccel.views.explanations`.

The scheduler's books say what fits and who holds what. `foreign` reports what no book has: device memory that other
processes use.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import Protocol

import msgspec

from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.head.refusal import id_of
from nbaccel.local_engine.head.rows import PidOf
from nbaccel.quantities import UNIT
from nbaccel.scheduling.explain import HolderFact, TaskExplanation
from nbaccel.scheduling.terms import Choice
from nbaccel.views import explanations, wording

MOST_EXPLAINED = 50
TASK_ID_BYTES, GROUP_ID_BYTES = 24, 18


class Foreign(Protocol):
    """Use of the devices from outside of this cluster."""

    def look(self) -> None:
        """Check the devices again, for the next question."""

    def of(self, resources: list[str]) -> list[str]:
        """One line for each device of these resources that others use."""


class NobodyElse:
    """No device is shared with anybody."""

    def look(self) -> None:
        """Nothing to check."""

    def of(self, resources: list[str]) -> list[str]:
        return []


class Reasons:
    """Explains and probes."""

    def __init__(self, records: HeadRecords, pid_of: PidOf, foreign: Foreign) -> None:
        self._scheduler = records.scheduler
        self._actors = records.actors
        self._groups = records.groups
        self._devices = records.nodes.devices  # by node
        self._clock = records.clock
        self._pid_of = pid_of
        self._foreign = foreign

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, what: str | None) -> list[explanations.Explanation]:
        """Explain one task, actor or group by its hex id, or everything that waits. Empty if the id is unknown."""
        self._foreign.look()
        if what is None:
            return self._all()
        id = id_of(what, "a task, an actor or a placement group")
        if id in self._actors:
            return [self._actor(id)]
        group_id = id if len(id) == GROUP_ID_BYTES else self._groups.awaited_by(id[:TASK_ID_BYTES])
        if group_id is not None:
            explanation = self._scheduler.explain_group(group_id, self._clock())
            return [self._row(group_id.hex(), explanation)] if explanation is not None else []
        explanation = self._scheduler.explain(id[:TASK_ID_BYTES], self._clock())
        return [self._row(id[:TASK_ID_BYTES].hex(), explanation)] if explanation is not None else []

    def _all(self) -> list[explanations.Explanation]:
        """The first task of each line, so that no kind of demand is missing, then other tasks, then groups."""
        scheduler, now = self._scheduler, self._clock()
        ids = dict.fromkeys(record.task.task_id for record, _count in scheduler.waiting_shapes())
        ids |= dict.fromkeys(record.task.task_id for record in islice(scheduler.waiting(), MOST_EXPLAINED))
        found = [(id.hex(), scheduler.explain(id, now)) for id in islice(ids, MOST_EXPLAINED)]
        groups = [group for group in scheduler.group_records() if group.state.name != "CREATED"]
        found += [(group.spec.group_id.hex(), scheduler.explain_group(group.spec.group_id, now)) for group in groups]
        return [self._row(id, explanation) for id, explanation in found if explanation is not None]

    def _actor(self, actor_id: bytes) -> explanations.Explanation:
        """Explain an actor: it waits while its constructor waits; later the sentence names its place."""
        entry = self._actors[actor_id]
        creation = self._scheduler.explain(entry.creation.task_id, self._clock())
        if creation is not None and entry.state in ("PENDING_CREATION", "RESTARTING"):
            return msgspec.structs.replace(self._row(actor_id.hex(), creation), state=entry.state)
        name = entry.terms.class_name
        where = wording.device_ids(entry.device_ids or {})
        on, why = (f" on {where}" if where else ""), (f": {entry.why}" if entry.why else "")
        sentence = f"Actor {name} is {entry.state}{on}{why}."
        alive = entry.state == "ALIVE"
        return explanations.Explanation(actor_id.hex(), name, entry.state, sentence, fits_now=alive, ever=alive or None)

    # --- what would it meet ---------------------------------------------------------------------------------------

    def probe(self, choice: Choice) -> explanations.Probe:
        """Whether a task with this demand could start if it were submitted now."""
        self._foreign.look()
        found = self._scheduler.explain_choice(choice, self._clock())
        return self._row("", found).as_probe()

    # --- rows -----------------------------------------------------------------------------------------------------

    def _row(self, id: str, found: TaskExplanation) -> explanations.Explanation:
        resources = found.resources or [name for name in self._device_resources() if name in found.asks]
        foreign = self._foreign.of(resources)
        sentence = found.sentence
        if foreign:
            sentence = f"{sentence.removesuffix('.')}; {'; '.join(foreign)}."
        return explanations.Explanation(
            id=id,
            name=found.name.removesuffix(".__init__"),
            state=found.state,
            sentence=sentence,
            asks=found.asks,
            fits_now=found.fits_now,
            ever=found.ever,
            resources=found.resources,
            fragmented=found.fragmented,
            deadlock=found.deadlock,
            kept=found.kept,
            reason=found.reason,
            holders=[self._holder(fact) for fact in found.holders],
            elsewhere=[*found.elsewhere, *foreign],
            missing=[each.hex() for each in found.missing],
            coming=found.coming,
        )

    def _holder(self, fact: HolderFact) -> explanations.Blocker:
        device = None
        if fact.index is not None:
            device = self._devices[fact.node_id].devices[fact.resource][fact.index].id
        return explanations.Blocker(
            name=fact.name,
            resource=fact.resource,
            amount=fact.amount / UNIT,
            device_id=device,
            cell=fact.cell,
            pid=self._pid(fact),
            since=time.time() - (self._clock() - fact.since),
            task_id=fact.task_id.hex() if fact.task_id else None,
            actor_id=fact.actor_id.hex() if fact.actor_id else None,
            group_id=fact.group_id.hex() if fact.group_id else None,
            for_life=fact.for_life,
            blocked=fact.blocked,
            ending=fact.ending,
            node_id=fact.node_id.hex() if fact.index is not None else "",
        )

    def _pid(self, fact: HolderFact) -> int | None:
        worker_id = b""
        actor = self._actors.get(fact.actor_id) if fact.actor_id else None
        if actor is not None:
            worker_id = actor.worker_id
        elif fact.task_id:
            record = self._scheduler.task_record(fact.task_id)
            worker_id = entry_of(record.task).worker_id if record is not None else b""
        return self._pid_of(worker_id)

    def _device_resources(self) -> list[str]:
        return list(dict.fromkeys(name for offered in self._devices.values() for name in offered.devices))
