"""What an answer about a task's log has room for, and how the bytes of a log file become its text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

import msgspec

from nbaccel.views.history.answers import PrintedText, TaskLogAnswer

MOST_BYTES = 31_000  # of an answer: with its frame it stays below 32 KB
LATER_BYTES = 7_600  # of text in the next ones: four seconds' worth of an open view
BYTES_PER_S = 1_900
LEAST_BYTES = 1_000
MOST_TRACEBACK_CHARACTERS = 12_000

# Terminals' colours and other controls mean nothing on a page. Newlines, tabs and carriage returns stay.
_CONTROLS = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)

# (the offset and the size of stdout, the same of stderr) -> what they said
ReadStreams = Callable[[int], tuple[PrintedText, PrintedText]]


def printed(data: bytes, start: int, since: int) -> PrintedText:
    """The text of bytes that were read at `start`, for a question that goes on at `since`.

    The text begins with a whole line.
    """
    if start > since and (line := data.find(b"\n") + 1):
        data, start = data[line:], start + line
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    half = len(decoder.getstate()[0])  # of a character, whose rest is not written yet
    return PrintedText(_CONTROLS.sub("", text), start + len(data) - half, start - since)


def shares(out_bytes: int, err_bytes: int, most: int) -> tuple[int, int]:
    """How many of the newest bytes of each stream are read: half of the room for each, or what the other leaves."""
    err = min(err_bytes, max(most // 2, most - out_bytes))
    return min(out_bytes, most - err), err


def fitted(answer: TaskLogAnswer, read: ReadStreams, *, is_first: bool) -> TaskLogAnswer:
    """The answer with as much of both streams as it has room for; `read` takes the number of bytes."""
    most = MOST_BYTES - len(msgspec.json.encode(answer)) if is_first else LATER_BYTES
    while True:
        answer.out, answer.err = read(max(most, LEAST_BYTES))
        size_bytes = len(msgspec.json.encode(answer))
        if size_bytes <= MOST_BYTES or most <= LEAST_BYTES:
            break
        most //= 2
    answer.pause_s = round(max(size_bytes / BYTES_PER_S, 1.0), 2)
    return answer


def shortened(traceback: str) -> str:
    """A traceback that is kept and sent: a very long one without its middle, and halves of characters as escapes."""
    traceback = traceback.encode("utf-8", "backslashreplace").decode()
    if len(traceback) <= MOST_TRACEBACK_CHARACTERS:
        return traceback
    half = MOST_TRACEBACK_CHARACTERS // 2
    left_out = len(traceback) - 2 * half
    return f"{traceback[:half]}\n  … {left_out} characters of this traceback are left out …\n{traceback[-half:]}"
