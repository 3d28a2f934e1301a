"""How amounts of resources are counted, which resources are accelerators, and what else rooms have to agree on.

An amount is a whole number of `UNIT`ths, so that tenths of a device add up to the device: half a GPU is 5,000.
"""

from __future__ import annotations

UNIT = 10_000  # one CPU, one device, one of a custom resource; for memory one byte, as in Ray

# Resources whose device ids a task gets.
ACCELERATORS = ("GPU", "TPU", "NPU", "HPU", "neuron_cores", "RBLN", "FURIOSA", "MBLT", "TTNPU")
# Counted by whole devices even if no node offers one, so that a demand of 1.5 is known to be impossible.
DEVICE_RESOURCES = frozenset({"GPU", "TPU", "neuron_cores", "HPU", "NPU"})

LONG_RUN_S = 60.0  # the run of a task that is worth a notice when it ends; widget/notices.ts says the same

TYPE_PREFIX = "accelerator_type:"  # a node with an A100 offers accelerator_type:A100
TYPE_SHARE = 10  # one task or actor takes 0.001 of it: enough for 1,000 holders


def to_units(quantity: float) -> int:
    """The number of `UNIT`ths in a quantity. Finer digits are cut off in decimal: 0.57 is 5700 and not 5699."""
    if isinstance(quantity, int):
        return quantity * UNIT
    return int(quantity * UNIT + 1e-6)  # 0.57 * 10_000 is 5699.999999999999


def from_units(amount: int) -> float:
    """The quantity that an amount stands for: 5,000 is 0.5."""
    return amount / UNIT
