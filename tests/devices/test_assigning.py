"""What a task finds in its environment because of its devices, on machines of every make."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.util.placement_group import placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from tests.accelerators.fake_nvml import Gpu
from tests.accelerators.machines import add_amd, add_intel, add_neuron, add_tpu
from tests.devices.conftest import Lab, look
from tests.rig import wait_until

BOUNDS = ("TPU_VISIBLE_CHIPS", "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_HOST_BOUNDS")


# --- which variable -----------------------------------------------------------------------------------------------


def test_amd_tasks_get_one_variable_and_filters_that_would_stack_are_taken_away(lab: Lab) -> None:
    add_amd(lab.machine, 4)
    lab.set(ROCR_VISIBLE_DEVICES="1,2,3", HIP_VISIBLE_DEVICES="2,0")
    nbaccel.init(num_cpus=1)
    assert nbaccel.cluster_resources()["GPU"] == 2
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    seen = nbaccel.get(look.options(num_gpus=2).remote(*names))
    assert seen == {"ids": {"GPU": ["3", "1"]}, names[0]: "3,1", names[1]: None, names[2]: None}
    untouched = nbaccel.get(look.remote(*names))
    assert untouched == {"ids": {}, names[0]: "1,2,3", names[1]: "2,0", names[2]: None}


def test_intel_tasks_get_a_selector_and_the_affinity_mask_is_taken_away(lab: Lab) -> None:
    add_intel(lab.machine, 3)
    lab.set(ZE_AFFINITY_MASK="2,1")
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(num_gpus=1).remote("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK"))
    assert seen == {"ids": {"GPU": ["2"]}, "ONEAPI_DEVICE_SELECTOR": "level_zero:2", "ZE_AFFINITY_MASK": None}


@pytest.mark.parametrize(
    ("chips", "expected"),
    [
        (1, ("0", "1,1,1", "1,1,1")),
        (2, ("0,1", "1,2,1", "1,1,1")),
        (4, ("0,1,2,3", None, None)),
        (8, (None, None, None)),
    ],
)
def test_a_part_of_a_tpu_host_gets_its_bounds(lab: Lab, chips: int, expected: tuple[str | None, ...]) -> None:
    add_tpu(lab.machine, 8)
    lab.set(TPU_ACCELERATOR_TYPE="v5litepod-8", TPU_HOST_BOUNDS="9,9,9")
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(resources={"TPU": chips}).remote(*BOUNDS))
    assert seen == {"ids": {"TPU": [str(chip) for chip in range(chips)]}, **dict(zip(BOUNDS, expected, strict=True))}


def test_all_families_of_a_machine_are_offered_at_once(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(*(Gpu(f"GPU-{number}") for number in range(12)))
    add_neuron(nvidia_lab.machine)
    nbaccel.init(num_cpus=2)
    assert (nbaccel.cluster_resources()["GPU"], nbaccel.cluster_resources()["neuron_cores"]) == (12, 4)
    task = look.options(num_gpus=10, resources={"neuron_cores": 3})
    seen = nbaccel.get(task.remote("CUDA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES"))
    assert seen["CUDA_VISIBLE_DEVICES"] == ",".join(map(str, range(10)))
    assert seen["NEURON_RT_VISIBLE_CORES"] == "0,1,2"
    assert [row.id for row in nvidia_lab.snapshot().devices if row.resource == "GPU"] == list(map(str, range(12)))


@pytest.mark.parametrize(("vendor", "variable"), [("nvidia", "CUDA_VISIBLE_DEVICES"), ("amd", "ROCR_VISIBLE_DEVICES")])
def test_one_vendors_cards_are_gpus_and_the_others_are_listed(nvidia_lab: Lab, vendor: str, variable: str) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    add_amd(nvidia_lab.machine, 3)
    nbaccel.init(num_cpus=1, gpu_vendor=None if vendor == "nvidia" else vendor)
    mine, others = (2, 3) if vendor == "nvidia" else (3, 2)
    assert nbaccel.cluster_resources()["GPU"] == mine
    assert nbaccel.get(look.options(num_gpus=1).remote(variable))[variable] == "0"
    assert {row.vendor for row in nvidia_lab.snapshot().devices if row.offered} == {vendor}

    def listed() -> bool:
        rows = nvidia_lab.snapshot().devices
        return sum("gpu_vendor=" in row.free_reason for row in rows if not row.offered) == others

    wait_until(listed, "the cards of the other vendor, which nobody waits for")


def test_a_vendor_that_makes_no_gpus_is_refused(lab: Lab) -> None:
    with pytest.raises(ValueError, match="gpu_vendor='tpu'"):
        nbaccel.init(num_cpus=1, gpu_vendor="tpu")


# --- before user code ---------------------------------------------------------------------------------------------


def test_the_variable_is_set_before_a_tasks_modules_are_imported(lab: Lab, tmp_path: Path) -> None:
    add_amd(lab.machine)
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "reads_early.py").write_text(
        "import os\nSEEN = os.environ.get('ROCR_VISIBLE_DEVICES')\nclass Value: pass\n"
    )
    nbaccel.init(num_cpus=1, runtime_env={"env_vars": {"PYTHONPATH": str(folder)}})

    @nbaccel.remote(num_gpus=1, runtime_env={"env_vars": {"PYTHONPATH": str(folder)}})
    def imports() -> Any:
        import reads_early

        return reads_early.SEEN

    assert nbaccel.get(imports.remote()) == "0"


def visible() -> str | None:
    return os.environ.get("ROCR_VISIBLE_DEVICES")


class WhenUnpickled:
    """An argument whose unpickling reads the variable, as a tensor's would."""

    def __reduce__(self) -> Any:
        return visible, ()


