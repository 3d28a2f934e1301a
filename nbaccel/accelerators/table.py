"""The table of vendors. They are asked in this order, and the first one with a discrete card gives `GPU`."""

from __future__ import annotations

from collections.abc import Mapping

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


_EXAMPLES = {"amd": "amd:2xMI300X", "intel": "intel:2xMax-1550", "nvidia": "2xA100"}


def hint_at_missing(variable: object, environ: Mapping[str, str] | None = None) -> str:
    """A sentence for the KeyError of `os.environ["ROCR_VISIBLE_DEVICES"]`; "" for a variable of no GPU make.

    A make's other variables, such as HIP_VISIBLE_DEVICES, which Ray sets for AMD, are unset in tasks: the hint names
    the one that is set, and says by `environ`, the task's environment, whether it is.

    >>> hint_at_missing("HOME")
    ''
    """
    for vendor in GPU_VENDORS:
        if vendor.variable == variable:
            example = _EXAMPLES.get(vendor.name, vendor.name)
            return (
                f"{variable} is set in tasks that hold {vendor.family} devices, and this task holds none. For logical "
                f"GPUs of this make on any machine start with nbaccel.init(gpu_vendor={vendor.name!r}, num_gpus=2); "
                f"for a machine that seems to have such cards, nbaccel.init(simulate={example!r})."
            )
    for vendor in GPU_VENDORS:
        if variable in vendor.unset:
            said = (
                f"{variable} is not set in tasks: the {vendor.family} devices that a task holds are in "
                f"{vendor.variable}. Read that one, or nbaccel.get_gpu_ids(), which knows every make."
            )
            return said if vendor.variable in (environ or {}) else f"{said} {hint_at_missing(vendor.variable)}"
    return ""
