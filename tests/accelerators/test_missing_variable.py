"""A program for another make of GPUs, on a machine without such cards."""

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.accelerators.offering import check_quantity
from nbaccel.accelerators.table import hint_at_missing


@pytest.mark.parametrize(("variable", "make"), [("ROCR_VISIBLE_DEVICES", "amd"), ("ONEAPI_DEVICE_SELECTOR", "intel")])
def test_the_variable_of_a_make_names_what_sets_it(variable, make):
    hint = hint_at_missing(variable)
    assert f"gpu_vendor='{make}'" in hint and f"simulate='{make}:" in hint
    assert hint_at_missing("HOME") == hint_at_missing(3) == ""


@pytest.mark.parametrize(
    ("variable", "set_instead"),
    [("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"), ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR")],
)
def test_another_variable_of_a_make_names_the_one_that_is_set(variable, set_instead):
    held = hint_at_missing(variable, {set_instead: "0"})
    assert held.startswith(f"{variable} is not set in tasks: ") and f"are in {set_instead}. Read that one" in held
    assert "gpu_vendor=" not in held
    assert hint_at_missing(variable, {}) == f"{held} {hint_at_missing(set_instead)}"


def test_a_task_that_holds_an_amd_card_and_reads_rays_variable_is_told_ours(monkeypatch):
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    nbaccel.init(engine="debug", simulate="amd:1xMI300X")
    try:

        @nbaccel.remote(num_gpus=1)
        def ids():
            import os

            return os.environ["HIP_VISIBLE_DEVICES"]

        with pytest.raises(KeyError, match=r"are in ROCR_VISIBLE_DEVICES. Read that one, or nbaccel.get_gpu_ids"):
            nbaccel.get(ids.remote())
    finally:
        nbaccel.shutdown()


def test_a_task_that_looks_for_it_in_vain_says_so(monkeypatch):
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    nbaccel.init(engine="debug", num_gpus=1)
    try:

        @nbaccel.remote(num_gpus=1)
        def ids():
            import os

            return os.environ["ROCR_VISIBLE_DEVICES"]

        with pytest.raises(KeyError) as caught:
            nbaccel.get(ids.remote())
        assert isinstance(caught.value, exceptions.RayTaskError)
        assert "nbaccel.init(gpu_vendor='amd', num_gpus=2)" in str(caught.value)
    finally:
        nbaccel.shutdown()


def test_a_device_that_cannot_be_shared_has_its_article():
    with pytest.raises(ValueError, match=r"An AWS Neuron core cannot be shared"):
        check_quantity("neuron_cores", 1.5)
    with pytest.raises(ValueError, match=r"A FURIOSA cannot be shared"):
        check_quantity("FURIOSA", 0.5)
