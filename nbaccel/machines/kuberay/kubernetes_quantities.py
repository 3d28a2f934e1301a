"""Quantities as Kubernetes writes them: "500m" of a CPU, "50Gi" of memory."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_QUANTITY = re.compile(r"^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,3}))?$")
_THOUSANDS = {"n": -3, "u": -2, "m": -1, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY: dict[str, int] = {unit: 1024 ** (power + 1) for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}


def read_quantity(text: str | int | float) -> Decimal:
    """The number that a quantity means; ValueError for what is none."""
    match = _QUANTITY.match(str(text))
    if match is None:
        raise ValueError(f"{text!r} is no quantity. Write 3, 500m, 50Gi (1024 MiB each) or 50G (1000 MB each).")
    number, binary, decimal, exponent = match.groups()
    if binary:
        return Decimal(number) * Decimal(_BINARY[binary])
    if decimal:
        return Decimal(number).scaleb(3 * _THOUSANDS[decimal])
    return Decimal(number).scaleb(int(exponent or 0))


def rounded_up(text: str | int | float) -> int:
    """The quantity as Ray counts it: whole units, rounded up."""
    return math.ceil(read_quantity(text))
