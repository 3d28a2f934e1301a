"""One description of a task: its terms, which stay the same from call to call, and what each call adds to them.

```
  options ──► Terms ── sent once, as a numbered template ──► the head adds what only it knows (`of_job`)
                                                                │
              Task = Terms + an id + facts of its arguments ────┴──► scheduler, workers, views
```
A field that is added to `Terms` is therefore known in every process; one that is added to `TaskFacts`, on every engine.
Quantities are in 1/10_000 of a resource.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

Pairs = tuple[tuple[str, int], ...]

UNLIMITED = -1  # of retries and restarts: as many as it takes
STREAMING, DYNAMIC = -1, -2  # num_returns of a generator: items as they come, or one list of refs at the end


class TaskKind(IntEnum):
    """What a unit of work is: a plain task, an actor's constructor, or a call of an actor's method."""

    TASK = 0
    ACTOR_CREATION = 1
    ACTOR_CALL = 2

    @property
    def words(self) -> str:
        """As snapshots say it: `actor call`."""
        return self.name.lower().replace("_", " ")


# Enum members cost a Python-level lookup each time they are named on Python 3.11; the hot paths use these.
TASK = TaskKind.TASK
ACTOR_CREATION = TaskKind.ACTOR_CREATION
ACTOR_CALL = TaskKind.ACTOR_CALL


class WorkerPool(msgspec.Struct, frozen=True, array_like=True):
    """Which workers are interchangeable: same job, same runtime environment, same surroundings, same way to start."""

    job: int
    environment: str = ""  # hash of the runtime environment; "" is the job's own
    zygote: str = ""  # which interpreter prefix forks it; "" is the head's own
    how: str = "fork"  # "fork" from the zygote, or "exec" of a new interpreter
    surroundings: int = 0  # which of the notebook's environments, import paths and directories


class Placement(msgspec.Struct, frozen=True, array_like=True):
    """Where work may go. `strategy`: DEFAULT, SPREAD, NODE (node_id, soft) or GROUP (group_id, bundle)."""

    strategy: str = "DEFAULT"
    node_id: bytes | None = None
    soft: bool = False
    group_id: bytes | None = None
    bundle: int = -1  # Ray's number for any bundle of the group
    labels: tuple[tuple[str, str], ...] = ()  # key, condition ("H100", "!H100", "in(a,b)", "!in(a)"): all must hold
    soft_labels: tuple[tuple[str, str], ...] = ()


ANYWHERE = Placement()


class Choice(msgspec.Struct, frozen=True, array_like=True):
    """One way to run a task: what it asks (sorted pairs, so that it is hashable) and where."""

    demand: Pairs
    placement: Placement = ANYWHERE
    label: str = ""  # "" for the first choice; the user's words for a fallback ("cpu", "{'NPU': 1}")
    gpu_memory_bytes: int = 0  # of one device; 0 means not asked


class ActorTerms(msgspec.Struct, frozen=True, array_like=True):
    """What an actor's creation says beside what every task says."""

    name: str = ""
    namespace: str = ""
    detached: bool = False
    lasting: Pairs | None = None  # the actor's hold once it is placed; None: its whole demand
    max_restarts: int = 0
    max_task_retries: int = 0  # of its calls, where they do not say
    max_concurrency: int = 1
    concurrency_groups: dict[str, int] = {}
    out_of_order: bool = False
    max_pending_calls: int | None = None  # None: without limit
    methods: bytes = b""  # pickled description of the class's methods, for get_actor

    @property
    def is_threaded(self) -> bool:
        """Whether calls of a sync actor may run at the same time."""
        return self.max_concurrency > 1 or bool(self.concurrency_groups)

    @property
    def is_plain(self) -> bool:
        """Whether its calls are run once each, without a limit to their number, and end with the job."""
        again = self.max_restarts or self.max_task_retries
        return not (again or self.concurrency_groups or self.detached or self.max_pending_calls)


NO_ACTOR = ActorTerms()
NO_POOL = WorkerPool(0)


class TaskFacts(msgspec.Struct, frozen=True, array_like=True):
    """What every engine keeps of a task for views: the same for all calls of a function with the same options.

    The options give these fields by name (`facts()` of an options record).
    """

    name: str
    kind: TaskKind
    internal: bool = False  # nbaccel submits it for itself: no view counts or lists it

    def as_row(self) -> dict[str, Any]:
        """These facts as fields of a `TaskRow`; on Ray also as those of the note of a task that another submits."""
        return {"name": self.name, "kind": self.kind.words}


