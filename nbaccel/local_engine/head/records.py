"""The head's own records: bytes and names that the scheduler does not need."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer
from nbaccel.local_engine.side_processes import log
from nbaccel.scheduling.terms import Task, Terms, WorkerPool
from nbaccel.views import sinks
from nbaccel.views.snapshot import ListedEnvironment

if TYPE_CHECKING:
    from nbaccel.local_engine.head.devices.node_devices import Nodes
    from nbaccel.local_engine.head.groups import Groups
    from nbaccel.local_engine.head.objects.tables import ObjectTables
    from nbaccel.scheduling.scheduler import Scheduler

_MOST_BYTES = 2_000  # that are kept of a worker
_MOST_LINES = 6
_LONGEST_LINE = 200  # characters


class LastLines(Struct):
    """The end of what a worker has written for one task, since lines of an earlier task explain nothing."""

    text: bytes = b""
    owner: bytes = log.NO_OWNER

    def add(self, chunk: log.Chunk) -> None:
        if chunk.owner != self.owner:
            self.text, self.owner = b"", chunk.owner
        owner = log.decode_owner(chunk.owner)
        own = b"".join(piece.text for piece in chunk.pieces if piece.owner == owner)
        self.text = (self.text + own)[-_MOST_BYTES:]

    def words(self) -> str:
        """The lines, "" if there are none."""
        lines = [sinks.last_frame(line).rstrip() for line in self.text.decode("utf-8", "replace").split("\n")]
        return "\n".join(line[:_LONGEST_LINE] for line in [line for line in lines if line][-_MOST_LINES:])


class Unread(log.Pipe):
    """What is in a pipe and has not been taken, as the log process will see it; its file is left alone."""

    def __init__(self, fd: int, rest: bytes, owner: bytes) -> None:
        super().__init__(log.Add(0, "", rest, owner), fd)

    def chunks(self) -> Iterator[log.Chunk]:
        """All of it, and then a line that is not whole."""
        peephole = log.Peephole()
        try:
            seen = peephole.look(self.fd, log.PIPE_BYTES)
        finally:
            peephole.close()
        if seen:
            yield self.chunk(seen)
        yield self.chunk(b"")

    def _write(self, text: bytes) -> None:
        pass


class Environments:
    """The runtime environments that the head knows; it passes them on and starts processes with their variables."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, Any]] = {"": {}}
        self.errors: dict[str, str] = {}  # key -> why it could not be made

    def learn(self, key: str, body: bytes) -> None:
        if key not in self._by_key:
            self._by_key[key] = msgspec.json.decode(body)

    def for_exec(self, key: str) -> tuple[dict[str, str], bytes]:
        """The variables and the whole environment as JSON, for a process that is started as a program."""
        environment = self._by_key.get(key, {})
        variables = {str(name): str(value) for name, value in (environment.get("env_vars") or {}).items()}
        return variables, msgspec.json.encode(environment)

    def variables(self, body: bytes) -> dict[str, str]:
        """The env_vars of an environment."""
        return {str(k): str(v) for k, v in (msgspec.json.decode(body).get("env_vars") or {}).items()}

    def failed(self, key: str, why: str) -> None:
        """A task reports that its environment could not be made."""
        if key and why != "cancelled":
            self.errors[key] = why

    def rows(self, node_id: str) -> list[ListedEnvironment]:
        """The requested environments, for `list_runtime_envs`."""
        return [
            ListedEnvironment(environment, self.errors.get(key), node_id)
            for key, environment in self._by_key.items()
            if environment
        ]


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


class Jobs:
    """All jobs, including ended ones. `began` is called with each new job."""

    def __init__(self, began: Callable[[Job], None]) -> None:
        self._began = began
        self.by_number: dict[int, Job] = {}

    def begin(self, peer: Peer, hello: wire.Hello) -> Job:
        """Begin the job of a new driver."""
        number = len(self.by_number) + 1
        namespace = hello.namespace or os.urandom(16).hex()
        job = Job(number, peer.client_id, hello, namespace, started_at=time.time(), name=self._name(hello))
        self.by_number[number] = job
        peer.job = number
        self._began(job)
        return job

    def _name(self, hello: wire.Hello) -> str:
        """The job's name in views. A notebook whose kernel was restarted is another job with another name."""
        name = hello.title.removeprefix("notebook ")
        return f"{name} (pid {hello.pid})" if name in {job.name for job in self.by_number.values()} else name

    def has_driver(self) -> bool:
        """Whether any driver is connected."""
        return any(not job.ended for job in self.by_number.values())


class HeadRecords(Struct, frozen=True):
    """The records of one head."""

    scheduler: Scheduler
    nodes: Nodes
    objects: ObjectTables
    environments: Environments
    groups: Groups[int]
    actors: Mapping[bytes, ActorEntry]
    workers: Mapping[bytes, WorkerProcess]
    jobs: Mapping[int, Job]
    peers: Mapping[int, Peer]
    clock: Callable[[], float]  # by which the scheduler and all waits go
