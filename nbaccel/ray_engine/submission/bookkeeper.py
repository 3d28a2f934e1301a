"""Wraps Ray's refs, and notes each submission: its demand, its cell, its choice."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection
from typing import cast

import ray

from nbaccel import engine as engines
from nbaccel.engine import Returned
from nbaccel.handles.options import ActorOptions, demand_of_actor
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle
from nbaccel.ray_engine.border.rays import RaysActor, RaysResult, RaysStream
from nbaccel.ray_engine.submission.abandoned_streams import AbandonedStreams
from nbaccel.ray_engine.submission.choosing import RayChoice, quantities
from nbaccel.ray_engine.submission.handle_maker import HandleMaker
from nbaccel.ray_engine.submission.submissions import CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind

# a task's id, its facts, when it was submitted, its actor's id
Announce = Callable[[bytes, CallFacts, float, bytes | None], None]


class Bookkeeper:
    """Of one engine.

    `announce` tells views of a new submission before it runs, unless it is internal; it is called only while there are
    `viewers`, which spares most calls a step.
    """

    def __init__(
        self,
        submissions: Submissions,
        handles: HandleMaker,
        abandoned: AbandonedStreams,
        announce: Announce,
        viewers: Collection[object],
    ) -> None:
        self._submissions = submissions
        self._note_call = submissions.note_call
        self._handles = handles
        self._engine = handles.engine
        self._abandoned = abandoned
        self._announce = announce
        self._viewers = viewers

    def returned(
        self, inner: RaysResult, about: CallFacts, submitted_at: float, actor_id: bytes | None = None
    ) -> Returned:
        """The result for the user, of a call if there is an `actor_id`. This is on the way of every call.

        The time is of a moment before Ray had the task, which may have ended by now.
        """
        cell, parent = engines.cell_source() if engines.cell_source is not None else ("", b"")
        given: Returned
        first: ObjectRef[object] | ObjectRefGenerator
        if isinstance(inner, ray.ObjectRef):  # nearly all are: each test before this one would cost every call
            first = given = ObjectRef(inner.binary(), self._engine, inner, parent)
            task_id = first._id[:24]
        elif inner is None:
            return None
        elif isinstance(inner, list):
            given = [self._handles.ref(each, parent) for each in inner]
            task_id, first = given[0]._id[:24], given[0]
        else:
            first = given = stream = self._handles.stream(cast(RaysStream, inner), parent)
            self._abandoned.watch(stream)
            task_id = stream._task_id
        noted = Submission(task_id, about, cell, submitted_at, actor_id, weakref.ref(first), parent)
        if actor_id is not None:
            self._note_call(noted)
        else:
            self._submissions.note(noted)
        if self._viewers and not about.internal:
            self._announce(task_id, about, submitted_at, actor_id)
        return given

    def note_actor(
        self,
        inner: RaysActor,
        running: ActorClass,
        choice: RayChoice[ActorOptions],
        handle: ActorHandle,
        submitted_at: float,
        source: tuple[str, bytes] | None,
    ) -> None:
        """Note what Ray does not keep about the actor: its demand, its cell, its choice."""
        actor_id = inner._actor_id.binary()
        placed, held = (quantities(each) for each in demand_of_actor(choice.options))
        name, options = f"{running._name}.__init__", choice.options
        about = CallFacts(
            name, TaskKind.ACTOR_CREATION, placed, choice.label, choice.why, held, options, options.internal
        )
        creation = _creation_of(actor_id)
        cell, parent = source or ("", b"")
        self._submissions.note(Submission(creation, about, cell, submitted_at, actor_id, weakref.ref(handle), parent))
        if self._viewers and not about.internal:
            self._announce(creation, about, submitted_at, actor_id)


def _creation_of(actor_id: bytes) -> bytes:
    """The id of an actor's constructor task: Ray's is all ones before the actor's own."""
    return b"\xff" * 8 + actor_id
