"""Every family against every kind of day, through a running head: what a user gets, or the sentence that he reads."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import nbaccel
from nbaccel.accelerators import vendor_of
from nbaccel.accelerators.vendor import Vendor
from tests.accelerators import test_families as table
from tests.accelerators.fake_nvml import Gpu
from tests.accelerators.test_families import Family
from tests.devices.conftest import Lab, look

# NVIDIA is found by the real bindings here.
NVIDIA_IS_BROKEN = dataclasses.replace(table.FAMILIES[0], said="the NVIDIA kernel driver is not loaded")
FAMILIES = [NVIDIA_IS_BROKEN, *table.FAMILIES[1:]]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=str)


def furnish(lab: Lab, family: Family) -> None:
    if family.vendor == "nvidia":
        lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    else:
        lab.hide_driver()
        lab.set(TPU_ACCELERATOR_TYPE="v4-8")  # else the metadata server of a machine that is not there is asked
        family.add(lab.machine)


def spoil(lab: Lab, family: Family) -> None:
    if family.vendor == "nvidia":
        lab.nvml.has("init|9")
    else:
        lab.hide_driver()
        family.spoil(lab.machine)


def asks(vendor: Vendor, quantity: float) -> dict[str, Any]:
    """The options of a task, or the arguments of init(), for so many devices of this make."""
    return {"num_gpus": quantity} if vendor.resource == "GPU" else {"resources": {vendor.resource: quantity}}


@each_family
def test_found_and_assigned(nvidia_lab: Lab, family: Family) -> None:
    vendor = vendor_of(family.vendor)
    furnish(nvidia_lab, family)
    nbaccel.init(num_cpus=2)
    resources = nbaccel.cluster_resources()
    assert resources[vendor.resource] == family.count
    assert resources[f"accelerator_type:{family.kind}"] == 1.0
    assert {(row.kind, row.type, row.vendor) for row in nvidia_lab.snapshot().devices} == {
        ("real", family.kind, family.vendor)
    }
    seen = nbaccel.get(look.options(**asks(vendor, 2), accelerator_type=family.kind).remote(vendor.variable))
    assert seen == {"ids": {vendor.resource: ["0", "1"]}, vendor.variable: family.value}

    # a fraction
    if resource_is_shared := vendor.resource in ("GPU", "NPU"):
        seen = nbaccel.get(look.options(**asks(vendor, 0.5)).remote(vendor.variable))
        assert len(seen["ids"][vendor.resource]) == 1
    else:
        with pytest.raises(ValueError, match=f"{vendor.resource} resource quantities must be"):
            look.options(**asks(vendor, 0.5)).remote()
    with pytest.raises(ValueError, match="whole numbers" if vendor.resource != "TPU" else "1, 2, 4 or 8"):
        look.options(**asks(vendor, 1.5)).remote()
    assert resource_is_shared == vendor.fractions

    # too many
    ref = look.options(**asks(vendor, 8)).remote()
    assert f"this machine has {family.count} {vendor.resource}" in str(nbaccel.explain(ref))


@each_family
def test_restricted_by_the_familys_own_variable(nvidia_lab: Lab, family: Family) -> None:
    vendor = vendor_of(family.vendor)
    furnish(nvidia_lab, family)
    value, id = family.allows
    nvidia_lab.set(**{vendor.variable: value})
    with pytest.raises(ValueError) as refusal:
        nbaccel.init(num_cpus=1, **asks(vendor, 2))
    assert f"{vendor.variable}={value} allows 1 device ({id})" in str(refusal.value)
    assert "num_gpus=2" in str(refusal.value) or f"'{vendor.resource}': 2" in str(refusal.value)

    nbaccel.init(num_cpus=1)
    assert nbaccel.cluster_resources()[vendor.resource] == 1
    seen = nbaccel.get(look.options(**asks(vendor, 1)).remote(vendor.variable))
    assert seen == {"ids": {vendor.resource: [id]}, vendor.variable: value}
    ref = look.options(**asks(vendor, 2)).remote()
    assert f"hidden by {vendor.variable}={value}" in str(nbaccel.explain(ref))
    hidden = [row.free_reason for row in nvidia_lab.snapshot().devices if not row.offered]
    assert hidden == [f"hidden by {vendor.variable}={value}"] * (family.count - 1)


@each_family
def test_broken(nvidia_lab: Lab, family: Family) -> None:
    vendor = vendor_of(family.vendor)
    spoil(nvidia_lab, family)
    nbaccel.init(num_cpus=1)
    assert vendor.resource not in nbaccel.cluster_resources()
    if family.vendor != "ascend":  # its devices are its signs: without them there is nothing to ask
        assert family.said in " ".join(nvidia_lab.snapshot().found)
    ref = look.options(**asks(vendor, 1)).remote()
    why = str(nbaccel.explain(ref))
    assert f"there is no {vendor.resource} on this machine" in why
    assert family.said in why or family.vendor == "ascend"


def test_none_of_any_family(lab: Lab) -> None:
    nbaccel.init(num_cpus=1)
    names = {vendor_of(family.vendor).resource for family in FAMILIES}
    assert not names & set(nbaccel.cluster_resources())
    assert (lab.snapshot().devices, lab.snapshot().found) == ([], [])
    assert not lab.helper("prober"), "nobody is asked where there is nothing to ask"


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.vendor != "nvidia"], ids=str)
def test_more_than_there_are_are_logical_devices(lab: Lab, family: Family) -> None:
    vendor = vendor_of(family.vendor)
    lab.set(TPU_ACCELERATOR_TYPE="v4-8")
    family.add(lab.machine)
    nbaccel.init(num_cpus=1, **asks(vendor, 8))
    kinds = [row.kind for row in lab.snapshot().devices]
    assert kinds == ["real"] * family.count + ["logical"] * (8 - family.count)