def test_the_variable_is_set_before_arguments_are_unpickled(lab: Lab) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=1)

    @nbaccel.remote(num_gpus=2)
    def give(value: Any) -> Any:
        return value

    assert nbaccel.get(give.remote(WhenUnpickled())) == "0,1"


def test_an_actor_keeps_its_variable_for_its_calls(lab: Lab) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=2)

    @nbaccel.remote(num_gpus=1)
    class Model:
        def __init__(self) -> None:
            self.first = os.environ["ROCR_VISIBLE_DEVICES"]

        def seen(self) -> tuple[str, str]:
            return self.first, os.environ["ROCR_VISIBLE_DEVICES"]

    first, second = Model.remote(), Model.remote()
    assert nbaccel.get([first.seen.remote(), second.seen.remote()]) == [("0", "0"), ("1", "1")]


def test_a_reused_process_gets_its_old_variables_back(lab: Lab) -> None:
    add_amd(lab.machine)
    lab.set(HIP_VISIBLE_DEVICES="0,1")
    nbaccel.init(num_cpus=1)

    @nbaccel.remote(num_gpus=1, max_calls=0)
    def with_gpu() -> int:
        return os.getpid()

    @nbaccel.remote(max_calls=0)
    def without() -> tuple[int, str | None, str | None]:
        return os.getpid(), os.environ.get("HIP_VISIBLE_DEVICES"), os.environ.get("ROCR_VISIBLE_DEVICES")

    pid = nbaccel.get(with_gpu.remote())
    again = nbaccel.get(without.remote())
    assert again[1:] == ("0,1", None)
    assert isinstance(pid, int)


# --- the user's word ----------------------------------------------------------------------------------------------


def test_runtime_env_wins_and_is_told(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=1)
    own = look.options(num_gpus=1, runtime_env={"env_vars": {"ROCR_VISIBLE_DEVICES": "1"}}, name="train")
    for _ in range(2):
        seen = nbaccel.get(own.remote("ROCR_VISIBLE_DEVICES"))
        assert seen["ROCR_VISIBLE_DEVICES"] == "1"
        assert seen["ids"]["GPU"] == ["1"], "the task is told what it runs on"
    nbaccel.shutdown()
    told = capfd.readouterr().err
    assert told.count("train was given GPU 0, but runs with ROCR_VISIBLE_DEVICES=1, as its runtime_env says.") == 1


