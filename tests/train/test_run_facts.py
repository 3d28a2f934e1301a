"""What views are shown of a run: facts in, one small record out."""

from __future__ import annotations

import math
import os
from typing import Any

import msgspec

from nbaccel.notebook import run_card
from nbaccel.train import CheckpointConfig
from nbaccel.train import controller as ct
from nbaccel.train.journal import Kept
from nbaccel.train.ranks import Facts, Seat
from nbaccel.train.run_facts import (
    MOST_CURVES,
    MOST_POINTS,
    MOST_RANKS,
    RunFacts,
    epochs_of,
    numbers,
    snapshot_of,
    thinned,
)
from nbaccel.views import run_snapshot
from nbaccel.views.record_book import MOST_BYTES
from nbaccel.views.run_snapshot import RunSnapshot


def seats(number: int) -> list[Seat]:
    return [
        Seat(rank, Facts("n", "10.0.0.1", "host", 100 + rank, {"GPU": [str(rank)]}), rank, number, rank, number, 0, 1)
        for rank in range(number)
    ]


def facts(ranks: int = 2, **options: Any) -> RunFacts:
    run = RunFacts("run-1", "mnist", "/runs/mnist", 1000.0, **options)
    run.worker_group_begins(ranks)
    run.worker_group_stands(seats(ranks), 0)
    return run


def drawn(run: RunFacts, *kept: Kept, config: CheckpointConfig | None = None) -> RunSnapshot:
    return snapshot_of(run, kept, config or CheckpointConfig())


def test_each_rank_has_a_dot_that_follows_the_controllers_events() -> None:
    run = facts(4)
    for event in (ct.Reported(0, 3), ct.Returned(1), ct.Stopped(2), ct.Died(3, at=0.0)):
        run.happened(event)
    shown = drawn(run)
    assert [(each.state, each.report) for each in shown.ranks] == [
        ("running", 3),
        ("returned", None),
        ("stopped", None),
        ("failed", None),
    ]
    assert run_snapshot.worker_words(shown) == "4 workers on GPU 0, 1, 2, 3"
    assert shown.ranks[1].pid == 101 and shown.state == "running"


def test_a_run_goes_through_its_states() -> None:
    run = RunFacts("run-1", "mnist", "/runs/mnist", 1000.0, each={"CPU": 1})
    run.worker_group_begins(2)
    run.waits("2 CPUs are held by others")
    assert (drawn(run).state, drawn(run).why) == ("waiting", "2 CPUs are held by others")
    assert run_snapshot.worker_words(drawn(run)) == "2 workers with 1 CPU each"
    run.worker_group_stands(seats(2), 0)
    assert (drawn(run).state, drawn(run).why) == ("running", "")
    run.failures += 1
    run.worker_group_begins(2)
    assert drawn(run).state == "restarting"
    run.worker_group_stands(seats(2), 0)
    run.happened(ct.StopPressed())
    assert drawn(run).state == "stopping" and drawn(run).is_under_way
    run.ended("stopped", "", 1065.0)
    assert not drawn(run).is_under_way and run_snapshot.time_words(drawn(run), 9999.0) == "1 min 05 s"


def test_a_long_curve_stays_small_and_keeps_its_ends_and_its_peaks() -> None:
    run = facts()
    for number in range(10_000):
        run.reported(number, {"loss": -1e9 if number == 5000 else 1e9 if number == 7777 else number}, 0.0)
    (curve,) = drawn(run).curves
    assert len(curve.points) <= MOST_POINTS
    assert curve.points[0] == (0, 0.0) and curve.points[-1] == (9999, 9999.0)
    assert {(5000, -1e9), (7777, 1e9)} <= set(curve.points)
    assert [point[0] for point in curve.points] == sorted(point[0] for point in curve.points)
    assert thinned([(0, 1.0), (1, 1.0)]) == [(0, 1.0), (1, 1.0)]


