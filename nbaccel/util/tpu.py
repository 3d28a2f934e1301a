"""This host's place in a TPU slice, under Ray's path `ray.util.tpu`, to divide work among a slice's hosts.

Ray's placement groups over slices are not here; `nbaccel.train` places workers by their labels.
"""

from __future__ import annotations

from nbaccel.accelerators import RealMachine, tpu

_ONE_CORE = ("v5litepod", "v6e")  # in the names of these slices stand chips, in those of others cores, two to a chip
_GENERATIONS = ("v2", "v3", "v4", "v5p", "v5litepod", "v6e", "v7x")


def get_num_tpu_chips_on_node() -> int:
    """The number of this host's chips, before and after init(); 0 without any."""
    return len(tpu.chips(RealMachine()))


def get_current_pod_name() -> str | None:
    """The name of the slice that this host is a part of; None on a host without chips."""
    machine = RealMachine()
    return tpu.read_slice(machine, None).name if tpu.chips(machine) else None


def get_current_pod_worker_count() -> int | None:
    """The number of hosts of this host's slice; None on a host without chips, or if unknown."""
    machine = RealMachine()
    chips = len(tpu.chips(machine))
    pod_type = tpu.read_slice(machine, None).pod_type if chips else None
    generation, _, size = (pod_type or "").partition("-")
    if not size.isdecimal():
        return None
    on_host = chips if generation in _ONE_CORE else 2 * chips
    return -(-int(size) // on_host)  # a part of a host counts as one


def get_tpu_version_from_type(accelerator_type: str) -> str:
    """The generation in an accelerator's type: "v6e" of "TPU-V6E". Raises ValueError for other types."""
    version = accelerator_type.lower()
    version = version.removeprefix("tpu-") if version.startswith("tpu-") else version.replace("tpu", "v", 1)
    if version not in _GENERATIONS:
        raise ValueError(
            f"{accelerator_type!r} is not a TPU's accelerator type: write one of "
            f"{', '.join('TPU-' + each.upper() for each in _GENERATIONS)}."
        )
    return version
