"""The card of a training run: what it says, and where it is shown and changed."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import run_card, view
from nbaccel.notebook.run_card import PICTURE_S, RunCards
from nbaccel.views import palette
from nbaccel.views.run_snapshot import KIND, CheckpointTick, Curve, RankDot, RunSnapshot
from nbaccel.views.snapshot import PublishedRow, Snapshot
from tests.notebook.levels import LEVELS, Reading, bare

NOW = 1_000_070.0


def run_with(**changed: Any) -> RunSnapshot:
    run = RunSnapshot(
        id="run-1",
        name="mnist",
        path="/runs/mnist",
        state="running",
        started_at=1_000_000.0,
        backend="nccl",
        ranks=[RankDot(rank, "running", 100 + rank, {"GPU": [str(rank)]}, report=7) for rank in range(2)],
        reports=8,
        curves=[
            Curve("loss", [(number, 10.0**-number) for number in range(8)]),
            Curve("lr", [(number, 0.1) for number in range(8)]),
        ],
        checkpoints=[CheckpointTick("checkpoint_000003", 3, True), CheckpointTick("checkpoint_000007", 7)],
        load='nbaccel.train.Checkpoint("/runs/mnist/checkpoint_000003")',
    )
    return msgspec.structs.replace(run, **changed)


def test_the_card_reads_as_a_person_would_tell_it() -> None:
    page = Reading(bare(run_card.html(run_with(), NOW)))
    assert page.words.startswith(
        "● running mnist · 1 min 10 s · 8 reports 2 workers on GPU 0, 1 · nccl rank 0 ● running"
    )
    assert 'Load the best one: nbaccel.train.Checkpoint("/runs/mnist/checkpoint_000003")' in page.words
    assert page.rows[:2] == [["report", "loss", "lr"], ["0", "1", "0.1"]]
    assert "Stop: the notebook's Stop button" in page.words and "as of " in page.words


@pytest.mark.parametrize("state", ["waiting", "running", "finished", "stopped", "failed"])
def test_every_level_says_the_same(state: str) -> None:
    why = "rank 1 failed: <b>ValueError</b>" if state == "failed" else ""
    full, *others = (Reading(level(run_card.html(run_with(state=state, why=why), NOW))) for level in LEVELS.values())
    for other in others:
        assert (other.words, other.rows) == (full.words, full.rows)
    assert ("Resume: run the cell again" in full.words) == (state in ("stopped", "failed"))
    assert ("as of " in full.words) == (state in ("waiting", "running"))
    assert "b" not in full.tags


def test_only_a_failure_is_red_and_many_ranks_are_counted() -> None:
    assert palette.FAILURE not in run_card.html(run_with(), NOW).split("</style>")[1]
    assert palette.FAILURE in run_card.html(run_with(state="failed"), NOW).split("</style>")[1]
    many = [RankDot(rank, "returned" if rank else "running") for rank in range(40)]
    assert "ranks: 1 running, 39 returned" in run_card.html(run_with(ranks=many), NOW)


def test_a_curve_over_many_powers_of_ten_has_a_logarithmic_axis_and_ticks_for_checkpoints() -> None:
    loss, lr = run_card.html(run_with(), NOW).split('<svg role="img"')[1:]
    for label in (">0.1<", ">0.001<", ">1e-05<"):
        assert label in loss
    assert loss.count("v-6") == lr.count("v-6") == 2
    assert loss.count(">★<") == lr.count(">★<") == 1, "the best checkpoint has a star"


def test_the_largest_card_is_small_enough_to_be_sent_four_times_a_second() -> None:
    ranks = [RankDot(rank, "running", rank, {"GPU": [str(rank)]}, report=10_000) for rank in range(64)]
    curves = [Curve(f"metric-{name}", [(137 * n, math.sin(n) / 7) for n in range(100)]) for name in range(6)]
    ticks = [CheckpointTick(f"checkpoint_{number:06}", number, number == 9) for number in range(0, 13_000, 325)]
    assert len(run_card.html(run_with(ranks=ranks, curves=curves, checkpoints=ticks), NOW)) < 20_500


def test_a_run_s_row_is_on_the_status_of_the_cluster(busy_snapshot: Snapshot) -> None:
    assert "Training runs" not in view.status_html(busy_snapshot)
    record = msgspec.to_builtins(run_with(why="<script>"))
    busy_snapshot.published = [PublishedRow(KIND, "run-1", record, NOW), PublishedRow(KIND, "x", {"id": 7}, NOW)]
    busy_snapshot.time = NOW
    rows = Reading(bare(view.status_html(busy_snapshot))).rows
    assert ["Run", "State", "Workers", "Progress", "Metrics", "Checkpoints", "Took"] in rows
    assert [row[:3] for row in rows if row[0] == "mnist"] == [["mnist", "● running", "2 workers on GPU 0, 1 · nccl"]]
    assert "mnist  ● running" in view.status_text(busy_snapshot)


def test_a_run_is_shown_under_its_first_cell_changed_there_and_shown_again_where_asked() -> None:
    sent: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    running = [b'{"cell_id": "a"}']
    cards = RunCards(lambda *message: sent.append(message), lambda: running[0], run_card.mimebundle, clock=lambda: NOW)
    cards.run(run_with(state="waiting"))
    running[0] = b'{"cell_id": "b"}'
    cards.run(run_with())
    cards.show(run_with())
    cards.run(run_with(state="finished"))
    assert [(kind, parent["cell_id"]) for kind, _, parent in sent] == [
        ("display_data", "a"),
        ("update_display_data", "a"),
        ("display_data", "b"),
        ("update_display_data", "a"),
    ]
    # A front end changes every display of an id, in whatever cell it stands.
    assert {json.dumps(content["transient"]) for _, content, _ in sent} == {'{"display_id": "nbaccel-run-1"}'}
    assert "✓ mnist finished" in sent[-1][1]["data"]["text/plain"]


def test_where_the_page_has_live_views_the_card_is_a_place_for_one_while_the_run_goes_on() -> None:
    sent: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    place, now = ["nbaccel-live-7"], [NOW]
    cards: RunCards[RunSnapshot] = RunCards(
        lambda *message: sent.append(message), bytes, run_card.mimebundle, lambda: now[0], place_now=lambda: place[0]
    )
    for reports in range(8):
        cards.run(run_with(reports=reports))
    now[0] += PICTURE_S
    for reports in range(51, 53):
        cards.run(run_with(reports=reports))
    picture = sent.pop(1)[1]["data"]["text/html"]
    assert "51 reports" in picture and "as of" in picture, "a saved notebook does not keep the state before the work"
    cards.run(run_with(state="stopping"))
    cards.run(run_with(state="stopped"))
    pages = [content["data"]["text/html"] for _, content, _ in sent]
    assert len(pages) == 3, "the page draws what changes meanwhile"
    for page in (*pages[:2], picture):
        place_of = '<div class="nbaccel-place nbaccel-live-7 nbaccel-of-run-1 nbaccel-at-run-1"><style>'
        assert page.startswith(place_of) and "mnist" in page
    assert "nbaccel-place" not in pages[2] and "stopped" in pages[2]


def test_a_card_without_a_live_view_is_sent_with_every_change() -> None:
    sent: list[Any] = []
    place = [""]
    cards: RunCards[RunSnapshot] = RunCards(
        lambda *message: sent.append(message), bytes, run_card.mimebundle, clock=lambda: NOW, place_now=lambda: place[0]
    )
    cards.run(run_with(reports=1))
    cards.run(run_with(reports=2))
    place[0] = "nbaccel-live-7"  # a cockpit was opened meanwhile
    cards.run(run_with(reports=3))
    cards.run(run_with(reports=4))
    assert ["nbaccel-place" in content["data"]["text/html"] for _, content, _ in sent] == [False, False, True]
