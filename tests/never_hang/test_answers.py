"""probe and explain: what they ask, what they try, and what they make of the answers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from typing import Any

import msgspec
import pytest

import nbaccel
from nbaccel.explaining import ENDING_PATIENCE_S, VERIFY_PATIENCE_S
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.views.explanations import Blocker, Explanation, Probe, Verdict
from nbaccel.views.tables import ENDED
from tests.census import Place
from tests.never_hang.clusters import Asked, Holder, held, running
from tests.rig import wait_until

FREE = {"verdict": "now", "sentence": "1 CPU and 1 GPU: free now.", "asks": "1 CPU and 1 GPU"}


def test_a_probe_asks_what_a_task_with_its_options_asks_and_one_gpu_if_it_names_nothing() -> None:
    engine = Asked(**FREE)
    with running(engine):
        nbaccel.probe()
        nbaccel.probe(num_cpus=2)
        nbaccel.probe(memory=1 << 30)
        nbaccel.probe(num_gpus=1, accelerator_type="A100")
        nbaccel.probe(resources={"NPU": 2}, label_selector={"zone": "a"})
        nbaccel.probe(gpu_memory="1GiB", num_cpus=0)
    assert engine.questions == [
        ({"CPU": 1.0, "GPU": 1.0}, 0, {}),
        ({"CPU": 2.0}, 0, {}),
        ({"CPU": 1.0, "memory": 1 << 30}, 0, {}),
        ({"CPU": 1.0, "GPU": 1.0, "accelerator_type:A100": 0.001}, 0, {}),
        ({"CPU": 1.0, "NPU": 2.0}, 0, {"zone": "a"}),
        ({}, 1 << 30, {}),
    ]


def test_a_probe_takes_a_placement_group_as_a_task_does() -> None:
    nbaccel.init(num_cpus=2, num_gpus=1, engine="debug")
    try:
        group = placement_group([{"CPU": 1}])
        assert nbaccel.probe(placement_group=group, placement_group_bundle_index=0)
        assert not nbaccel.probe(num_gpus=1, placement_group=group)
        assert nbaccel.probe(num_gpus=1, placement_group=None)
        with pytest.raises(ValueError, match="placement_group_bundle_index=0"):
            nbaccel.probe(placement_group_bundle_index=0)
    finally:
        nbaccel.shutdown()


def test_a_mistyped_keyword_of_a_probe_gets_a_suggestion() -> None:
    with pytest.raises(
        TypeError, match=r"^probe\(\) got an unexpected keyword argument 'num_gpu'. Did you mean num_gpus"
    ):
        nbaccel.probe(num_gpu=1)  # type: ignore[call-arg]


def test_a_probe_is_true_only_when_a_task_would_start_now() -> None:
    truths = {verdict: bool(Probe(verdict, "")) for verdict in Verdict}
    assert [verdict for verdict, truth in truths.items() if truth] == [Verdict.NOW]


def test_what_is_never_possible_is_answered_at_once_whatever_patience_there_is() -> None:
    with running(Asked(verdict="never", sentence="There is no GPU.")):
        assert nbaccel.probe(timeout_s=240, verify=print).verdict is Verdict.NEVER


class Ending(Asked):
    """The device's holder is over, and its process leaves; who waits for the device gets it."""

    def submit(self, *unused: object) -> str:
        return "ref"

    def wait(self, refs: list[str], count: int, timeout_s: float, fetch: bool) -> tuple[list[str], list[str]]:
        self.waited_s = timeout_s
        return refs, []

    def get(self, refs: list[str], timeout_s: float | None) -> list[int]:
        return [7]


@pytest.mark.parametrize(("verify", "patience_s"), [(None, ENDING_PATIENCE_S), (len, VERIFY_PATIENCE_S)])
def test_a_holder_that_is_over_costs_verify_none_of_its_patience(verify: Any, patience_s: float) -> None:
    holder = msgspec.to_builtins(Blocker("train", "GPU", 1.0, "0", ending=True))
    with running(Ending(verdict="busy", sentence="GPU 0 is busy.", holders=[holder])) as engine:
        assert nbaccel.probe(num_gpus=1, verify=verify).value == 7
    assert engine.waited_s == patience_s


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        nbaccel.probe(num_gpus=-1)


def test_verify_runs_on_the_device_and_its_value_comes_back(two_a100: Place) -> None:
    probe = nbaccel.probe(num_gpus=1, verify=nbaccel.get_gpu_ids)
    assert probe and probe.value == [0]
    assert str(probe) == "1 CPU and 1 GPU: free now; verify returned [0]."


