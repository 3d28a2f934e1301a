"""The messages between processes, and how they are framed.

```
  frame  = length (4 bytes, little endian) + MessagePack array of messages
  message = array [tag, field, field, …]      many messages travel in one frame and one write
```
User data (functions, arguments, values) are opaque bytes; only the two ends unpickle them.
Bytes become messages in `framing.py`; observers send lines of JSON instead (`watchers.py`), and `authentication.py`
tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct as Pack
from typing import Any

import msgspec

from nbaccel.scheduling.terms import Terms

OK, RAISED, FAILED = 0, 1, 2  # a value, a pickled RayTaskError, a SystemFailure (msgpack)
MOST_DESCRIPTORS = 16  # that one write passes, and one read takes; what is beyond that would be lost


class Message(msgspec.Struct, array_like=True, tag=True, gc=False):
    """Base of everything on the wire."""


class Value(msgspec.Struct, array_like=True, gc=False):
    """An object's value: inline bytes, or a place in the arena."""

    status: int = OK
    data: bytes | None = None
    offset: int = 0
    size: int = 0


class ReturnValue(msgspec.Struct, array_like=True, gc=False):
    """One return value and the refs inside it."""

    value: Value
    refs: list[bytes] = []


VERSION = 10
UNREAD = "unread error"  # the kind of a Notice
_LENGTH = Pack("<I")


# ---- from clients (drivers and workers) to the head -------------------------------------------------------------


class Hello(Message):
    """A driver's or observer's greeting: who it is and how its workers must look."""

    role: str  # "driver", "news", "observer"
    token: str
    pid: int
    version: int
    python: str
    prefix: str
    title: str = ""
    sys_path: list[str] = []
    cwd: str = ""
    namespace: str = ""
    runtime_env: bytes = b"{}"
    job: int = 0  # the job of the driver that this news connection belongs to
    main_path: str = ""
    infeasible: str = ""  # "raise": a demand that can never be met raises an error
    log_levels: dict[str, int] = {}  # of loggers that show more than warnings; "": the root


class WorkerHello(Message):
    worker_id: bytes
    pid: int


class DefineFunction(Message):
    key: bytes
    blob: bytes
    name: str
    refs: list[bytes] = []  # objects and actors that it refers to, for the head


class ReleasesCode(Message):
    """This process has no remote function or actor class with this code any more."""

    keys: list[bytes]


class Surroundings(Message):
    """What the driver has changed in its own process: the templates that name this number want workers like that."""

    number: int  # 0: as its Hello says
    sys_path: list[str]
    cwd: str
    variables: dict[str, str | None]  # that differ from those at init(); None: unset
    log_levels: dict[str, int] = {}


class DefineTemplate(Message):
    """From now on this number stands for these terms. Each client and the head use numbers of their own."""

    number: int
    terms: Terms


class Submit(Message):
    """Run a task, create an actor or call one, as the template says."""

    task_id: bytes
    template: int
    args: bytes = b""  # codec.dump_args; empty: none
    slots: list[tuple[int | str, bytes]] = []  # (argument's position or name, ref whose value replaces it)
    refs: list[bytes] = []  # refs nested inside args: held while the task lives
    actor_id: bytes = b""
    parent: bytes = b""  # the task that submits this one
    after: int = 0  # the number of the last direct call to the actor, which runs before this one


class Put(Message):
    object_id: bytes
    value: Value
    refs: list[bytes] = []


class Allocate(Message):
    request: int
    size: int


class GiveUp(Message):
    """A range that will not be filled: the one allocated for this request."""

    offset: int
    request: int


class Want(Message):
    """Send the values of these objects when they are ready."""

    object_ids: list[bytes]


class WantReady(Message):
    """Say when these objects are ready; the values are not needed."""

    object_ids: list[bytes]


class AddRef(Message):
    """This process now has refs to these objects (or handles of these actors)."""

    ids: list[bytes]


class DropRef(Message):
    """This process has no ref to these objects any more."""

    ids: list[bytes]


class ValuesRequested(Message):
    """Code in this process has asked for these objects: errors among them, also later ones, count as read."""

    ids: list[bytes]


class Unmapped(Message):
    """A mapping of each of these objects has ended (one entry for each mapping)."""

    object_ids: list[bytes]


class Cancel(Message):
    task_id: bytes
    force: bool = False
    recursive: bool = True


class KillActor(Message):
    actor_id: bytes
    no_restart: bool = True
    why: str = "it was killed by nbaccel.kill"


class QuestionMessage(Message):
    """A question with an answer: `what` names it, `body` is its msgpack."""

    request: int
    what: str
    body: bytes = b""


class Bye(Message):
    """A driver leaves on purpose."""

    stop_head: bool = False


