"""What the history answers: plain records, the same for drivers and observers.

Each has `seq`, to be asked with as `since` the next time, and `pause_s`: how long to wait before that, so that an open
view costs at most 2 KB a second.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

import msgspec


class RunKind(msgspec.Struct):
    """What runs have in common that may be one bar. A bar refers to it by `index`."""

    index: int
    function: str
    cell: str
    job: int
    state: str


class LaneRuns(msgspec.Struct):
    """The bars of one lane, by their beginnings.

    A bar is `[kind, from, took, number, shade, waited]`, with times in milliseconds: `from` since the answer's
    `origin`, `waited` the longest wait before it. `number` is how many runs it stands for; below 0, -12 say, it stands
    for 12 of several kinds, the longest of them of this one. What is left out at the end of a bar is 1 for the number
    and 0 for the others.
    """

    lane: int
    bars: list[list[int]]


class RunsAnswer(msgspec.Struct):
    """The runs in a window of time: alike ones that are short are one bar, and none is left out.

    A `whole` answer has all bars. Another has those of the runs that ended after the whole answer whose `seq` was asked
    with: they take the place of those that came in between.
    """

    seq: int
    pause_s: float
    time: float
    origin: float
    whole: bool
    grain_s: float  # shorter runs were merged
    kinds: list[RunKind]  # that the bars name
    lanes: dict[int, str]  # `<node>/<resource>/<id>` of a device (12 digits of its node), or "cpu"
    ended: list[LaneRuns]
    running: list[LaneRuns]  # the runs that are under way, up to `time`
    waiting: list[float]  # how many tasks waited in the mean, in steps of `waiting_step_s` from `waiting_from` on
    waiting_from: float
    waiting_step_s: float


class AccountRow(msgspec.Struct):
    """What a function, or a cell, has used until the answer's time; it goes on using `devices` of them."""

    name: str
    job: int
    runs: int  # including the running ones
    failed: int
    running: int
    seconds: float  # of all runs, added up
    device_seconds: float  # half a device for 10 s is 5
    devices: float  # held now


class DeviceAccount(msgspec.Struct):
    """How long a device was held since it was known; half of it for 10 s is 5."""

    device: str  # as the name of its lane
    since: float
    held_seconds: float
    devices: float  # held now: 0.5 is half of it


class AccountingAnswer(msgspec.Struct):
    """Who used the devices: the rows that have changed since the asked `since`, those that used most first."""

    seq: int
    pause_s: float
    time: float
    functions: list[AccountRow]
    cells: list[AccountRow]
    devices: list[DeviceAccount]  # the least held ones first
    known_seconds: float  # of all devices, since they were known
    held_seconds: float  # of it
    left_out: int  # rows that did not fit


class PrintedText(msgspec.Struct, frozen=True):
    """What one stream of a process has said up to the offset `to`, with which the next question goes on."""

    text: str = ""
    to: int = 0
    left_out: int = 0  # bytes before the text that are not told


class TaskLogAnswer(msgspec.Struct):
    """What a task's process has printed since the asked offsets, and why the task failed."""

    pause_s: float
    over: bool  # the task has ended: what comes later is of other tasks of its process
    out: PrintedText = PrintedText()
    err: PrintedText = PrintedText()
    pid: int | None = None
    failure: str = ""  # the whole traceback, or the reason where the task raised nothing
    note: str = ""  # why there is no text


class ReadingsAnswer(msgspec.Struct):
    """Load, memory and power of the devices: a letter for each step, one device after the other in each text.

    The letters `A-Za-z0-9+/` are 0 to 63 of 63 parts of 100 %, of all memory, of `power_watts`; `.` is unknown. Step n
    begins n × `step_s` after `origin`.
    """

    seq: int
    pause_s: float
    time: float
    origin: float
    step_s: float
    first: int  # the number of the first step
    steps: int  # of each device
    power_watts: float
    prefix: str  # of the names of all lanes
    devices: list[str]  # the format of each
    utilisation: str
    memory: str
    power: str


# ---- what an answer about a task's log has room for, and how the bytes of a log file become its text


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
