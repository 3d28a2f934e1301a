"""What people see of an experiment: its record in every snapshot, lines, cards, tables of its results, and Stop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import nbaccel
from nbaccel import cli, tune
from nbaccel.notebook import experiment_card, reprs, view
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.output import CellOutput
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.train.journal import LineFile
from nbaccel.tune import experiment_journal, result_tables
from nbaccel.tune.trial import Trial, TrialState
from nbaccel.tune.trial_decisions import TrialDecisions
from nbaccel.views import experiment_snapshot, sinks, tables
from nbaccel.views.experiment_snapshot import KIND, BestTrial, ExperimentSnapshot, ExperimentSummary
from nbaccel.views.observer_lines import ReadRows
from nbaccel.views.snapshot import PublishedRow, Runtime, Snapshot
from tests.notebook.levels import LEVELS, Reading, bare
from tests.rig import wait_until
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]
NOW = 1_000_070.0


def experiment(**changed: Any) -> ExperimentSnapshot:
    made = ExperimentSnapshot(
        id="experiment-1",
        name="first",
        path="/runs/first",
        started_at=1_000_000.0,
        counts={"running": 2, "done": 3, "error": 1, "pending": 4},
        total=10,
        metric="loss",
        best=BestTrial("a_00003", 0.03125, {"lr": "0.01", "layers": "2"}),
    )
    return msgspec.structs.replace(made, **changed)


def snapshot(*experiments: ExperimentSnapshot) -> Snapshot:
    rows = [PublishedRow(KIND, each.id, msgspec.to_builtins(each), NOW) for each in experiments]
    return Snapshot(Runtime("local", "0", "3"), time=NOW, published=rows)


def test_one_line_tells_an_experiment() -> None:
    assert experiment_snapshot.one_line(experiment(), NOW) == (
        "● first running 1 min 10 s · 4 of 10 trials ended · 2 running · 1 failed · best loss 0.03125 with lr 0.01, "
        "layers 2"
    )
    ended = experiment(state="stopped", ended_at=1_000_005.0, total=None, best=None, why="the time is over")
    assert experiment_snapshot.one_line(ended, NOW) == (
        "⊘ first stopped 5 s · 4 trials ended · 2 interrupted · 1 failed · the time is over"
    )


def test_the_cluster_shows_a_row_for_each_experiment() -> None:
    shown = snapshot(experiment(id="old", name="old", state="finished", ended_at=1_000_060.0), experiment())
    assert [row[:2] for row in experiment_snapshot.table(shown).rows] == [("first", "● running"), ("old", "✓ finished")]
    text, html = view.status_text(shown), view.status_html(shown)
    for page in (text, html):
        assert "4 of 10 trials ended · 2 running · 1 failed" in page and "loss 0.03125 with lr 0.01" in page


def test_nbaccel_status_has_the_same_rows() -> None:
    found = [each for each in cli._status_parts(snapshot(experiment())) if isinstance(each, tables.Table)]
    assert experiment_snapshot.table(snapshot(experiment())) in found
    assert "Experiments" not in [each.title for each in cli._status_parts(snapshot()) if isinstance(each, tables.Table)]


def test_the_card_is_changed_under_the_cell_that_began_the_experiment() -> None:
    sent: list[Any] = []
    output = CellOutput(lambda *message: sent.append(message), NotebookSettings(), parent_now=lambda: b'{"cell": 1}')
    output.experiment(experiment())
    output.experiment(experiment(state="finished"))
    assert [(kind, parent) for kind, _, parent in sent] == [
        ("display_data", {"cell": 1}),
        ("update_display_data", {"cell": 1}),
    ]
    assert "✓ first finished" in sent[1][1]["data"]["text/plain"]


def test_results_are_a_line_under_the_card_that_shows_them_and_tables_in_other_cells(tmp_path: Path) -> None:
    cell = [b'{"cell": 1}']
    output = CellOutput(lambda *message: None, NotebookSettings(), parent_now=lambda: cell[0])
    grid = tune.ResultGrid(str(tmp_path), drawn_trials(), "loss", "min")
    before = sinks.installed
    sinks.install(output)
    try:
        output.experiment(experiment(path=str(tmp_path)))
        pages = [reprs.results_html(grid)]
        output.experiment(experiment(path=str(tmp_path), state="finished"), grid.seen())
        pages.append(reprs.results_html(grid))
        output.experiment(experiment(id="experiment-2", path="/other", state="finished"), grid.seen())
        pages.append(reprs.results_html(grid))
        output.experiment(experiment(path=str(tmp_path), state="finished"), grid.seen())
        cell[0] = b'{"cell": 2}'
        pages.append(reprs.results_html(grid))
    finally:
        sinks.install(before)
    assert ["<table" in page for page in pages] == [True, False, False, True]
    assert "Best: loss 0.2 with lr 0.0001, kind flat (trial 0). All trials are in the card of this cell." in pages[1]
    assert pages[2] == pages[1]


def test_results_without_a_metric_are_a_line_with_the_numbers_of_trials(tmp_path: Path) -> None:
    output = CellOutput(lambda *message: None, NotebookSettings(), parent_now=lambda: b'{"cell": 1}')
    grid = tune.ResultGrid(str(tmp_path), drawn_trials())
    before = sinks.installed
    sinks.install(output)
    try:
        output.experiment(experiment(path=str(tmp_path), state="finished"), grid.seen())
        page = reprs.results_html(grid)
    finally:
        sinks.install(before)
    assert "ResultGrid(12 done" in page and "its trials in the card of this cell" in page and "<svg" not in page


def test_a_record_of_a_later_version_is_left_out() -> None:
    shown = snapshot(experiment())
    shown.published.append(PublishedRow(KIND, "other", {"id": 3}, NOW))
    assert len(experiment_snapshot.of_snapshot(shown)) == 1


@pytest.mark.parametrize("state", ["running", "stopping", "finished", "stopped", "failed"])
def test_the_card_says_how_to_stop_or_go_on(state: str) -> None:
    made = experiment(state=state, name="<b>", why="<i>" if state == "failed" else "")
    page = experiment_card.mimebundle(experiment_card.ShownExperiment(made), NOW)
    for drawn in page.values():
        assert ("Stop: the notebook" in drawn) == (state in ("running", "stopping"))
        assert ("Tuner.restore(" in drawn) == (state in ("stopped", "failed"))
    assert "<b>" not in page["text/html"] and "<i>" not in page["text/html"]


def test_a_script_gets_a_line_for_each_state_and_in_a_file_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sinks.Sinks()
    for done, state in ((0, "running"), (1, "running"), (2, "stopping"), (3, "stopped")):
        sink.experiment(experiment(state=state, counts={"done": done}))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ")[:4] for line in lines] == [
        ["nbaccel:", "●", "first", "running"],
        ["nbaccel:", "●", "first", "stopping"],
        ["nbaccel:", "⊘", "first", "stopped"],
    ]


def trial(number: int, loss: float | None, state: TrialState = TrialState.DONE, **config: Any) -> Trial:
    reports = [{"report": 0, "metrics": {"loss": loss, "timestamp": 1}}] if loss is not None else []
    return Trial(f"a_{number}", number, {"fixed": 1, "lr": number / 3, **config}, state, reports)


def trials() -> list[Trial]:
    failed = trial(2, None, TrialState.ERROR)
    failed.error_words = "ValueError: <odd>"
    other = trial(4, 9, TrialState.ERROR)
    other.error_words = "ValueError: <odd>"
    return [trial(0, 3), trial(1, float("nan"), TrialState.STOPPED), failed, trial(3, 1.5), other]


def test_results_are_a_table_with_the_best_first_and_errors_grouped() -> None:
    rows, errors = result_tables.of_trials(trials(), "loss", "min")
    assert rows.columns == ("Trial", "State", "lr", "loss", "Reports", "Took")  # `fixed` does not vary
    assert [row[:4] for row in rows.rows] == [
        ("3", "✓ done", "1", "1.5"),
        ("0", "✓ done", "0", "3"),
        ("4", "✕ error", "1.333", "9"),
        ("1", "⊘ stopped", "0.3333", "nan"),
        ("2", "✕ error", "0.6667", ""),
    ]
    assert errors.rows == [("ValueError: <odd>", "2", "2, 4")]


def test_a_trial_that_had_begun_when_the_search_ended_is_interrupted() -> None:
    cut, not_begun = trial(0, 3, TrialState.PENDING), trial(1, None, TrialState.PENDING)
    cut.started_at, cut.ended_at = 100.0, 136.0
    (rows,) = result_tables.of_trials([cut, not_begun], "loss", "min")
    assert [row[:2] + row[-1:] for row in rows.rows] == [("0", "⊘ interrupted", "36 s"), ("1", "◌ pending", "")]


def test_results_without_a_metric_keep_their_order_and_a_thousand_are_cut() -> None:
    (rows,) = result_tables.of_trials([trial(number, number) for number in range(1000)], None, None)
    assert len(rows.rows) == result_tables.MOST_ROWS and rows.rows[0][0] == "0" and "loss" in rows.columns
    assert rows.title.startswith("1000 trials, 20 of them here")
    assert result_tables.of_trials([], "loss", "min")[0].rows == []


def test_results_have_html_with_everything_escaped(tmp_path: Path) -> None:
    grid = tune.ResultGrid(str(tmp_path), trials(), "loss", "min")
    analysis = tune.ExperimentAnalysis(str(tmp_path), default_metric="loss", default_mode="min", trials=trials())
    for page in (grid._repr_html_(), analysis._repr_html_(), reprs.results_html(grid), reprs.results_html(analysis)):
        assert page.index(">3<") < page.index(">0<") and "✕ error" in page
        assert "ValueError: &lt;odd&gt;" in page and "<odd>" not in page


def test_results_and_the_card_say_the_same_at_every_level_of_html(tmp_path: Path) -> None:
    grid = tune.ResultGrid(str(tmp_path), trials(), "loss", "min")
    ended = experiment_card.html(experiment(), NOW, seen_of(drawn_trials()))
    for page in (reprs.results_html(grid), experiment_card.html(experiment(), NOW), ended):
        full, *others = (Reading(level(page)) for level in LEVELS.values())
        assert full.words
        for other in others:
            assert (other.words, other.rows) == (full.words, full.rows)


def drawn_trials(count: int = 12) -> list[Trial]:
    """Trials with curves; their loss grows with lr, and odd ones have a word that needs escapes."""
    return [
        Trial(
            f"a_{number}",
            number,
            {"lr": 10.0 ** (number % 4 - 4), "kind": "<wide>" if number % 2 else "flat", "fixed": 1},
            TrialState.DONE,
            [{"report": each, "metrics": {"loss": (number + 1) / (each + 1)}} for each in range(5)],
        )
        for number in range(count)
    ]


def seen_of(made: list[Trial], mode: str | None = "min") -> ExperimentSummary:
    return result_tables.seen_of(made, "loss" if mode else None, mode)


def test_the_end_of_an_experiment_has_the_metric_by_report_and_by_parameter(tmp_path: Path) -> None:
    made = drawn_trials()
    grid = tune.ResultGrid(str(tmp_path), made, "loss", "min")
    card_of_end = experiment_card.html(experiment(), NOW, seen_of(made))
    for page in (reprs.results_html(grid), card_of_end):
        rows = Reading(bare(page)).rows
        assert ["report", "0", "1", "2", "3"] in rows and ["3", "0.25", "0.5", "0.75", "1"] in rows
        assert ["Parameter", "Values", "Trials", "Lowest loss", "Median", "Highest"] in rows
        assert ["lr", "0.0001", "3", "0.2", "1", "1.8"] in rows and ["kind", "<wide>", "6", "0.4", "1.4", "2.4"] in rows
        assert "<wide>" not in page and 'class="nbaccel-unseen"' not in page


def test_pictures_of_the_page_stand_in_the_card_of_the_end_and_in_results(tmp_path: Path) -> None:
    sent: list[Any] = []
    output = CellOutput(lambda *message: sent.append(message), NotebookSettings(), parent_now=lambda: b'{"cell": 1}')
    made = drawn_trials()
    output.experiment(experiment(path=str(tmp_path)))
    output.pictures("experiment-1", Html("<svg>early</svg>"))
    output.experiment(experiment(path=str(tmp_path), state="finished"), seen_of(made))
    output.pictures("experiment-1", Html("<svg>one</svg>"))
    output.pictures("experiment-1", Html("<svg>another tab's</svg>"))
    assert ["<svg>one" in content["data"]["text/html"] for _, content, _ in sent] == [False, False, True]
    page = sent[-1][1]["data"]["text/html"]
    assert page.index('class="nbaccel-unseen"') > page.index("<svg>one"), "the tables are for those who do not see it"
    assert output.pictures_of(str(tmp_path)) == "<svg>one</svg>" and output.pictures_of("/other") == ""


def test_long_names_break_in_heads_of_columns() -> None:
    made = drawn_trials()
    for each in made:
        each.config = {f"{name}_with_a_name_of_very_many_letters": value for name, value in each.config.items()}
    page = experiment_card.html(experiment(), NOW, seen_of(made))
    assert "lr_<wbr>with_<wbr>a_<wbr>name_<wbr>of_<wbr>very_<wbr>many_<wbr>letters</th>" in page


def test_numbers_of_a_parameter_are_ranges_with_as_many_trials_each() -> None:
    made = [trial(number, number) for number in range(20)]
    rows = Reading(bare(experiment_card.html(experiment(), NOW, seen_of(made)))).rows
    assert [row[2] for row in rows if row[0] == "lr"] == ["5"] * 4


@pytest.mark.parametrize("loss", [None, float("nan"), float("inf")])
def test_trials_without_a_finite_value_have_their_table_alone(loss: float | None) -> None:
    page = experiment_card.html(experiment(), NOW, seen_of([trial(number, loss) for number in range(3)]))
    assert ">2<" in page and "by parameter" not in page


def test_the_card_of_an_experiment_that_ends_is_sent_with_its_trials() -> None:
    made = TrialDecisions()
    for each in drawn_trials():
        made.add(each)
    sent: list[tuple[str, ExperimentSummary | None]] = []

    class Sink(sinks.Sinks):
        def experiment(self, snapshot: ExperimentSnapshot, seen: ExperimentSummary | None = None) -> None:
            if snapshot.id == shown.id:
                sent.append((snapshot.state, seen))

    shown = result_tables.ExperimentLive("e", "/e", made, ("loss", "min"), 12, lambda what: None)
    before = sinks.installed
    sinks.install(Sink())
    try:
        shown.show("running", "")
        shown.end("finished", "")
    finally:
        sinks.install(before)
    assert [(state, seen is None) for state, seen in sent] == [("running", True), ("finished", False)]
    assert sent[1][1] is not None and len(sent[1][1].trials) == 12


def test_the_record_names_the_best_trial_and_the_parameters_that_vary() -> None:
    made = TrialDecisions()
    for each in trials():
        made.add(each)
    shown = result_tables.ExperimentLive("e", "/e", made, ("loss", "min"), 5, lambda what: None).snapshot(
        "running", "", None
    )
    assert shown.best == BestTrial("a_3", 1.5, {"lr": "1"}) and shown.counts["error"] == 2 and shown.total == 5


def seen(name: str) -> list[ExperimentSnapshot]:
    found = experiment_snapshot.of_snapshot(nbaccel.snapshot())
    return [each for each in found if each.name == name]


def test_an_experiment_is_seen_by_all_and_stops_when_asked(cluster: Any, tmp_path: Path) -> None:
    runner = tune.Tuner(
        trainables.until_stopped,
        param_space={"x": tune.grid_search([1, 2]), "folder": str(tmp_path)},
        tune_config=tune.TuneConfig("max", "number"),
        run_config=tune.RunConfig(name="seen", storage_path=str(tmp_path / "runs")),
    )._start()
    wait_until(lambda: any(each.best is not None and each.counts.get("running") == 2 for each in seen("seen")), "it")
    (shown,) = seen("seen")
    assert shown.total == 2 and shown.metric == "number" and shown.state == "running"
    wait_until(lambda: nbaccel.stack("seen").count("in until_stopped") == 2, "the stacks of both trials")
    assert nbaccel.stack("00001").startswith("trial ") and nbaccel.stack("00001").count("pid") == 1
    nbaccel.api.ask(shown.id, "stop")
    runner.wait_with_ladder()
    wait_until(lambda: [each.state for each in seen("seen")] == ["stopped"], "its end")
    (shown,) = seen("seen")
    assert shown.stops == 1 and shown.ended_at is not None and shown.why == "", "its state says it"


def test_what_is_due_a_moment_after_the_journal_was_looked_at_is_not_shown_yet() -> None:
    shown = result_tables.ExperimentLive("e", "/e", TrialDecisions(), ("loss", "min"), 0, lambda what: None)
    shown.changed()
    due = shown.due
    assert due is not None
    shown.show_if_due(due - 1e-6)
    assert shown.due == due


def test_an_end_of_a_trial_is_on_the_disk_before_it_is_shown(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the experiment is shown, the journal as it was last synced has all ends that are shown."""
    journal = tmp_path / "runs" / "synced" / experiment_journal.FILE
    on_disk, shown = [0], []
    sync = LineFile.sync

    def recorded(self: LineFile) -> None:
        is_ours = journal.exists() and os.path.samefile(self._file.name, journal)
        ends = journal.read_bytes().count(b'"state": ') if is_ours else 0
        sync(self)
        on_disk[0] = ends if is_ours else on_disk[0]

    class Sink(sinks.Sinks):
        def experiment(self, snapshot: ExperimentSnapshot, seen: ExperimentSummary | None = None) -> None:
            if snapshot.name == "synced":
                shown.append((sum(snapshot.counts.get(each, 0) for each in ("done", "stopped", "error")), on_disk[0]))

    monkeypatch.setattr(LineFile, "sync", recorded)
    before = sinks.installed
    sinks.install(Sink())
    try:
        tune.Tuner(
            trainables.square,
            param_space={"x": tune.grid_search(list(range(12)))},
            run_config=tune.RunConfig(name="synced", storage_path=str(tmp_path / "runs")),
        ).fit()
    finally:
        sinks.install(before)
    assert shown[-1][0] == 12 and all(ended <= safe for ended, safe in shown), shown


