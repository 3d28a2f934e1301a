"""What an observer and a head say to each other: one line of JSON for each question and for each answer.

```
  {"token": …}            ──► {"kind": "welcome", "protocol": 1, …}
  {"ask": "notes"}        ──► {"kind": "notes", "notes": […]}
  {"ask": "no such"}      ──► {"kind": "error", "message": …}
```
`tools/observer_schema.py` writes `docs/observers.md` and `docs/observers.schema.json` from these classes. Fields are
only ever added, with defaults; a change that an observer could trip over raises PROTOCOL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, get_args

import msgspec

from nbaccel.views.explanations import Explanation
from nbaccel.views.history.answers import AccountingAnswer, ReadingsAnswer, RunsAnswer, TaskLogAnswer
from nbaccel.views.record_book import RowsAnswer
from nbaccel.views.snapshot import FunctionRow, Snapshot, TaskRow, decoder
from nbaccel.views.stack_text import StackAnswer
from nbaccel.views.task_filter import FoundTasks, TaskFilter

# ---- a typed question to a head: its fields say what is asked, its parameter is the type of the answer
#
#   class ReadLogs(Question[str], tag="logs"):     ──► {"ask": "logs", "task_id": …, "tail": 100}    as JSON
#       task_id: str | None = None                 ──► Ask(7, "logs", <msgpack of the fields>)       in a driver's frame
#       tail: int = 100
#                                                  ◄── a str
#
# `ReadLogs.answered_by(function)` makes one row of a head's table. The type checker compares the function's parameter
# and result with the question, so a row can neither expect other fields nor give another answer than the asker expects.


A = TypeVar("A")  # the answer
_NIL = msgspec.msgpack.encode(None)
P = TypeVar("P")  # the head's record of the asker


class Question(msgspec.Struct, Generic[A], tag_field="ask", omit_defaults=True):
    """A question that a head answers. A subclass gives its `tag`, the name by which the question travels."""

    @classmethod
    def tag(cls) -> str:
        return str(cls.__struct_config__.tag)

    @classmethod
    def answer_type(cls) -> Any:
        """The type of the answer: the parameter of the class."""
        return get_args(cls.__dict__["__orig_bases__"][0])[0]

    @classmethod
    def answered_by(cls, answer: Callable[[P, Self], A]) -> Row[P]:
        """Make a row of a head's table: the function gets the asker and the question, and returns the answer."""
        return Row(cls, answer)

    def body(self) -> bytes:
        """MessagePack of the question; fields that have their defaults are left out."""
        return msgspec.msgpack.encode(self)

    def read_answer(self, body: bytes) -> A:
        """The answer, from what `Row.encoded_answer` wrote."""
        answer: A = decoder(self.answer_type()).decode(body or _NIL)
        return answer


class Row(msgspec.Struct, Generic[P], frozen=True):
    """One question of a head's table, and the function that answers it."""

    question: type[Question[Any]]
    answer: Callable[[P, Any], Any]

    def encoded_answer(self, asker: P, body: bytes) -> bytes:
        """Answer a driver's question. Raises what the function raises, and ValidationError for wrong fields."""
        asked = msgspec.msgpack.decode(body, type=self.question) if body else self.question()
        return msgspec.msgpack.encode(self.answer(asker, asked))


def table_of(*rows: Row[P]) -> dict[str, Row[P]]:
    """The rows by the names of their questions."""
    return {row.question.tag(): row for row in rows}


PROTOCOL = 1

# ---- what a head says


