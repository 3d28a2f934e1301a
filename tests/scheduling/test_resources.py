"""How quantities read in a sentence."""

from __future__ import annotations

import pytest

from nbaccel.quantities import UNIT
from nbaccel.scheduling.reasons import amount_of, bytes_text


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [
        (10 * 10**9, "10 GB"),  # what gpu_memory=10GB means
        (10 << 30, "10 GiB"),
        (3 << 29, "1.5 GiB"),
        (500 * 10**6, "500 MB"),
        (512 << 20, "512 MiB"),
        (10_123_456_789, "9.428 GiB"),  # typed by nobody
        (512, "512 bytes"),
        (1, "1 byte"),
        (0, "0 bytes"),
    ],
)
def test_a_size_is_said_in_the_unit_that_it_is_a_round_number_of(size_bytes: int, said: str) -> None:
    assert bytes_text(size_bytes) == said


def test_one_of_a_resource_is_said_in_the_singular() -> None:
    assert (
        amount_of("neuron_cores", UNIT) == "1 neuron_core" and amount_of("neuron_cores", 2 * UNIT) == "2 neuron_cores"
    )
    assert amount_of("memory", UNIT) == "1 byte of memory"
