"""Good and bad days of NVIDIA's driver, through its real bindings, in the prober of a running head."""

from __future__ import annotations

import os
import signal
import time

import pytest

import nbaccel
from nbaccel.exceptions import TaskUnschedulableError
from tests.accelerators.fake_nvml import Gpu
from tests.accelerators.machines import add_amd
from tests.devices.conftest import Lab, look
from tests.rig import wait_until

VARIABLE = "CUDA_VISIBLE_DEVICES"
MIG = [f"mig|0|MIG-{name}|NVIDIA A100-SXM4-40GB MIG 1g.5gb|5368709120|0" for name in "ab"]


# --- good days ----------------------------------------------------------------------------------------------------


def test_indexes_are_passed_where_all_cards_are_alike(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"), Gpu("GPU-c"))
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(num_gpus=2).remote(VARIABLE))
    assert seen == {"ids": {"GPU": ["0", "1"]}, VARIABLE: "0,1"}


def test_uuids_are_passed_on_a_machine_with_mixed_cards(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b", name="Tesla T4"))
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(num_gpus=2).remote(VARIABLE))
    assert seen == {"ids": {"GPU": ["0", "1"]}, VARIABLE: "GPU-a,GPU-b"}


def test_with_the_order_of_the_bus_indexes_of_mixed_cards_are_clear(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b", name="Tesla T4"))
    nvidia_lab.set(CUDA_DEVICE_ORDER="PCI_BUS_ID")
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(look.options(num_gpus=1).remote(VARIABLE))[VARIABLE] == "0"


def test_an_index_that_the_user_preset_on_mixed_cards_stays_as_it_is_and_is_told(
    nvidia_lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b", name="Tesla T4"))
    nvidia_lab.set(**{VARIABLE: "1"})
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(num_gpus=1).remote(VARIABLE))
    assert seen == {"ids": {"GPU": ["1"]}, VARIABLE: "1"}
    assert [row.type for row in nvidia_lab.snapshot().devices if row.offered] == [None]
    nbaccel.shutdown()
    assert "which card is meant is not known here" in capfd.readouterr().err


@pytest.mark.parametrize(
    "how", [{"accelerator_type": "T4"}, {"label_selector": {"ray.io/accelerator-type": "T4"}}], ids=str
)
def test_a_type_picks_its_own_card_of_a_mixed_machine(nvidia_lab: Lab, how: dict[str, object]) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b", name="Tesla T4"))
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(look.options(num_gpus=1, **how).remote(VARIABLE))[VARIABLE] == "GPU-b"


def test_mig_instances_are_devices_and_are_never_joined(nvidia_lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a", mig_mode="1"), *MIG)
    nbaccel.init(num_cpus=2)
    assert nbaccel.cluster_resources()["GPU"] == 2
    seen = nbaccel.get(look.options(num_gpus=1).remote(VARIABLE))
    assert seen == {"ids": {"GPU": ["MIG-a"]}, VARIABLE: "MIG-a"}
    assert [(row.profile, row.parent) for row in nvidia_lab.snapshot().devices] == [("1g.5gb", "GPU-a")] * 2
    ref = look.options(num_gpus=2).remote()
    why = "2 GPUs cannot come from MIG instances: a process sees only one of them"
    assert why in str(nbaccel.explain(ref))
    nbaccel.shutdown()
    assert why in capfd.readouterr().err


def test_a_list_of_uuids_and_one_of_both_kinds(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"), Gpu("GPU-c"))
    nvidia_lab.set(**{VARIABLE: "GPU-c,0,7,1"})
    nbaccel.init(num_cpus=1)
    seen = nbaccel.get(look.options(num_gpus=2).remote(VARIABLE))
    assert seen == {"ids": {"GPU": ["GPU-c", "0"]}, VARIABLE: "GPU-c,GPU-a"}
    assert nbaccel.cluster_resources()["GPU"] == 2


# --- bad days -----------------------------------------------------------------------------------------------------


def test_a_card_that_fails_while_it_is_asked_leaves_the_others(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b", status=15))
    nbaccel.init(num_cpus=1)
    assert nbaccel.cluster_resources()["GPU"] == 1
    assert any(line.startswith("NVIDIA GPU: GPU 1: ") for line in nvidia_lab.snapshot().found)


def test_a_driver_that_hangs_holds_up_init_no_longer_than_its_deadline(
    nvidia_lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    nvidia_lab.nvml.has("hang|nvmlInit", Gpu("GPU-a"))
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="2")  # long enough to have reached the driver on a busy machine
    nbaccel.init(num_cpus=1)
    reason = "NVIDIA GPU: unknown: nvmlInit has not answered for 2 s."
    assert nvidia_lab.snapshot().found == [reason]
    assert nbaccel.get(look.remote(VARIABLE)) == {"ids": {}, VARIABLE: None}
    nbaccel.shutdown()
    assert reason in capfd.readouterr().err


def test_num_gpus_are_counted_where_the_driver_does_not_answer(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has("hang|nvmlInit", Gpu("GPU-a"))
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="0.3")
    nbaccel.init(num_cpus=1, num_gpus=1)
    assert [row.kind for row in nvidia_lab.snapshot().devices] == ["logical"]


def test_a_prober_that_the_driver_kills_is_given_up_with_a_reason(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has("crash|nvmlInit", Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)
    assert "the process that asks the devices has died 3 times" in nvidia_lab.snapshot().found[0]
    assert nbaccel.get(look.remote()) == {"ids": {}}


def test_a_node_waits_for_no_gpus_that_it_would_not_offer(nvidia_lab: Lab) -> None:
    add_amd(nvidia_lab.machine)
    nvidia_lab.machine.modules.clear()
    nvidia_lab.nvml.has("hang|nvmlInit", Gpu("GPU-a"))
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="3600")  # who waits for them waits until the test is given up
    nbaccel.init(num_cpus=1, gpu_vendor="amd")
    assert nbaccel.get(look.options(num_gpus=1).remote("ROCR_VISIBLE_DEVICES"))["ROCR_VISIBLE_DEVICES"] == "0"


def test_a_time_limit_that_is_none_is_refused(nvidia_lab: Lab) -> None:
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="soon")
    with pytest.raises(ValueError, match="NBACCEL_DETECTION_TIMEOUT_S=soon is not a number of seconds"):
        nbaccel.init(num_cpus=1)


def test_a_killed_prober_is_replaced_and_measures_on(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)
    with nvidia_lab.watching() as snapshots:
        wait_until(lambda: snapshots and snapshots[-1].devices[0].metrics, "the first sample")
        (prober,) = nvidia_lab.helper("prober")
        os.kill(prober, signal.SIGKILL)
        wait_until(lambda: nvidia_lab.helper("prober") not in ([], [prober]), "another prober")
        nvidia_lab.nvml.has(Gpu("GPU-a", used=7 << 30))
        wait_until(lambda: snapshots[-1].devices[0].metrics.memory_used_bytes == 7 << 30, "a sample of the new prober")
    assert nbaccel.get(look.options(num_gpus=1).remote(VARIABLE))[VARIABLE] == "0"


# --- a card falls off the bus --------------------------------------------------------------------------------------


@nbaccel.remote(num_gpus=1)
class Holder:
    def ids(self) -> list[str]:
        return nbaccel.get_gpu_ids()


@nbaccel.remote(num_gpus=1, max_retries=0)
def fail_when(path: str) -> None:
    """As CUDA code does, some time after its card has gone."""
    while not os.path.exists(path):
        time.sleep(0.01)
    raise RuntimeError("CUDA error: unspecified launch failure")


LOST = (Gpu("GPU-a", status=15), "fail|nvmlDeviceGetHandleByUUID|15")


def test_a_card_that_is_lost_while_a_task_holds_it_is_told_and_the_next_task_fails_in_words(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=2)
    gone = nvidia_lab.machine.tree / "gone"
    holder, after = fail_when.remote(str(gone)), look.options(num_gpus=1).remote()
    wait_until(lambda: nvidia_lab.row("0").holders, "the task to hold the card")
    nvidia_lab.nvml.has(*LOST)
    gone.touch()
    with pytest.raises(RuntimeError, match="unspecified launch failure"):
        nbaccel.get(holder)
    with pytest.raises(TaskUnschedulableError, match=r"GPU 0 \(A100\) is lost: .*GPU is lost"):
        nbaccel.get(after)
    assert "NVIDIA GPU 0 (NVIDIA A100-SXM4-40GB) is lost" in nvidia_lab.alerts("device")[-1]
    assert nvidia_lab.row("0").free_reason.startswith("lost: ")
    assert nbaccel.get(look.remote()) == {"ids": {}}, "work without devices goes on"


def test_a_loss_is_seen_by_who_watches_and_the_other_card_is_given_out(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    nbaccel.init(num_cpus=2)
    holder = Holder.remote()
    assert nbaccel.get(holder.ids.remote()) == [0]
    with nvidia_lab.watching() as snapshots:
        wait_until(lambda: snapshots and snapshots[-1].devices[0].metrics, "the first sample")
        nvidia_lab.nvml.has(Gpu("GPU-a", status=15), Gpu("GPU-b"))
        wait_until(lambda: any(alert.kind == "device" for alert in snapshots[-1].alerts), "the alert")
        # The sample in which it was noticed may have begun before.
        wait_until(lambda: snapshots[-1].devices[0].metrics.memory_used_bytes is None, "a sample without it")
        assert "lost" in snapshots[-1].devices[0].metrics.reasons["memory_used_bytes"]
    assert nbaccel.get(holder.ids.remote()) == [0], "its holder is left alone"
    assert nbaccel.get(look.options(num_gpus=1).remote())["ids"] == {"GPU": ["1"]}
    assert nbaccel.cluster_resources()["GPU"] == 1


def test_a_worker_that_dies_with_its_card_is_followed_by_a_look(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=2)
    holder = Holder.remote()
    assert nbaccel.get(holder.ids.remote()) == [0]
    nvidia_lab.nvml.has(*LOST)
    pid = nvidia_lab.row("0").holders[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(TaskUnschedulableError, match="is lost"):
        nbaccel.get(look.options(num_gpus=1).remote())
