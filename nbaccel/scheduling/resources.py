"""Quantities in fixed point (1/10 000), which resources come as separate devices, and how both read in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbaccel.quantities import TYPE_PREFIX, UNIT

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
