"""Why a demand does not fit: the same books that refuse it, put into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from nbaccel.quantities import TYPE_PREFIX, UNIT
from nbaccel.scheduling.ledger import LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.terms import Choice


class Feasibility(msgspec.Struct):
    """Whether a choice could start now, or ever with the nodes there are, and what stands in its way."""

    fits_now: bool
    ever: bool
    reason: str  # "" when it fits now
    resources: list[str] = []  # resources of which there is too little
    places: list[Place] = []  # places that could ever meet it
    fragmented: bool = False  # enough of it is free in sum, but not on one device

    @property
    def resource(self) -> str:
        """The first that there is too little of, "" when there is none."""
        return self.resources[0] if self.resources else ""


def judge(cluster: PlacementBook, choice: Choice) -> Feasibility:
    """Asks the books of every place that the choice may use."""
    asked = SplitDemand.of(choice, cluster.device_resources)
    eligible = sorted(cluster.eligible(choice), key=lambda place: place.order)
    able = [place for place in eligible if place.lacks_for_ever(asked) is None]
    if not able:
        resource, reason = _why_never(cluster, choice, asked, eligible)
        return Feasibility(False, False, reason, [resource] if resource else [])
    for place in able:
        if place.lacks_now(asked) is None:
            return Feasibility(True, True, "", [], able)
    lacking = list(dict.fromkeys(name for place in able for name in place.all_lacking_now(asked)))
    fragmented = any(_is_fragmented(place, asked, name) for place in able for name in lacking)
    reason = listed([_why_busy(able, asked, name) for name in lacking])
    return Feasibility(False, True, reason, lacking, able, fragmented)


# --- never --------------------------------------------------------------------------------------------------------


def _why_never(cluster: PlacementBook, choice: Choice, asked: SplitDemand, eligible: list[Place]) -> tuple[str, str]:
    if not eligible:
        return "", _why_nowhere(cluster, choice)
    short = _short_everywhere(eligible, asked)
    lacking = [place.lacks_for_ever(asked) or "" for place in eligible]
    nearest = [name for name in lacking if name in short] or short or lacking
    resource = max(nearest, key=lambda name: _best(eligible, name))
    lost = [device for place in eligible for device in place.lost_devices(asked)]
    if lost:
        return resource, listed(list(dict.fromkeys(device.state for device in lost)))
    if not short and len(eligible) > 1:
        demand = demand_text([pair for pair in choice.demand if pair[1]])
        return resource, f"{_no_one(eligible)} has all of it: {demand}"
    amount = dict(asked.devices).get(resource)
    if amount is None:
        amount = dict(asked.pooled)[resource]
        return resource, _pool_too_small(eligible, resource, amount)
    return resource, _devices_too_few(eligible, asked, resource, amount)


def _short_everywhere(places: list[Place], asked: SplitDemand) -> list[str]:
    """The resources of which no place has enough, whatever else is asked."""
    pooled = [name for name, amount in asked.pooled if all(place.totals.get(name, 0) < amount for place in places)]
    devices = [
        name
        for name, amount in asked.devices
        if all(isinstance(place.pick(asked.only(name, amount), empty=True), str) for place in places)
    ]
    return pooled + devices


def _no_one(places: list[Place]) -> str:
    return "no one node of its placement group" if places[0].group_id is not None else "no one node"


def _best(places: list[Place], resource: str) -> int:
    """How much the best place has: the nearest miss is the one to speak of."""
    return max(p.totals.get(resource, 0) + sum(d.amount for d in p.devices.get(resource, ())) for p in places)


def _why_nowhere(cluster: PlacementBook, choice: Choice) -> str:
    placement = choice.placement
    if placement.strategy == "NODE" and placement.node_id not in cluster.nodes:
        return f"the node {(placement.node_id or b'').hex()} that it asks for is not here"
    if placement.strategy == "GROUP":
        return "its placement group has no room yet"
    if placement.labels:
        wanted = listed([f"{key}={condition}" for key, condition in placement.labels])
        return f"no node has the labels {wanted}"
    return "there is no node"


def _where(places: list[Place]) -> str:
    if places[0].group_id is not None:
        bundle = places[0].bundle
        return "its placement group" if bundle < 0 else f"bundle {bundle} of its placement group"
    if len(places) == 1:
        if places[0].is_head:
            return "this machine"
        return f"node {places[0].name}" if places[0].name else "this cluster"
    return f"any of the {len(places)} nodes"


def _pool_too_small(places: list[Place], resource: str, amount: int) -> str:
    most = max(place.totals.get(resource, 0) for place in places)
    if resource.startswith(TYPE_PREFIX):
        types = sorted({d.spec.type for p in places for ds in p.devices.values() for d in ds if d.spec.type})
        near = _near(resource.removeprefix(TYPE_PREFIX), types)
        hints = [f"there is {listed(types)}"] * bool(types) + [f"did you mean {near}?"] * bool(near)
        hint = f" ({': '.join(hints)})" if hints else ""
        return f"there is no {amount_of(resource, amount).removeprefix('an ')} on {_where(places)}{hint}"
    if not most:
        return f"there is no {resource} on {_where(places)}"
    has, asks = amount_of(resource, most), amount_of(resource, amount)
    if has == asks:
        has, asks = bytes_apart(most // UNIT, -(-amount // UNIT))
    return f"{_where(places)} has {has} in all, not {asks}"


def _near(wanted: str, types: list[str]) -> str:
    """The type that is there and looks like this one, or A100 for A10O; "" where nothing is. An H100 is no A100."""
    near = [each for each in types if each != wanted and _as_it_looks(each) == _as_it_looks(wanted)]
    with_zeros = re.sub(r"(?<=\d)O", "0", wanted)  # no type has an O behind a digit
    return near[0] if near else with_zeros if with_zeros != wanted else ""


def _as_it_looks(name: str) -> str:
    return name.upper().translate(str.maketrans("OIL_ ", "011--"))


def _devices_too_few(places: list[Place], asked: SplitDemand, resource: str, amount: int) -> str:
    where = _where(places)
    devices = [device for place in places for device in place.devices.get(resource, ())]
    if not devices:
        return f"there is no {resource} on {where}{_absent(places, resource)}"
    if amount > UNIT and amount % UNIT:
        return f"more than one {resource} must be a whole number, and {quantity(amount)} is asked for"
    fitting = [device for place in places for device in place.fitting(asked, resource)]
    if not fitting:
        types = sorted({device.spec.type or "unknown type" for device in devices})
        wanted = asked.device_type or asked.type_label
        return f"no {resource} of type {wanted} is on {where} (there is {listed(types)}{_near(wanted or '', types)})"
    if asked.memory_bytes and all((device.need(amount, asked.memory_bytes) or UNIT + 1) > UNIT for device in fitting):
        return _memory_too_small(fitting, asked, resource, where)
    if amount > UNIT and any(device.spec.is_partition for device in fitting):
        return f"{amount_of(resource, amount)} cannot come from MIG instances: a process sees only one of them"
    if amount < UNIT:
        largest = max(device.amount for device in fitting)
        return f"no one {resource} on {where} offers {quantity(amount)} (the largest offers {quantity(largest)})"
    most = max(len(place.fitting(asked, resource)) for place in places)
    have = f"{where} has {amount_of(resource, most * UNIT)}{_types(fitting)}, not {quantity(amount)}"
    return f"{have}{_absent(places, resource)}"


def _absent(places: list[Place], resource: str) -> str:
    """Why devices that the machines have are not offered: a driver that fails, a variable that hides them."""
    texts = dict.fromkeys(place.absent[resource] for place in places if resource in place.absent)
    return f" ({'; '.join(texts)})" if texts else ""


def _memory_too_small(devices: list[LedgerDevice], asked: SplitDemand, resource: str, where: str) -> str:
    known = [device.spec.memory_bytes for device in devices if device.spec.memory_bytes]
    if not known:
        return (
            f"the memory of the {resource} on {where} is not known, and {bytes_text(asked.memory_bytes)} is asked for"
        )
    asks = bytes_text(asked.memory_bytes)
    return f"no {resource} on {where} has {asks} of memory (the largest has {bytes_text(max(known))})"


def _types(devices: list[LedgerDevice]) -> str:
    types = sorted({device.spec.type for device in devices if device.spec.type})
    return f" ({listed(types)})" if types else ""


# --- busy ---------------------------------------------------------------------------------------------------------


def _is_fragmented(place: Place, asked: SplitDemand, resource: str) -> bool:
    amount = dict(asked.devices).get(resource)
    if amount is None:
        return False
    free = sum(max(0, device.free_amount()) for device in place.fitting(asked, resource))
    return 0 < amount <= free and isinstance(place.pick(asked.only(resource, amount, memory_bytes=0)), str)


def _why_busy(places: list[Place], asked: SplitDemand, resource: str) -> str:
    amount = dict(asked.devices).get(resource)
    if amount is None:
        return _pool_used_up(places, resource)
    devices = [device for place in places for device in place.fitting(asked, resource)]
    free_amounts = [max(0, device.free_amount()) for device in devices]
    if any(_is_fragmented(place, asked, resource) for place in places):
        return _fragments(free_amounts, resource, amount)
    total = sum(device.amount for device in devices)
    if not sum(free_amounts):
        return _all_busy(resource, total)
    return f"{quantity(sum(free_amounts))} of {amount_of(resource, total)} {_is(sum(free_amounts), total)} free"


def _pool_used_up(places: list[Place], resource: str) -> str:
    free = max(place.left(resource) for place in places)
    total = max(place.totals.get(resource, 0) for place in places)
    on = " on any node" if len(places) > 1 else ""
    if free <= 0 and len(places) == 1 and resource.isupper():
        return _all_busy(resource, total)
    if "memory" in resource:
        left, whole = max(0, free) // UNIT, total // UNIT
        texts = bytes_apart(left, whole) if left < whole else (bytes_text(left), bytes_text(whole))
        return f"{texts[0]} of {texts[1]} of {resource} is free{on}"
    return f"{quantity(max(0, free))} of {amount_of(resource, total)} {_is(free, total)} free{on}"


def _all_busy(resource: str, total: int) -> str:
    """`the GPU is busy`, `both GPUs are busy`, `all 8 GPUs are busy`."""
    if total <= UNIT:
        return f"the {resource} is busy"
    return f"{'both' if total == 2 * UNIT else f'all {quantity(total)}'} {several(resource, total)} are busy"


def _is(free: int, total: int) -> str:
    return "is" if 0 < free <= UNIT or total <= UNIT else "are"


def _fragments(free_amounts: list[int], resource: str, amount: int) -> str:
    """`0.6 is free on each of 2 GPU, but no one GPU has 0.7`."""
    some = [free for free in free_amounts if free]
    if amount >= UNIT:
        free = f"{amount_of(resource, sum(some))} {_is(sum(some), sum(some))} free in sum, but in parts"
        return f"{free}: {_whole(amount)} {resource} must be unused"
    if len(set(some)) == 1 and len(some) > 1:
        each = f"{quantity(some[0])} is free on each of {amount_of(resource, len(some) * UNIT)}"
        return f"{each}, but no one {resource} has {quantity(amount)}"
    parts = listed([quantity(each) for each in some])
    return f"{parts} is free on {amount_of(resource, len(some) * UNIT)}, but no one {resource} has {quantity(amount)}"


def _whole(amount: int) -> str:
    return "one whole" if amount == UNIT else f"{quantity(amount)} whole"


def choice_text(choice: Choice) -> str:
    """`1 CPU and 0.5 GPU`, with the memory of a device and the node's labels where they are asked."""
    demand = [pair for pair in choice.demand if pair[1]]
    text = demand_text(demand)
    if choice.gpu_memory_bytes:
        memory = f"{bytes_text(choice.gpu_memory_bytes)} of GPU memory"
        text = f"{text} with {memory}" if demand else memory
    if choice.placement.labels:
        text += " on a node labelled " + listed([f"{key}={value}" for key, value in choice.placement.labels])
    return text


