"""The page says of training runs and experiments what cards and tables say."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import run_card
from nbaccel.views import experiment_snapshot, run_snapshot, wording
from nbaccel.views.experiment_snapshot import BestTrial, ExperimentSnapshot
from nbaccel.views.run_snapshot import KIND, CheckpointTick, Curve, RankDot, RunSnapshot
from nbaccel.views.snapshot import PublishedRow, Snapshot

NOW = 1_000_070.0
FRONTEND = Path(__file__).parents[2] / "frontend"
needs_packages = pytest.mark.skipif(
    shutil.which("node") is None or not (FRONTEND / "node_modules").exists(),
    reason="its packages are not installed: npm --prefix frontend ci",
)


def in_node(code: str, given: RunSnapshot | ExperimentSnapshot) -> Any:
    """What this code of the page prints as JSON of a record."""
    command = ["node", "--import", "tsx", "--input-type=module", "-e", code, msgspec.json.encode(given).decode()]
    done = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(id: str = "run-1", **changed: Any) -> RunSnapshot:
    given = RunSnapshot(
        id=id,
        name="mnist",
        path="/runs/mnist",
        state="running",
        started_at=1_000_000.0,
        backend="nccl",
        ranks=[RankDot(rank, "running", 100 + rank, {"GPU": [str(rank)]}, report=7) for rank in range(2)],
        reports=8,
        curves=[Curve("loss", [(number, 1 / 3 ** (number + 1)) for number in range(8)])],
        checkpoints=[CheckpointTick("checkpoint_000003", 3, True), CheckpointTick("checkpoint_000007", 7)],
    )
    return msgspec.structs.replace(given, **changed)


def publish(snapshot: Snapshot, *runs: RunSnapshot, job: int = 0) -> Snapshot:
    snapshot.published = [PublishedRow(KIND, each.id, msgspec.to_builtins(each), NOW, job) for each in runs]
    return snapshot


@needs_packages
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"epochs": 10, "epochs_done": 3.0, "left_s": 125.4},
        {"epoch": 3.5, "reports": 0, "curves": []},
        {"state": "failed", "ended_at": 1_000_010.0, "checkpoints": []},
        {"state": "stopped", "ranks": [RankDot(0), RankDot(1, "failed")], "each": {"CPU": 2, "GPU": 0.5}},
        {"each": {}, "ranks": [RankDot(0)]},
        {"checkpoints": [CheckpointTick("a", 0), CheckpointTick("b", 1)], "kept": 90, "workers": 70},
        {"curves": [Curve(f"{value}", [(0, value), (1, value)]) for value in (1e-5, 12345.678, -0.25, 1e10)]},
    ],
)
def test_the_page_says_it_in_the_words_of_the_card(changed: dict[str, Any]) -> None:
    given = run(**changed)
    imported = "const views = await import('./src/runs/runs.tsx')"
    code = (
        f"{imported}; const run = {{...JSON.parse(process.argv[1]), hue: 0}};"
        f"const view = views.runView(run, {NOW}, false);"
        "console.log(JSON.stringify([view.progress, view.time, views.workerWords(run), view.metrics, view.rankCounts, "
        "view.checkpoints, view.sign, view.resume]))"
    )
    resume = run_card.how_on(given)
    assert in_node(code, given) == [
        run_snapshot.progress_words(given),
        run_snapshot.time_words(given, NOW),
        run_snapshot.worker_words(given),
        run_snapshot.metric_words(given),
        run_snapshot.rank_counts(given.ranks, given.workers),
        run_snapshot.checkpoint_words(given),
        run_snapshot.RUN_SIGNS[given.state],
        resume if resume.startswith("Resume") else "",
    ]


@needs_packages
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"total": None, "best": None, "state": "stopped", "ended_at": 1_000_010.0},
        {"counts": {"done": 1}, "total": 1, "best": BestTrial("a_0", 1e-7, {})},
        {"best": BestTrial("a_0", 12500.0, {name: name * 2 for name in "abcdef"})},
    ],
)
def test_the_page_says_an_experiment_in_the_words_of_its_card(changed: dict[str, Any]) -> None:
    given = msgspec.structs.replace(search(), **changed)
    code = (
        "const views = await import('./src/runs/experiments.tsx');"
        "const given = {...JSON.parse(process.argv[1]), hue: 0};"
        f"const view = views.experimentView(given, {NOW}, false);"
        "console.log(JSON.stringify([view.progress, view.time, view.metrics, view.sign]))"
    )
    assert in_node(code, given) == [
        experiment_snapshot.trial_words(given),
        experiment_snapshot.time_words(given, NOW),
        experiment_snapshot.best_words(given),
        experiment_snapshot.EXPERIMENT_SIGNS[given.state],
    ]


def search() -> ExperimentSnapshot:
    counts = {"running": 2, "done": 3, "error": 1, "pending": 4}
    best = BestTrial("a_3", 0.03125, {"lr": "0.01", "layers": "2"})
    return ExperimentSnapshot(
        "experiment-1",
        "first",
        "/runs/first",
        started_at=1_000_000.0,
        counts=counts,
        total=10,
        metric="loss",
        best=best,
    )


def test_readings_have_four_digits() -> None:
    assert [wording.number(value) for value in (0.0321688, 12500, 1.0, 1e12)] == ["0.03217", "12500", "1", "1e+12"]