class ObserverLine(msgspec.Struct, tag_field="kind"):
    """A line that a head writes; `kind` says which."""

    @classmethod
    def tag(cls) -> str:
        return str(cls.__struct_config__.tag)

    def encoded(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"


class WelcomeLine(ObserverLine, tag="welcome"):
    """The token is right: the observer may ask."""

    protocol: int
    session: str


class ErrorLine(ObserverLine, tag="error"):
    """The question has no answer, for this reason. The observer may ask something else, unless the connection ends."""

    message: str


class DoneLine(ObserverLine, tag="done"):
    """The question was an order, and the head has taken it."""

    ask: str
    node_id: str | msgspec.UnsetType = msgspec.UNSET  # of the node that was added
    workers: int | msgspec.UnsetType = msgspec.UNSET  # that were ended
    task_id: str | msgspec.UnsetType = msgspec.UNSET  # of the task that was submitted


class SnapshotLine(ObserverLine, tag="snapshot"):
    """The snapshot of the cluster."""

    snapshot: Snapshot


class ExplanationsLine(ObserverLine, tag="explanations"):
    """Why things are where they are; empty when the id is not known."""

    explanations: list[Explanation]


class LogsLine(ObserverLine, tag="logs"):
    """What workers have printed."""

    text: str


class TasksLine(ObserverLine, tag="tasks"):
    """The tasks that were asked for of those that pass the filter, and how many pass, in all and of each function."""

    rows: list[TaskRow]
    total: int
    functions: list[FunctionRow] = []


class NotesLine(ObserverLine, tag="notes"):
    """The last lines of the head's own log."""

    notes: list[str]


class RunsLine(ObserverLine, tag="runs"):
    """What ran when."""

    runs: RunsAnswer


class AccountingLine(ObserverLine, tag="accounting"):
    """Who used the devices."""

    accounting: AccountingAnswer


class ReadingsLine(ObserverLine, tag="readings"):
    """How the devices were."""

    readings: ReadingsAnswer


class RowsLine(ObserverLine, tag="rows"):
    """Rows of a published record."""

    rows: RowsAnswer


class TaskLogLine(ObserverLine, tag="task_log"):
    """What a task's process has printed."""

    task_log: TaskLogAnswer


class StackLine(ObserverLine, tag="stack"):
    """Where the code of a process stands."""

    stack: StackAnswer


ANSWERS = (
    WelcomeLine | ErrorLine | DoneLine | SnapshotLine | ExplanationsLine | LogsLine | TasksLine | NotesLine
    | RunsLine | AccountingLine | ReadingsLine | RowsLine | TaskLogLine | StackLine
)  # fmt: skip


# ---- what an observer asks


class ObserverQuestion(Question[A]):
    """A question that observers may ask, and drivers too."""

    def line(self, answer: A) -> ObserverLine:
        """The answer as a line."""
        return DoneLine(self.tag())


class TakeSnapshot(ObserverQuestion[Snapshot], tag="snapshot"):
    """Ask for the current snapshot, once the devices have been looked at.

    `whole` asks for a row of every node, device and worker; a snapshot of a large cluster has some.
    """

    whole: bool = False

    def line(self, answer: Snapshot) -> SnapshotLine:
        return SnapshotLine(answer)


class WatchSnapshots(ObserverQuestion[Snapshot], tag="watch"):
    """Ask for the current snapshot and for each later one (`on`), or for no more of them.

    `rows` asks for more tasks than a snapshot usually has.
    """

    on: bool = True
    rows: int = 0

    def line(self, answer: Snapshot) -> SnapshotLine:
        return SnapshotLine(answer)


class Explain(ObserverQuestion[list[Explanation]], tag="explain"):
    """Ask why a task, an actor or a placement group (its hex id) waits; without an id, why anything does."""

    task_id: str | None = None

    def line(self, answer: list[Explanation]) -> ExplanationsLine:
        return ExplanationsLine(answer)


class FindTasks(ObserverQuestion[FoundTasks], tag="tasks"):
    """Ask for the tasks that pass a filter, of all that the head knows."""

    filter: TaskFilter = TaskFilter()

    def line(self, answer: FoundTasks) -> TasksLine:
        return TasksLine(answer.rows, answer.total, answer.functions)


class ReadLogs(ObserverQuestion[str], tag="logs"):
    """Ask for the last lines (`tail`; 0 for all) that a task's worker has printed, or that any worker has."""

    task_id: str | None = None
    tail: int = 100

    def line(self, answer: str) -> LogsLine:
        return LogsLine(answer)


class ReadRuns(ObserverQuestion[RunsAnswer], tag="runs"):
    """Ask what ran from `start` to `end` (Unix seconds; none: from the beginning, until now).

    `since` is the `seq` of the last whole answer for the same window: only what ended after it is told.
    """

    start: float | None = None
    end: float | None = None
    since: int = 0

    def line(self, answer: RunsAnswer) -> RunsLine:
        return RunsLine(answer)


class ReadAccounting(ObserverQuestion[AccountingAnswer], tag="accounting"):
    """Ask who used the devices, by function and by cell; `since`, the `seq` of an answer, for what has changed."""

    since: int = 0

    def line(self, answer: AccountingAnswer) -> AccountingLine:
        return AccountingLine(answer)


class ReadReadings(ObserverQuestion[ReadingsAnswer], tag="readings"):
    """Ask for load, memory and power of the last two minutes; `since`, the `seq` of an answer, for what came then.

    They are measured while somebody watches.
    """

    since: int = 0

    def line(self, answer: ReadingsAnswer) -> ReadingsLine:
        return ReadingsLine(answer)


class ReadTaskLog(ObserverQuestion[TaskLogAnswer], tag="task_log"):
    """Ask what the process of a task (its hex id) has printed since the offsets `to` of the last answer.

    At first the answer has the newest 31 KB. Ask again after `pause_s`, until the task is `over`.
    """

    task_id: str
    out_since: int = 0
    err_since: int = 0

    def line(self, answer: TaskLogAnswer) -> TaskLogLine:
        return TaskLogLine(answer)


class ReadStack(ObserverQuestion[StackAnswer], tag="stack"):
    """Ask where the code of a worker stands, by its `pid` and the `node_id` of its row.

    The first question has no `since`. Ask again with that of the answer after `pause_s`, while that is not 0.
    """

    pid: int
    node_id: str = ""
    since: int = -1

    def line(self, answer: StackAnswer) -> StackLine:
        return StackLine(answer)


class ReadNotes(ObserverQuestion[list[str]], tag="notes"):
    """Ask for the last lines of the head's own log."""

    def line(self, answer: list[str]) -> NotesLine:
        return NotesLine(answer)


class CancelTask(ObserverQuestion[None], tag="cancel"):
    """Cancel a task by its hex id; `force` ends its process."""

    task_id: str
    force: bool = False

    def line(self, answer: None) -> DoneLine:
        return DoneLine(self.tag())


class RetryTask(ObserverQuestion[str], tag="retry"):
    """Run the call of a failed task (its hex id) once more, as a new task; the answer is the new task's hex id.

    This is possible while the failed task's row says that it is `retryable`.
    """

    task_id: str

    def line(self, answer: str) -> DoneLine:
        return DoneLine(self.tag(), task_id=answer)


class EndActor(ObserverQuestion[None], tag="kill"):
    """End an actor by its hex id."""

    actor_id: str

    def line(self, answer: None) -> DoneLine:
        return DoneLine(self.tag())


class QueryPublisher(ObserverQuestion[None], tag="ask_publisher"):
    """Ask the program that publishes a record (`published` in a snapshot) to do something, such as "stop" of a run."""

    id: str
    what: str

    def line(self, answer: None) -> DoneLine:
        return DoneLine(self.tag())


class ReadRows(ObserverQuestion[RowsAnswer], tag="rows"):
    """Ask for the rows of a published record, such as the trials of an experiment, that have changed since an answer's
    `seq` (`since`; 0: all). An answer has at most 31,000 bytes; the next one has the rest.
    """

    id: str
    since: int = 0

    def line(self, answer: RowsAnswer) -> RowsLine:
        return RowsLine(answer)


class AddNode(ObserverQuestion[str], tag="add_node"):
    """Add a virtual node with the options of cluster_utils.Cluster.add_node(); the answer is its hex id."""

    options: dict[str, Any]

    def line(self, answer: str) -> DoneLine:
        return DoneLine(self.tag(), answer)


class RemoveNode(ObserverQuestion[None], tag="remove_node"):
    """Remove a virtual node by its hex id."""

    node_id: str

    def line(self, answer: None) -> DoneLine:
        return DoneLine(self.tag())


class Recycle(ObserverQuestion[int], tag="recycle"):
    """End the idle workers that have run user code; the answer is their number."""

    def line(self, answer: int) -> DoneLine:
        return DoneLine(self.tag(), workers=answer)


class StopHead(ObserverQuestion[None], tag="stop"):
    """End the head, with its workers."""

    def line(self, answer: None) -> DoneLine:
        return DoneLine(self.tag())


QUESTIONS: dict[str, type[ObserverQuestion[Any]]] = {
    kind.tag(): kind
    for kind in (
        TakeSnapshot, WatchSnapshots, Explain, FindTasks, ReadLogs, ReadNotes, CancelTask, EndActor, QueryPublisher,
        AddNode, RemoveNode, Recycle, StopHead, ReadRuns, ReadAccounting, ReadReadings, ReadRows,
        ReadTaskLog, RetryTask, ReadStack,
    )
}  # fmt: skip
_IN_WORDS: dict[Any, str] = {
    str: "text for {}",
    int: "a whole number of {}",
    bool: "true or false for {}",
    str | None: "text or null for {}",
    float | None: "a number or null for {}",
    dict[str, Any]: "an object for {}",
    TaskFilter: "an object for {}",
}


def question_of(request: dict[str, Any]) -> ObserverQuestion[Any]:
    """The question that a line asks. Raises ValueError, in words for the observer."""
    what = request["ask"]
    kind = QUESTIONS.get(what) if isinstance(what, str) else None
    if kind is None:
        raise ValueError(f"This head does not know the question {str(what)!r}.")
    given = {}
    for field in msgspec.structs.fields(kind):
        if field.name in request:
            given[field.name] = _converted(what, field, request[field.name])
        elif field.required:
            raise ValueError(f"The question {what!r} needs the field {field.name!r}.")
    return kind(**given)


def _converted(what: str, field: msgspec.structs.FieldInfo, value: Any) -> Any:
    try:
        return msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        words = _IN_WORDS.get(field.type)
        if words is not None and not (field.type is TaskFilter and isinstance(value, dict)):
            raise ValueError(f"The question {what!r} takes {words.format(field.name)}: {value!r}.") from None
        raise ValueError(f"The question {what!r} has a wrong value for {field.name}: {error}.") from None
