"""What an answer about a task's log has room for, and how bytes become its text."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nbaccel.views.history.answers import MOST_BYTES, PrintedText, TaskLogAnswer, fitted, printed, shares, shortened


def test_a_part_begins_with_a_whole_line_and_says_what_it_leaves_out() -> None:
    assert printed(b"f a line\nnext\n", 100, 20) == PrintedText("next\n", 114, 89)
    assert printed(b"all of it", 20, 20) == PrintedText("all of it", 29, 0)


def test_half_a_character_waits_for_its_rest() -> None:
    text = "grün".encode()
    first = printed(text[:3], 0, 0)
    assert (first.text, first.to) == ("gr", 2)
    assert printed(text[first.to :], first.to, first.to).text == "ün"


def test_colours_of_a_terminal_and_controls_are_left_out() -> None:
    assert printed(b"\x1b[31mred\x1b[0m\x00\x07 bar\r 20 %\ttab\n", 0, 0).text == "red bar\r 20 %\ttab\n"


def test_a_stream_uses_the_room_that_the_other_leaves() -> None:
    assert shares(100, 10, 50) == (40, 10)
    assert shares(10, 100, 50) == (10, 40)
    assert shares(100, 100, 50) == (25, 25)
    assert shares(3, 4, 50) == (3, 4)


def reader(content: bytes) -> Callable[[int], tuple[PrintedText, PrintedText]]:
    return lambda most: (printed(content[-most:], max(len(content) - most, 0), 0), PrintedText())


def test_an_answer_fits_however_its_text_is_written() -> None:
    for line in (b"x" * 99 + b"\n", b'"\\"' * 33 + b"\n", b"\n"):
        answer = fitted(TaskLogAnswer(0.0, False, failure="y" * 12_000), reader(line * 9_999), is_first=True)
        assert len(msgspec.json.encode(answer)) <= MOST_BYTES
        assert answer.out.text
        assert answer.out.left_out > 0
        assert answer.pause_s > 1


def test_a_later_answer_has_little_text_and_a_short_one_is_followed_in_a_second() -> None:
    assert len(fitted(TaskLogAnswer(0.0, False), reader(b"line\n" * 9_999), is_first=False).out.text) < 8_000
    assert fitted(TaskLogAnswer(0.0, False), reader(b"line\n"), is_first=False).pause_s == 1.0


def test_a_very_long_traceback_keeps_its_beginning_and_its_end() -> None:
    kept = shortened("begin" + "x" * 50_000 + "end")
    assert kept.startswith("begin")
    assert kept.endswith("end")
    assert "38008 characters of this traceback are left out" in kept
    assert shortened("short") == "short"