def test_the_jobs_runtime_env_wins_too(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=1, runtime_env={"env_vars": {"HIP_VISIBLE_DEVICES": "0"}})
    seen = nbaccel.get(look.options(num_gpus=1).remote("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"))
    assert seen == {"ids": {"GPU": ["0"]}, "ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}
    nbaccel.shutdown()
    assert "runs with HIP_VISIBLE_DEVICES=0, as its runtime_env says" in capfd.readouterr().err


@pytest.mark.parametrize("where", ["the head's environment", "the task's runtime_env"])
@pytest.mark.parametrize("prefix", ["RAY_EXPERIMENTAL_NOSET_", "NBACCEL_NOSET_"])
def test_the_noset_switch_leaves_a_task_its_environment(
    lab: Lab, where: str, prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    add_amd(lab.machine)
    switch = {f"{prefix}ROCR_VISIBLE_DEVICES": "1"}
    lab.set(HIP_VISIBLE_DEVICES="0,1", **(switch if where == "the head's environment" else {}))
    nbaccel.init(num_cpus=1)
    options: dict[str, Any] = {"runtime_env": {"env_vars": switch}} if where != "the head's environment" else {}
    seen = nbaccel.get(look.options(num_gpus=1, **options).remote("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"))
    assert seen == {"ids": {"GPU": ["0"]}, "ROCR_VISIBLE_DEVICES": None, "HIP_VISIBLE_DEVICES": "0,1"}
    nbaccel.shutdown()
    assert "as its runtime_env says" not in capfd.readouterr().err


def test_rays_variable_that_hides_devices_is_read(lab: Lab) -> None:
    add_amd(lab.machine)
    lab.set(RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="1")
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(look.remote("ROCR_VISIBLE_DEVICES"))["ROCR_VISIBLE_DEVICES"] == ""


VARIABLE = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1"}


@pytest.mark.parametrize("where", ["this process", "the job", "the task"])
def test_rays_variable_hides_gpus_where_there_are_none(lab: Lab, where: str) -> None:
    lab.set(**(VARIABLE if where == "this process" else {}))
    nbaccel.init(num_cpus=1, runtime_env={"env_vars": VARIABLE} if where == "the job" else None)
    options: dict[str, Any] = {"runtime_env": {"env_vars": VARIABLE}} if where == "the task" else {}
    seen = nbaccel.get(look.options(num_gpus=0, **options).remote("CUDA_VISIBLE_DEVICES"))
    assert seen["CUDA_VISIBLE_DEVICES"] == ""


def test_devices_are_hidden_from_tasks_without_any_where_the_user_wants_it(lab: Lab) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=1, hide_unassigned=True)
    assert nbaccel.get(look.remote("ROCR_VISIBLE_DEVICES"))["ROCR_VISIBLE_DEVICES"] == ""
    assert nbaccel.get(look.options(num_gpus=1).remote("ROCR_VISIBLE_DEVICES"))["ROCR_VISIBLE_DEVICES"] == "0"


def test_who_takes_no_device_of_its_bundle_is_told_once_that_it_sees_all(
    lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    add_amd(lab.machine)
    nbaccel.init(num_cpus=2)
    mixed, whole = placement_group([{"CPU": 1, "GPU": 1}, {"CPU": 1}]), PlacementGroupSchedulingStrategy
    for name, options in {
        "peeks": {"scheduling_strategy": whole(mixed, 0)},
        "goes_anywhere": {"scheduling_strategy": whole(mixed)},
        "is_without": {"scheduling_strategy": whole(mixed, 1)},
        "has_it": {"scheduling_strategy": whole(mixed, 0), "num_gpus": 1},
        "hides_it": {"scheduling_strategy": whole(mixed, 0), "hide_unassigned": True},
    }.items():
        for _ in range(2):
            seen = nbaccel.get(look.options(name=name, **options).remote("ROCR_VISIBLE_DEVICES"))
            assert seen["ROCR_VISIBLE_DEVICES"] == {"has_it": "0", "hides_it": ""}.get(name)
    nbaccel.shutdown()
    told = [line for line in capfd.readouterr().err.splitlines() if "hide_unassigned" in line]
    assert told == [
        "nbaccel: peeks runs in a placement group's bundle with GPUs, but asks for none: it sees every GPU of the "
        "machine, also those of others. Ask for num_gpus=1 to run on the bundle's, or pass hide_unassigned=True."
    ]


# --- bad values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "ids", "said"),
    [
        ("1,1,0", ["1", "0"], "names 1 more than once"),
        ("0,9,1", ["0"], "names 9, but there is no such NVIDIA GPU here"),
        ("1;3", [], "is neither an index nor a UUID"),
        ("0,-1,1", ["0"], "hides that entry and all that follow it"),
        ("NoDevFiles", [], ""),
    ],
)
def test_a_slip_in_the_variable_is_told(
    nvidia_lab: Lab, value: str, ids: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    nvidia_lab.set(CUDA_VISIBLE_DEVICES=value)
    nbaccel.init(num_cpus=1)
    assert [row.id for row in nvidia_lab.snapshot().devices if row.offered] == ids
    nbaccel.shutdown()
    assert said in capfd.readouterr().err


def test_a_node_counts_its_devices_whole(lab: Lab) -> None:
    with pytest.raises(ValueError, match="whole"):
        nbaccel.init(num_cpus=1, num_gpus=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole"):
        nbaccel.init(num_cpus=1, resources={"TPU": 1.5})