def test_only_numbers_become_curves_and_those_of_an_inner_dict_are_named_by_its_key() -> None:
    metrics = {"epoch": 3, "loss": 0.5, "eval": {"acc": 1, "name": "x"}, "done": True, "bad": math.nan, "l": [1]}
    assert numbers(metrics) == {"loss": 0.5, "eval/acc": 1.0}


def test_reports_after_the_checkpoint_of_a_restart_are_taken_back() -> None:
    run = facts()
    for number in range(6):
        run.reported(number, {"loss": float(number)}, 0.0)
    run.worker_group_stands(seats(2), 3)
    assert drawn(run).reports == 3 and drawn(run).curves[0].points == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_the_best_checkpoint_is_marked_and_the_line_that_loads_it_is_there() -> None:
    kept = [Kept(f"checkpoint_00000{n}", n, {"loss": loss}) for n, loss in enumerate((0.3, 0.1, 0.2))]
    config = CheckpointConfig(checkpoint_score_attribute="loss", checkpoint_score_order="min")
    shown = drawn(facts(), *kept, config=config)
    assert [(each.report, each.best) for each in shown.checkpoints] == [(0, False), (1, True), (2, False)]
    assert shown.load == 'nbaccel.train.Checkpoint("/runs/mnist/checkpoint_000001")'
    assert run_snapshot.checkpoint_words(shown) == "3 checkpoints, best checkpoint_000001"
    assert drawn(facts()).load == ""


def test_without_a_score_no_checkpoint_is_best_and_the_newest_one_is_named() -> None:
    losses = (1, 0.5, 0.1, 0.3, 0.6, 1, 1.5, 2, 2.5, 3)
    kept = [Kept(f"checkpoint_{n:06}", n, {"loss": loss}) for n, loss in enumerate(losses)]
    for config in (CheckpointConfig(), CheckpointConfig(checkpoint_score_attribute="lost")):
        shown = drawn(facts(), *kept, config=config)
        assert not any(each.best for each in shown.checkpoints)
        assert run_snapshot.checkpoint_words(shown) == "10 checkpoints, newest checkpoint_000009"
        assert shown.load == 'nbaccel.train.Checkpoint("/runs/mnist/checkpoint_000009")'
        assert run_snapshot.load_words(shown) == "Load the newest one:"
        assert "★" not in run_card.html(shown, 1010.0) and "best" not in run_card.text(shown, 1010.0)


def test_workers_and_checkpoints_beyond_those_with_a_row_are_counted() -> None:
    kept = [Kept(f"checkpoint_{n:06}", n, {}) for n in range(500)]
    shown = drawn(facts(200, each={"GPU": 1.0}), *kept)
    assert run_snapshot.checkpoint_words(shown) == "500 checkpoints, newest checkpoint_000499"
    assert run_snapshot.worker_words(shown).startswith("200 workers on ")
    assert "64 running, and 136 more" in run_card.html(shown, 1010.0)


def test_a_run_says_what_happens_before_its_first_report() -> None:
    run = facts(1)
    run.worker_group_begins(2)
    assert run_snapshot.progress_words(drawn(run)) == "starting workers"
    run.workers_connect(("torch",))
    assert run_snapshot.progress_words(drawn(run)) == "importing torch and connecting ranks"
    run.worker_group_stands([], 0)
    assert run_snapshot.progress_words(drawn(run)) == "no report yet"
    run.worker_group_begins(2)
    run.ended("failed", "no GPU", 110.0)
    assert run_snapshot.progress_words(drawn(run)) == "no report yet"