def test_a_device_on_which_verify_fails_is_broken_though_it_is_free(two_a100: Place) -> None:
    def no_driver() -> None:
        raise RuntimeError("no driver")

    probe = nbaccel.probe(num_gpus=2, verify=no_driver)
    assert probe.verdict is Verdict.BROKEN and not probe
    assert "verify failed there: RuntimeError: no driver" in str(probe)
    assert isinstance(probe.error, RuntimeError)


def test_what_is_busy_is_waited_for_as_long_as_there_is_patience(two_a100: Place) -> None:
    with held(1, 1):
        probe = nbaccel.probe(num_gpus=1, timeout_s=0.05)
        assert probe.verdict is Verdict.BUSY
        assert str(probe).startswith("Not within 0.05 s. 1 CPU and 1 GPU: not now. Both GPUs are busy")


def _probes_in_line() -> list[str]:
    return [row.state for row in nbaccel.snapshot().tasks if row.name == "probe" and row.state not in ENDED]


def test_a_probe_that_is_stopped_leaves_no_task_in_line(two_a100: Place) -> None:
    def stop() -> None:
        wait_until(_probes_in_line)
        os.kill(os.getpid(), signal.SIGINT)  # the main thread hears it

    with held(1, 1):
        stopping = threading.Thread(target=stop)
        stopping.start()
        with pytest.raises(KeyboardInterrupt):
            nbaccel.probe(num_gpus=1, timeout_s=240)
        stopping.join()
        wait_until(lambda: not _probes_in_line())


def test_a_device_whose_holder_is_over_counts_as_free(two_a100: Place) -> None:
    for _ in range(3):
        assert nbaccel.probe(num_gpus=2, verify=nbaccel.get_gpu_ids).value == [0, 1]


def test_a_task_may_ask_too(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=1)
    def ask() -> tuple[bool, str]:
        return bool(nbaccel.probe(num_gpus=1)), str(nbaccel.probe(num_gpus=2))

    one, two = nbaccel.get(ask.remote())
    assert one
    assert "ask on GPU 0" in two


def test_an_actor_says_where_it_is_or_why_it_waits(two_a100: Place) -> None:
    with held(1, 1):
        waiting = Holder.options(num_gpus=2).remote()
        explanation = nbaccel.explain(waiting)
        assert (explanation.name, explanation.state) == ("Holder", "PENDING_CREATION")
        assert explanation.sentence.startswith("Holder waits for 2 GPUs. Both GPUs are busy: actor Holder")
        assert {holder.device_id for holder in explanation.holders} == {"0", "1"}
        nbaccel.kill(waiting)
    alive = Holder.options(num_gpus=1).remote()
    nbaccel.get(alive.ready.remote())
    assert nbaccel.explain(alive).sentence == "Actor Holder is ALIVE on GPU 0."
    nbaccel.kill(alive)


def test_a_placement_group_says_which_bundle_it_waits_for(two_a100: Place) -> None:
    group = placement_group([{"GPU": 3}])
    explanation = nbaccel.explain(group)
    assert explanation.ever is False
    assert "bundle 0 asks for 3 GPUs. This machine has 2 GPUs (A100), not 3" in explanation.sentence
    remove_placement_group(group)


def test_a_task_that_is_over_says_so_and_a_value_that_was_put_is_no_task(two_a100: Place) -> None:
    ref = nbaccel.remote(lambda: 1).options(name="one").remote()
    nbaccel.get(ref)
    assert nbaccel.explain(ref).sentence == "one is over: FINISHED"
    assert "is not known here" in nbaccel.explain(nbaccel.put(1)).sentence


def test_only_things_that_can_wait_are_explained(two_a100: Place) -> None:
    with pytest.raises(TypeError, match="not int"):
        nbaccel.explain(3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="not 'GPU 0'"):
        nbaccel.explain("GPU 0")


def test_holders_are_named_with_task_process_and_time(two_a100: Place) -> None:
    with held(1, 1):
        (first, second) = nbaccel.probe().holders
        assert {first.device_id, second.device_id} == {"0", "1"}
        assert first.pid and first.actor_id and first.for_life and not first.ending
        assert first.since is not None and first.since > 1_700_000_000


def test_answers_are_plain_values() -> None:
    probe = Probe(Verdict.BUSY, "busy", holders=[Blocker("train", "GPU", 0.5, "0")])
    assert pickle.loads(pickle.dumps(probe)) == probe
    assert repr(probe) == "BUSY: busy"
    explanation = Explanation("00", "train", "RUNNING", "train runs.")
    assert pickle.loads(pickle.dumps(explanation)) == explanation
    assert f"{explanation}" == repr(explanation) == "train runs."
