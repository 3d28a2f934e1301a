"""What a task may ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.accelerators import RESOURCES, check_quantity


@pytest.mark.parametrize("resource", RESOURCES)
@pytest.mark.parametrize("quantity", [0, 0.0, 1, 2, 4, 8, 1.0])
def test_nothing_and_whole_devices_are_always_legal(resource: str, quantity: float) -> None:
    check_quantity(resource, quantity)


@pytest.mark.parametrize("quantity", [3, 5, 6, 16, 0.5])
def test_tpu_chips_come_as_one_two_four_or_eight(quantity: float) -> None:
    with pytest.raises(ValueError, match=f"TPU resource quantities must be 1, 2, 4 or 8.*{quantity:g} is invalid"):
        check_quantity("TPU", quantity)


@pytest.mark.parametrize(("quantity", "hint"), [(3, "ask for 4"), (0.5, "ask for 1"), (100, "ask for 8")])
def test_the_refusal_of_chips_names_what_to_ask_for(quantity: float, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        check_quantity("TPU", quantity)


@pytest.mark.parametrize("resource", ["neuron_cores", "HPU", "RBLN", "FURIOSA", "MBLT", "TTNPU"])
@pytest.mark.parametrize("quantity", [0.5, 1.5])
def test_other_families_come_whole(resource: str, quantity: float) -> None:
    with pytest.raises(ValueError, match=f"{resource} resource quantities must be whole numbers.*{quantity}"):
        check_quantity(resource, quantity)


@pytest.mark.parametrize("quantity", [-1, float("nan"), float("inf")])
@pytest.mark.parametrize("resource", RESOURCES)
def test_what_is_no_amount_is_refused(resource: str, quantity: float) -> None:
    with pytest.raises(ValueError, match="must be numbers from 0 up"):
        check_quantity(resource, quantity)


def test_other_resources_are_not_looked_at() -> None:
    check_quantity("CPU", 1.5)
    check_quantity("licences", -3)


@given(st.floats(0, 20, allow_nan=False))
def test_a_gpu_quantity_is_legal_exactly_when_it_is_at_most_one_or_whole(quantity: float) -> None:
    legal = quantity <= 1 or quantity == int(quantity)
    for resource in ("GPU", "NPU"):
        if legal:
            check_quantity(resource, quantity)
        else:
            with pytest.raises(ValueError, match="whole numbers"):
                check_quantity(resource, quantity)
