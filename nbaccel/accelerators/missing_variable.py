"""A hint for a program that reads the variable of a make whose devices the node does not give out."""

from __future__ import annotations

from collections.abc import Mapping

from nbaccel.accelerators.table import GPU_VENDORS

_EXAMPLES = {"amd": "amd:2xMI300X", "intel": "intel:2xMax-1550", "nvidia": "2xA100"}


def hint(variable: object, environ: Mapping[str, str] | None = None) -> str:
    """A sentence for the KeyError of `os.environ["ROCR_VISIBLE_DEVICES"]`; "" for a variable of no GPU make.

    A make's other variables, such as HIP_VISIBLE_DEVICES, which Ray sets for AMD, are unset in tasks: the hint names
    the one that is set, and says by `environ`, the task's environment, whether it is.

    >>> hint("HOME")
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
            return said if vendor.variable in (environ or {}) else f"{said} {hint(vendor.variable)}"
    return ""
