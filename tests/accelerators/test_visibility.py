"""Visible-devices variables: lists as people write them, and as they should not have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.accelerators import Device, vendor_of
from nbaccel.accelerators.visibility import parse_list, select

NVIDIA = vendor_of("nvidia")
CARDS = [NVIDIA.device(number, uuid=f"GPU-{number}{number}{number}{number}-aaaa") for number in range(4)]


def ids(environ: Mapping[str, str], found: list[Device] | None = None, vendor: str = "nvidia") -> list[str]:
    return [device.id for device in select(vendor_of(vendor), CARDS if found is None else found, environ).devices]


def problems(value: str) -> list[str]:
    return select(NVIDIA, CARDS, {"CUDA_VISIBLE_DEVICES": value}).problems


def test_a_variable_that_is_not_set_restricts_nothing() -> None:
    selection = select(NVIDIA, CARDS, {})
    assert (selection.restricted, selection.words(), selection.devices) == (False, None, CARDS)


@pytest.mark.parametrize("value", ["", "  ", "NoDevFiles"])
def test_empty_and_nodevfiles_hide_everything(value: str) -> None:
    selection = select(NVIDIA, CARDS, {"CUDA_VISIBLE_DEVICES": value})
    assert (selection.devices, selection.restricted, selection.problems) == ([], True, [])


@pytest.mark.parametrize(
    ("value", "left", "said"),
    [
        ("3,1", ["3", "1"], None),
        (" 1 , 2 ", ["1", "2"], None),
        ("-1", [], "-1 hides that entry and all that follow it"),
        ("1,-1,2", ["1"], "-1 hides"),
        ("0,0,1", ["0", "1"], "more than once"),
        ("0,7,1", ["0"], "no such NVIDIA GPU here (there are: 0, 1, 2, 3)"),
        ("0,,1", ["0"], "'an empty entry'"),
        ("1;3", [], "'1;3' is neither an index nor a UUID"),
        ("0 1", [], "neither an index nor a UUID"),
        ("1.5", [], "names 1.5"),
        ("all", [], "names all"),
        ("GPU-2222", ["2"], None),
        ("GPU-2222-aaaa,0", ["2", "0"], None),
        ("1,GPU-1111", ["1"], "twice in different words"),
        ("GPU-9999,0", [], "names GPU-9999"),
    ],
)
def test_a_list_is_read_up_to_the_first_entry_that_means_nothing(value: str, left: list[str], said: str | None) -> None:
    assert ids({"CUDA_VISIBLE_DEVICES": value}) == left
    told = problems(value)
    assert (told == []) if said is None else any(said in problem for problem in told)


def test_an_ambiguous_beginning_of_a_uuid_means_every_card_that_begins_so() -> None:
    assert ids({"CUDA_VISIBLE_DEVICES": "GPU-"}) == ["0", "1", "2", "3"]


def test_without_devices_opaque_names_pass_through() -> None:
    selection = select(NVIDIA, [], {"CUDA_VISIBLE_DEVICES": "uuid1,uuid2"})
    assert [(device.id, device.visible_value, device.index) for device in selection.devices] == [
        ("uuid1", "uuid1", 0),
        ("uuid2", "uuid2", 1),
    ]


def test_minus_one_is_never_a_device() -> None:
    assert ids({"CUDA_VISIBLE_DEVICES": "-1"}, found=[]) == []


def test_amd_filters_stack_and_the_second_counts_what_the_first_left() -> None:
    amd = vendor_of("amd")
    cards = [amd.device(number, uuid=f"GPU-00{number}") for number in range(4)]
    assert ids({"ROCR_VISIBLE_DEVICES": "1,3", "HIP_VISIBLE_DEVICES": "1"}, cards, "amd") == ["3"]
    assert ids({"HIP_VISIBLE_DEVICES": "2"}, cards, "amd") == ["2"]
    assert ids({"CUDA_VISIBLE_DEVICES": "2"}, cards, "amd") == ["2"]
    assert ids({"ROCR_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "3"}, cards, "amd") == ["0", "1"]
    assert ids({"ROCR_VISIBLE_DEVICES": "GPU-003"}, cards, "amd") == ["3"]
    assert ids({"ROCR_VISIBLE_DEVICES": "1,3", "HIP_VISIBLE_DEVICES": "1"}, [], "amd") == ["3"]


@pytest.mark.parametrize(
    ("environ", "left"),
    [
        ({"ZE_AFFINITY_MASK": "1,3"}, ["1", "3"]),
        ({"ZE_AFFINITY_MASK": ""}, ["0", "1", "2", "3"]),
        ({"ZE_AFFINITY_MASK": "1,3", "ONEAPI_DEVICE_SELECTOR": "level_zero:1"}, ["3"]),
        ({"ZE_AFFINITY_MASK": "0.1,2"}, ["0", "2"]),
        ({"ONEAPI_DEVICE_SELECTOR": "1,3"}, ["1", "3"]),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:0,2"}, ["0", "2"]),
        ({"ONEAPI_DEVICE_SELECTOR": "LEVEL_ZERO:0;level_zero:1"}, ["0", "1"]),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:*"}, ["0", "1", "2", "3"]),
        ({"ONEAPI_DEVICE_SELECTOR": "*:gpu"}, ["0", "1", "2", "3"]),
        ({"ONEAPI_DEVICE_SELECTOR": "level_zero:*;!level_zero:1"}, ["0", "2", "3"]),
        ({"ONEAPI_DEVICE_SELECTOR": "!level_zero:0"}, ["1", "2", "3"]),
        ({"ONEAPI_DEVICE_SELECTOR": "!*:gpu"}, []),
        ({"ONEAPI_DEVICE_SELECTOR": "opencl:cpu"}, []),
        ({"ONEAPI_DEVICE_SELECTOR": "opencl:*;level_zero:2"}, ["2"]),
        ({"ONEAPI_DEVICE_SELECTOR": ""}, []),
    ],
)
def test_intel_selectors_are_read_in_their_own_language(environ: dict[str, str], left: list[str]) -> None:
    cards = [vendor_of("intel").device(number) for number in range(4)]
    assert ids(environ, cards, "intel") == left


def test_neuron_cores_may_be_given_as_ranges() -> None:
    found = parse_list("NEURON_RT_VISIBLE_CORES", {"NEURON_RT_VISIBLE_CORES": "0-2,5"}, ranges=True)
    assert found is not None
    assert found.picks == ("0", "1", "2", "5")


@pytest.mark.parametrize("value", ["3-1", "0-99999999"])
def test_a_range_that_cannot_be_meant_selects_nothing(value: str) -> None:
    cores = [vendor_of("neuron").device(number) for number in range(4)]
    assert ids({"NEURON_RT_VISIBLE_CORES": value}, cores, "neuron") == []


@given(st.text(max_size=40))
def test_no_text_whatever_breaks_the_reading(value: str) -> None:
    for vendor in ("nvidia", "amd", "intel", "neuron", "tpu", "gaudi", "ascend"):
        row = vendor_of(vendor)
        found = [row.device(number) for number in range(3)]
        for devices in (found, []):
            selection = select(row, devices, {row.variable: value})
            left = [device.id for device in selection.devices]
            assert len(left) == len(set(left))
            if devices:
                assert set(left) <= {"0", "1", "2"}


@given(st.lists(st.integers(0, 5), max_size=8))
def test_indexes_select_each_existing_card_once_in_order_up_to_the_first_unknown(entries: list[int]) -> None:
    expected: list[str] = []
    for entry in dict.fromkeys(entries):
        if entry > 3:
            break
        expected.append(str(entry))
    assert ids({"CUDA_VISIBLE_DEVICES": ",".join(map(str, entries))}) == expected
