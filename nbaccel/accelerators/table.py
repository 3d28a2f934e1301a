"""The table of vendors. They are asked in this order, and the first one with a discrete card gives `GPU`."""

from __future__ import annotations

from nbaccel.accelerators import amd, ascend, gaudi, intel, neuron, nvidia, tpu
from nbaccel.accelerators.vendor import Vendor

VENDORS: tuple[Vendor, ...] = (
    nvidia.VENDOR,
    amd.VENDOR,
    intel.VENDOR,
    neuron.VENDOR,
    tpu.VENDOR,
    gaudi.VENDOR,
    ascend.VENDOR,
)

GPU_VENDORS: tuple[Vendor, ...] = tuple(vendor for vendor in VENDORS if vendor.resource == "GPU")

# Ray's further makes are counted as whole devices here too, so that programs keep their meaning; nothing finds them.
RESOURCES: tuple[str, ...] = ("GPU", "neuron_cores", "TPU", "HPU", "NPU", "RBLN", "FURIOSA", "MBLT", "TTNPU")

_ALIASES = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel", "habana": "gaudi", "hpu": "gaudi", "npu": "ascend"}


def vendor_of(name: str) -> Vendor:
    """The vendor with this name. Raises ValueError with the list of known names.

    >>> vendor_of("amd").variable
    'ROCR_VISIBLE_DEVICES'
    """
    wanted = _ALIASES.get(name.lower(), name.lower())
    for vendor in VENDORS:
        if vendor.name == wanted:
            return vendor
    known = ", ".join(vendor.name for vendor in VENDORS)
    raise ValueError(f"No accelerator vendor is called {name!r}. Those known are: {known}.")


def vendor_for_resource(resource: str) -> Vendor | None:
    """The only vendor of a resource; None for `GPU`, which several offer, and for resources without a vendor."""
    found = [vendor for vendor in VENDORS if vendor.resource == resource]
    return found[0] if len(found) == 1 else None
