"""Values on Ray: putting, getting, waiting, futures, pickled refs, streams."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import cast

import msgspec
import ray

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.accelerators import visibility
from nbaccel.engine import Returned
from nbaccel.handles.options import ActorOptions, demand_of_actor
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.handles.remote import ActorClass, ActorHandle
from nbaccel.ray_engine.rays import RaysActor, RaysRef, RaysResult, RaysStream, import_shipped
from nbaccel.ray_engine.session import RaySession, internals
from nbaccel.ray_engine.submission import errors
from nbaccel.ray_engine.submission.errors import translate, translated
from nbaccel.ray_engine.submission.exports import HandleMaker
from nbaccel.ray_engine.submission.options_for_ray import RayChoice, quantities
from nbaccel.ray_engine.submission.submissions import AbandonedStreams, CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind
from nbaccel.views import explanations
from nbaccel.views.explanations import EXPLAINED_AFTER_S, Explanation
from nbaccel.views.snapshot import ObjectPlaces


def _failed_task(refs: Sequence[ObjectRef[object]]) -> str | None:
    """The task of the first ref that holds an error."""
    failed = (ref._inner for ref in refs if isinstance(ref._inner, ray.ObjectRef) and internals.error_type(ref._inner))
    first = next(failed, None)
    return first.task_id().hex() if first is not None else None


class RayObjects:
    """Values of one engine. `stand_ins`: what `get` gives for a ref in the place of what Ray has for it."""

    def __init__(
        self,
        session: RaySession,
        handles: HandleMaker,
        submissions: Submissions,
        abandoned: AbandonedStreams,
        stand_ins: dict[bytes, object],
        explain: Callable[[str], list[Explanation]],
    ) -> None:
        self._session = session
        self._handles = handles
        self._submissions = submissions
        self._abandoned = abandoned
        self._stand_ins = stand_ins
        self._explain = explain
        self._shipped = import_shipped()

    def put(self, value: object) -> ObjectRef[object]:
        self._session.head.check()
        try:
            inner = ray.put(value)
        except Exception as error:  # whatever the value's pickling raises
            errors.name_culprit_of_put(error, value)
            raise
        return self._handles.ref(inner)

    def get(self, refs: Sequence[ObjectRef[object]], timeout_s: float | None) -> list[object]:
        inner = [ref._inner for ref in refs]
        try:
            values = self._session.head.patiently(lambda seconds: ray.get(inner, timeout=seconds), timeout_s)
        except ray.exceptions.GetTimeoutError:
            raise exceptions.GetTimeoutError(
                f"Get timed out: not all of {len(refs)} objects were ready within {timeout_s} s. Their tasks go on; "
                f"nbaccel.explain(ref) says why one waits.{self._why_waits(inner, timeout_s)}"
            ) from None
        except ray.exceptions.RayError as error:
            raise self.located(error, refs) from None
        if self._stand_ins:
            return [self._stand_ins.get(ref._id, value) for ref, value in zip(refs, values, strict=True)]
        return list(values)

    def _why_waits(self, inner: list[RaysRef], timeout_s: float | None) -> str:
        """Why the first of those that are not there waits, with a space before it; "" where that is not known.

        Workers, and whoever asks with a short timeout, are not told: what it takes to know would be theirs to wait for.
        """
        if self._session.in_worker or not timeout_s or timeout_s < EXPLAINED_AFTER_S:
            return ""
        with suppress(exceptions.RayError, ray.exceptions.RayError):
            _, late = ray.wait(list(dict.fromkeys(inner)), num_returns=len(set(inner)), timeout=0, fetch_local=False)
            rows = self._explain(late[0].hex()) if late else []
            return f" {explanations.name_holders([rows[0].sentence])[0]}" if rows and rows[0].sentence else ""
        return ""

    def located(self, error: BaseException, refs: Sequence[ObjectRef[object]]) -> BaseException:
        """nbaccel's error for one of these refs, with what Ray does not know of the task: its cell, and its name."""
        made = translate(error)
        task_id = getattr(made, "task_id", None) or _failed_task(refs)
        asked = self._submissions.get(bytes.fromhex(task_id)) if task_id else None
        if asked is None:
            return made
        if isinstance(made, exceptions.RayTaskError):
            made.task_id = task_id
            made.cell = made.cell or asked.cell or None
            asked.error = f"{type(made.cause).__name__}: {made.cause}".partition("\n")[0]
            counted = self._session.is_of_one_machine and asked.about.demand.get("GPU")
            hint = visibility.hint(made.cause) if counted and made.cause is not None else ""
            if hint and hint not in getattr(made, "__notes__", []):
                made.add_note(hint)
        elif type(made) is exceptions.TaskCancelledError:
            return exceptions.TaskCancelledError(f"Task {asked.about.name} was cancelled.", task_id=task_id)
        elif type(made) is exceptions.WorkerCrashedError:
            return exceptions.WorkerCrashedError(
                f"{asked.about.name} ended because its worker process died: it was killed, crashed or exited. "
                "Ray does not say with which signal or code."
            )
        return made

    def wait(
        self, refs: Sequence[ObjectRef[object]], num_returns: int, timeout_s: float | None, fetch: bool
    ) -> tuple[list[ObjectRef[object]], list[ObjectRef[object]]]:
        inner = [ref._inner for ref in refs]
        ready: list[RaysRef] = []

        def ask(seconds: float) -> None:
            ready[:], rest = ray.wait(inner, num_returns=num_returns, timeout=seconds, fetch_local=fetch)
            if rest and len(ready) < num_returns:
                raise ray.exceptions.GetTimeoutError

        with translated(), suppress(ray.exceptions.GetTimeoutError):
            self._session.head.patiently(ask, timeout_s)
        taken = {each.binary() for each in ready}
        return [ref for ref in refs if ref._id in taken], [ref for ref in refs if ref._id not in taken]

    def object_locations(self, refs: Sequence[ObjectRef[object]]) -> list[ObjectPlaces]:
        found = self._session.asked_inside("tables", "locations", [ref._inner for ref in refs])
        return msgspec.convert(found, list[ObjectPlaces])

    def was_awaited(self, ref: ObjectRef[object]) -> None:
        """Do nothing: Ray reports unread errors in its own way."""

    def call_when_ready(self, ref: ObjectRef[object], callback: Callable[[], None]) -> None:
        def arrived(_value: object, keep: ObjectRef[object] = ref) -> None:
            callback()

        ref._inner._on_completed(arrived)

    def fill(self, future: Future[object], ref: ObjectRef[object]) -> None:
        def arrived(value: object, keep: ObjectRef[object] = ref) -> None:
            if not future.set_running_or_notify_cancel():
                return
            if isinstance(value, ray.exceptions.RayError):
                future.set_exception(self.located(value, [keep]))
            else:
                future.set_result(self._stand_ins.get(keep._id, value))

        ref._inner._on_completed(arrived)

    def ref_gone(self, id: bytes) -> None:
        """Do nothing: Ray's own ref inside is finalised too, and Ray counts that one."""

    # ---- pickling: Ray must see its own ref inside the pickled value, or it would let the object go

    def reduce_ref(self, ref: ObjectRef[object]) -> tuple[object, ...]:
        return self._shipped.received_ref, (ref._inner,)

    def reduce_actor(self, actor: ActorHandle) -> tuple[object, ...]:
        return self._shipped.received_actor, (actor._inner,)

    def only_in_history(self, ids: list[bytes]) -> None:
        """Do nothing: Ray chooses by itself what it moves to disk."""

    # ---- streams

    def next_item(self, stream: ObjectRefGenerator, timeout_s: float | None) -> ObjectRef[object] | None:
        try:
            with translated():
                inner = stream._inner._next_sync(timeout_s)
        except StopIteration:
            self._abandoned.settle(stream)
            return None
        if inner.is_nil():
            raise exceptions.GetTimeoutError(f"The stream had no next item within {timeout_s} s.")
        return self._handles.ref(inner, stream._cell)

    def when_next_item(self, stream: ObjectRefGenerator, callback: Callable[[], None]) -> None:
        """The ref of the next place in the stream is known before its value; at the end it becomes an error."""
        following = internals.next_ref(stream._inner)

        def arrived(_value: object, keep: RaysRef = following) -> None:
            callback()

        following._on_completed(arrived)

    def stream_ready(self, stream: ObjectRefGenerator) -> bool:
        return bool(stream._inner.next_ready())

    def stream_end(self, stream: ObjectRefGenerator) -> ObjectRef[object]:
        self._abandoned.settle(stream)
        inner = stream._inner.completed()
        return self._handles.ref(inner, stream._cell)

    def close_stream(self, stream: ObjectRefGenerator) -> None:
        """Do nothing: Ray lets go of what was not taken, and AbandonedStreams watches for the task's sake."""


# ---- wraps Ray's refs, and notes each submission: its demand, its cell, its choice


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
            name,
            TaskKind.ACTOR_CREATION,
            demand=placed,
            choice=choice.label,
            choice_why=choice.why,
            held=held,
            options=options,
            **options.facts(),
        )
        creation = _creation_of(actor_id)
        cell, parent = source or ("", b"")
        self._submissions.note(Submission(creation, about, cell, submitted_at, actor_id, weakref.ref(handle), parent))
        if self._viewers and not about.internal:
            self._announce(creation, about, submitted_at, actor_id)


def _creation_of(actor_id: bytes) -> bytes:
    """The id of an actor's constructor task: Ray's is all ones before the actor's own."""
    return b"\xff" * 8 + actor_id
