"""The types of this room: machine, device, finding and vendor.

    Machine ──asked by──► Vendor.probe ──gives──► Finding ──holds──► Device, Device, …

Every vendor module fills one `Vendor` row, and so answers the same questions. It reaches the machine only through the
`Machine` protocol, so that tests and a simulated machine replace nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict, replace

Environment = dict[str, str | None]
"""Variables for a process: a text sets one, None unsets it."""


class Completed(Struct, frozen=True):
    """The output of a command, or why it did not run (`returncode` is None then)."""

    stdout: str
    stderr: str
    returncode: int | None

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    def complaint(self) -> str:
        """The last line of text in the output, and how the command ended."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        ending = "it did not end" if self.returncode is None else f"exit status {self.returncode}"
        return f"{lines[-1]} ({ending})" if lines else ending


class Machine(Protocol):
    """The machine as this room sees it; the room has no other access to it."""

    @property
    def environ(self) -> Mapping[str, str]: ...

    def run(self, command: Sequence[str], timeout_s: float) -> Completed:
        """Run a program found on PATH; never raises for a program that is missing, fails or hangs."""

    def list_path(self, pattern: str) -> list[str]:
        """Paths that match a glob pattern, in natural order (`card2` before `card10`)."""

    def read(self, path: str) -> str | None:
        """The text of a small file without its last newline, or None when it cannot be read."""

    def exists(self, path: str) -> bool: ...

    def may_open(self, path: str) -> bool:
        """Whether this user can read from and write to the device file."""

    def resolve(self, path: str) -> str:
        """The target of a link."""

    def import_module(self, name: str) -> Any:
        """Import a vendor's library. Raises ImportError when it is not installed."""

    def loaded_module(self, name: str) -> Any | None:
        """A module if this process has already imported it, else None."""

    def fetch(self, url: str, headers: Mapping[str, str], timeout_s: float) -> str | None:
        """The text at an address of this machine's metadata server, or None."""


class DeviceKind(Enum):
    """Whether a device exists (REAL), is only counted (LOGICAL), or is simulated for practice (SIMULATED)."""

    REAL = "real"
    LOGICAL = "logical"
    SIMULATED = "simulated"


class Device(Struct, frozen=True):
    """A device that a task can get: a card, a MIG instance, a core or a chip.

    id             what `get_accelerator_ids()` shows inside a task
    index          position among the node's devices of this resource
    type           as in `accelerator_type=`, e.g. "A100"; None when unknown
    name           as its maker calls it
    parent         uuid of the card that a MIG instance is a part of
    profile        MIG profile, e.g. "1g.10gb"
    visible_value  what stands for it in the vendor's variable
    ordinal        number by which the vendor's own tools know it (for a MIG instance that of its card)
    integrated     shares the CPU's memory; offered only when asked for by `gpu_vendor=`
    unavailable    why it cannot be offered, or None
    address        PCI address, for people and for reading sysfs
    host_count     how many of its kind the whole machine has, offered or not
    """

    id: str
    index: int
    vendor: str
    family: str
    resource: str
    type: str | None = None
    name: str = ""
    uuid: str | None = None
    memory_bytes: int | None = None
    kind: DeviceKind = DeviceKind.REAL
    parent: str | None = None
    profile: str | None = None
    offered: bool = False
    visible_value: str = ""
    ordinal: int | None = None
    integrated: bool = False
    unavailable: str | None = None
    address: str | None = None
    host_count: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Device:
        return cls(**{**record, "kind": DeviceKind(record["kind"])})

    @property
    def lease_key(self) -> str:
        """A name for the hardware that is the same in every process on this machine."""
        return self.uuid or f"{self.vendor}-{self.address or 'device'}-{self.id}"


class Finding(Struct):
    """The devices that one vendor's probe found, or why it found none.

    `devices` holds all found devices, even hidden ones; `offered` of each says whether the node offers it.
    """

    vendor: str
    family: str
    resource: str
    devices: list[Device] = field(default_factory=list)
    reason: str = ""
    restricted_by: str | None = None
    looked_for: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    advice: str | None = None
    asked: bool = False
    late: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    extra_resources: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "devices": [device.to_dict() for device in self.devices]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Finding:
        return cls(**{**record, "devices": [Device.from_dict(device) for device in record["devices"]]})