class Done(Message):
    """A task ended in this worker."""

    task_id: bytes
    results: list[ReturnValue]
    failed: bool = False
    retry: bool = False
    exiting: bool = False  # the actor ends itself
    note: str = ""  # the error's first line
    memory: int = -1  # device memory that the process still holds, bytes; -1 unknown
    memory_why: str = ""  # what holds it, or why it is unknown
    peak: int = -1
    fall_back: bool = False  # it raised an error after which the next choice is tried
    times: list[float] = []  # Unix seconds: where its phases begin and end; see Running.times
    traceback: str = ""  # of the error, for people who look at the task's log
    loaded: bool = False  # a task in this process has imported modules of the user's


class Item(Message):
    """The next item of a streaming generator."""

    task_id: bytes
    index: int
    result: ReturnValue


class Consumed(Message):
    """The reader of a stream has taken this many items."""

    task_id: bytes
    count: int


class GivenBack(Message):
    task_ids: list[bytes]


class Blocked(Message):
    pass


class Unblocked(Message):
    pass


class Progress(Message):
    task_id: bytes
    done: float
    total: float


# ---- from the head to clients -------------------------------------------------------------------------------


class Welcome(Message):
    client_id: int
    job: int
    head_pid: int
    session: str
    node_id: bytes
    directory: str
    namespace: str = ""


class Refused(Message):
    message: str


class ObjectValue(Message):
    object_id: bytes
    value: Value


class ObjectValues(Message):
    """Results of tasks that had nothing but the head between them and their submitter: each a small value, no error."""

    object_ids: list[bytes]
    data: list[bytes]


class ObjectReady(Message):
    object_ids: list[bytes]


class Allocated(Message):
    request: int
    offset: int  # -1: the request was refused
    message: str = ""
    times_given_back: int = 0  # how often memory of the arena was: mappings made at another time have lost pages


class PagesReady(Message):
    """These parts of the arena, (start, end), have memory and will be handed out next: to map them now saves time."""

    stretches: list[tuple[int, int]]
    times_given_back: int


class Answer(Message):
    request: int
    body: bytes = b""
    error: str = ""
    kind: str = ""  # the error class's name


class StreamItem(Message):
    task_id: bytes
    index: int
    value: Value | None  # None: the value is in the store; the client asks for it


class StreamItems(Message):
    """Small items that follow each other, none of them an error."""

    task_id: bytes
    first: int
    data: list[bytes]


class StreamEnd(Message):
    task_id: bytes
    count: int


# ---- from the head to workers -------------------------------------------------------------------------------


class Setup(Message):
    """The job of this worker: sent once, before its first task."""

    job: int
    client_id: int
    namespace: str
    sys_path: list[str]
    cwd: str
    env_vars: dict[str, str]
    session: str
    node_id: bytes
    directory: str
    main_path: str = ""
    runtime_env: bytes = b"{}"
    working_dir: str = ""
    surroundings: int = 0
    followed: dict[str, str | None] = {}  # the variables that the notebook has changed since init()
    log_levels: dict[str, int] = {}
    leak_threshold: int | None = None  # bytes of device memory that a process may keep after a task; None: the default


class RunTask(Message, tag="Run"):
    task_id: bytes
    template: int  # the head's number, defined to this worker before
    args: bytes
    slots: list[tuple[int | str, bytes, Value]] = []
    devices: dict[str, list[str]] | None = None
    environ: dict[str, str | None] | None = None
    attempt: int = 0
    choice: int = 0
    actor_id: bytes = b""
    choice_why: str = ""
    after: int = 0  # so many direct calls of the same caller run before this one


class RunTasks(Message):
    """A RunTask for each of these tasks of one template: about them there is no more to say."""

    template: int
    task_ids: list[bytes]
    args: list[bytes]


class Interrupt(Message):
    task_id: bytes


class Recall(Message):
    pass


class Trim(Message):
    """Give memory that this process has freed back to the system."""


class Exit(Message):
    pass


class ForgetFunctions(Message):
    """No task will run these functions any more; templates that name them are defined again before they are used."""

    keys: list[bytes]


class CollectGarbage(Message):
    """The store is filling up, or work waits for what actors hold: collect cycles that keep refs or handles alive.

    The answer names the number.
    """

    number: int = 0


class PublisherRequest(Message):
    """A request to a record that the receiver has published."""

    id: str
    what: str


# ---- direct calls


class DirectSubmit(Message, tag="C"):
    """Call an actor, directly: what of a Submit such a call needs. Thousands of these are sent in a second."""

    task_id: bytes
    template: int
    args: bytes
    number: int  # of this call among the direct ones of its caller


