"""Visible-devices variables: reads them, and selects the devices that they leave.

A list is read as the vendors' runtimes read it: it ends at the first invalid entry. A sentence names the entries that
were cut off, because the runtime itself says nothing. If no device was found at all, the entries themselves count as
devices with opaque names, because quantities are logical.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from nbaccel.accelerators.vendor import Device, Environment, Filter, Vendor

# What an entry may look like: an index, a UUID, "MIG-GPU-…/1/0", "npu:0". Spaces, ";" and the like are slips.
_ENTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/\-]*")
_RANGE = re.compile(r"(\d+)-(\d+)")
_NO_DEVICES = ("NoDevFiles",)

# An entry such as "0-99999999" must not become a list of that length.
LARGEST_RANGE = 4096


def parse_list(variable: str, environ: Mapping[str, str], *, ranges: bool = False, prefix: str = "") -> Filter | None:
    """Read a comma-separated variable; None when it is not set.

    >>> parse_list("CUDA_VISIBLE_DEVICES", {"CUDA_VISIBLE_DEVICES": "1,3"}).picks
    ('1', '3')
    """
    value = environ.get(variable)
    if value is None:
        return None
    text = value.strip()
    if text == "" or text in _NO_DEVICES:
        return Filter(variable, value, ())
    picks, problems = split_entries(variable, text, ranges=ranges, prefix=prefix)
    return Filter(variable, value, tuple(picks), problems=tuple(problems))


def filters_of(vendor: Vendor, environ: Mapping[str, str]) -> list[Filter]:
    """The vendor's visible-devices variables that are set, in the order in which they act."""
    if vendor.filters is not None:
        return vendor.filters(environ)
    found = parse_list(vendor.variable, environ, ranges=vendor.ranges)
    return [found] if found else []


def assigned(
    vendor: Vendor, devices: Sequence[Device], environ: Mapping[str, str], node_device_count: int
) -> Environment:
    """The variables that give a task these devices; the vendor's others are removed."""
    if vendor.assign is not None:
        given = vendor.assign(devices, environ, node_device_count)
    else:
        given = {vendor.variable: vendor.prefix + ",".join(device.visible_value for device in devices)}
    return {**dict.fromkeys(vendor.unset), **given}


def split_entries(variable: str, text: str, *, ranges: bool = False, prefix: str = "") -> tuple[list[str], list[str]]:
    """The entries before the first invalid one, and sentences about those left out."""
    picks: list[str] = []
    problems: list[str] = []
    for raw in text.split(","):
        entry = raw.strip().removeprefix(prefix)
        spread = _spread(entry) if ranges else None
        if spread is None and not _ENTRY.fullmatch(entry):
            problems.append(_meaningless(variable, text, raw))
            break
        for one in spread or [entry]:
            if one in picks:
                problems.append(f"{variable}={text} names {one} more than once; it counts once.")
            else:
                picks.append(one)
    return picks, problems


def _spread(entry: str) -> list[str] | None:
    match = _RANGE.fullmatch(entry)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2])
    if last < first or last - first >= LARGEST_RANGE:
        return None
    return [str(number) for number in range(first, last + 1)]


def _meaningless(variable: str, text: str, entry: str) -> str:
    shown = entry.strip() or "an empty entry"
    if shown.startswith("-"):
        return f"{variable}={text}: {shown} hides that entry and all that follow it."
    return f"{variable}={text}: {shown!r} is neither an index nor a UUID; it and what follows are ignored. Write 1,3."


class Selection(Struct):
    """The devices that the variables leave.

    restricted  whether they name devices at all; then nothing can be added to `devices`
    problems    sentences about entries that were cut off
    """

    devices: list[Device]
    restricted: bool
    problems: list[str] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)

    def words(self) -> str | None:
        """The variables as a user would type them, or None when they hide nothing."""
        return " with ".join(str(one) for one in self.filters) if self.restricted else None


def select(vendor: Vendor, found: Sequence[Device], environ: Mapping[str, str]) -> Selection:
    """Apply the vendor's variables, one after the other, to the devices found, in the order of their entries."""
    filters = [one for one in filters_of(vendor, environ) if one.picks is not None or one.drops]
    if not filters:
        return Selection(list(found), restricted=False)
    problems = [problem for one in filters for problem in one.problems]
    left = list(found)
    for position, one in enumerate(filters):
        if found:
            left = _apply(vendor, left, one, problems, by_position=position > 0)
        else:
            left = _apply_to_names(vendor, left, one, problems, first=position == 0)
    restricted = bool(found) or any(one.picks is not None for one in filters)
    return Selection(left, restricted, problems, filters)


