"""What to say to a program that reads a make's variable where devices of that make are not given out."""

from __future__ import annotations

from nbaccel.accelerators.table import GPU_VENDORS

_EXAMPLES = {"amd": "amd:2xMI300X", "intel": "intel:2xMax-1550", "nvidia": "2xA100"}


def hint(variable: object) -> str:
    """A sentence for the KeyError of `os.environ["ROCR_VISIBLE_DEVICES"]`; "" where it is no make's of GPUs.

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
    return ""