# ---- how quantities in fixed point (1/10 000) read in a sentence


_BINARY = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_DECIMAL = {"GB": 10**9, "MB": 10**6, "KB": 10**3}
BYTE_RESOURCES = frozenset({"memory", "object_store_memory"})


def quantity(amount: int) -> str:
    """`1`, `0.5`, `0.0001`."""
    text = f"{amount / UNIT:.4f}".rstrip("0").rstrip(".")
    return text or "0"


def bytes_text(size_bytes: int) -> str:
    """`512 MiB`, `10 GiB`; `10 GB` for what is a round number only so, since it was typed that way."""
    rounded = [_in_unit(size_bytes, units) for units in (_BINARY, _DECIMAL)]
    return next((text for text, exact in rounded if exact), rounded[0][0])


def _in_unit(size_bytes: int, units: Mapping[str, int]) -> tuple[str, bool]:
    """The size in the largest unit that it reaches, and whether the text says it exactly."""
    for unit, size in units.items():
        if size_bytes >= size:
            number = f"{size_bytes / size:.4g}"
            return f"{number} {unit}", float(number) * size == size_bytes
    return f"{size_bytes} byte{'' if size_bytes == 1 else 's'}", True


def bytes_apart(fewer: int, more: int) -> tuple[str, str]:
    """Two sizes that differ, as texts that differ: all digits where rounded ones are the same."""
    short = bytes_text(fewer), bytes_text(more)
    return short if short[0] != short[1] else (f"{fewer:,} bytes", f"{more:,} bytes")


def amount_of(resource: str, amount: int) -> str:
    """`2 GPUs`, `1.5 CPUs`, `4 GiB of memory`, `an accelerator of type A100`."""
    if resource in BYTE_RESOURCES:
        return f"{bytes_text(-(-amount // UNIT))} of {resource}"  # a bundle may ask for a part of a byte
    if resource.startswith(TYPE_PREFIX):
        return f"an accelerator of type {resource.removeprefix(TYPE_PREFIX)}"
    return f"{quantity(amount)} {several(resource, amount)}"


def several(resource: str, amount: int) -> str:
    """`GPUs` for more than one `GPU`, `neuron_core` for one; names that are not abbreviations stay as they are."""
    if resource == "neuron_cores" and amount == UNIT:
        return "neuron_core"
    return f"{resource}s" if amount > UNIT and resource.isupper() else resource


def demand_text(demand: Iterable[tuple[str, int]]) -> str:
    """`1 CPU and 0.5 GPU`; `nothing` for an empty demand."""
    parts = [amount_of(name, amount) for name, amount in demand if amount]
    return listed(parts) or "nothing"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
