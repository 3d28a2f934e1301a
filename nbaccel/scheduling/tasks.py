"""Every task that is not over, the lines in which they wait (one for each shape), and counts by state."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, compress, islice
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from nbaccel.quantities import LONG_RUN_S
from nbaccel.scheduling.commands import Command, FailTask, Failure, FinishTasks, Warn
from nbaccel.scheduling.events import CancelRequested
from nbaccel.scheduling.ledger import Hold
from nbaccel.scheduling.moves import (
    ARGS,
    CANCELLED,
    FAILED,
    FINISHED,
    RUNNING,
    STORY_LENGTH,
    SUBMITTED,
    TASK_MOVES,
    WAITING,
    IllegalEvent,
    Story,
    TaskStatus,
    lengthened,
)
from nbaccel.scheduling.placement import PlaceableChoice, PlacementBook
from nbaccel.scheduling.terms import Choice, Task, TaskKind, Terms

if TYPE_CHECKING:
    from nbaccel.scheduling.actors import ActorRecord
    from nbaccel.scheduling.workers import PoolRecord, WorkerRecord

KEEP_ENDED = 1000
KEEP_FAILED = 200  # of tasks that failed before them, or ran for long
KEEP_INTERNAL = 200  # of nbaccel's own
HELD_BY = 2  # a record: its line, and all records

# Takes the records out of a list, and returns what makes them again; how many hold each of them is given.
Pack = Callable[["list[TaskRecord]", int], "Callable[[], list[TaskRecord]]"]


class EndedTasks:
    """The ended tasks that can still be asked for: the newest, before them those that failed or ran for long.

    The records of others are removed from `records`.
    """

    def __init__(self, records: dict[bytes, TaskRecord]) -> None:
        self._records = records
        self._newest: deque[TaskRecord] = deque()
        self._failed: deque[TaskRecord] = deque()  # too old for `_newest`
        self._internal: deque[TaskRecord] = deque()  # apart: so many calls would push users' tasks out

    def add(self, record: TaskRecord) -> None:
        """A task of a user's has ended."""
        newest = self._newest
        newest.append(record)
        if len(newest) > KEEP_ENDED:
            self._age(newest.popleft())

    def add_internal(self, record: TaskRecord) -> None:
        """A task of nbaccel's own has ended."""
        self._internal.append(record)
        if len(self._internal) > KEEP_INTERNAL:
            self._forget(self._internal.popleft())

    def newest_first(self) -> Iterator[TaskRecord]:
        """Those of users."""
        return chain(reversed(self._newest), reversed(self._failed))

    def let_go(self, pack: Pack) -> Callable[[], None]:
        """Let all records go, packed, and return what makes them again: then they lie close together in memory."""
        lines, all_records = (self._newest, self._failed, self._internal), self._records
        sizes = [len(line) for line in lines]
        ended = [record for line in lines for record in line]
        known = [all_records.get(record.task.task_id) is record for record in ended]
        ids = [record.task.task_id for record in compress(ended, known)]
        unpack = pack(ended, HELD_BY)
        for id in ids:
            del all_records[id]
        ids.clear()
        for line in lines:
            line.clear()

        def make_again() -> None:
            made = unpack()
            all_records.update((record.task.task_id, record) for record in compress(made, known))
            rest = iter(made)
            for line, size in zip(lines, sizes, strict=True):
                line.extend(islice(rest, size))

        return make_again

    def _age(self, old: TaskRecord) -> None:
        """It is no longer among the newest: failures and long runs are kept for longer, others forgotten."""
        if old.is_kept and self._records.get(old.task.task_id) is old:
            self._failed.append(old)
            if len(self._failed) <= KEEP_FAILED:
                return
            old = self._failed.popleft()
        self._forget(old)

    def _forget(self, old: TaskRecord) -> None:
        if self._records.get(old.task.task_id) is old:
            del self._records[old.task.task_id]


MOST_FUNCTIONS = 1_000  # tasks of further ones are counted together, and belong to no function
_ENDINGS = len(TaskStatus) - FINISHED