class DirectReply(Message, tag="A"):
    """A direct call of an actor has returned a small value without refs, and its code has sent the head nothing."""

    task_id: bytes
    data: bytes
    times: list[float]  # as in Done


class DirectCall(msgspec.Struct, array_like=True, gc=False):
    """A direct call, as it is reported to the head."""

    task_id: bytes
    template: int  # the caller's number
    actor_id: bytes
    sent_at: float  # Unix seconds
    times: list[float] = []  # once it has ended: Done.times
    value: Value | None = None  # its result, if the head had promised it to others


class CallReports(Message):
    """Direct calls, reported by a driver in batches, and by an actor before it sends anything else on their behalf."""

    opened: list[DirectCall] = []  # under way
    ended: list[DirectCall] = []  # returned, and the result is with the caller
    taken: list[bytes] = []  # tasks that the head has taken (CallsTaken), and that were not reported as open
    promised: list[bytes] = []  # open tasks whose results others may ask for


class CallsTaken(Message):
    """The head answers for these calls, because their actor has reported them: no reply comes on the connection."""

    task_ids: list[bytes]


class Connected(Message):
    """The end of a connection between an actor and its caller comes with this message, as a descriptor."""

    actor_id: bytes
    socket: int  # the descriptor's inode: of several that come, and of which some may be lost, it is this one


class Lines(Message):
    """Output of a worker: whole lines of one stream."""

    name: str
    pid: int
    stream: int  # 1 stdout, 2 stderr
    text: bytes
    cell: str = ""
    parent: bytes = b""
    job: int = 0
    task_id: bytes = b""


class NoticeMessage(Message, tag="Notice"):
    """One line for the user: an infeasible demand, a deadlock, an alert."""

    kind: str
    message: str
    cell: str = ""
    parent: bytes = b""
    task_id: bytes = b""


class SnapshotMessage(Message, tag="Snapshot"):
    """A snapshot, msgpack."""

    body: bytes


class LogsDrained(Message):
    """Everything that this job's workers printed has been sent."""


class Watch(Message):
    """Send snapshots from now on (or stop)."""

    on: bool
    metrics: bool = True
    rows: int = 0  # wanted rows of tasks in each state (running, waiting, ended); 0: the head decides


ToHead = (
    Hello | WorkerHello | DefineFunction | DefineTemplate | Submit | Put | Allocate | GiveUp | Want | WantReady |
    AddRef | DropRef | ValuesRequested
    | Unmapped | Cancel | KillActor | QuestionMessage | Bye | Done | Item | Consumed | GivenBack | Blocked | Unblocked
    | Progress | Watch | CallReports | ReleasesCode | Surroundings
)  # fmt: skip
ToClient = (
    Welcome | Refused | ObjectValue | ObjectValues | ObjectReady | Allocated | Answer | StreamItem | StreamItems
    | StreamEnd | Setup | RunTask | RunTasks | PagesReady | Interrupt | Recall | Trim | PublisherRequest
    | Exit | CollectGarbage | DefineFunction | DefineTemplate | Lines | NoticeMessage | SnapshotMessage | LogsDrained
    | Consumed | Connected | CallsTaken | ForgetFunctions
)  # fmt: skip
# On a connection between a driver and its actor: calls that do not go through the head.
ToCallee = DefineTemplate | DirectSubmit
ToCaller = DirectReply


def plain(value: Any) -> Any:
    """Of numpy's kind, or of a subclass of str. Raises TypeError for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be sent to the head")


_encoder = msgspec.msgpack.Encoder(enc_hook=plain)
encode_body = _encoder.encode

# Each process needs one or two of the decoders, and making one takes milliseconds: made at the first use.
Decode = Callable[[bytes | bytearray | memoryview], list[Any]]  # decodes one frame into its messages
DECODED: dict[str, Any] = {
    "decode_to_head": ToHead,
    "decode_to_client": ToClient,
    "decode_to_callee": ToCallee,
    "decode_to_caller": ToCaller,
}


def decoder(name: str) -> Decode:
    """The decoder of this name, one of DECODED."""
    kind: Any = list.__class_getitem__(DECODED[name])
    decode: Decode = msgspec.msgpack.Decoder(kind).decode
    return decode


def frame(messages: Sequence[Any]) -> bytearray:
    """One frame of these messages, ready to be written."""
    buffer = bytearray(4)
    _encoder.encode_into(messages, buffer, 4)
    _LENGTH.pack_into(buffer, 0, len(buffer) - 4)
    return buffer


def pack(value: Any) -> bytes:
    """MessagePack of plain data, for the bodies of Ask and Answer."""
    return _encoder.encode(value)


def unpack(data: bytes, kind: Any = Any) -> Any:
    return msgspec.msgpack.decode(data, type=kind) if data else None