def rows_of(id: str) -> dict[str, Any]:
    return nbaccel.engine.current().history(ReadRows(id)).rows


def test_one_trial_is_stopped_while_the_others_go_on(cluster: Any, tmp_path: Path) -> None:
    runner = tune.Tuner(
        trainables.until_stopped,
        param_space={"x": tune.grid_search(list(range(40))), "folder": str(tmp_path)},
        tune_config=tune.TuneConfig("max", "number"),
        run_config=tune.RunConfig(name="one", storage_path=str(tmp_path / "runs")),
    )._start()

    def states() -> dict[int, str]:
        found = seen("one")
        return {row["number"]: row.get("state", "pending") for row in rows_of(found[0].id).values()} if found else {}

    def reported(number: int) -> bool:
        return any(row["number"] == number and row.get("reports") for row in rows_of(seen("one")[0].id).values())

    wait_until(lambda: bool(states()) and reported(0) and reported(1), "the reports of two trials")
    (shown,) = seen("one")
    names = {row["number"]: name for name, row in rows_of(shown.id).items()}
    assert states()[39] == "pending", "it does not fit"
    nbaccel.api.ask(shown.id, f"stop-trial 0 {names[0]}")
    nbaccel.api.ask(shown.id, f"stop-trial 0 {names[0]}")  # a press that comes twice is no further step
    nbaccel.api.ask(shown.id, f"stop-trial 0 {names[39]}")
    wait_until(lambda: states()[0] == "stopped" and states()[39] == "stopped", "their ends")
    assert states()[1] == "running" and seen("one")[0].state == "running"
    nbaccel.api.ask(shown.id, "stop 0")
    runner.wait_with_ladder()
    ended = {trial.number: trial for trial in runner.experiment.trials.values()}
    assert ended[0].state is TrialState.STOPPED and ended[0].stops == 1 and ended[39].state is TrialState.STOPPED
    assert ended[1].state is TrialState.PENDING, "a restored experiment goes on with it"
