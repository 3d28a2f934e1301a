"""The rows of a record: who asks is told what has changed, in answers that stay small."""

from __future__ import annotations

import msgspec
import pytest

from nbaccel.views import record_book
from nbaccel.views.record_book import ANSWER_BYTES, RowBook


def test_a_row_that_changes_is_told_once_with_its_last_value() -> None:
    book = RowBook()
    book.put({"a": {"n": 1}, "b": {"n": 1}})
    book.put({"a": {"n": 2}})
    book.put({"a": {"n": 3}})
    answer = book.answer(0)
    assert list(answer.rows.items()) == [("b", {"n": 1}), ("a", {"n": 3})]
    assert book.answer(answer.seq).rows == {}


def test_a_thousand_rows_come_in_several_answers_that_are_small_and_leave_none_out() -> None:
    book = RowBook()
    book.put({f"trial {number}": {"number": number, "text": "x" * 150} for number in range(1000)})
    known: dict[str, record_book.Row] = {}
    since, answers = 0, 0
    while len(known) < 1000:
        answer = book.answer(since)
        assert len(msgspec.json.encode(answer)) < ANSWER_BYTES + 200
        known |= answer.rows
        since, answers = answer.seq, answers + 1
        assert (answer.pause_s == 0) == (len(known) < 1000), "whoever asks does so again at once while there is more"
    assert answers < 10 and [known[f"trial {number}"]["number"] for number in range(1000)] == list(range(1000))


def test_rows_without_an_end_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_book, "MOST_ROWS", 2)
    book = RowBook()
    book.put({str(number): {} for number in range(5)})
    book.put({"1": {"n": 1}})
    assert book.answer(0).rows == {"0": {}, "1": {"n": 1}}


def test_a_row_that_is_no_json_or_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="The row a cannot be published"):
        record_book.check_rows({"a": {"what": object()}})
    with pytest.raises(ValueError, match="at most 4000 can be published"):
        record_book.check_rows({"a": {"what": "x" * 5000}})
