"""The head's own records: bytes and names that the scheduler does not need."""

from __future__ import annotations

from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.last_lines import LastLines
from nbaccel.scheduling.terms import Task, Terms, WorkerPool


class Job(msgspec.Struct):
    """The session of one driver."""

    number: int
    client_id: int
    hello: wire.Hello
    namespace: str
    news: Any = None  # Peer
    early_lines: list[wire.Lines] = []  # printed before the news connection was there
    notices: list[wire.NoticeMessage] = []
    started_at: float = 0.0
    name: str = ""  # the notebook's or script's, with the pid where another job has the same
    ended: bool = False
    leaving: bool = False
    surroundings: dict[int, wire.Surroundings] = {}  # by number; the first are those of its Hello

    def __post_init__(self) -> None:
        self.surroundings[0] = wire.Surroundings(0, self.hello.sys_path, self.hello.cwd, {}, self.hello.log_levels)


CANCELLED = "TASK_CANCELLED"  # Ray's word for the error of a task that was asked to stop


class TaskEntry(msgspec.Struct, gc=False):
    """The head's part of a task: Task.payload, as `entry_of` finds it."""

    submit: wire.Submit
    terms: Terms
    client_id: int
    submitted_at: float  # Unix seconds, as all below
    started_at: float | None = None
    finished_at: float | None = None
    times: list[float] = []  # of its phases, as its worker measured them: wire.Done.times
    worker_id: bytes = b""
    node_id: bytes = b""
    device_ids: dict[str, list[str]] | None = None
    choice: int = 0
    choice_why: str = ""
    attempt: int = 0
    results: list[wire.ReturnValue] | None = None
    written: int = 0  # results that are in the table of objects
    failed: bool = False
    note: str = ""
    traceback: str = ""  # until the task is over: the history keeps it
    error_type: str = ""  # Ray's word for why it failed
    error_was_read: bool = False  # or told
    items: int = 0  # of its stream, that its reader was sent
    consumed: int = 0  # of them, that the reader has taken
    stream_over: bool = False  # its reader knows the end
    is_made_again: bool = False  # its results were lost with their node after it had returned
    progress: tuple[float, float] | None = None
    peak_memory: int | None = None  # bytes of device memory, the most that it held
    hint: str = ""
    pinned: bool = True
    retryable: bool = False  # its call is kept, to be run again (tasks/submissions.py)
    retry_of: bytes = b""  # the failed task whose call this is once more
    is_direct: bool = False  # its caller has the result, which the head may never get
    is_promised: bool = False  # others may ask for the result of this direct call


def entry_of(task: Task) -> TaskEntry:
    """The head's part of this task.

    Of a plain task in a long line the head keeps the bytes of its arguments only: an entry takes seven times as much
    memory, and is made when the task is sent or when somebody looks at it.
    """
    entry: Any = task.payload
    return make_entry(task) if type(entry) is bytes else entry


def make_entry(task: Task, started_at: float | None = None, worker_id: bytes = b"", node_id: bytes = b"") -> TaskEntry:
    """Make the entry of a task of which only the arguments are kept."""
    terms, client_id = task.terms, int.from_bytes(task.caller, "big")
    submit = wire.Submit(task.task_id, 0, task.payload)
    entry = task.payload = TaskEntry(
        submit, terms, client_id, task.submitted_at, started_at, None, [], worker_id, node_id
    )
    return entry


class ActorEntry(msgspec.Struct):
    """The head's part of an actor."""

    actor_id: bytes
    terms: Terms
    client_id: int
    job: int
    name: str
    namespace: str
    state: str = "PENDING_CREATION"
    why: str = ""
    since: float = 0.0
    creation_error: bytes | None = None
    creation: Any = None  # the creation's Task
    worker_id: bytes = b""
    node_id: bytes = b""
    device_ids: dict[str, list[str]] | None = None
    restarts: int = 0
    creation_failure: Any = None  # wire.Value: what its calls get, when its environment could not be made
    never_placed: str = ""  # the error of its calls, when no place was found for it
    scope_ended: bool = False
    wants_line: bool = False  # its driver wants a connection to it
    line: bool = False  # and has been given one


class WorkerProcess(msgspec.Struct):
    """A worker's process as the head sees it."""

    worker_id: bytes
    node_id: bytes
    peer: Any
    pool: WorkerPool | None
    pid: int | None = None
    zygote: str = ""
    generation: int = 0  # of the zygote that was told to fork it
    setup_job: int = 0
    surroundings: int = 0  # of this job, as it was set up
    status: int | None = None  # wait status, once reaped
    ended: bool = False  # its connection is closed
    stopping: str = ""
    used: bool = False
    running: str = ""
    running_actor: bytes = b""
    last_done_at: float | None = None  # Unix seconds: a task sent ahead began then
    held: list[Any] = []  # SendTasks that wait for arguments to come back from disk
    keeps: wire.Submit | None = None  # the first of them: those of its arguments that are in the arena stay there
    refused: dict[bytes, str] = {}  # arguments that cannot come back, and why
    last_lines: LastLines = msgspec.field(default_factory=LastLines)  # of its stderr
