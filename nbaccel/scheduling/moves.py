"""The states of tasks, actors, workers and groups, the legal moves between them, and the error for all others."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class TaskStatus(IntEnum):
    """Ray's state names and CANCELLED, which Ray counts as FAILED.

    Integers, because counting and checking happen at every move.
    """

    PENDING_ARGS_AVAIL = 0
    PENDING_NODE_ASSIGNMENT = 1
    SUBMITTED_TO_WORKER = 2  # bound to a process that is starting, or queued behind another task in its worker
    RUNNING = 3
    RUNNING_IN_RAY_GET = 4
    FINISHED = 5
    FAILED = 6
    CANCELLED = 7


class ActorStatus(IntEnum):
    PENDING = 0
    ALIVE = 1
    RESTARTING = 2
    DEAD = 3


class WorkerStatus(IntEnum):
    STARTING = 0
    SPARE = 1  # ready, never used, of no pool yet
    IDLE = 2
    BUSY = 3
    ACTOR = 4
    STOPPING = 5


class GroupState(IntEnum):
    PENDING = 0
    CREATED = 1
    RESCHEDULING = 2
    REMOVED = 3


# Enum members cost a Python-level lookup each time they are named on Python 3.11; the hot path uses these.
ARGS = TaskStatus.PENDING_ARGS_AVAIL
WAITING = TaskStatus.PENDING_NODE_ASSIGNMENT
SUBMITTED = TaskStatus.SUBMITTED_TO_WORKER
RUNNING = TaskStatus.RUNNING
IN_GET = TaskStatus.RUNNING_IN_RAY_GET
FINISHED = TaskStatus.FINISHED
FAILED = TaskStatus.FAILED
CANCELLED = TaskStatus.CANCELLED

STARTING = WorkerStatus.STARTING
SPARE = WorkerStatus.SPARE
IDLE = WorkerStatus.IDLE
BUSY = WorkerStatus.BUSY
ACTOR = WorkerStatus.ACTOR
STOPPING = WorkerStatus.STOPPING

TASK_MOVES: dict[int, frozenset[int]] = {
    ARGS: frozenset({WAITING, FAILED, CANCELLED}),
    WAITING: frozenset({ARGS, SUBMITTED, RUNNING, FAILED, CANCELLED}),
    SUBMITTED: frozenset({RUNNING, WAITING, FAILED, CANCELLED}),
    RUNNING: frozenset({IN_GET, WAITING, FINISHED, FAILED, CANCELLED}),
    IN_GET: frozenset({RUNNING, WAITING, FINISHED, FAILED, CANCELLED}),
    FINISHED: frozenset(),
    FAILED: frozenset(),
    CANCELLED: frozenset(),
}

WORKER_MOVES: dict[int, frozenset[int]] = {
    STARTING: frozenset({SPARE, IDLE, BUSY, ACTOR, STOPPING}),
    SPARE: frozenset({IDLE, BUSY, ACTOR, STOPPING}),
    IDLE: frozenset({BUSY, ACTOR, STOPPING}),
    BUSY: frozenset({IDLE, SPARE, STOPPING}),
    ACTOR: frozenset({IDLE, SPARE, STOPPING}),
    STOPPING: frozenset(),
}

ACTOR_MOVES: dict[int, frozenset[int]] = {
    ActorStatus.PENDING: frozenset({ActorStatus.ALIVE, ActorStatus.RESTARTING, ActorStatus.DEAD}),
    ActorStatus.ALIVE: frozenset({ActorStatus.RESTARTING, ActorStatus.DEAD}),
    ActorStatus.RESTARTING: frozenset({ActorStatus.ALIVE, ActorStatus.RESTARTING, ActorStatus.DEAD}),
    ActorStatus.DEAD: frozenset(),
}

GROUP_MOVES: dict[int, frozenset[int]] = {
    GroupState.PENDING: frozenset({GroupState.CREATED, GroupState.REMOVED}),
    GroupState.CREATED: frozenset({GroupState.RESCHEDULING, GroupState.REMOVED}),
    GroupState.RESCHEDULING: frozenset({GroupState.CREATED, GroupState.REMOVED}),
    GroupState.REMOVED: frozenset(),
}

# A record remembers its last moves as flat (state, time, state, time, ...); a restart storm must not fill the memory.
STORY_LENGTH = 64
Story = tuple[Any, ...]


def lengthened(story: Story, state: IntEnum, now: float) -> Story:
    """The story with one more move at its end."""
    if len(story) >= STORY_LENGTH:
        story = story[2 - STORY_LENGTH :]
    return (*story, state, now)


def story_text(story: Story) -> str:
    """`PENDING_NODE_ASSIGNMENT at 0.1, RUNNING at 0.4`."""
    return ", ".join(f"{story[i].name} at {story[i + 1]:.6g}" for i in range(0, len(story), 2)) or "no move yet"


class IllegalEvent(Exception):
    """An event that cannot follow what happened before; the scheduler has changed nothing."""

    def __init__(self, event: str, record: str, state: str, story: Story = (), why: str = "") -> None:
        reason = f" {why}" if why else ""
        super().__init__(f"{event} of {record}, which is {state}.{reason} Its story: {story_text(story)}.")
        self.event = event
        self.record = record
        self.state = state