def _apply(
    vendor: Vendor, devices: list[Device], one: Filter, problems: list[str], *, by_position: bool
) -> list[Device]:
    def meant(entry: str) -> list[Device]:
        if by_position and entry.isdecimal():
            # The second filter counts what the first one left: inherited filters stack.
            return devices[int(entry) : int(entry) + 1]
        return [device for device in devices if vendor.matches(device, entry)]

    picked = devices if one.picks is None else _pick(vendor, devices, one, meant, problems)
    dropped = {id(device) for entry in one.drops for device in meant(entry)}
    return [device for device in picked if id(device) not in dropped]


def _pick(
    vendor: Vendor, devices: list[Device], one: Filter, meant: Callable[[str], list[Device]], problems: list[str]
) -> list[Device]:
    picked: list[Device] = []
    for entry in one.picks or ():
        matches = meant(entry)
        if not matches:
            problems.append(_unknown_entry(vendor, devices, one, entry))
            break
        if any(match is device for match in matches for device in picked):
            problems.append(f"{one} names {matches[0].id} twice in different words; it counts once.")
        picked += [match for match in matches if all(match is not device for device in picked)]
    return picked


def _unknown_entry(vendor: Vendor, devices: Sequence[Device], one: Filter, entry: str) -> str:
    known = ", ".join(device.id for device in devices) or "none"
    return (
        f"{one} names {entry}, but there is no such {vendor.family} here (there are: {known}); "
        f"it and the entries after it are ignored, as the vendor's runtime does."
    )


def _apply_to_names(
    vendor: Vendor, left: list[Device], one: Filter, problems: list[str], *, first: bool
) -> list[Device]:
    """Apply the variables on a machine without such devices: entries become logical devices."""
    if one.picks is None:
        return [device for device in left if device.id not in one.drops]
    if first:
        names = [entry for entry in one.picks if entry not in one.drops]
        return [vendor.logical(entry, position) for position, entry in enumerate(names)]
    positions = {str(position): device for position, device in enumerate(left)}
    kept = [positions[entry] for entry in one.picks if entry in positions]
    if len(kept) < len(one.picks):
        problems.append(f"{one} counts from the {len(left)} entries that the variable before it left.")
    return kept


def renumbered(devices: Sequence[Device]) -> list[Device]:
    """The devices that a node offers, with `index` as their position in this list."""
    return [replace(device, index=position, offered=True) for position, device in enumerate(devices)]


def switched_off(vendor: Vendor, environ: Mapping[str, str]) -> bool:
    """Whether the user has asked to leave this vendor's variables alone."""
    names = [
        f"{prefix}{name}"
        for name in vendor.noset or [vendor.variable]
        for prefix in ("RAY_EXPERIMENTAL_NOSET_", "NBACCEL_NOSET_")
    ]
    return any(environ.get(name, "").strip().lower() in ("1", "true", "yes", "on") for name in names)


# What libraries write where there is no card or no driver: torch (also one for CPUs), CUDA's runtime, CuPy, Numba, JAX.


# ---- A hint for CUDA code in a task whose GPU is only counted, as on a laptop without one


_WORDS = re.compile(r"(?<![a-z])cuda|nvidia driver|backend: 'gpu'", re.IGNORECASE)
_NODES = ("/dev/nvidiactl", "/dev/dxg")


def hint(error: BaseException, nodes: tuple[str, ...] = _NODES) -> str:
    """A sentence for an error of CUDA code in a task that holds a GPU, on a machine without one; "" for any other.

    >>> hint(AssertionError("Torch not compiled with CUDA enabled"), ())[:38]
    'The GPU of this task is only counted: '
    """
    if any(map(os.path.exists, nodes)):
        return ""
    if not _WORDS.search(str(error) or _line_of_assert(error)):
        return ""
    return (
        "The GPU of this task is only counted: this machine has none. For code that runs on both, choose the device by "
        "torch.cuda.is_available() (in nbaccel.train: train.torch.get_device()), or ask for a CPU version by "
        "fallback='cpu'."
    )


def _line_of_assert(error: BaseException) -> str:
    """The source line of an `assert` without words, such as `assert torch.cuda.is_available()`; "" for other errors."""
    trace = error.__traceback__ if isinstance(error, AssertionError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace is not None else ""
