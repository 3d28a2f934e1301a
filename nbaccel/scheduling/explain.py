"""Answers "why does it wait?" with a record and a sentence, from the same books that refused the demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from nbaccel.quantities import TYPE_PREFIX, UNIT
from nbaccel.scheduling.actors import ActorRecord
from nbaccel.scheduling.groups import GroupRecord
from nbaccel.scheduling.growth import NO_HOPE, Hope
from nbaccel.scheduling.ledger import TYPE_LABEL, Hold, Place
from nbaccel.scheduling.moves import ARGS, IN_GET, RUNNING, SUBMITTED, WAITING, ActorStatus, GroupState
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import Feasibility, amount_of, choice_text, judge, listed, quantity
from nbaccel.scheduling.tasks import Shape, TaskRecord
from nbaccel.scheduling.terms import Choice

MAX_NAMED = 4  # holders named in a sentence; the record has them all


class HolderFact(msgspec.Struct):
    """Who holds some of a resource that another waits for."""

    resource: str
    amount: int
    name: str
    cell: str
    since: float
    node_id: bytes
    index: int | None = None  # of the device; None for pooled resources
    task_id: bytes | None = None
    actor_id: bytes | None = None
    group_id: bytes | None = None
    for_life: bool = False  # an actor or a group: not given back by itself
    detached: bool = False  # an actor that lives without a handle
    blocked: bool = False  # its code waits for others
    ending: bool = False  # its work is over: its hold comes back when its process has gone


def busy(reason: str, holders: Iterable[HolderFact], elsewhere: list[str], now: float | None) -> str:
    """`both GPUs are busy: train on GPU 0 (cell [2], 12 s), infer on GPU 1`; the reason alone where nobody is known."""
    return f"{reason}{held_by(reason, named(holders, now), elsewhere)}"


def held_by(reason: str, held: str, elsewhere: list[str]) -> str:
    """What follows the reason: who makes it all busy, or who holds the rest; and what others than this cluster hold."""
    said = [part for part in (held, *elsewhere) if part]
    if not said:
        return ""
    between = ": " if reason.endswith(" busy") or not held else "; the rest is held by "
    return between + "; ".join(said)


def named(holders: Iterable[HolderFact], now: float | None) -> str:
    """`train × 2 on GPU 0 and GPU 1 (cell [2], 12 s), actor Model on GPU 2`: each once, the nearest to giving it back
    first. Those of one name, cell and state are said together. Ages need `now`, on the clock of `since`.
    """
    alike: dict[tuple[object, ...], list[HolderFact]] = {}
    for fact in sorted(holders, key=_nearness):
        kind = "group" if fact.group_id else "actor" if fact.actor_id else "task"
        alike.setdefault((kind, fact.name, fact.cell, fact.blocked, fact.ending), []).append(fact)
    said = [_held(facts, now) for facts in alike.values()]
    more = [f"{len(said) - MAX_NAMED} more"] if len(said) > MAX_NAMED else []
    return ", ".join([*said[:MAX_NAMED], *more])


def _nearness(fact: HolderFact) -> tuple[bool, bool, bool, float, str]:
    """What is over ends first, then tasks, the longest at work first, then those that wait, then those that stay."""
    return not fact.ending, fact.for_life, fact.blocked, fact.since, fact.name


def _held(alike: list[HolderFact], now: float | None) -> str:
    first = alike[0]
    number = len({(fact.task_id, fact.actor_id, fact.group_id) for fact in alike})
    name = (f"actor {first.name}" if first.actor_id else first.name) + (f" × {number}" if number > 1 else "")
    since = min(fact.since for fact in alike)
    facts = [f"cell {first.cell}"] if first.cell else []
    facts += [_age(now - since)] if now is not None and now - since >= 1 else []
    facts += ["which waits for others itself"] if first.blocked else []
    facts += ["over: its process is ending"] if first.ending else []
    return f"{name} {_held_of(alike)}" + (f" ({', '.join(facts)})" if facts else "")


def _held_of(alike: list[HolderFact]) -> str:
    """`on GPU 0 and 0.5 of GPU 1, with 2 CPUs`; where devices are too many to name, or two nodes have one of the same
    number, how many they are: `on 64 GPUs, with 8 CPUs`.
    """
    devices: dict[str, Counter[tuple[bytes, int]]] = {}
    pools: Counter[str] = Counter()
    for fact in alike:
        if fact.index is None:
            pools[fact.resource] += fact.amount
        else:
            devices.setdefault(fact.resource, Counter())[fact.node_id, fact.index] += fact.amount
    many = len(pools) + sum(map(len, devices.values())) > MAX_NAMED
    held = listed([said for name, each in devices.items() for said in _devices(name, each, named=not many)])
    rest = listed([amount_of(name, amount) for name, amount in pools.items()])
    return ", ".join(f"{word} {said}" for word, said in (("on", held), ("with", rest)) if said)


def _devices(resource: str, held: Counter[tuple[bytes, int]], *, named: bool) -> list[str]:
    """`GPU 0`, `0.5 of GPU 1`; or all of them as one: `64 GPUs`, `0.5 of each of 6 GPUs`."""
    indexes = {index for _, index in held}
    if named and len(indexes) == len(held):
        said = [(f"{resource} {index}", amount) for (_, index), amount in held.items()]
        return [where if amount == UNIT else f"{quantity(amount)} of {where}" for where, amount in said]
    all_of_them = amount_of(resource, len(held) * UNIT)
    if held.total() == len(held) * UNIT:
        return [all_of_them]
    each = set(held.values())
    return [
        f"{quantity(each.pop())} of each of {all_of_them}"
        if len(each) == 1
        else f"{quantity(held.total())} of {all_of_them}"
    ]


def _age(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 3600 else f"{seconds // 3600:.0f} h"


_MOST = 3  # types that are named


def room_on_other_types(cluster: PlacementBook, choice: Choice) -> str:
    """A sentence with a space before it, "" where the work names no type or no other type has room for it now."""
    demand = tuple(pair for pair in choice.demand if not pair[0].startswith(TYPE_PREFIX))
    labels = tuple(pair for pair in choice.placement.labels if pair[0] != TYPE_LABEL)
    if (demand, labels) == (choice.demand, choice.placement.labels):
        return ""
    free = [kind for kind in _types_of(cluster) if judge(cluster, _on(choice, demand, labels, kind)).fits_now]
    if not free:
        return ""
    return (
        f" {listed(free[:_MOST])} {'has' if len(free) == 1 else 'have'} room for it now: accelerator_type={free[0]!r}."
    )


def _types_of(cluster: PlacementBook) -> list[str]:
    devices = (each for place in cluster.nodes.values() for kind in place.devices.values() for each in kind)
    return sorted({each.spec.type for each in devices if each.spec.type})


def _on(choice: Choice, demand: tuple[tuple[str, int], ...], labels: tuple[tuple[str, str], ...], kind: str) -> Choice:
    placement = msgspec.structs.replace(choice.placement, labels=(*labels, (TYPE_LABEL, kind)))
    return msgspec.structs.replace(choice, demand=demand, placement=placement)


CONSTRUCTOR = ".__init__"  # an actor's first task is named for its class
Owner = TaskRecord | ActorRecord | GroupRecord


class TaskExplanation(msgspec.Struct):
    """Why a task is in its state."""

    task_id: bytes
    name: str
    state: str
    sentence: str
    asks: str = ""
    fits_now: bool = False
    ever: bool = True
    resource: str = ""  # the first of `resources`
    resources: list[str] = []  # resources of which there is too little
    fragmented: bool = False
    deadlock: bool = False  # all holders wait for others, and nobody runs for whom they could wait
    kept: bool = False  # none of the holders gives back by itself, but a person can end some of them
    reason: str = ""  # the bare one, as in "0 of 1 GPU is free"
    holders: list[HolderFact] = []
    elsewhere: list[str] = []  # devices that others hold: "GPU 0 is held by notebook b.ipynb"
    missing: list[bytes] = []  # argument objects that are not there yet
    coming: str = ""  # "coming" or "addable": of a node that would meet it


class Explainer:
    """Reads the books and changes nothing. `nobody_runs` tells whether all work waits."""

    def __init__(
        self,
        cluster: PlacementBook,
        groups: Mapping[bytes, GroupRecord],
        nobody_runs: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cluster = cluster
        self._groups = groups
        self._nobody_runs = nobody_runs
        self.hope: Callable[[Choice, float | None], Hope] = lambda choice, now: NO_HOPE  # what nodes may still come

    # --- why it waits ---------------------------------------------------------------------------------------------

    def explain(self, record: TaskRecord, now: float | None = None) -> TaskExplanation:
        answer = TaskExplanation(record.task.task_id, record.task.name, record.state.name, "")
        if record.state == ARGS and (pause := _pause(record)):
            answer.sentence = pause
        elif record.state == ARGS:
            answer.missing = sorted(record.missing or ())
            answer.sentence = f"{_subject(record)} waits for {len(answer.missing)} argument(s) that are not ready yet."
        elif record.state == WAITING and record.actor is not None and record.shape is None:
            answer.sentence = self._call_waits(record, record.actor, now)
        elif record.state == WAITING:
            self._resources(record, answer, now)
        else:
            answer.fits_now = True
            answer.sentence = _moving(record)
        return answer

    def _call_waits(self, record: TaskRecord, actor: ActorRecord, now: float | None) -> str:
        if actor.state.name != "ALIVE":
            name, creation = actor.task.name.removesuffix(CONSTRUCTOR), actor.creation
            why = f" {self.explain(creation, now).sentence}" if creation.state in (ARGS, WAITING) else ""
            return f"{_subject(record)} waits for its actor {name}, which {self._not_there(creation)}.{why}"
        return f"{_subject(record)} waits for an earlier call of the same caller, whose arguments are not ready yet."

    def _not_there(self, creation: TaskRecord) -> str:
        """What an actor lacks that is not alive; its own reason says who holds it."""
        if creation.state == ARGS:
            return "pauses" if _pause(creation) else "waits for its arguments"
        lacks = self.explain(creation).resources if creation.state == WAITING else []
        return f"has no {listed(lacks)} yet" if lacks else "is starting"

    def _resources(self, record: TaskRecord, answer: TaskExplanation, now: float | None) -> None:
        choice = record.task.terms.choices[record.task.skipped]
        group = self._groups.get(choice.placement.group_id or b"")
        may = self._judge(choice, answer, now)
        if group is not None and group.state is not GroupState.CREATED:
            answer.sentence = f"{_subject(record)} waits for {group}, which is not placed yet."
            return
        answer.deadlock, answer.kept = self._stuck(answer.holders, answer.elsewhere)
        start = f"{_subject(record)} asks for {answer.asks}"
        waits = f"{_subject(record)} waits for {answer.asks}"
        instead = "" if answer.fits_now else room_on_other_types(self._cluster, choice)
        if answer.fits_now:
            answer.sentence = f"{start}, which is free: it is about to start."
        elif answer.ever:
            stuck = f" {no_way_out(answer.resources)}" if answer.deadlock else ""
            stuck = stuck or (f" {until_ended(answer.holders, answer.resources)}" if answer.kept else "")
            more = f" {_sentence(may.text)}" if may.word in ("coming", "addable", "full") else ""
            answer.sentence = f"{waits}. {_busy(answer, now)}.{more}{instead}{_falls_back(record) or stuck}"
        elif may.is_open:
            answer.sentence = f"{waits}. {_sentence(answer.reason)} {_sentence(may.text)}{instead}{_falls_back(record)}"
        else:
            answer.sentence = f"{start}, but {answer.reason}.{_alternatives(record)}"

    def _judge(self, choice: Choice, answer: TaskExplanation, now: float | None = None) -> Hope:
        verdict = judge(self._cluster, choice)
        answer.asks, answer.reason = choice_text(choice), verdict.reason
        answer.resource, answer.resources = verdict.resource, verdict.resources
        answer.fits_now, answer.ever, answer.fragmented = verdict.fits_now, verdict.ever, verdict.fragmented
        answer.holders = self._holders(verdict)
        answer.elsewhere = _elsewhere(verdict)
        may = NO_HOPE if verdict.fits_now else self.hope(choice, now)
        answer.coming = may.word if may.is_open else ""
        if may.word in ("none", "failed") and not verdict.ever:
            answer.reason = f"{verdict.reason}; {may.text}"
        return may

    def choice(self, choice: Choice, now: float | None = None) -> TaskExplanation:
        """Whether a task of this choice could start, before it exists."""
        answer = TaskExplanation(b"", "", "", "")
        may = self._judge(choice, answer, now)
        instead = "" if answer.fits_now else room_on_other_types(self._cluster, choice)
        if answer.fits_now:
            answer.sentence = f"{answer.asks}: free now."
        elif answer.ever:
            more = f" {_sentence(may.text)}" if may.word in ("coming", "addable", "full") else ""
            answer.sentence = f"{answer.asks}: not now. {_busy(answer, now)}.{more}{instead}"
        elif may.is_open:
            answer.sentence = f"{answer.asks}: not on the nodes that are here. {_sentence(may.text)}{instead}"
        else:
            answer.sentence = f"A task that asks for {answer.asks} cannot start here: {answer.reason}."
        return answer

    def group(self, group: GroupRecord, could_ever: bool, now: float | None = None) -> TaskExplanation:
        """Why a placement group is not placed: a bundle that fits nowhere now, or all that do not fit together."""
        answer = TaskExplanation(b"", str(group), group.state.name, f"{group} is placed.", fits_now=True)
        if group.state is GroupState.CREATED:
            return answer
        answer.fits_now, answer.ever = False, could_ever
        together = f"its {len(group.spec.bundles)} bundles do not fit together ({group.spec.strategy})"
        for index in range(len(group.spec.bundles)):
            verdict = judge(self._cluster, group.choice(index))
            if index not in group.places and not verdict.fits_now:
                self._judge(group.choice(index), answer)
                together = f"bundle {index} asks for {answer.asks}. {_busy(answer, now)}"
                break
        answer.ever = could_ever
        state, hope = ("waits", "") if could_ever else ("cannot be placed here", " It waits in case a node joins.")
        answer.sentence = f"{group} {state}: {together}.{hope}"
        return answer

    def _holders(self, verdict: Feasibility) -> list[HolderFact]:
        facts = [fact for place in verdict.places for name in verdict.resources for fact in holders_of(place, name)]
        return sorted(facts, key=lambda fact: (fact.since, fact.name))

    # --- for the dispatcher ---------------------------------------------------------------------------------------

    def why_never(self, shape: Shape) -> str:
        reasons = dict.fromkeys(self._reason(choice) for choice in shape.choices)
        return "; ".join(reasons)

    def _reason(self, choice: Choice) -> str:
        """Why it can never be met, by the nodes that are here and those that can be added."""
        answer = TaskExplanation(b"", "", "", "")
        self._judge(choice, answer)
        return answer.reason

    def infeasible(self, shape: Shape, record: TaskRecord) -> str:
        asks = " or ".join(choice_text(choice) for choice in shape.choices)
        return (
            f"{_subject(record)} asks for {asks}, but {self.why_never(shape)}. It waits in case a node joins. "
            "Ask for less, give a fallback such as fallback='cpu', or cancel it."
        )

    def refusal(self, shape: Shape, record: TaskRecord, reason: str) -> str:
        """Why the demand is refused and does not wait."""
        asks = " or ".join(choice_text(choice) for choice in shape.choices)
        return f"{record.task.name} asks for {asks}, but cannot be placed: {reason}."

    def why_fallback(self, shape: Shape, index: int, waited_s: float) -> str:
        first = judge(self._cluster, shape.choices[0])
        label = shape.choices[index].label or choice_text(shape.choices[index])
        may = self.hope(shape.choices[0], None) if not first.ever else NO_HOPE
        if may.is_open:
            return f"{label} was taken after {waited_s:.1f} s, because {first.reason}, and {may.text}"
        if not first.ever:
            return f"{label} was taken, because {self._reason(shape.choices[0])}"
        return f"{label} was taken after {waited_s:.1f} s, because {first.reason or 'the first choice was busy'}"

    def waits_for_group(self, shape: Shape) -> bool:
        """Whether it is only early: its placement group has not been placed."""
        groups = [self._groups.get(choice.placement.group_id or b"") for choice in shape.choices]
        return any(group is not None and group.state is not GroupState.CREATED for group in groups)

    def waits_for_lost(self, shape: Shape) -> bool:
        """Whether only a lost device could have met the demand."""
        return any(
            place.lost_devices(request.asked)
            for request in shape.requests
            for place in self._cluster.eligible(request.choice)
        )

    def group_is_gone(self, shape: Shape) -> bool:
        return all(c.placement.strategy == "GROUP" and c.placement.group_id not in self._groups for c in shape.choices)

    def refused_group(self, shape: Shape) -> str:
        """Why its placement group can never be placed, where that is an error."""
        groups = [self._groups.get(choice.placement.group_id or b"") for choice in shape.choices]
        return next((group.refused for group in groups if group is not None and group.refused), "")

    def _stuck(self, holders: list[HolderFact], elsewhere: list[str]) -> tuple[bool, bool]:
        """(a deadlock, kept until somebody ends a holder). A task that waits for others gives nothing back while nobody
        runs for whom it waits; actors and groups never do by themselves, but a person can end those that do not wait.
        """
        if not holders or elsewhere:
            return False, False
        nobody_runs = self._nobody_runs()
        if all(fact.blocked and nobody_runs for fact in holders):
            return True, False
        return False, all(fact.for_life or (fact.blocked and nobody_runs) for fact in holders)

    def actors_hold(self, shape: Shape) -> bool:
        """Whether a line waits for what actors hold that end with their last handle."""
        verdict = judge(self._cluster, shape.choices[0])
        if verdict.fits_now or not verdict.ever:
            return False
        return any(fact.actor_id is not None and not fact.detached for fact in self._holders(verdict))

    def stuck(self, shape: Shape, record: TaskRecord, now: float) -> tuple[str, str]:
        """("deadlock" or "kept", a sentence) when none of the holders gives back by itself, ("", "") when some may."""
        verdict = judge(self._cluster, shape.choices[0])
        if verdict.fits_now or not verdict.ever:
            return "", ""
        holders = self._holders(verdict)
        deadlock, kept = self._stuck(holders, _elsewhere(verdict))
        if not deadlock and not kept:
            return "", ""
        end = ways_out(verdict.resources) if deadlock else until_ended(holders, verdict.resources)
        return "deadlock" if deadlock else "kept", (
            f"{_subject(record)} waits for {choice_text(shape.choices[0])}, but all of it is held by work that does "
            f"not give it back by itself: {named(holders, now)}. {end}"
        )


def holders_of(place: Place, resource: str) -> Iterator[HolderFact]:
    """All holders of a resource on a place: for a group's bundles the holders inside, and the group for the rest.

    On a bundle also those who have named none: they may be what it lacks.
    """
    groups: dict[Place, Hold] = {}
    for hold in place.holds:
        if hold.inner is not None and hold.inner.commons is not None:
            groups[hold.inner.commons] = hold
        else:
            yield from _facts(hold, resource)
    for commons, reserve in groups.items():
        yield from _facts_inside(commons, reserve, resource)
    if place.commons is not None:
        for hold in place.commons.holds:
            if not hold.is_copy:
                yield from _facts(hold, resource)


def _facts(hold: Hold, resource: str) -> Iterator[HolderFact]:
    for name, amount in hold.pooled:
        if name == resource and not (name == "CPU" and hold.lent):
            yield _fact(hold, resource, amount, None)
    for device, amount in hold.parts:
        if device.spec.resource == resource:
            yield _fact(hold, resource, amount, device.spec.index)


def _facts_inside(commons: Place, reserve: Hold, resource: str) -> Iterator[HolderFact]:
    """Who holds what a group has reserved on a node; the group itself, where nobody inside does."""
    for hold in commons.holds:
        yield from _facts(hold, resource)
    if commons.free.get(resource, 0) > 0:
        yield _fact(reserve, resource, commons.free[resource], None)
    for device in commons.devices.get(resource, ()):
        if device.used < device.amount:
            yield _fact(reserve, resource, device.amount - device.used, device.spec.index)


def _fact(hold: Hold, resource: str, amount: int, index: int | None) -> HolderFact:
    owner: Owner = hold.owner
    since, node_id = hold.since, hold.place.node_id
    if isinstance(owner, GroupRecord):
        spec = owner.spec
        return HolderFact(
            resource, amount, str(owner), "", since, node_id, index, group_id=spec.group_id, for_life=True
        )
    task = owner.task
    fact = HolderFact(resource, amount, task.name, task.terms.cell_in_words, since, node_id, index)
    if isinstance(owner, ActorRecord):
        fact.actor_id, fact.for_life = owner.actor_id, owner.created
        fact.name = fact.name.removesuffix(CONSTRUCTOR)
        fact.detached = task.terms.actor.detached
        fact.blocked = owner.worker is not None and owner.worker.blocked > 0
        fact.ending = owner.state is ActorStatus.DEAD
    else:
        fact.task_id, fact.blocked, fact.ending = task.task_id, owner.state == IN_GET, owner.over
    return fact


def _elsewhere(verdict: Feasibility) -> list[str]:
    return [
        device.state
        for place in verdict.places
        for name in verdict.resources
        for device in place.devices.get(name, ())
        if device.reason and device.limit < device.amount
    ]


def _busy(answer: TaskExplanation, now: float | None) -> str:
    """The reason as a sentence, with who holds the rest, and what others hold."""
    said = busy(answer.reason, answer.holders, answer.elsewhere, now)
    return said[:1].upper() + said[1:]


def _sentence(part: str) -> str:
    return f"{part[:1].upper()}{part[1:]}."


def no_way_out(resources: list[str]) -> str:
    return f"This is a deadlock: none of them gives it back by itself. {ways_out(resources)}"


def until_ended(holders: Iterable[HolderFact], resources: list[str]) -> str:
    """Until when those who hold for life keep it, and what a person can do."""
    kept = {fact: None for fact in map(_until, holders) if fact}
    return f"{'; '.join(kept)}. {ways_out(resources)}"


def _until(fact: HolderFact) -> str:
    return until_when(fact.for_life, fact.actor_id is not None, detached=fact.detached)


def until_when(for_life: bool, is_actor: bool, *, detached: bool = False) -> str:
    """Until when a holder for life keeps what it has; "" for others."""
    if not for_life:
        return ""
    if detached:
        return "A detached actor keeps it until nbaccel.kill() ends it"
    if is_actor:
        return "An actor keeps it until its last handle is dropped (del) or nbaccel.kill() ends it"
    return "A placement group keeps it until remove_placement_group() is called"


def ways_out(resources: list[str]) -> str:
    if set(resources) == {"CPU"}:  # the devices would do
        return "End one of these, add CPUs, or ask for num_cpus=0 where the work is done by a device or only waits."
    return f"End one of these, ask for less, or add {listed(resources)}."


def _alternatives(record: TaskRecord) -> str:
    later = record.task.terms.choices[record.task.skipped + 1 :]
    if not later:
        return " Ask for less, or give a fallback such as fallback='cpu'."
    return f" It can fall back to {listed([choice_text(choice) for choice in later])}."


def _falls_back(record: TaskRecord) -> str:
    after = record.task.terms.fallback_after_s
    later = record.task.terms.choices[record.task.skipped + 1 :]
    if after is None or not later:
        return ""
    choice = later[0]
    return f" It falls back to {choice.label or choice_text(choice)} when it has waited {after:g} s."


def _pause(record: TaskRecord) -> str:
    """Why a constructor that has ended by itself again and again is not run at once; "" for others."""
    actor = record.actor
    if actor is None or actor.creation is not record or not actor.pauses:
        return ""
    return (
        f"{_subject(record)} pauses before it restarts: it has ended {actor.brief_lives} times in a row soon after its "
        f"start, the last time because {actor.why.rstrip('.')}."
    )


def _subject(record: TaskRecord) -> str:
    name = record.task.name.removesuffix(CONSTRUCTOR)
    return f"{name} (cell {record.task.terms.cell_in_words})" if record.task.terms.cell_in_words else name


def _moving(record: TaskRecord) -> str:
    if record.state == SUBMITTED:
        return f"{_subject(record)} has what it asked for and waits for its process."
    if record.state in (RUNNING, IN_GET):
        return f"{_subject(record)} runs" + (", and waits for others." if record.state == IN_GET else ".")
    return f"{_subject(record)} is over: {record.why or record.state.name}"