class FunctionCount(msgspec.Struct, eq=False):
    """The tasks of one function, or the constructors or the calls of one method."""

    function: str  # its own name, whatever a task is called; "" for what is counted together
    kind: TaskKind
    came: int = 0
    endings: list[int] = msgspec.field(default_factory=lambda: [0] * _ENDINGS)  # FINISHED, FAILED, CANCELLED

    @property
    def unfinished(self) -> int:
        return self.came - sum(self.endings)


class FunctionCounts:
    """How many tasks each function has had, and how they ended: exact, however many records have been forgotten.

    A task costs one addition when it comes and one when it ends. How many of a function run now follows from those that
    are with a worker, and the others wait (`Queries.tasks_by_function`).
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str, TaskKind], FunctionCount] = {}
        self._others = FunctionCount("", TaskKind.TASK)
        self.internal = FunctionCount("", TaskKind.TASK)  # all that nbaccel submits for itself
        self._last_terms: Terms | None = None
        self._last = self._others

    def of(self, terms: Terms) -> FunctionCount:
        """The count to which tasks with these terms belong."""
        if terms is self._last_terms:
            return self._last
        if terms.internal:
            return self.internal
        kind = terms.kind
        name = terms.name if kind is TaskKind.ACTOR_CREATION or not terms.method else ""
        key = (name, terms.class_name, terms.method, kind)
        count = self._counts.get(key)
        if count is None:
            count = self._others
            if len(self._counts) < MOST_FUNCTIONS:
                count = self._counts[key] = FunctionCount(terms.function or terms.name, kind)
        self._last_terms, self._last = terms, count
        return count

    def __iter__(self) -> Iterator[FunctionCount]:
        """Those of users' functions."""
        yield from self._counts.values()
        if self._others.came:
            yield self._others


class AwaitedObjects:
    """Tasks that wait for arguments which are not there yet, by what they wait for, in order of submission."""

    def __init__(self) -> None:
        self.tasks: dict[bytes, TaskRecord] = {}
        self._waiters: dict[bytes, dict[bytes, TaskRecord]] = {}  # object -> those who wait for it

    def wait(self, record: TaskRecord) -> bool:
        """Whether it must wait for arguments; if so, it does from now on."""
        if not record.task.missing:
            return False
        record.missing = set(record.task.missing)
        self.tasks[record.task.task_id] = record
        for object_id in record.missing:
            self._waiters.setdefault(object_id, {})[record.task.task_id] = record
        return True

    def waiting_for(self, object_id: bytes) -> list[TaskRecord]:
        """The tasks that wait for this object, in order of submission."""
        return list(self._waiters.get(object_id, {}).values())

    def arrived(self, object_ids: Iterable[bytes]) -> list[TaskRecord]:
        """The tasks that have all their arguments now, in order of submission."""
        ready = []
        for object_id in object_ids:
            for record in self._waiters.pop(object_id, {}).values():
                missing = record.missing
                if missing is not None:
                    missing.discard(object_id)
                    if not missing:
                        record.missing = None
                        del self.tasks[record.task.task_id]
                        ready.append(record)
        return sorted(ready, key=lambda record: record.seq)

    def forget(self, record: TaskRecord) -> None:
        """The task waits no more, whatever comes."""
        task_id = record.task.task_id
        self.tasks.pop(task_id, None)
        for object_id in record.missing or ():
            waiters = self._waiters.get(object_id)
            if waiters is not None:
                waiters.pop(task_id, None)
                if not waiters:
                    del self._waiters[object_id]
        record.missing = None


_NO_FAULT = (Failure.CANCELLED, Failure.JOB_ENDED)  # somebody ended it, or nobody wants it any more
MAX_SHAPES = 1024  # beyond this, shapes in which nobody waits are forgotten
MAX_DEPTH = 64  # tasks that are nested deeper wait in the lines of this depth
MAX_LOOKED_AT = 64  # of a line, when those that wait longest are looked for
_by_turn = attrgetter("turn")


