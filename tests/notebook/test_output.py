"""A flood is folded with a count, a second cell's output is its own, and every line is either shown or counted."""

from __future__ import annotations

import json
from typing import Any

from nbaccel.notebook.output import CellOutput
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.views.sinks import Notice, Printed
from nbaccel.views.snapshot import Runtime


class FrontEnd:
    """Collects what a notebook would show, and holds the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.running = b""
        self.messages: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.output = CellOutput(
            lambda *message: self.messages.append(message),
            NotebookSettings(),
            clock=lambda: self.now,
            later=lambda flush: None,
            parent_now=lambda: self.running,
        )

    def texts(self, cell: str) -> str:
        return "".join(
            content["text"] for kind, content, parent in self.messages if kind == "stream" and parent["cell_id"] == cell
        )


def _parent(cell: str) -> bytes:
    return json.dumps({"header": {"msg_id": cell}, "cell_id": cell}).encode()


def _lines(count: int) -> str:
    return "".join(f"(f pid=1) line {number}\n" for number in range(count))


def test_output_goes_under_the_cell_that_submitted() -> None:
    front = FrontEnd()
    front.output.write(_parent("a"), "stdout", "one\n")
    front.output.write(_parent("b"), "stderr", "two\n")
    front.output.write(_parent("a"), "stdout", "three\n")
    assert (front.texts("a"), front.texts("b")) == ("one\nthree\n", "two\n")
    assert [content["name"] for _, content, _ in front.messages] == ["stdout", "stderr", "stdout"]


def test_every_line_is_shown_or_counted() -> None:
    front = FrontEnd()
    for _ in range(5):
        front.output.write(_parent("a"), "stdout", _lines(1000))
    front.output.flush()
    shown = front.texts("a").count("\n")
    assert shown == 60
    (fold,) = [content for kind, content, _ in front.messages if kind == "display_data"]
    assert fold["data"]["text/plain"].startswith(f"… {5000 - shown} more lines are in the log")


def test_the_count_of_folded_lines_changes_in_place() -> None:
    front = FrontEnd()
    front.output.write(_parent("a"), "stdout", _lines(100))
    front.output.flush()
    front.output.write(_parent("a"), "stdout", _lines(100))
    front.output.flush()
    front.output.flush()
    folds = [(kind, content["transient"]["display_id"]) for kind, content, _ in front.messages if kind != "stream"]
    assert [kind for kind, _ in folds] == ["display_data", "update_display_data"]
    assert len({display_id for _, display_id in folds}) == 1


def test_a_slow_task_is_shown_until_the_cell_has_two_hundred_lines() -> None:
    front = FrontEnd()
    for second in range(30):
        front.now = float(second)
        front.output.write(_parent("a"), "stdout", _lines(10))
    assert front.texts("a").count("\n") == 200


def test_lines_that_look_alike_are_all_shown() -> None:
    front = FrontEnd()
    front.output.write(_parent("a"), "stdout", "same\n" * 20)
    assert front.texts("a") == "same\n" * 20


def test_a_workers_lines_get_rays_prefix_each() -> None:
    front = FrontEnd()
    front.output.lines(Printed("train", 7, 1, b"one\n\ntwo\n", _parent("a")))
    assert front.texts("a") == "(train pid=7) one\n(train pid=7) \n(train pid=7) two\n"


class Bar:
    """What a front end shows of the bars of tasks, by their place."""

    def __init__(self, front: FrontEnd) -> None:
        self._front = front

    def now(self) -> list[str]:
        shown: dict[str, str] = {}
        for kind, content, _ in self._front.messages:
            if kind in ("display_data", "update_display_data"):
                id = content["transient"]["display_id"]
                assert (id in shown) == (kind == "update_display_data")
                shown[id] = content["data"]["text/plain"]
        return list(shown.values())


def test_a_bar_moves_in_its_place_and_its_end_is_no_line() -> None:
    front = FrontEnd()
    bar = Bar(front)
    for text in (b"\r10 %", b"\r20 %\r30 %"):
        front.output.lines(Printed("train", 7, 2, text, _parent("a")))
        front.now += 1
    assert bar.now() == ["(train pid=7) 30 %"]
    front.output.lines(Printed("train", 7, 2, b"\r100 %\n", _parent("a")))
    front.output.lines(Printed("train", 7, 2, b"\r5 %", _parent("a")))
    front.output.lines(Printed("train", 7, 2, b"\nover\n", _parent("a")))
    assert bar.now() == ["(train pid=7) 100 %", "(train pid=7) 5 %"]
    assert front.texts("a") == "(train pid=7) over\n"


def test_a_bar_that_moves_fast_is_drawn_a_few_times_a_second_and_as_it_is_at_last() -> None:
    front = FrontEnd()
    for step in range(1000):
        front.output.lines(Printed("train", 7, 2, f"\r{step} of 1000".encode(), _parent("a")))
        front.now += 0.001
    assert 2 <= len(front.messages) <= 10
    front.output.flush()
    assert Bar(front).now() == ["(train pid=7) 999 of 1000"]


def test_bars_of_several_tasks_and_streams_have_places_of_their_own() -> None:
    front = FrontEnd()
    for pid in (7, 8):
        for stream in (1, 2):
            front.output.lines(Printed("train", pid, stream, f"\r{pid}{stream}".encode(), _parent("a")))
    assert Bar(front).now() == ["(train pid=7) 71", "(train pid=7) 72", "(train pid=8) 81", "(train pid=8) 82"]


def test_lines_that_end_as_on_windows_are_lines() -> None:
    front = FrontEnd()
    front.output.lines(Printed("train", 7, 1, b"one\r\ntwo\r\n", _parent("a")))
    assert front.texts("a") == "(train pid=7) one\r\n(train pid=7) two\r\n"


def test_a_notice_about_no_cell_goes_under_the_one_that_runs() -> None:
    front = FrontEnd()
    front.running = _parent("b")
    front.output.notice(Notice("infeasible", "The placement group cannot be placed.", b""))
    assert front.texts("b") == "nbaccel: The placement group cannot be placed.\n"


def test_a_notice_is_shown_however_much_was_printed() -> None:
    front = FrontEnd()
    front.output.write(_parent("a"), "stdout", _lines(1000))
    front.output.notice(Notice("infeasible", "Task train can never run: it asks 4 GPUs.", _parent("a")))
    assert "nbaccel: Task train can never run" in front.texts("a")


def test_a_line_about_a_task_that_waits_changes_in_place_and_goes() -> None:
    front = FrontEnd()
    for text in ("train waits for 1 GPU", "train still waits", "", ""):
        front.output.notice(Notice("waiting", text, _parent("a"), b"t1"))
    shown = [(kind, content["data"]["text/plain"]) for kind, content, _ in front.messages]
    assert shown == [
        ("display_data", "nbaccel: train waits for 1 GPU"),
        ("update_display_data", "nbaccel: train still waits"),
        ("update_display_data", ""),
    ]
    assert len({content["transient"]["display_id"] for _, content, _ in front.messages}) == 1


def test_what_waits_of_a_cell_is_one_box_with_a_line_for_each_reason() -> None:
    front = FrontEnd()
    busy = "Both GPUs are busy: train on GPU 0 and GPU 1."
    waits = [f"evaluate waits for 1 GPU. {busy}", "load waits for 2 arguments", f"score waits for 1 GPU. {busy}"]
    for task, text in zip((b"t1", b"t2", b"t3"), waits, strict=True):
        front.output.notice(Notice("waiting", text, _parent("a"), task))
    front.output.notice(Notice("infeasible", "huge asks for 9 GPUs, but this machine has 2.", _parent("a"), b"t4"))
    front.output.notice(Notice("waiting", "other waits for 1 GPU", _parent("b"), b"t5"))
    front.output.notice(Notice("waiting", "", b"", b"t2"))
    kinds = [kind for kind, _, _ in front.messages]
    assert kinds == ["display_data", *["update_display_data"] * 3, "display_data", "update_display_data"]
    ids = [content["transient"]["display_id"] for _, content, _ in front.messages]
    assert ids[0] == ids[1] == ids[2] == ids[3] == ids[5] != ids[4]
    shown = front.messages[-1][1]["data"]
    assert shown["text/plain"].splitlines() == [
        "nbaccel: huge asks for 9 GPUs, but this machine has 2.",
        f"nbaccel: evaluate waits for 1 GPU; score waits for 1 GPU. {busy}",
    ]
    assert shown["text/html"].count("<p") == 2 and '<p class="nbaccel-attention">' in shown["text/html"]
    assert shown["text/html"].count('<div class="nbaccel">') == 1


def test_a_cell_that_joins_a_cluster_by_itself_again_is_told_which() -> None:
    front = FrontEnd()
    front.running = _parent("a")
    front.output.started_again(Runtime("local", "1", "3.11", shared=True))
    assert front.texts("a") == "nbaccel: Joined a running cluster, since this notebook had left the one before.\n"
