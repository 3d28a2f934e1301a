"""A worker's streams: every line has its task in front, where that is another one than before."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine import rays

rays.import_shipped()
printing = __import__("nbaccel_in_ray.printing").printing


class Id:
    """As Ray's ids."""

    def __init__(self, letter):
        self._bytes = (letter * 24).encode()

    def binary(self):
        return self._bytes

    def hex(self):
        return self._bytes.hex()

    def __eq__(self, other):
        return self._bytes == other._bytes


class Process:
    """Stands for Ray's core and for the reporter: which tasks run here, and which of them prints."""

    def __init__(self):
        self.running = {}
        self.speaks = ""
        self.names = {}
        self.file = io.StringIO()
        self.stream = printing.ReportedOutput(self.file, self, self)

    def begin(self, letter, name="train", **more):
        """Ray says so in the streams, then the task is noted."""
        self.speaks, self.names[letter] = letter, name
        print(f":task_name:{name}\n", end="", file=self.stream)
        self.running[letter] = {"task_id": Id(letter), **more}

    def end(self, letter):
        self.stream.ended(printing.id_of(self.running.pop(letter)))

    def say(self, *words, by=None, **more):
        self.speaks = by or self.speaks
        print(*words, file=self.stream, **more)

    def get_current_task_id(self):
        return Id(self.speaks)

    def get_current_task_name(self):
        return self.names[self.speaks]

    def speaking(self):
        return self.running.get(self.speaks)

    def several_run(self):
        return len(self.running) > 1

    def written(self):
        return self.file.getvalue().splitlines()


@pytest.fixture
def process():
    return Process()


def mark(letter, name="train"):
    return f":task_name:{name} task={(letter * 24).encode().hex()}"


def test_the_id_stands_behind_the_name_that_ray_writes_and_lines_follow_as_they_are(process):
    process.begin("a")
    process.say("one", 1)
    process.say("two")
    process.end("a")
    process.begin("b", "test")
    process.say("three")
    assert process.written() == [mark("a"), "one 1", "two", mark("b", "test"), "three"]


def test_a_task_that_prints_nothing_writes_nothing(process):
    process.begin("a")
    process.end("a")
    assert process.written() == [mark("a")]


def test_the_lines_of_tasks_that_run_at_the_same_time_are_whole_and_named(process):
    process.begin("a")
    process.begin("b")
    process.say("half of a", by="a", end="")
    process.say("b", by="b")
    process.say(" and the rest", by="a")
    process.say("b again", by="b", end="")
    process.end("b")
    assert process.written()[2:] == ["b", mark("a"), "half of a and the rest", mark("b"), "b again"]


def test_what_a_task_has_not_ended_with_a_newline_is_a_line_when_it_ends(process):
    process.begin("a")
    process.say("no newline", end="")
    assert process.written() == [mark("a")]
    process.end("a")
    process.begin("b")
    assert process.written() == [mark("a"), "no newline", mark("b")]


def test_a_bar_is_shown_when_it_is_flushed_and_does_not_swallow_what_follows(process):
    process.begin("a")
    process.say("\r10 %", end="", flush=True)
    process.say("\r20 %", end="", flush=True)
    assert process.file.getvalue().endswith("\r10 %\r20 %")
    process.end("a")
    process.begin("b")
    assert process.file.getvalue().endswith(f"\r20 %\n{mark('b')}\n")


def test_an_attempt_speaks_for_the_task_that_its_user_knows(process):
    process.begin("a", stands_for="cc" * 24)
    process.say("one")
    assert process.written() == [mark("a"), f":task_name:train task={'cc' * 24}", "one"]


def test_a_name_cannot_break_its_line(process):
    process.begin("a", "first")
    process.names["a"] = "two\nlines()"
    process.running["a"]["stands_for"] = "cc" * 24
    process.say("one")
    assert process.written()[1:] == [f":task_name:two lines task={'cc' * 24}", "one"]


def test_a_line_without_an_end_is_not_kept_for_ever(process):
    process.begin("a")
    for _ in range(70):
        process.say("x" * 1000, end="")
    assert len(process.file.getvalue()) > 65_536


def test_other_questions_go_to_the_stream_that_was_there(process):
    assert process.stream.getvalue() == ""
    assert process.stream.write("") == 0