class TaskRecord(msgspec.Struct, eq=False):
    """What the scheduler knows of one task."""

    task: Task
    shape: Shape | None
    pool: PoolRecord | None
    seq: int
    waiting_since: float
    depth: int = 0
    state: TaskStatus = ARGS
    turn: int = 0  # its place in its line: given when it joins the end, and kept when it comes back
    parent: TaskRecord | None = None
    children: dict[bytes, TaskRecord] | None = None
    worker: WorkerRecord | None = None
    actor: ActorRecord | None = None
    hold: Hold | None = None  # while it runs, or is bound to a process that starts
    missing: set[bytes] | None = None
    choice: int = 0
    choice_why: str = ""
    fell_because: str = ""  # the errors of the choices before this one
    attempt: int = 0
    failed_starts: int = 0
    cancelled: bool = False
    doom: CancelRequested | None = None  # it was cancelled with all that it submits
    of_detached: bool = False  # submitted by, or on behalf of, a detached actor: it outlives its job
    started_at: float | None = None
    ended_at: float | None = None
    why: str = ""
    story: Story = ()
    count: FunctionCount | None = None  # of its function; None for what is no task of a user's

    @property
    def over(self) -> bool:
        return self.state >= FINISHED

    @property
    def is_kept(self) -> bool:
        """Whether one that is over stays known longer than others: it failed, or ran for long."""
        ran_s = self.ended_at - self.started_at if self.started_at is not None and self.ended_at is not None else 0.0
        return self.state is FAILED or ran_s >= LONG_RUN_S

    def __str__(self) -> str:
        return f"task {self.task.name} ({self.task.task_id.hex()})"


class WaitNotice(msgspec.Struct):
    """A line that was said about work that waits: the id that names it, its kind, and of which task it speaks now."""

    line_id: bytes
    record: TaskRecord
    kind: str


class Shape(msgspec.Struct, eq=False):
    """A line of waiting tasks that ask the same: if its first cannot start, none of them can."""

    choices: tuple[Choice, ...]
    requests: tuple[PlaceableChoice, ...]
    fallback_after_s: float | None
    job: int
    depth: int  # deeper ones go first, so that blocked parents do not pile up
    lasting: tuple[tuple[str, int], ...] | None = None  # what of it actors keep; None: all
    line: deque[TaskRecord] = msgspec.field(default_factory=deque)
    size: int = 0  # of the line, less those that were cancelled in it
    workers: int = 0  # that run tasks of this shape
    notice_armed: bool = False
    garbage_armed: bool = False
    notified: dict[str, WaitNotice] = {}  # cell -> the notice under it
    fallback_armed: float = -1.0

    def first(self) -> TaskRecord | None:
        line = self.line
        while line:
            if line[0].state == WAITING:
                return line[0]
            line.popleft()
        return None


