"""The traceback in a task's log: the user's frames first, then all of them. Where the code of a process is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbaccel.notebook.widget import answered, readable_failure
from nbaccel.views.observer_lines import ReadStack
from nbaccel.views.snapshot import Runtime, Snapshot
from nbaccel.views.stack_text import StackAnswer

TRACEBACK = """Traceback (most recent call last):
  File "/home/ada/train.py", line 3, in train
    model.fit(batch)
  File "/usr/lib/python3.12/site-packages/torch/nn/module.py", line 80, in fit
    return self._call(batch)
           ^^^^^^^^^^^^^^^^^
  File "/home/ada/loss.py", line 9, in loss
    raise ValueError(text)
ValueError: bad batch
  of two lines"""


def test_the_users_frames_stand_without_those_of_libraries() -> None:
    yours, whole = readable_failure(TRACEBACK)
    assert whole == TRACEBACK
    assert "site-packages" not in yours
    assert "^^^" not in yours
    assert yours.splitlines() == [
        line for line in TRACEBACK.splitlines() if not any(part in line for part in ("torch", "_call", "^^"))
    ]


def test_a_reason_without_frames_is_said_once() -> None:
    assert readable_failure("its process was killed by SIGKILL") == ("", "its process was killed by SIGKILL")


def test_the_stack_of_a_process_has_the_sources_of_its_lines() -> None:
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "def test_a_re" in text
    )
    asked: list[ReadStack] = []

    def history(question: ReadStack) -> StackAnswer:
        asked.append(question)
        return StackAnswer(f'  File "{__file__}", line {line}, in train', 7)

    engine: Any = SimpleNamespace(history=history)
    question = {"say": "history", "id": "view", "ask": "stack", "key": "k", "pid": 5, "node_id": "", "since": -1}
    said = json.loads(answered(engine, question, Snapshot(Runtime("local", "1", "3.12"))))
    assert (asked, said["since"], said["pause_s"]) == ([ReadStack(5, "", -1)], 7, 0.0)
    assert "def test_a_reason_without_frames" in said["text"]
