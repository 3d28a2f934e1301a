"""Which quantities of an accelerator a task may ask for."""

from __future__ import annotations

import math

from nbaccel.accelerators.table import RESOURCES, VENDORS
from nbaccel.accelerators.tpu import LEGAL_QUANTITIES

_FRACTIONS = frozenset(vendor.resource for vendor in VENDORS if vendor.fractions)
_FAMILY = {vendor.resource: "GPU" if vendor.resource == "GPU" else vendor.family for vendor in VENDORS}


def check_quantity(resource: str, quantity: float) -> None:
    """Raise ValueError unless a task may ask for this quantity of an accelerator; other resources pass unchecked.

    >>> check_quantity("GPU", 0.5)
    >>> check_quantity("TPU", 3)
    Traceback (most recent call last):
    ValueError: TPU resource quantities must be 1, 2, 4 or 8. The specified quantity 3 is invalid. Google TPU chips ...
    """
    if resource not in RESOURCES:
        return
    if not math.isfinite(quantity) or quantity < 0:
        raise ValueError(
            f"{resource} resource quantities must be numbers from 0 up. The specified quantity {quantity} is invalid. "
            f"Give how many devices the task needs."
        )
    if resource == "TPU":
        _check_chips(quantity)
    elif resource in _FRACTIONS:
        _check_fraction(resource, quantity)
    elif quantity != int(quantity):
        family = _FAMILY.get(resource, resource)
        raise ValueError(
            f"{resource} resource quantities must be whole numbers. The specified quantity {quantity:g} is invalid. "
            f"{_article(family)} {family} cannot be shared between tasks; ask for {math.ceil(quantity)}."
        )


def _article(noun: str) -> str:
    return "An" if noun[0] in "AEIO" else "A"


def _check_chips(quantity: float) -> None:
    if quantity != 0 and quantity not in LEGAL_QUANTITIES:
        raise ValueError(
            f"TPU resource quantities must be 1, 2, 4 or 8. The specified quantity {quantity:g} is invalid. "
            f"Google TPU chips of a host can only be joined in these shapes, and a chip cannot be shared; "
            f"ask for {min((one for one in LEGAL_QUANTITIES if one >= quantity), default=8)}."
        )


def _check_fraction(resource: str, quantity: float) -> None:
    if quantity > 1 and quantity != int(quantity):
        raise ValueError(
            f"{resource} resource quantities >1 must be whole numbers. The specified quantity {quantity:g} is invalid. "
            f"A task gets a part of one {_FAMILY[resource]} or whole ones, never a part beside a whole one; "
            f"ask for {math.floor(quantity)} or {math.ceil(quantity)}, or for a fraction below 1."
        )