def test_epochs_and_the_time_that_is_left_are_told_where_they_are_known() -> None:
    run = facts(epochs=epochs_of({"lr": 1, "num_epochs": 10}))
    assert run_snapshot.progress_words(drawn(run)) == "no report yet"
    run.reported(0, {"epoch": 0}, 100.0)
    assert run_snapshot.progress_words(drawn(run)) == "1 of 10 epochs · 1 report"
    run.reported(1, {"epoch": 1}, 104.0)
    assert run_snapshot.progress_words(drawn(run)) == "2 of 10 epochs · about 32 s left · 2 reports"
    run.ended("finished", "", 110.0)
    assert run_snapshot.progress_words(drawn(run)) == "2 of 10 epochs · 2 reports"
    counted_from_one = facts(epochs=4)
    for epoch in (1, 2):
        counted_from_one.reported(epoch - 1, {"epoch": epoch}, 10.0 * epoch)
    assert run_snapshot.progress_words(drawn(counted_from_one)) == "2 of 4 epochs · about 20 s left · 2 reports"
    reports_them = facts()
    reports_them.reported(0, {"epoch": 0, "epochs": 3, "loss": 1.0}, 12.0)
    assert run_snapshot.progress_words(drawn(reports_them)) == "1 of 3 epochs · 1 report"
    assert list(reports_them.curves) == ["loss"]
    endless = facts(epochs=epochs_of({"epochs": 0}))
    endless.reported(0, {"epoch": 7}, 0.0)
    assert run_snapshot.progress_words(drawn(endless)) == "epoch 7 · 1 report"
    assert epochs_of(None) is None and epochs_of({"epochs": True}) is None


def test_a_run_that_goes_on_shows_what_it_had_before() -> None:
    run = RunFacts("run-1", "mnist", "/runs/mnist", 1000.0, epochs=6)
    run.goes_on_from([{"report": epoch, "metrics": {"epoch": epoch, "loss": 1.0 - epoch / 10}} for epoch in range(5)])
    run.worker_group_begins(1)
    run.worker_group_stands(seats(1), 3)  # after the checkpoint of report 2
    for epoch in range(3, 6):
        run.reported(epoch, {"epoch": epoch, "loss": 0.5}, 1000.0 + epoch)
    shown = drawn(run)
    assert (shown.reports, shown.epochs_done, shown.epochs) == (6, 6.0, 6)
    assert [at for at, _ in shown.curves[0].points] == [0, 1, 2, 3, 4, 5]


def test_what_views_cannot_be_sent_is_drawn_as_well_as_may_be() -> None:
    odd = os.fsdecode(b"a\xff.png")  # a file's name that is no UTF-8
    run = facts(1, epochs=epochs_of({"epochs": 2**70}))
    run.name = run.path = odd
    run.reported(0, {odd: 1.0, "file": odd, "hash": 2**70, "epoch": 2**70, "epochs": 2**70}, 0.0)
    run.ended("failed", f"no {odd}", 1.0)
    shown = snapshot_of(run, [Kept("checkpoint_000000", 0, {})], CheckpointConfig())
    large = dict.fromkeys(("hash", "epoch", "epochs"), 2.0**70)
    assert shown.metrics == {r"a\udcff.png": 1.0, "file": r"a\udcff.png"} | large
    assert msgspec.json.decode(msgspec.json.encode(shown), type=RunSnapshot) == shown
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(msgspec.to_builtins(shown)), type=RunSnapshot) == shown


def test_the_largest_run_fits_into_a_record() -> None:
    run = facts(200, each={"GPU": 1.0}, epochs=10)
    for number in range(500):
        run.reported(number, {f"{'metric' * 60}-{each}": number / 7 for each in range(30)} | {"text": "ä" * 9000}, 0.0)
    kept = [Kept(f"checkpoint_{number:06}", number, {}) for number in range(500)]
    shown = snapshot_of(run, kept, CheckpointConfig())
    assert len(shown.ranks) == MOST_RANKS and len(shown.curves) == MOST_CURVES
    assert len(msgspec.json.encode(shown)) < MOST_BYTES
    assert msgspec.convert(msgspec.to_builtins(shown), RunSnapshot) == shown
