"""Answers what an open view of a page asks: runs, use and state of devices, trials of an experiment, a log, a stack.

The answers are the engine's own. For the page they get the hues of the functions that they name, and rows of this
notebook have no job, as in snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import IPython
import msgspec

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.notebook.tracebacks import FRAME, with_cell_lines, without_ours
from nbaccel.views import stack_text
from nbaccel.views.history.answers import (
    AccountingAnswer,
    AccountRow,
    ReadingsAnswer,
    RunKind,
    RunsAnswer,
    TaskLogAnswer,
)
from nbaccel.views.observer_lines import ReadAccounting, ReadReadings, ReadRows, ReadRuns, ReadStack, ReadTaskLog
from nbaccel.views.palette import HUES, owner, usual_hue
from nbaccel.views.record_book import RowsAnswer
from nbaccel.views.snapshot import Snapshot

QUESTIONS: dict[str, type[Any]] = {
    "task_log": ReadTaskLog, "runs": ReadRuns, "accounting": ReadAccounting, "readings": ReadReadings,
    "rows": ReadRows, "stack": ReadStack,
}  # fmt: skip
Answer = RunsAnswer | AccountingAnswer | ReadingsAnswer | RowsAnswer


def answered(
    engine: engines.Engine,
    asked: dict[str, Any],
    snapshot: Snapshot,
    keep: Callable[[object, object], None] = lambda asked, answer: None,
) -> str:
    """The answer to a page's question (`ask` and the question's fields) as JSON; `keep` gets both as records.

    Raises KeyError or ValidationError if the page asks for something else, and what the engine raises.
    """
    question = QUESTIONS[str(asked["ask"])]
    fields = {name: asked[name] for name in question.__struct_fields__ if asked.get(name) is not None}
    if question is ReadRows:
        fields["id"] = asked["record"]  # the page's `id` is that of its view
    asking = msgspec.convert(fields | {"ask": asked["ask"]}, question)
    if isinstance(asking, ReadTaskLog):
        return _of_log(engine, asking)
    if isinstance(asking, ReadStack):
        stack = engine.history(asking)
        return msgspec.json.encode(msgspec.structs.replace(stack, text=stack_text.with_sources(stack.text))).decode()
    answer: Answer = engine.history(asking)
    keep(asking, answer)
    functions, jobs = _named(answer)
    for row in jobs:
        row.job = 0 if row.job == snapshot.runtime.job else row.job
    said = msgspec.json.encode(answer)
    return (said[:-1] + b',"hues":' + msgspec.json.encode(_hues(functions)) + b"}").decode()


def _of_log(engine: engines.Engine, asking: ReadTaskLog) -> str:
    """A task's log. Where it cannot be read, the answer says why and ends the asking."""
    try:
        answer = engine.history(asking)
    except (RayError, ValueError, OSError) as error:
        answer = TaskLogAnswer(1.0, True, note=str(error))
    said = dict(msgspec.to_builtins(answer))
    said["yours"], said["failure"] = readable_failure(answer.failure)
    return msgspec.json.encode(said).decode()


def _named(answer: Answer) -> tuple[list[str], list[RunKind] | list[AccountRow]]:
    """(the functions that an answer names, the rows that name a job)."""
    if isinstance(answer, RunsAnswer):
        return [row.function for row in answer.kinds], answer.kinds
    return ([row.name for row in answer.functions], answer.cells) if isinstance(answer, AccountingAnswer) else ([], [])


def _hues(functions: Iterable[str]) -> dict[str, int]:
    """The hue of each function, where it is not the usual one of its name."""
    hues = {function: HUES.of(owner(function)) for function in dict.fromkeys(functions)}
    return {function: hue for function, hue in hues.items() if hue != usual_hue(function)}


# ---- the traceback of a failed task for its log: the frames of the user's code first, then all of them


_LIBRARY = re.compile(r"[/\\\\](?:site|dist)-packages[/\\\\]|[/\\\\]lib[/\\\\]python3|^<frozen ")


def readable_failure(failure: str) -> tuple[str, str]:
    """(the error with the frames of the user's code alone, "" without such frames; the whole traceback)."""
    shell = IPython.get_ipython()
    text = without_ours(failure)
    yours, has_users = _users(text.splitlines())
    return with_cell_lines(yours, shell) if has_users else "", with_cell_lines(text, shell)


def _users(lines: list[str]) -> tuple[str, bool]:
    """A traceback without the frames of libraries, and whether a frame is left."""
    kept: list[str] = []
    library = ""
    has_users = False
    for line in lines:
        match = FRAME.match(line)
        if match is not None:
            library = match["indent"] + "  " if _LIBRARY.search(match["file"]) else ""
            has_users = has_users or not library
        elif not (library and line.startswith(library)):
            library = ""
        if not library:
            kept.append(line)
    return "\n".join(kept), has_users
