"""The keys of `nbaccel top`: what each press changes, what is asked before anything ends, and what a terminal sends."""

from __future__ import annotations

import os
import pty
import sys
import threading

import pytest

from nbaccel.views.top import SORTS, Endable, TerminalKeys, TopView, keys_of

FIRST = Endable("s", "task", "t1", "train 7f3a-1")
SECOND = Endable("s", "actor", "a1", "actor Model a1")


def view(*keys: str) -> TopView:
    """A page of two rows, after these presses."""
    pressed = TopView(rows=[FIRST, SECOND])
    for key in keys:
        assert pressed.press(key) is None
    return pressed


@pytest.mark.parametrize("key", ["q", "escape"])
def test_q_and_escape_leave(key: str) -> None:
    assert view(key).over


def test_the_footer_names_the_keys() -> None:
    assert view().footer() == "q quit  ? help  ↑↓ choose  k kill  s sort by state  / filter"


def test_s_goes_through_the_orders() -> None:
    assert [view(*"s" * presses).sort for presses in range(len(SORTS) + 1)] == [*SORTS, SORTS[0]]


def test_the_arrows_choose_and_stop_at_the_ends() -> None:
    chosen = [view(*keys).chosen for keys in (["down"], ["down", "down"], ["down"] * 3, ["down", "up"], ["up"])]
    assert chosen == ["t1", "a1", "a1", "t1", "t1"]


def test_arrows_on_an_empty_page_choose_nothing() -> None:
    empty = TopView()
    assert empty.press("down") is None and empty.chosen == ""


@pytest.mark.parametrize(
    ("down", "question"), [(1, "Cancel train 7f3a-1?"), (2, "End actor Model a1?")], ids=["task", "actor"]
)
def test_k_asks_before_it_ends(down: int, question: str) -> None:
    asking = view(*["down"] * down, "k")
    assert asking.footer() == f"{question} y: yes, any other key: no"
    assert asking.press("y") == (FIRST, SECOND)[down - 1]


@pytest.mark.parametrize("key", ["n", "q", "enter", "escape", "k"])
def test_any_other_key_ends_nothing(key: str) -> None:
    asked = view("down", "k", key)
    assert asked.said == "Nothing was ended." and asked.mode == "watch" and not asked.over


def test_k_without_a_choice_says_how_to_choose() -> None:
    assert "Choose a task or an actor first" in view("k").footer()


def test_a_row_that_has_gone_before_the_answer_is_not_ended() -> None:
    asked = view("down", "k")
    asked.rows = [SECOND]
    assert asked.press("y") is None and asked.said == "It has ended meanwhile."


def test_a_filter_is_typed_and_kept_or_taken_back() -> None:
    assert view("/", *"qk?").text == "qk?"
    assert view("/", *"ab", "backspace", "enter").footer().endswith("/ filter: a")
    assert view("/", *"ab", "escape").text == ""
    assert view("/", "down", *"a").chosen == ""


def test_the_question_mark_shows_help_until_the_next_key() -> None:
    assert view("?").mode == "help"
    assert view("?", "q").mode == "watch" and not view("?", "q").over


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A", ["up"]),
        (b"\x1bOB", ["down"]),
        (b"\x1b[6~", ["page down"]),
        (b"\x1b", ["escape"]),
        (b"\r", ["enter"]),
        (b"\x7f", ["backspace"]),
        ("é/".encode(), ["é", "/"]),
        (b"\x1b[15~", []),
        (b"\x1b[Bk\x1b[A\x1b", ["down", "k", "up", "escape"]),
        (b"\x00\xff", []),
    ],
)
def test_bytes_of_a_terminal_are_keys(data: bytes, keys: list[str]) -> None:
    assert keys_of(data) == keys


def test_a_terminal_is_read_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    import termios

    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(theirs)
        came = threading.Event()
        with TerminalKeys(came.set) as keys:
            os.write(ours, b"s")
            assert came.wait(30) and keys.can_read
            assert list(keys.take()) == ["s"] and list(keys.take()) == []
        assert termios.tcgetattr(theirs) == before
    os.close(ours)


def test_where_stdin_is_no_terminal_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with TerminalKeys(lambda: None) as keys:
            assert not keys.can_read and list(keys.take()) == []
