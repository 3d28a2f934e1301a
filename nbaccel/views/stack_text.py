"""The stack of a task as people read it: the frames of its own code, and of what that has called."""

from __future__ import annotations

import linecache
import os
import re

import msgspec

from nbaccel.views import sinks

# As faulthandler writes it, or with a comma, as a traceback does.
FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+|\?\?\?),? in (?P<name>.*)')
# Not every folder of the name nbaccel: a clone, with a user's notebooks in it, has it too.
_PACKAGE = re.escape(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep)
_OURS = re.compile(
    rf"^{_PACKAGE}|[/\\](?:(?:site|dist)-packages[/\\]nbaccel|nbaccel_in_ray)[/\\]"
    r"|[/\\]ray[/\\](?:_private|_raylet|util[/\\]tracing)|^<frozen |^<string>"
)
_OF_LIBRARIES = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3")


class StackAnswer(msgspec.Struct):
    """The frames of each thread or coroutine of a process that runs code of users, as in a traceback.

    Ask again with `since` after `pause_s` while that is not 0.
    """

    text: str = ""
    since: int = 0
    pause_s: float = 0.0


def is_ours(file: str) -> bool:
    """Whether the code of this file is nbaccel's, or what Ray runs tasks with."""
    return bool(_OURS.search(file))


def is_users(file: str) -> bool:
    """Whether the code of this file is neither nbaccel's nor a library's."""
    return not is_ours(file) and not _OF_LIBRARIES.search(file)


def of_users(written: str) -> str:
    """From what a process has written, innermost frames first: its users' stacks, outermost frames first."""
    stacks = []
    for part in written.split("(most recent call first):")[1:]:
        frames = [found for line in part.splitlines() if (found := FRAME.search(line))][::-1]
        first = next((number for number, each in enumerate(frames) if is_users(each["file"])), len(frames))
        users = [each for each in frames[first:] if not is_ours(each["file"])]
        stacks.append("\n".join(f'  File "{each["file"]}", line {each["line"]}, in {each["name"]}' for each in users))
    return "\n\n".join(filter(None, stacks))


def with_sources(text: str) -> str:
    """The stacks with the source of each line, as far as this process has it; a notebook names its cells."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        frame = FRAME.search(line)
        if frame is None or not frame["line"].isdigit():
            continue
        place = sinks.installed.place(frame["file"], frame["line"])
        if place.startswith("cell "):
            lines[-1] = f"  {place}, in {frame['name']}"
        source = linecache.getline(frame["file"], int(frame["line"])).strip()
        lines += [f"    {source}"] if source else []
    return "\n".join(lines)


class Stack(str):
    """A stack; as the last line of a cell it is shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