class Terms(TaskFacts, frozen=True, array_like=True, kw_only=True):
    """All of a task that stays the same from call to call."""

    # Of a call empty: its actor has the class. Calls of one key are counted for max_calls, and their length is learnt.
    function_key: bytes = b""
    choices: tuple[Choice, ...] = ()  # tried in order; the first is what the user asked
    num_returns: int = 1  # or STREAMING, or DYNAMIC
    actor: ActorTerms = NO_ACTOR  # of a creation
    other_functions: tuple[bytes, ...] = ()  # by choice: what runs there in place of function_key; b"": nothing else
    fallback_after_s: float | None = None  # None: fall back only from a choice that can never be met
    fallback_on: bytes = b""  # pickled tuple of error types that the next choice answers
    fresh: bool = False  # needs a process that never ran user code
    max_calls: int = 0  # the worker is retired after so many calls of this function; 0: never
    max_retries: int | None = 0  # for a dead worker, or UNLIMITED; None: the actor's value
    retry_exceptions: bytes | bool = False  # pickled tuple of types
    environment: str = ""  # hash of runtime_env, "" for the job's own
    runtime_env: bytes = b"{}"  # JSON
    how: str = "fork"
    surroundings: int = 0  # the job's number for its environment variables, import path and directory at submission
    cell: str = ""  # "[7] line 3"
    parent: bytes = b""  # the notebook message that ran the cell (opaque to the head)
    threads: int = 1  # OMP_NUM_THREADS
    class_name: str = ""
    method: str = ""
    is_async: bool = False
    concurrency_group: str = ""
    hide_unassigned: bool | None = None  # None: as init() says
    backpressure: int | None = None  # a stream may be so many items ahead of its reader; None: without limit
    capture: bool = False  # its submissions run in its placement group
    # What only the head knows: whatever a client writes here, `of_job` writes over.
    number: int = 0  # the head's number for these terms, by which workers know them
    job: int = 0
    pool: WorkerPool = NO_POOL
    cell_in_words: str = ""  # the cell for sentences: with its notebook where the head serves several
    refuse_infeasible: bool = False  # fail at once what can never be met here, instead of waiting for a node
    # What follows from the other fields, found once where the terms arrive.
    returns: int = 0  # how many objects a task makes when it is submitted
    is_plain: bool = False  # a task of one result, after which its worker goes on: many of them are dealt with together

    def __post_init__(self) -> None:
        returns = 1 if self.num_returns in (STREAMING, DYNAMIC) else self.num_returns
        is_plain = self.kind is TaskKind.TASK and self.num_returns == 1 and not self.fresh and not self.max_calls
        msgspec.structs.force_setattr(self, "returns", 0 if self.kind is TaskKind.ACTOR_CREATION else returns)
        msgspec.structs.force_setattr(self, "is_plain", is_plain)

    @property
    def function(self) -> str:
        """The function's, class's or method's own name, whatever the task is called."""
        if self.kind is TaskKind.ACTOR_CREATION:
            return self.name
        return f"{self.class_name}.{self.method}" if self.class_name and self.method else self.class_name or self.method

    @property
    def functions(self) -> tuple[bytes, ...]:
        """The keys of all code that a task may run."""
        return tuple(key for key in (self.function_key, *self.other_functions) if key)

    def function_of(self, choice: int) -> bytes:
        """The key of the code that runs when this choice was taken."""
        others = self.other_functions
        return (others[choice] if choice < len(others) else b"") or self.function_key

    def demand_of(self, choice: int) -> Pairs:
        """What is held when this choice was taken; an actor may hold less of its first one than it asked for."""
        lasting = self.actor.lasting if not choice else None
        return self.choices[choice].demand if lasting is None else lasting

    @property
    def may_be_direct(self) -> bool:
        """Whether calls with these terms may be sent directly to their actor: one small result, at most one run."""
        again = self.max_retries or self.retry_exceptions
        return self.kind is ACTOR_CALL and self.num_returns == 1 and not again and not self.concurrency_group

    @property
    def takes_direct_calls(self) -> bool:
        """Whether calls of this actor may be sent directly to it: it runs them one after the other, or begins them in
        their order in its event loop.
        """
        if self.kind is not TaskKind.ACTOR_CREATION or not self.actor.is_plain:
            return False
        return self.is_async or not (self.actor.is_threaded or self.actor.out_of_order)

    def of_job(
        self,
        job: int,
        number: int = 0,
        *,
        zygote: str = "",
        cell_in_words: str | None = None,
        refuse_infeasible: bool = False,
    ) -> Terms:
        """These terms with what only the head knows; `cell_in_words` is the cell itself where it is not given."""
        return msgspec.structs.replace(
            self,
            number=number,
            job=job,
            pool=WorkerPool(job, self.environment, zygote, self.how, self.surroundings),
            cell_in_words=self.cell if cell_in_words is None else cell_in_words,
            refuse_infeasible=refuse_infeasible,
        )


class Task(msgspec.Struct, gc=False):
    """One unit of work as the scheduler sees it. `payload` belongs to the head; the scheduler never looks at it."""

    terms: Terms
    task_id: bytes
    payload: Any = None
    missing: set[bytes] | None = None  # ids of argument objects that are not there yet
    actor_id: bytes | None = None
    parent_task_id: bytes | None = None
    caller: bytes = b""  # the client that submitted it: orders an actor's calls
    owner_worker: bytes | None = None  # the worker that submitted it, None for a driver
    submitted_at: float = 0.0
    retries_left: int = 0  # for a dead worker, or UNLIMITED
    is_direct: bool = False  # it is not to be sent: its caller has sent it to its actor
    skipped: int = 0  # so many of the choices have been tried, and raised what is to be answered by the next

    @property
    def is_alone(self) -> bool:
        """Whether nothing else has to be thought of: it is plain, a driver's, and has all its arguments."""
        return self.terms.is_plain and not (self.missing or self.parent_task_id or self.owner_worker)

    @property
    def name(self) -> str:
        return self.terms.name

    @property
    def kind(self) -> TaskKind:
        return self.terms.kind

    @property
    def job(self) -> int:
        return self.terms.job
