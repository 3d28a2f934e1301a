"""Request x cluster: what the probe says, what the explanation says, whether the fallback is taken, in sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

import nbaccel
from nbaccel.views.explanations import Verdict
from tests.census import Place
from tests.never_hang.clusters import Asked, held, running


@dataclass(frozen=True)
class Row:
    """One request in one cluster. `falls`: when the fallback is taken (None: never)."""

    request: dict[str, Any]
    verdict: Verdict
    reason: str
    falls: str | None = None
    holds: tuple[float | str, ...] = ()
    fragmented: bool = False
    who: list[str] = field(default_factory=list)


TABLE = {
    "free": Row({"num_gpus": 1}, Verdict.NOW, "1 CPU and 1 GPU: free now."),
    "free in part": Row({"num_gpus": 0.3}, Verdict.NOW, "1 CPU and 0.3 GPU: free now.", holds=(0.7, 0.7)),
    "busy": Row(
        {"num_gpus": 1}, Verdict.BUSY, "Both GPUs are busy: actor Holder × 2 on GPU 0", "after", (1, 1),
        who=["0", "1"],
    ),
    "busy in part": Row(
        {"num_gpus": 2}, Verdict.BUSY, "1 of 2 GPUs is free; the rest is held by actor Holder on GPU 0", "after", (1,),
        who=["0"],
    ),
    "fragmented": Row(
        {"num_gpus": 0.6}, Verdict.BUSY, "0.3 is free on each of 2 GPUs, but no one GPU has 0.6", "after", (0.7, 0.7),
        fragmented=True, who=["0", "1"],
    ),
    "memory is booked": Row(
        {"num_gpus": None, "gpu_memory": "30GiB"}, Verdict.BUSY, "with 30 GiB of GPU memory", "after",
        ("20GiB", "30GiB"), who=["0", "1"],
    ),
    "never so many": Row({"num_gpus": 3}, Verdict.NEVER, "this machine has 2 GPUs (A100), not 3", "because"),
    "never of this type": Row(
        {"num_gpus": 1, "accelerator_type": "H100"}, Verdict.NEVER,
        "there is no accelerator of type H100 on this machine (there is A100)", "because",
    ),
    "never of this family": Row(
        {"num_gpus": None, "resources": {"NPU": 1}}, Verdict.NEVER, "there is no NPU on this machine", "because"
    ),
    "never so much memory": Row(
        {"num_gpus": None, "gpu_memory": "80GiB"}, Verdict.NEVER,
        "no GPU on this machine has 80 GiB of memory (the largest has 40 GiB)", "because",
    ),
}  # fmt: skip


@pytest.fixture(params=list(TABLE), ids=list(TABLE))
def row(request: pytest.FixtureRequest, two_a100: Place) -> Any:
    row = TABLE[request.param]
    with held(*row.holds):
        yield row


def test_a_probe_says_what_the_request_would_meet(row: Row) -> None:
    probe = nbaccel.probe(**row.request)
    assert probe.verdict is row.verdict
    assert bool(probe) == (row.verdict is Verdict.NOW)
    assert row.reason in str(probe)
    assert probe.fragmented == row.fragmented
    assert sorted({holder.device_id for holder in probe.holders}) == row.who


def test_an_explanation_says_why_the_task_waits(row: Row) -> None:
    ref = nbaccel.remote(**row.request)(_where).remote()
    if row.verdict is Verdict.NOW:
        assert nbaccel.get(ref) == (False, "")
        return
    explanation = nbaccel.explain(ref)
    assert row.reason in str(explanation)
    assert explanation.name == "_where"
    assert explanation.ever is (row.verdict is Verdict.BUSY)
    assert explanation.state == "PENDING_NODE_ASSIGNMENT"
    assert _without_ages(explanation.sentence) in [_without_ages(each.sentence) for each in nbaccel.explain()]
    nbaccel.cancel(ref)


def _without_ages(sentence: str) -> str:
    """The second of two questions may come in another second of a holder's life."""
    return re.sub(r" \(\d+ (s|min)\)", "", sentence)


def test_the_fallback_is_taken_where_the_request_cannot_be_met(row: Row) -> None:
    ref = nbaccel.remote(**row.request, fallback="cpu", fallback_after_s=0.05)(_where).remote()
    assert nbaccel.get(ref) == (row.falls is not None, "cpu" if row.falls else "")
    (task,) = [task for task in nbaccel.snapshot().tasks if task.task_id == ref.task_id().hex()]
    assert task.choice == ("cpu" if row.falls else "")
    words = {"because": "cpu was taken, because ", "after": r"cpu was taken after (\d+\.\d) s, because ", None: "$"}
    said = re.match(words[row.falls], task.choice_why)
    assert said, task.choice_why
    assert row.falls != "after" or float(said[1]) >= 0.1  # 0.05 s; a head on a busy machine is late


def _where() -> tuple[bool, str]:
    context = nbaccel.get_runtime_context()
    return context.fallback_taken, context.fallback_choice


def test_what_an_autoscaler_could_add_is_neither_busy_nor_never() -> None:
    engine = Asked(
        verdict="addable",
        sentence="1 CPU and 8 GPUs: no node has them, but the autoscaler could add one of type p4d.",
        asks="1 CPU and 8 GPUs",
    )
    with running(engine):
        probe = nbaccel.probe(num_gpus=8, accelerator_type="A100")
    assert engine.questions == [({"CPU": 1.0, "GPU": 8.0, "accelerator_type:A100": 0.001}, 0, {})]
    assert probe.verdict is Verdict.ADDABLE and not probe
    assert "the autoscaler could add one" in str(probe)


def test_what_an_engine_cannot_know_is_unknown_and_not_guessed() -> None:
    with running(Asked(verdict="unknown", sentence="Ray does not say which task holds a GPU.")):
        assert nbaccel.probe().verdict is Verdict.UNKNOWN