class TaskTable:
    """Owns task records; every move of a task goes through `move`."""

    def __init__(self, out: list[Command], cluster: PlacementBook) -> None:
        self._out = out
        self._cluster = cluster
        self.records: dict[bytes, TaskRecord] = {}
        self.counts: list[int] = [0] * len(TaskStatus)
        self.functions = FunctionCounts()
        self.internal: dict[bytes, TaskRecord] = {}  # nbaccel's own that are not over
        self.shapes: dict[object, Shape] = {}
        self.awaited = AwaitedObjects()
        # To be cancelled: who submitted them was, and has ended.
        self.doomed: list[tuple[TaskRecord, CancelRequested]] = []
        self._ended = EndedTasks(self.records)
        self._seq = 0
        self._most_shapes = MAX_SHAPES
        self._last_terms: Terms | None = None
        self._last_shape: Shape | None = None

    # --- coming and going -----------------------------------------------------------------------------------------

    def admit(self, task: Task, now: float) -> TaskRecord:
        """A record for a submitted task, in no line yet."""
        old = self.records.get(task.task_id)
        if old is not None and not old.over:
            raise IllegalEvent("TasksSubmitted", str(old), old.state.name, old.story, "Its id is in use.")
        self._seq = seq = self._seq + 1
        record = TaskRecord(task, None, None, seq, now)
        parent = self.records.get(task.parent_task_id) if task.parent_task_id is not None else None
        if parent is not None and parent.state < FINISHED:
            record.parent = parent
            record.depth = min(parent.depth + 1, MAX_DEPTH)
            record.of_detached = parent.of_detached
            if parent.children is None:
                parent.children = {}
            parent.children[task.task_id] = record
        elif parent is not None and parent.doom is not None:
            self.doomed.append((record, parent.doom))
        self.records[task.task_id] = record
        self._came(record, ARGS)
        return record

    def line_up_new(self, tasks: list[Task], pool: PoolRecord, now: float) -> list[TaskRecord]:
        """Tasks of a driver with the same terms, and with all their arguments: to the end of their line, in order."""
        terms, caller = tasks[0].terms, tasks[0].caller
        shape, count, seq, story = self.shape_of(tasks[0], 0), self.functions.of(terms), self._seq, (WAITING, now)
        by_id: dict[bytes, TaskRecord] = {}
        for task in tasks:
            task_id = task.task_id
            known = self.records.get(task_id)
            if task_id in by_id or (known is not None and known.state < FINISHED):
                raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "An id is in use.")
            of_others = task.missing or task.parent_task_id or task.owner_worker
            if task.terms is not terms or task.caller != caller or of_others:
                raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "They are not alike.")
            seq += 1
            by_id[task_id] = TaskRecord(task, shape, pool, seq, now, 0, WAITING, seq, story=story, count=count)
        if not terms.is_plain:
            raise IllegalEvent("TasksSubmitted", f"tasks {terms.name}", "new", (), "They are not plain.")
        self._seq, new = seq, list(by_id.values())
        self.records |= by_id
        if count is self.functions.internal:
            self.internal |= by_id
        self.counts[WAITING] += len(new)
        count.came += len(new)
        shape.line.extend(new)
        shape.size += len(new)
        self._grew(shape, len(new), new[0])
        return new

    def again(self, old: TaskRecord, now: float) -> TaskRecord:
        """A new record for a constructor that runs once more, after the old one ended."""
        record = TaskRecord(old.task, None, old.pool, old.seq, now, old.depth)
        record.attempt, record.actor, record.turn = old.attempt + 1, old.actor, old.turn
        record.choice, record.choice_why = old.choice, old.choice_why
        record.of_detached = old.of_detached
        self.records[old.task.task_id] = record
        self._came(record, ARGS)
        return record

    def ended_lazily(self, task: Task, now: float) -> None:
        """Somebody looks at a call that was counted when it returned."""
        self._seq = seq = self._seq + 1
        record = TaskRecord(task, None, None, seq, now, state=FINISHED, story=(FINISHED, now))
        self.records[task.task_id] = record
        self._end(record, now)
        record.count = self.functions.of(task.terms)

    def _came(self, record: TaskRecord, state: TaskStatus) -> None:
        self.counts[state] += 1
        record.count = count = self.functions.of(record.task.terms)
        count.came += 1
        if count is self.functions.internal:
            self.internal[record.task.task_id] = record

    def wait_again(self, record: TaskRecord, object_ids: set[bytes], now: float) -> None:
        """Arguments that had been there are gone; they come again."""
        shape = record.shape
        if shape is not None and record in shape.line:
            self._leave_line(record)
            if record in shape.line:  # it must not be found there when it waits anew
                shape.line.remove(record)
        self.move(record, ARGS, now)
        record.task.missing = object_ids
        self.awaited.wait(record)

    def ended(self) -> Iterator[TaskRecord]:
        """Those that are over and still known, newest first."""
        return self._ended.newest_first()

    def let_go_of_ended(self, pack: Pack) -> Callable[[], None]:
        """Let the records of tasks that are over go, and return what makes them again."""
        return self._ended.let_go(pack)

    # --- moves ----------------------------------------------------------------------------------------------------

    def move(self, record: TaskRecord, state: TaskStatus, now: float) -> None:
        old = record.state
        if state not in TASK_MOVES[old]:
            raise IllegalEvent(f"A move to {state.name}", str(record), old.name, record.story)
        counts = self.counts
        counts[old] -= 1
        counts[state] += 1
        record.state = state
        story = record.story
        record.story = (*story, state, now) if len(story) < STORY_LENGTH else lengthened(story, state, now)

    def finish(
        self, record: TaskRecord, now: float, failed: bool = False, cancelled: bool = False, notify: bool = True
    ) -> None:
        """It returned, with a value or an error of the user's, or because it was asked to stop."""
        self.move(record, FINISHED if not failed else CANCELLED if cancelled else FAILED, now)
        if notify:
            self._out.append(FinishTasks([record.task]))
        self._end(record, now)

    def finish_all(self, records: list[TaskRecord], now: float) -> None:
        """They returned well, one after the other. Those that were sent behind others have run meanwhile."""
        tasks = list[Task]()
        for record in records:
            tasks.append(record.task)
            self.counts[record.state] -= 1
            story = record.story
            if record.state == SUBMITTED:
                story = (*story, RUNNING, now)
                record.started_at = now
            record.state = FINISHED
            record.story = (*story, FINISHED, now) if len(story) < STORY_LENGTH else lengthened(story, FINISHED, now)
            self._end(record, now)
        self.counts[FINISHED] += len(records)
        self._out.append(FinishTasks(tasks))

    def fail(self, record: TaskRecord, failure: Failure, message: str, now: float) -> None:
        """It ends without having returned."""
        self._leave_line(record)
        self.move(record, CANCELLED if failure in _NO_FAULT else FAILED, now)
        record.why = message
        self._out.append(FailTask(record.task, failure, message, record.task.actor_id))
        self._end(record, now)

    def drop(self, record: TaskRecord, now: float, cancelled: bool = False) -> None:
        """It ends, and its result is written already."""
        self._leave_line(record)
        self.move(record, CANCELLED if cancelled else FAILED, now)
        self._end(record, now)

    def _end(self, record: TaskRecord, now: float) -> None:
        record.ended_at = now
        record.hold = None
        if record.count is not None:
            record.count.endings[record.state - FINISHED] += 1
        if record.doom is not None and record.children:  # submitted since it was cancelled, and not awaited
            self.doomed += [(child, record.doom) for child in record.children.values()]
        parent = record.parent
        if parent is not None:
            if parent.children is not None:
                parent.children.pop(record.task.task_id, None)
            record.parent = None
        if record.count is self.functions.internal:
            self.internal.pop(record.task.task_id, None)
            self._ended.add_internal(record)
        else:
            self._ended.add(record)

    # --- lines ----------------------------------------------------------------------------------------------------

    def shape_of(self, task: Task, depth: int) -> Shape:
        terms, last = task.terms, self._last_shape
        if last is not None and terms is self._last_terms and last.depth == depth and not task.skipped:
            return last
        choices = terms.choices[task.skipped :] if task.skipped else terms.choices
        key = (choices, terms.fallback_after_s, terms.job, depth, terms.actor.lasting)
        shape = self.shapes.get(key)
        if shape is None:
            shape = self._new_shape(key, terms, choices, depth)
        if not task.skipped:
            self._last_terms, self._last_shape = terms, shape
        return shape

    def _new_shape(self, key: object, terms: Terms, choices: tuple[Choice, ...], depth: int) -> Shape:
        if len(self.shapes) >= self._most_shapes:
            self._forget_empty_shapes()
            self._most_shapes = max(MAX_SHAPES, 2 * len(self.shapes))
        requests = self._cluster.asks_for(choices, terms.actor.lasting)
        shape = self.shapes[key] = Shape(
            choices, requests, terms.fallback_after_s, terms.job, depth, terms.actor.lasting
        )
        for request in requests:
            request.shapes[shape] = None
        return shape

    def _forget_empty_shapes(self) -> None:
        self._last_shape = None
        for key, shape in list(self.shapes.items()):
            if not shape.size and not shape.workers:
                del self.shapes[key]
                self._cluster.woken.pop(shape, None)
                for request in shape.requests:
                    request.shapes.pop(shape, None)

    def line_up(self, record: TaskRecord, now: float) -> Shape:
        """To the end of its line."""
        shape = self._line_of(record)
        self.move(record, WAITING, now)
        record.waiting_since = now
        if record.seq != self._seq:  # others have come since: it has waited for arguments, or runs again
            self._seq += 1
        record.turn = self._seq
        shape.line.append(record)
        shape.size += 1
        self._grew(shape, 1, record)
        return shape

    def _grew(self, shape: Shape, number: int, record: TaskRecord) -> None:
        """So many that are alike have joined the end of a line, this one among them."""
        is_new = shape.size == number
        if is_new or (shape.notified and self._has_to_be_notified(shape, record)):
            self._cluster.woken[shape] = None
        else:
            self._cluster.stirred = True

    def _has_to_be_notified(self, shape: Shape, record: TaskRecord) -> bool:
        """Others wait already for what can never be met here, but the cell of this one has not been told."""
        return record.task.terms.cell_in_words not in shape.notified and not any(
            request.has_places for request in shape.requests
        )

    def fall_back(self, record: TaskRecord, why: str, now: float) -> None:
        """What it tried raised an error that its next choice is to answer: to its place in that choice's line."""
        task = record.task
        task.skipped = record.choice + 1
        label = task.terms.choices[task.skipped].label or "the next choice"
        record.fell_because = f"{label} was taken, because the choice before raised {why}"
        record.attempt += 1
        record.shape = None
        self.line_up_again([record], now)

    def line_up_again(self, records: list[TaskRecord], now: float) -> None:
        """Back to their lines, before those that came later. A task may wait for what earlier ones do, so what one
        worker gives back must not overtake what another has given back.
        """
        for record in records:
            shape = self._line_of(record)
            self.move(record, WAITING, now)
            record.waiting_since = now
            record.worker, record.hold, record.started_at = None, None, None
            line = shape.line
            if not line or record.turn < line[0].turn:
                line.appendleft(record)
            else:
                line.insert(bisect_right(line, record.turn, key=_by_turn), record)
            shape.size += 1
            self._cluster.woken[shape] = None

    def _line_of(self, record: TaskRecord) -> Shape:
        shape = record.shape
        if shape is None or shape.size == 0:  # an empty one may have been forgotten since
            shape = record.shape = self.shape_of(record.task, record.depth)
        return shape

    def leave(self, shape: Shape, record: TaskRecord) -> None:
        """The first of the line goes to a worker."""
        shape.line.popleft()
        shape.size -= 1
        if not shape.size:
            shape.line.clear()
        if shape.notified:
            self._waits_no_more(shape, record)

    def _leave_line(self, record: TaskRecord) -> None:
        if record.state == ARGS:
            self.awaited.forget(record)
        shape = record.shape
        if record.state != WAITING or shape is None:
            return
        # It stays in the deque, where the walk to the first one skips what no longer waits.
        shape.size -= 1
        if shape.size:
            self._cluster.woken[shape] = None
        else:
            shape.line.clear()
            self._cluster.woken.pop(shape, None)
        if shape.notified:
            self._waits_no_more(shape, record)

    def longest_waiting(
        self, shape: Shape, but: TaskRecord | None = None, cells: Collection[str] | None = None
    ) -> dict[str, TaskRecord]:
        """Of each cell the first that waits, among the first of the line, `but` for the one that is leaving it.

        `cells`: no others are wanted. Mostly the first of the line is of the only one.
        """
        first: dict[str, TaskRecord] = {}
        missing = None if cells is None else set(cells)
        for record in islice(shape.line, MAX_LOOKED_AT):
            if record.state == WAITING and record is not but:
                cell = record.task.terms.cell_in_words
                first.setdefault(cell, record)
                if missing is not None:
                    missing.discard(cell)
                    if not missing:
                        break
        return first

    def send(self, shape: Shape, record: TaskRecord, kind: str, message: str) -> None:
        """One line under the task's cell, in the place of the one that was there."""
        notified = shape.notified.get(record.task.terms.cell_in_words)
        if notified is None:
            notified = shape.notified[record.task.terms.cell_in_words] = WaitNotice(record.task.task_id, record, kind)
        notified.record, notified.kind = record, kind
        self._out.append(Warn(shape.job, kind, notified.line_id, message))

    def _waits_no_more(self, shape: Shape, left: TaskRecord) -> None:
        """A task left its line: what was said of it is taken away, or belongs to the next of its cell."""
        notified = shape.notified.get(left.task.terms.cell_in_words)
        if shape.size and (notified is None or notified.record is not left):
            return
        waiting = self.longest_waiting(shape, left, shape.notified) if shape.size else {}
        for cell, line in list(shape.notified.items()):
            if cell in waiting:
                line.record = waiting[cell]
            elif line.record.state != WAITING or line.record is left:
                del shape.notified[cell]
                self._out.append(Warn(shape.job, "waiting", line.line_id, ""))

    # --- looking --------------------------------------------------------------------------------------------------

    def waiting(self) -> Iterator[TaskRecord]:
        """Tasks that wait for resources, line by line, then those that wait for arguments."""
        for shape in self.shapes.values():
            if shape.size:
                yield from (record for record in shape.line if record.state == WAITING)
        yield from self.awaited.tasks.values()
