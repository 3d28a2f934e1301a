"""Who used the devices, as a table and in words."""

from __future__ import annotations

from nbaccel.notebook.accounting import accounting_view, total
from nbaccel.views.history.answers import AccountingAnswer
from nbaccel.views.history.book import HistoryBook
from nbaccel.views.history.run import PastRun
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
    rows = [row[:4] for row in Reading(accounting_view(accounting_answer()).html).rows]
    assert ["train", "1", "", "10.00 s"] in rows and ["[3] line 1", "1", "", "10.00 s"] in rows
    assert ["<b>infer</b>", "1", "1", "4.00 s"] in rows and ["[4] line 2", "1", "1", "4.00 s"] in rows
    devices = [row[:2] for row in rows if row[0].startswith("GPU")]
    assert devices == [["GPU 1", "4.00 s"], ["GPU 0", "10.00 s"]]


def test_the_text_says_the_same() -> None:
    lines = accounting_view(accounting_answer()).text.splitlines()
    assert lines[0] == "14.00 device seconds in all, devices idle 65 % of the time"
    assert "train: 1 run, 10.00 device seconds" in lines and "GPU 1: idle 80 %" in lines


def test_before_anything_ran_it_says_what_would_be_here() -> None:
    empty = HistoryBook(0.0).accounting(5.0)
    assert "f.remote()" in accounting_view(empty).html
    assert total(empty) == "0.00 device seconds in all"
