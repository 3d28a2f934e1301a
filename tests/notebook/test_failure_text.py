"""The traceback in a task's log: the user's frames first, then all of them."""

from __future__ import annotations

from nbaccel.notebook.page_history import readable_failure

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
