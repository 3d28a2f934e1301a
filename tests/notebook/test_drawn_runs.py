"""Training runs as the page gets them: how much, in which order, and in the same words as everywhere."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import drawn_runs, run_card
from nbaccel.views import experiment_snapshot, run_snapshot, wording
from nbaccel.views.experiment_snapshot import BestTrial, ExperimentSnapshot
from nbaccel.views.palette import HUES
from nbaccel.views.record_book import RecordBook
from nbaccel.views.run_snapshot import KIND, CheckpointTick, Curve, RankDot, RunSnapshot
from nbaccel.views.snapshot import JobRow, PublishedRow, Snapshot

NOW = 1_000_070.0
RUNS = Path(__file__).parents[2] / "frontend" / "src" / "runs"


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


def test_without_a_run_nothing_is_sent(busy_snapshot: Snapshot) -> None:
    assert drawn_runs.to_json(drawn_runs.of_snapshot(busy_snapshot)) == ""


def test_a_run_comes_with_its_hue_its_owner_and_all_points(busy_snapshot: Snapshot) -> None:
    busy_snapshot.jobs = [JobRow(2, "b.ipynb", 77)]
    sent = json.loads(drawn_runs.to_json(drawn_runs.of_snapshot(publish(busy_snapshot, run(), job=2))))
    (only,) = sent["runs"]
    assert (only["id"], only["hue"], only["owner"]) == ("run-1", HUES.of("mnist"), "b.ipynb")
    assert only["curves"][0]["points"][0] == [0, 0.33333] and len(only["curves"][0]["points"]) == 8
    assert "more" not in sent and "metrics" not in only


def test_sixteen_runs_of_ten_thousand_reports_on_64_ranks_stay_under_64_kilobytes(busy_snapshot: Snapshot) -> None:
    ranks = [RankDot(rank, "running", 50_000 + rank, {"GPU": [str(rank)]}, report=9_999) for rank in range(64)]
    curves = [Curve(f"metric-{name}", [(101 * n, math.sin(n) / 7) for n in range(100)]) for name in range(6)]
    ticks = [CheckpointTick(f"checkpoint_{number:06}", number, number == 9) for number in range(0, 10_000, 250)]
    many = [run(f"run-{n}", ranks=ranks, curves=curves, checkpoints=ticks, started_at=n) for n in range(20)]
    drawn = drawn_runs.of_snapshot(publish(busy_snapshot, *many))
    assert drawn is not None
    assert [each.id for each in drawn.runs] == [f"run-{n}" for n in range(19, 3, -1)] and drawn.more == 4
    assert all(12 <= len(each.points) <= 25 for one in drawn.runs for each in one.curves)
    assert len(drawn_runs.to_json(drawn)) <= 64 << 10


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
    if shutil.which("node") is None:
        pytest.skip("no node here; the committed file needs none")
    given = run(**changed)
    imported = f"const views = await import('file://{RUNS}/run_views.js')"
    code = (
        f"{imported}; const run = {{...JSON.parse(process.argv[1]), hue: 0}};"
        f"const view = views.runView(run, {NOW}, false);"
        "console.log(JSON.stringify([view.progress, view.time, views.gangWords(run), view.metrics, view.rankCounts, "
        "view.checkpoints, view.sign, view.resume]))"
    )
    record = msgspec.json.encode(given).decode()
    done = subprocess.run(["node", "--input-type=module", "-e", code, record], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    resume = run_card.how_on(given)
    assert json.loads(done.stdout) == [
        run_snapshot.progress_words(given),
        run_snapshot.time_words(given, NOW),
        run_snapshot.gang_words(given),
        run_snapshot.metric_words(given),
        run_snapshot.rank_counts(given.ranks, given.workers),
        run_snapshot.checkpoint_words(given),
        run_snapshot.RUN_SIGNS[given.state],
        resume if resume.startswith("Resume") else "",
    ]


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
    if shutil.which("node") is None:
        pytest.skip("no node here; the committed file needs none")
    given = msgspec.structs.replace(search(), **changed)
    code = (
        f"const views = await import('file://{RUNS}/experiment_views.js');"
        "const given = {...JSON.parse(process.argv[1]), hue: 0};"
        f"const view = views.experimentView(given, {NOW}, false);"
        "console.log(JSON.stringify([view.progress, view.time, view.metrics, view.sign]))"
    )
    record = msgspec.json.encode(given).decode()
    done = subprocess.run(["node", "--input-type=module", "-e", code, record], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
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


def test_experiments_are_sent_with_their_hue_and_owner_also_without_a_run(busy_snapshot: Snapshot) -> None:
    busy_snapshot.jobs = [JobRow(2, "b.ipynb", 77)]
    record = msgspec.to_builtins(search())
    busy_snapshot.published = [PublishedRow(experiment_snapshot.KIND, "experiment-1", record, NOW, 2)]
    sent = json.loads(drawn_runs.to_json(drawn_runs.of_snapshot(busy_snapshot)))
    (only,) = sent["experiments"]
    assert (only["id"], only["hue"], only["owner"]) == ("experiment-1", HUES.of("first"), "b.ipynb")
    assert sent["runs"] == [] and only["best"]["id"] == "a_3"


def test_a_page_is_told_when_only_rows_of_an_experiment_have_changed(busy_snapshot: Snapshot) -> None:
    """It asks for rows when something is told: a trial that reports better than none stood as waiting for ever."""
    book: RecordBook[int] = RecordBook()
    record = msgspec.to_builtins(search())
    sent = []
    for rows in ({"a_8": {"state": "waiting"}}, {"a_8": {"state": "running"}}, {}):
        book.publish(1, experiment_snapshot.KIND, "experiment-1", record, 0, rows)
        busy_snapshot.published = book.rows()
        sent.append(drawn_runs.to_json(drawn_runs.of_snapshot(busy_snapshot)))
    first, second, third = sent
    assert first != second
    assert second == third, "nothing is sent where nothing has changed"


def test_readings_have_four_digits() -> None:
    assert [wording.number(value) for value in (0.0321688, 12500, 1.0, 1e12)] == ["0.03217", "12500", "1", "1e+12"]
