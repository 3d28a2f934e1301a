"""Who used the devices, as a table and in words."""

from __future__ import annotations

from nbaccel.notebook.accounting import accounting_view, total
from nbaccel.views import palette
from nbaccel.views.history.answers import AccountingAnswer
from nbaccel.views.history.book import HistoryBook, PastRun
from nbaccel.views.palette import HUES
from nbaccel.views.snapshot import JobRow, NodeRow, Snapshot
from tests.notebook.levels import Reading

GPUS = ("5180ff6a4af1/GPU/0", "5180ff6a4af1/GPU/1")


def accounting_answer() -> AccountingAnswer:
    """Two GPUs for 20 s: one was held for 10 s, the other for 4 s, when a task of another cell failed on it."""
    book = HistoryBook(0.0)
    for gpu in GPUS:
        book.has_device(gpu, 0.0)
    book.ended(PastRun("train", "[3] line 1", 1, "FINISHED", ((GPUS[0], 1.0),), "ab", 0.0, 0.0, 10.0))
    book.ended(PastRun("<b>infer</b>", "[4] line 2", 1, "FAILED", ((GPUS[1], 1.0),), "cd", 0.0, 1.0, 5.0))
    return book.accounting(20.0)


def test_functions_cells_and_devices_are_rows_the_largest_first() -> None:
    rows = Reading(accounting_view(accounting_answer()).html).rows
    assert rows[0] == ["Function", "Runs", "Failed", "Seconds in all", "Device-seconds", "Share"]
    assert ["train", "1", "", "10", "10", "71 %"] in rows and ["[3] line 1", "1", "", "10", "10", "71 %"] in rows
    assert ["<b>infer</b>", "1", "1", "4", "4", "29 %"] in rows and ["[4] line 2", "1", "1", "4", "4", "29 %"] in rows
    assert ["Device", "Held seconds", "Idle", "Held share"] in rows
    devices = [row for row in rows if row[0].startswith("GPU")]
    assert devices == [["GPU 1", "4", "80 %", "20 %"], ["GPU 0", "10", "50 %", "50 %"]]


def test_all_of_a_view_is_said_in_the_unit_that_fits_its_largest_number() -> None:
    for times, unit, took in ((1, "second", "10"), (100, "minute", "16.7"), (10_000, "hour", "27.8")):
        answer = accounting_answer()
        for row in (*answer.functions, *answer.cells):
            row.seconds, row.device_seconds = row.seconds * times, row.device_seconds * times
        shown = accounting_view(answer)
        rows = Reading(shown.html).rows
        assert rows[0][3:5] == [f"{unit.capitalize()}s in all", f"Device-{unit}s"]
        assert rows[1][3:5] == [took, took] and f"train: 1 run, {took} device-{unit}s" in shown.text
    answer.functions[1].device_seconds = 0.2
    assert "1 run, < 0.1 device-hours" in accounting_view(answer).text


def test_where_no_device_was_held_there_are_no_bars() -> None:
    book = HistoryBook(0.0)
    for number in range(64):
        book.has_device(f"5180ff6a4af1/GPU/{number}", 0.0)
    assert Reading(accounting_view(book.accounting(20.0)).html).rows == [], "a wall of empty bars says nothing"
    book.ended(PastRun("count", "[3] line 1", 1, "FINISHED", (), "ab", 0.0, 0.0, 10.0))
    shown = accounting_view(book.accounting(20.0))
    assert Reading(shown.html).rows[:2] == [["Function", "Runs", "Seconds in all"], ["count", "1", "10"]]
    assert (
        "GPU" not in shown.html.replace("NVIDIA GPU", "") and "nbaccel-bar" not in shown.html.rpartition("</style>")[2]
    )


def test_many_devices_that_were_never_held_are_one_row() -> None:
    answer = accounting_answer()
    book = HistoryBook(0.0)
    for number in range(2, 64):
        book.has_device(f"5180ff6a4af1/GPU/{number}", 0.0)
    answer.devices += book.accounting(20.0).devices
    shown = accounting_view(answer)
    devices = [row for row in Reading(shown.html).rows if row[-1].endswith("%") and len(row) == 4]
    assert devices == [
        ["62 devices", "never", "100 %", "0 %"],
        ["GPU 1", "4", "80 %", "20 %"],
        ["GPU 0", "10", "50 %", "50 %"],
    ]
    assert "GPU 2, GPU 3" in shown.html, "their names are the title"


def test_a_column_of_failures_is_there_only_if_something_failed() -> None:
    answer = accounting_answer()
    assert '<span class="nbaccel-failed">' in accounting_view(answer).html, "a count of failures is red"
    for row in (*answer.functions, *answer.cells):
        row.failed = 0
    assert "Failed" not in accounting_view(answer).html


def test_other_notebooks_nodes_and_mig_devices_have_their_names(busy_snapshot: Snapshot) -> None:
    answer = accounting_answer()
    nodes = ("5180ff6a4af162560e00", "77")
    busy_snapshot.nodes = [NodeRow(node, name) for node, name in zip(nodes, ("box", "other"), strict=True)]
    busy_snapshot.jobs = [JobRow(7, "b.ipynb")]
    busy_snapshot.devices[0].node_id, busy_snapshot.devices[0].parent = nodes[0], "GPU-1b9f"
    answer.cells[0].job = 7
    rows = Reading(accounting_view(answer, busy_snapshot).html).rows
    assert [row[0] for row in rows if row[0].endswith("line 1")] == ["b.ipynb [3] line 1"]
    assert [row[0] for row in rows[-2:]] == ["box GPU 1", "box GPU 0 · MIG 0"]


def test_a_function_has_its_hue_and_a_method_that_of_its_class() -> None:
    html = accounting_view(accounting_answer()).html
    assert f"background:{palette.colour(HUES.of('train'))}" in html
    assert palette.owner("Keeper.step") == "Keeper" and palette.owner("main.<locals>.step") == "main.<locals>.step"


def test_the_text_says_the_same() -> None:
    lines = accounting_view(accounting_answer()).text.splitlines()
    assert lines[0] == "14 device-seconds in all, devices idle 65 % of the time"
    assert "train: 1 run, 10 device-seconds" in lines and "GPU 1: idle 80 %" in lines


def test_before_anything_ran_it_says_what_would_be_here() -> None:
    empty = HistoryBook(0.0).accounting(5.0)
    assert "f.remote()" in accounting_view(empty).html
    assert total(empty) == "0 device-seconds in all"