class Filter(Struct, frozen=True):
    """The devices that a process may use according to one variable.

    picks     entries in the order they stand, None when the variable lets everything through
    drops     entries it takes away from what is left
    problems  sentences about entries that mean nothing
    """

    variable: str
    value: str
    picks: tuple[str, ...] | None
    drops: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class PciDevice(Struct, frozen=True):
    """A row of the PCI bus as the kernel shows it; ids are lower-case, e.g. "0x10de"."""

    address: str
    vendor: str
    device: str
    class_code: str

    @property
    def is_display(self) -> bool:
        return self.class_code.startswith("0x03")


def by_number(device: Device, entry: str) -> bool:
    """Match as vendors do that number devices and have no other names for them."""
    return entry.isdecimal() and device.ordinal == int(entry)


def keep(
    found: Sequence[Device], selected: Sequence[Device], environ: Mapping[str, str]
) -> tuple[list[Device], list[str]]:
    """Keep the devices unchanged, as most vendors do: a device keeps the number by which it was found."""
    return list(selected), []


Say = Callable[[str], None]
"""A probe says which call it is about to make, so that a late answer can be named."""


class Vendor(Struct, frozen=True):
    """One row of the table of vendors; its functions live in the vendor's module.

    variable     set for a task; the others in `unset` are removed, because inherited filters stack
    signs        cheap evidence on this machine (files only) that there is something to ask; empty means absent
    looked_for   what `signs` looks at, in words
    probe        asks the devices; may block, and raises nothing but what a vendor's library throws
    type_of      accelerator type from a marketing name
    noset        names that, after RAY_EXPERIMENTAL_NOSET_ or NBACCEL_NOSET_, keep a task's environment; else `variable`
    fractions    may a task ask for a part of a device?
    filters      the visible-devices variables that are set, in the order in which they act; else the list in `variable`
    ranges       may that list have ranges, "0-3"?
    matches      does an entry of such a variable mean this device?
    assign       the environment for a task with these devices, given its environment and how many the node has; else
                 `variable` is their list, after `prefix`
    hidden       the text that hides every device
    only_type    the accelerator type of every device of this vendor, where there is only one; logical ones have it too
    pin          settles `id` and `visible_value` of the selected devices, given all found; also notes for the user
    """

    name: str
    family: str
    resource: str
    variable: str
    looked_for: tuple[str, ...]
    signs: Callable[[Machine, Sequence[PciDevice]], list[str]]
    probe: Callable[[Machine, Sequence[PciDevice], Say], Finding]
    type_of: Callable[[str], str | None]
    unset: tuple[str, ...] = ()
    noset: tuple[str, ...] = ()
    fractions: bool = False
    filters: Callable[[Mapping[str, str]], list[Filter]] | None = None
    ranges: bool = False
    matches: Callable[[Device, str], bool] = by_number
    assign: Callable[[Sequence[Device], Mapping[str, str], int], Environment] | None = None
    prefix: str = ""
    hidden: str = ""
    only_type: str | None = None
    pin: Callable[[Sequence[Device], Sequence[Device], Mapping[str, str]], tuple[list[Device], list[str]]] = keep

    def finding(self, **facts: Any) -> Finding:
        """Make an empty finding of this vendor."""
        given = {"looked_for": list(self.looked_for), **facts}
        return Finding(self.name, self.family, self.resource, **given)

    def device(self, ordinal: int, **facts: Any) -> Device:
        """Make a device of this vendor from its number."""
        given = {"id": str(ordinal), "visible_value": str(ordinal), "name": self.family, **facts}
        return Device(
            index=ordinal, vendor=self.name, family=self.family, resource=self.resource, ordinal=ordinal, **given
        )

    def logical(self, id: str, index: int) -> Device:
        """Make a logical device, which is counted but does not exist."""
        name = f"logical {self.family}"
        named = Device(id, index, self.name, self.family, self.resource, name=name, type=self.only_type)
        return replace(named, kind=DeviceKind.LOGICAL, visible_value=id, ordinal=int(id) if id.isdecimal() else None)
