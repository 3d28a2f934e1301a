"""The head's answers to "why does it wait?" and "what would it meet?", in the words of `nbaccel.views.explanations`.

The scheduler's books say what fits and who holds what. The devices themselves are asked for what no book has: memory
that processes of others have taken. A question never waits for that; it is answered with what was seen last, and the
devices are looked at again for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from nbaccel import proc
from nbaccel.accelerators.metrics import DeviceMetrics
from nbaccel.quantities import UNIT
from nbaccel.scheduling.explain import Explanation, HolderFact
from nbaccel.scheduling.terms import Choice
from nbaccel.views import explanations, wording

if TYPE_CHECKING:
    from nbaccel.local_engine.head.devices.device_looks import Look
    from nbaccel.local_engine.head.devices.nodes import Nodes
    from nbaccel.local_engine.head.records import ActorEntry, WorkerProcess
    from nbaccel.scheduling.scheduler import Scheduler

MOST_EXPLAINED = 50
FOREIGN_BYTES = 512 << 20  # less than this of a device's memory is no reason for anything
LOOK_AGAIN_S = 1.0
TASK_ID_BYTES, GROUP_ID_BYTES = 24, 18


class Reasons:
    """Explains and probes for one head."""

    def __init__(
        self,
        scheduler: Scheduler,
        nodes: Nodes,
        actors: Mapping[bytes, ActorEntry],
        workers: Mapping[bytes, WorkerProcess],
        *,
        is_ours: Callable[[int], bool],
        look: Look,
        look_at_leases: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._nodes = nodes
        self._actors = actors
        self._workers = workers
        self._is_ours = is_ours  # whether a process of this pid is a worker
        self._look_at = look
        self._look_at_leases = look_at_leases
        self._seen: dict[str, DeviceMetrics] = {}  # device -> its memory and processes, when last looked at
        self._looked_at = 0.0

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, what: str | None) -> list[explanations.Explanation]:
        """Of one thing by its hex id, or of everything that waits; empty when the id is not known."""
        self._look()
        if what is None:
            return self._all()
        id = bytes.fromhex(what)
        if id in self._actors:
            return [self._actor(id)]
        if len(id) == GROUP_ID_BYTES:
            explanation = self._scheduler.explain_group(id, time.monotonic())
            return [self._row(what, explanation)] if explanation is not None else []
        explanation = self._scheduler.explain(id[:TASK_ID_BYTES], time.monotonic())
        return [self._row(id[:TASK_ID_BYTES].hex(), explanation)] if explanation is not None else []

    def _all(self) -> list[explanations.Explanation]:
        """The first of each line, so that no kind of demand is missing, then others, then groups."""
        scheduler, now = self._scheduler, time.monotonic()
        ids = dict.fromkeys(record.task.task_id for record, _count in scheduler.waiting_shapes())
        ids |= dict.fromkeys(record.task.task_id for record in islice(scheduler.waiting(), MOST_EXPLAINED))
        found = [(id.hex(), scheduler.explain(id, now)) for id in islice(ids, MOST_EXPLAINED)]
        groups = [group for group in scheduler.group_records() if group.state.name != "CREATED"]
        found += [(group.spec.group_id.hex(), scheduler.explain_group(group.spec.group_id, now)) for group in groups]
        return [self._row(id, explanation) for id, explanation in found if explanation is not None]

    def _actor(self, actor_id: bytes) -> explanations.Explanation:
        """An actor waits while its constructor does; afterwards it says where it is."""
        entry = self._actors[actor_id]
        creation = self._scheduler.explain(entry.creation.task_id, time.monotonic())
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
        """What a task that asks for this would meet, were it submitted now."""
        self._look()
        found = self._scheduler.explain_choice(choice, time.monotonic())
        return self._row("", found).as_probe()

    # --- rows -----------------------------------------------------------------------------------------------------

    def _row(self, id: str, found: Explanation) -> explanations.Explanation:
        resources = found.resources or [name for name in self._device_resources() if name in found.asks]
        foreign = self._foreign(resources)
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
        )

    def _holder(self, fact: HolderFact) -> explanations.Blocker:
        device = None
        if fact.index is not None:
            device = self._nodes.device(fact.node_id, fact.resource, fact.index).id
        return explanations.Blocker(
            name=fact.name,
            resource=fact.resource,
            amount=fact.amount / UNIT,
            device_id=device,
            cell=fact.cell,
            pid=self._pid(fact),
            since=time.time() - (time.monotonic() - fact.since),
            task_id=fact.task_id.hex() if fact.task_id else None,
            actor_id=fact.actor_id.hex() if fact.actor_id else None,
            group_id=fact.group_id.hex() if fact.group_id else None,
            for_life=fact.for_life,
            blocked=fact.blocked,
            ending=fact.ending,
        )

    def _pid(self, fact: HolderFact) -> int | None:
        worker_id = b""
        actor = self._actors.get(fact.actor_id) if fact.actor_id else None
        if actor is not None:
            worker_id = actor.worker_id
        elif fact.task_id:
            record = self._scheduler.task_record(fact.task_id)
            worker_id = record.task.payload.worker_id if record is not None else b""
        worker = self._workers.get(worker_id)
        return worker.pid if worker is not None else None

    # --- memory of others -----------------------------------------------------------------------------------------

    def _device_resources(self) -> list[str]:
        return list(self._nodes.devices[self._nodes.node_id].devices) if self._nodes.devices else []

    def _look(self) -> None:
        now = time.monotonic()
        devices = self._nodes.real()
        if devices:  # other heads may have taken some since we last tried to
            self._look_at_leases()
        if not devices or now < self._looked_at + LOOK_AGAIN_S:
            return
        self._looked_at = now

        def seen(metrics: list[DeviceMetrics] | None) -> None:
            pairs = zip(devices, metrics or [], strict=False)
            self._seen.update((device.lease_key, each) for device, each in pairs)

        self._look_at(devices, seen)

    def first_look(self) -> None:
        """The devices are known: be ready for the first question."""
        self._look()

    def _foreign(self, resources: list[str]) -> list[str]:
        """`GPU 0 is free for us, but 70 GiB of its memory are used by pid 4711 (python)`."""
        lines = []
        free = {
            (state.spec.resource, state.spec.index): state.room() >= state.amount
            for state in self._scheduler.devices(self._nodes.node_id)
        }
        for device in self._nodes.real():
            metrics = self._seen.get(device.lease_key)
            if device.resource not in resources or metrics is None:
                continue
            users = [_user(pid, size) for pid, size in metrics.processes or () if self._is_foreign(pid, size)]
            if users:
                ours = "is free for us, but" if free.get((device.resource, device.index)) else "is shared:"
                lines.append(f"{device.resource} {device.id} {ours} {' and '.join(users)}")
        return lines

    def _is_foreign(self, pid: int, size: int | None) -> bool:
        return (size or 0) >= FOREIGN_BYTES and not self._is_ours(pid)


def _user(pid: int, size: int | None) -> str:
    """In a container the driver counts processes of the whole host: a number that is not here names nobody here."""
    program = _program(pid)
    who = f"pid {pid} ({program})" if program else f"process {pid} outside of this container"
    return f"{wording.size(size)} of its memory are used by {who}"


def _program(pid: int) -> str:
    """The name of a process, "" when there is none of this number."""
    try:
        return proc.name(pid)
    except OSError:
        return ""
