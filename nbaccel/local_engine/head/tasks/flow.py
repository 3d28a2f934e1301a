"""A task's way through the head: submitted, sent, streaming, returned, concluded."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Handler, Peer, Send, Together
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.node_devices import Assigned
from nbaccel.local_engine.head.devices.task_devices import DeviceLeases, Leftovers, TaskEnvironments
from nbaccel.local_engine.head.objects import delivery, ledger, lineage
from nbaccel.local_engine.head.objects.delivery import PUSH_BYTES, Fill
from nbaccel.local_engine.head.objects.store import DelayedSends
from nbaccel.local_engine.head.objects.tables import ObjectContext, ObjectTables
from nbaccel.local_engine.head.outcomes import WorkerEnding
from nbaccel.local_engine.head.poll import LoopTimers, Note
from nbaccel.local_engine.head.records import (
    CANCELLED,
    Environments,
    HeadRecords,
    Job,
    TaskEntry,
    WorkerProcess,
    entry_of,
    make_entry,
)
from nbaccel.local_engine.head.tasks.submissions import Arguments, Functions, SubmissionIntake
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.commands import Command, FailTask, FinishTasks, SendTasks
from nbaccel.scheduling.events import (
    ActorKillRequested,
    ArgumentFailed,
    ArgumentsLost,
    CancelRequested,
    TaskReturn,
    TasksGivenBack,
    TasksReturned,
    WorkerBlocked,
    WorkerUnblocked,
)
from nbaccel.scheduling.moves import FINISHED
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ACTOR_CALL, ACTOR_CREATION, Task, Terms


class StreamRelay:
    """Passes items and the ends of streams on to readers."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: ObjectTables,
        peers: Mapping[int, Peer],
        workers: Mapping[bytes, WorkerProcess],
        send: Send,
        notify: Notify,
        *,
        fill: Fill,
        filled: Callable[[wire.Value, int], None],
        placed: Callable[[bytes, bytes], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._peers = peers
        self._workers = workers
        self._send = send
        self._notify = notify
        self._fill = fill
        self._filled = filled  # checks a process's statement about the arena
        self._placed = placed  # called with an object and the node where it was made

    def of_clients(self) -> dict[type, Handler]:
        """The messages that drivers and workers may send, with their handlers."""
        return {wire.Consumed: self._consumed}

    def of_workers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        return {wire.Item: self._item}

    def together(self) -> dict[type, Together]:
        """The messages of workers that are handled together: how many of them, and by what."""
        return {wire.Item: (self.alike, self.passed_on)}

    def alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are small items of one stream that its reader is to get, in their order."""
        task_id = messages[start].task_id
        record = self._scheduler.task_record(task_id)
        entry = entry_of(record.task) if record is not None else None
        if entry is None or entry.is_made_again or entry.client_id not in self._peers:
            return 0
        at = entry.items
        for m in islice(messages, start, None):
            if type(m) is not wire.Item or m.index != at or m.task_id != task_id or m.result.refs:
                break
            value = m.result.value
            if value.data is None or value.status != wire.OK:
                break
            at += 1
        return at - entry.items

    def passed_on(self, peer: Peer, messages: list[wire.Item]) -> None:
        """Pass on items that are alike in one message."""
        first = messages[0]
        record = self._scheduler.task_record(first.task_id)
        assert record is not None
        entry = entry_of(record.task)
        values = {return_id(m.task_id, m.index + 1): m.result.value for m in messages}
        entry.items += len(messages)
        ledger.fill_all(self._objects, values, entry.client_id)
        data = [m.result.value.data or b"" for m in messages]
        self._send(self._peers[entry.client_id], wire.StreamItems(first.task_id, first.index, data))

    def _item(self, peer: Peer, message: wire.Item) -> None:
        record = self._scheduler.task_record(message.task_id)
        value = message.result.value
        self._filled(value, peer.client_id)
        if record is None:
            ledger.drop(self._objects, value)
            return
        entry = entry_of(record.task)
        if message.index < entry.items or entry.is_made_again:
            self._item_again(peer, entry, message)
            return
        entry.items = message.index + 1
        reader = self._peers.get(entry.client_id)
        if reader is None:
            ledger.drop(self._objects, value)
            return
        id = return_id(message.task_id, message.index + 1)
        ledger.promise(self._objects, id, entry.client_id)
        ledger.fill(self._objects, id, value, message.result.refs)
        if peer.worker is not None:
            self._placed(id, peer.worker.node_id)
        shown = value if value.data is not None else None
        self._send(reader, wire.StreamItem(message.task_id, message.index, shown))

    def _item_again(self, peer: Peer, entry: TaskEntry, message: wire.Item) -> None:
        """Take an item of a task that runs again: it is needed only if the reader's copy was lost."""
        if entry.terms.backpressure is not None:
            self._send(peer, wire.Consumed(message.task_id, entry.consumed))  # this process does not know the count yet
        id = return_id(message.task_id, message.index + 1)
        record = self._objects.records.get(id)
        if record is None or record.value is not None:
            ledger.drop(self._objects, message.result.value)
            return
        self._fill(id, message.result.value, message.result.refs, record.owner)
        if peer.worker is not None:
            self._placed(id, peer.worker.node_id)

    def _consumed(self, peer: Peer, message: wire.Consumed) -> None:
        """Tell the writer of a stream how many items its reader has consumed; -1: the reader has gone."""
        record = self._scheduler.task_record(message.task_id)
        if record is None:
            return
        entry = entry_of(record.task)
        entry.consumed = max(entry.consumed, message.count)
        worker = self._workers.get(entry.worker_id)
        if worker is not None and not worker.ended:
            if entry.terms.backpressure is not None or message.count < 0:
                self._send(worker.peer, message)
        elif message.count < 0:
            self._notify(CancelRequested(message.task_id))

    def end(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        """End a stream: an error becomes the reader's last item. A second call does nothing."""
        peer = self._peers.get(entry.client_id)
        if peer is None or entry.is_made_again or entry.stream_over:
            return
        last = outcomes.last_item(task, entry.items, results)
        if last is not None:
            id, value = last
            ledger.promise(self._objects, id, entry.client_id)
            ledger.fill(self._objects, id, value, [])
            shown = value if value.data is not None else None
            self._send(peer, wire.StreamItem(task.task_id, entry.items, shown))
            entry.items += 1
        self._send(peer, wire.StreamEnd(task.task_id, entry.items))
        entry.stream_over = True


class ErrorNews(Protocol):
    """The component that reports errors that nobody reads."""

    def read(self, ids: Iterable[bytes]) -> None: ...
    def notify(self, entry: TaskEntry) -> None: ...
    def constructor_failed(self, entry: TaskEntry) -> None: ...


class Conclusions:
    """Writes the results and errors of tasks that have ended."""

    def __init__(
        self,
        scheduler: Scheduler,
        context: ObjectContext,
        arguments: Arguments,
        streams: StreamRelay,
        actors: Actors,
        unread_errors: ErrorNews,
        endings: Mapping[bytes, WorkerEnding],
        notify: Notify,
        ended: Callable[[Task], None],
        peers: Mapping[int, Peer],
        send: Send,
    ) -> None:
        self._scheduler = scheduler
        self._context = context
        self._objects = context.objects
        self._arguments = arguments
        self._streams = streams
        self._actors = actors
        self._unread_errors = unread_errors
        self._endings = endings  # of dead workers
        self._notify = notify
        self._ended = ended  # called with each task that is over
        self._peers = peers
        self._send = send
        self.answer: Callable[[Command, Exception], None] = _raise  # of an order about one task that failed
        self.ready: list[bytes] = []  # objects that have arrived, for `CommandHandlers`: tasks may wait for them

    def finish(self, command: FinishTasks) -> None:
        """Write the results of tasks that have returned; waiting clients get them.

        An error about one of several is answered for it alone.
        """
        client_id, said = 0, wire.ObjectValues([], [])
        for task in command.tasks:
            try:
                entry = entry_of(task)
                data = self._plain_result(task, entry)
                if data is None:
                    self._finish_one(task, entry)
                    continue
                id = return_id(task.task_id, 0)
                if entry.client_id != client_id:
                    said = self._begin(entry.client_id, id, data)
                    client_id = entry.client_id  # only now: what could not be begun is begun for the next one
                else:
                    said.object_ids.append(id)
                    said.data.append(data)
                entry.submit.args = b""
                entry.results, entry.written, entry.pinned = None, 1, False  # last: until here it may be done again
            except Exception as error:
                if len(command.tasks) == 1:
                    raise
                self.answer(FinishTasks([task]), error)

    def _finish_one(self, task: Task, entry: TaskEntry) -> None:
        results = entry.results
        self._ended(task)
        if results is not None:
            self._write_results(task, entry, results)
        entry.results = None
        if self._objects.can_be_lost and results is not None and lineage.made(self._context, task, entry):
            return  # the arguments stay pinned while the task may have to run again
        self._arguments.let_go(entry, task)

    def _begin(self, client_id: int, id: bytes, data: bytes) -> wire.ObjectValues:
        """A message of results to this client, which leaves with the next flush: others may join the first one."""
        said = wire.ObjectValues([id], [data])
        peer = self._peers.get(client_id)
        if peer is not None:
            self._send(peer, said)
        return said

    def _plain_result(self, task: Task, entry: TaskEntry) -> bytes | None:
        """The bytes of the result, written down, if only its submitter is to be told of it and nothing else is due."""
        submit = entry.submit
        results = entry.results
        if results is None or not task.terms.is_plain or entry.failed or self._objects.can_be_lost:
            return None
        if submit.slots or submit.refs or entry.retryable:
            return None
        result = results[0]
        id = return_id(task.task_id, 0)
        data = result.value.data
        if data is None or result.refs or len(data) > PUSH_BYTES:
            return None
        if not ledger.fill_plainly(self._objects, id, result.value, entry.client_id):
            return None
        self._ended(task)
        return data

    def conclude(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        """Write the results whose writing was interrupted, and announce all of them again."""
        self._write_results(task, entry, results)
        entry.results = None
        self._arguments.let_go(entry, task)

    def creation_failed(self, entry: TaskEntry, value: wire.Value) -> None:
        """Record the error of a constructor: no call may ever report it."""
        self._actors.creation_failed(entry, value)
        self._unread_errors.constructor_failed(entry)

    def _write_results(self, task: Task, entry: TaskEntry, results: list[wire.ReturnValue]) -> None:
        terms = entry.terms
        if terms.returns == 0 and terms.kind is not ACTOR_CREATION:
            self._unread_errors.notify(entry)
        for index, (id, result) in enumerate(outcomes.objects_of(task, results)):
            self._write_result(id, index, entry, result)
        if terms.num_returns == wire.STREAMING and terms.returns:
            self._streams.end(task, entry, results)
            lineage.stream_ended(self._context, task.task_id, entry, results[0].value)

    def _write_result(self, id: bytes, index: int, entry: TaskEntry, result: wire.ReturnValue) -> None:
        """Write one result; a result that is written already is only announced again."""
        if index < entry.written:
            delivery.announce_again(self._context, id, entry.client_id)
        else:
            filled = ledger.fill(self._objects, id, result.value, result.refs)
            entry.written = index + 1
            delivery.filled(self._context, id, filled, result.value, entry.client_id)

    def arrived(self, id: bytes, value: wire.Value) -> None:
        """Handle the arrival of an object that is an argument of a task: tasks may wait for it."""
        if value.status == wire.OK:
            self.ready.append(id)
        else:
            self._fail_waiting(id, value)

    def _fail_waiting(self, id: bytes, value: wire.Value) -> None:
        """Fail the tasks that wait for a failed argument, with the argument's error."""
        self._unread_errors.read([id])
        for task in self._scheduler.waiting_for(id):
            self.fail_for_argument(task, id, value)
            self._notify(ArgumentFailed(task.task_id, entry_of(task).error_type == CANCELLED))

    def fail_for_argument(self, task: Task, id: bytes, value: wire.Value) -> None:
        """Write an argument's error as the results of a task that never ran."""
        entry = entry_of(task)
        outcomes.note_failed_argument(entry, self._scheduler.task_record(task_of(id)), time.time())
        self._ended(task)
        if task.kind is ACTOR_CREATION:
            self.creation_failed(entry, value)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        self._arguments.let_go(entry, task)

    def fail(self, command: FailTask) -> None:
        """Write an error as the results of a task that ends without having returned."""
        task, entry = command.task, entry_of(command.task)
        outcomes.note_failure(entry, command, time.time())
        self._ended(task)
        if task.kind is ACTOR_CREATION:
            self._unread_errors.constructor_failed(entry)
        if entry.is_direct:  # its caller has no result, and waits for what became of the actor
            ledger.promise(self._objects, return_id(task.task_id, 0), entry.client_id)
        actor = self._actors.by_id.get(command.actor_id or task.actor_id or b"")
        worker_id = entry.worker_id or (actor.worker_id if actor is not None else b"")
        ending = self._endings.get(worker_id, outcomes.UNKNOWN_ENDING)
        value = outcomes.failure_value(command, actor, ending)
        self._write_results(task, entry, outcomes.same_for_all(entry, value))
        entry.results = None
        self._arguments.let_go(entry, task)


def _raise(command: Command, error: Exception) -> None:
    raise error


class Judge(Protocol):
    """The component that judges what a task has left on its devices."""

    def judge(self, worker: WorkerProcess, record: Any, done: wire.Done, then: Callable[[str], None]) -> None: ...


class Returns:
    """Handles the messages of workers about their tasks."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: ObjectTables,
        environments: Environments,
        notify: Notify,
        note: Note,
        leftovers: Judge,
        *,
        filled: Callable[[wire.Value, int], None],
        creation_failed: Callable[[TaskEntry, wire.Value], None],
        after_failure: Callable[[bytes, Assigned, Callable[[], None]], None],
        changed: Callable[[], None],
    ) -> None:
        self._scheduler = scheduler
        self._objects = objects
        self._environments = environments
        self._notify = notify
        self._note = note
        self._leftovers = leftovers
        self._filled = filled  # checks a process's statement about the arena
        self._creation_failed = creation_failed  # called with the entry and the error of a constructor
        self._after_failure = after_failure  # checks whether the devices of a failed task are still there
        self._changed = changed  # something is different from the last snapshot

    def handlers(self) -> dict[type, Handler]:
        """The messages that workers may send, with their handlers."""
        notify = self._notify
        return {
            wire.Done: self._done,
            wire.Blocked: lambda peer, m: notify(WorkerBlocked(peer.worker.worker_id)),
            wire.Unblocked: lambda peer, m: notify(WorkerUnblocked(peer.worker.worker_id)),
            wire.GivenBack: lambda peer, m: notify(TasksGivenBack(peer.worker.worker_id, m.task_ids)),
            wire.Progress: self._progress,
        }

    def alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are answers of plain tasks that ended well, with one small value each."""
        number, record_of = 0, self._scheduler.task_record
        for m in islice(messages, start, None):
            if type(m) is not wire.Done or m.failed or m.fall_back or m.exiting or len(m.results) != 1 or not m.times:
                break
            result = m.results[0]
            record = record_of(m.task_id)
            if result.value.data is None or result.value.status != wire.OK or result.refs or record is None:
                break
            if not record.task.terms.is_plain or record.state >= FINISHED or record.hold is None or record.hold.parts:
                break
            number += 1
        return number

    def take_all(self, peer: Peer, messages: list[wire.Done]) -> None:
        """Write down that these plain tasks have returned, and tell the scheduler."""
        returns, loaded, now = list[TaskReturn](), False, time.time()
        for m in messages:
            record = self._scheduler.task_record(m.task_id)
            assert record is not None
            outcomes.note_done(entry_of(record.task), m, now)
            returns.append(TaskReturn(m.task_id, took_s=max(m.times[-1] - m.times[0], 0.0)))
            loaded = loaded or m.loaded
        peer.worker.last_done_at = messages[-1].times[-1]
        self._notify(TasksReturned(peer.worker.worker_id, returns, loaded))

    def _done(self, peer: Peer, message: wire.Done) -> None:
        worker = peer.worker
        for result in message.results:
            self._filled(result.value, peer.client_id)
        record = self._scheduler.task_record(message.task_id)
        if record is not None and not record.over and not message.fall_back:
            self._write_down(worker, entry_of(record.task), message)
        else:
            for result in message.results:
                ledger.drop(self._objects, result.value)  # nobody waits for the result any more
        if message.exiting:
            self._notify(ActorKillRequested(bytes(worker.running_actor or b""), True, why=failures.ENDED_ITSELF))
        if record is not None and record.hold is not None and record.hold.parts:
            # Before the scheduler learns of the return and gives the devices to the next task.
            self._look_at_devices(worker, record, message)
        else:
            self._returned(worker, message, "")

    def _write_down(self, worker: WorkerProcess, entry: TaskEntry, message: wire.Done) -> None:
        outcomes.note_done(entry, message, time.time())
        if message.failed and message.results and message.results[0].value.status == wire.FAILED:
            self._environments.failed(entry.terms.environment, message.note)
        if entry.started_at is None:
            entry.started_at = worker.last_done_at
        worker.last_done_at = entry.finished_at
        if message.failed and entry.terms.kind is ACTOR_CREATION and message.results:
            self._creation_failed(entry, message.results[0].value)

    def _look_at_devices(self, worker: WorkerProcess, record: Any, message: wire.Done) -> None:
        """Look whether a failed task's devices are still there, and whether its process keeps their memory."""

        def returned(why: str) -> None:
            self._returned(worker, message, why)

        def judge() -> None:
            try:
                self._leftovers.judge(worker, record, message, returned)
            except Exception as error:  # the task has returned anyway, and its devices must become free
                self._note(f"what {record.task.name} changed in its process was not checked:\n{traceback.format_exc()}")
                returned(f"the head failed to see what it kept of its devices: {error}")

        if message.failed and record.hold is not None:
            self._after_failure(record.hold.place.node_id, record.hold.devices, judge)
        else:
            judge()

    def _returned(self, worker: WorkerProcess, message: wire.Done, retire: str) -> None:
        """Tell the scheduler of a return; `retire` says why the process must end before others get its devices."""
        fall_back = message.note if message.fall_back else ""
        record = self._scheduler.task_record(message.task_id)
        again = message.retry and record is not None and record.task.retries_left != 0
        cancelled = message.failed and message.note == "cancelled"
        times = message.times
        # By its worker's clock: ours would also count how long its answer has waited to be read here.
        took_s = max(times[-1] - times[0], 0.0) if times else None
        returned = TaskReturn(message.task_id, message.failed, again, fall_back, retire, cancelled, took_s)
        self._notify(TasksReturned(worker.worker_id, [returned], message.loaded))

    def _progress(self, peer: Peer, message: wire.Progress) -> None:
        record = self._scheduler.task_record(message.task_id)
        if record is not None:
            entry_of(record.task).progress = (message.done, message.total)
            self._changed()


class TaskFlow:
    """What is heard of tasks, and what is concluded from it. The order of the parts: each is given the earlier ones."""

    def __init__(
        self,
        records: HeadRecords,
        context: ObjectContext,
        arguments: Arguments,
        actors: Actors,
        errors: ErrorNews,
        leftovers: Judge,
        send: Send,
        notify: Notify,
        note: Note,
        *,
        endings: Mapping[bytes, WorkerEnding],
        zygote_for: Callable[[str, str], str],
        after_failure: Callable[[bytes, Assigned, Callable[[], None]], None],
        changed: Callable[[], None],
        ended: Callable[[Task], None],
        is_shared: bool,
        timers: LoopTimers | None = None,
    ) -> None:
        scheduler, objects, environments = records.scheduler, records.objects, records.environments
        fill, placed, filled = partial(delivery.fill, context), partial(lineage.placed, context), context.store.filled
        self.functions = Functions(objects, records.peers, send, timers)
        makers = partial(lineage.terms, context)
        self.functions.named_by = [scheduler.unfinished_terms, makers, arguments.terms, actors.terms]
        if arguments.failed_calls is not None:
            arguments.failed_calls.captured = self.functions.captured
        self.streams = StreamRelay(
            scheduler, objects, records.peers, records.workers, send, notify, fill=fill, filled=filled, placed=placed
        )
        self.conclusions = Conclusions(
            scheduler, context, arguments, self.streams, actors, errors, endings, notify, ended, records.peers, send
        )
        self.submissions = SubmissionIntake(
            objects,
            arguments,
            self.functions,
            environments,
            records.jobs,
            notify,
            self.conclusions,
            fill=fill,
            read=errors.read,
            cancelled=partial(lineage.cancelled, context),
            actor_submitted=actors.submitted,
            zygote_for=zygote_for,
            is_shared=is_shared,
        )
        self.returns = Returns(
            scheduler,
            objects,
            environments,
            notify,
            note,
            leftovers,
            filled=filled,
            creation_failed=self.conclusions.creation_failed,
            after_failure=after_failure,
            changed=changed,
        )

    def together(self) -> dict[str, dict[type, Together]]:
        """Of each role the messages that are handled together: how many of them, and by what."""
        return {
            "driver": {wire.Submit: (self.submissions.alike, self.submissions.submit_all)},
            "worker": {wire.Done: (self.returns.alike, self.returns.take_all), **self.streams.together()},
        }

    def of_clients(self) -> dict[type, Handler]:
        """What drivers and workers may say of tasks that they submit."""
        return {**self.submissions.handlers(), **self.streams.of_clients()}

    def of_workers(self) -> dict[type, Handler]:
        """What workers may say of tasks that they run."""
        return {**self.returns.handlers(), **self.streams.of_workers()}


Answer = Callable[[SendTasks, Exception], None]


# ---- sending: a task's devices are leased, its arguments passed, and the worker gets all that it needs
#
#   SendTasks ──┬── about which there is nothing else to say ──► RunTasks, one for all of them
#               └── all others, each by itself ───────────────► RunTask, with devices, values of arguments, an attempt …


class WorkerSetup:
    """Tells a worker which job it serves, and the job's paths and variables."""

    def __init__(
        self,
        config: Config,
        jobs: Mapping[int, Job],
        environments: Environments,
        send: Send,
        of_node: Mapping[bytes, dict[str, str]],
    ) -> None:
        self._config = config
        self._jobs = jobs
        self._environments = environments
        self._send = send
        self._of_node = of_node  # the variables of the processes of a virtual node

    def of(self, peer: Peer, worker: WorkerProcess, terms: Terms) -> None:
        """Make a worker serve the job of these terms, in their surroundings, from now on."""
        job = self._jobs[terms.job]
        worker.setup_job = peer.job = terms.job
        worker.surroundings = terms.surroundings
        hello, around = job.hello, job.surroundings[terms.surroundings]
        variables = {**self._of_node.get(worker.node_id, {}), **self._environments.variables(hello.runtime_env)}
        self._send(
            peer,
            wire.Setup(
                terms.job,
                peer.client_id,
                job.namespace,
                around.sys_path,
                around.cwd,
                variables,
                self._config.session,
                worker.node_id,
                self._config.directory,
                hello.main_path,
                hello.runtime_env,
                surroundings=around.number,
                followed=around.variables,
                log_levels=around.log_levels,
                leak_threshold=self._config.leak_threshold,
            ),
        )


class Sending:
    """Carries out SendTasks. `answer` is called with an error about one of them that does not end the order itself."""

    def __init__(
        self,
        scheduler: Scheduler,
        workers: Mapping[bytes, WorkerProcess],
        setup: WorkerSetup,
        functions: Functions,
        context: ObjectContext,
        actors: Actors,
        *,
        device_leases: DeviceLeases,
        leftovers: Leftovers,
        devices: TaskEnvironments,
        send: Send,
        notify: Notify,
        answer: Answer,
        hold: Callable[[Callable[[SendTasks, WorkerProcess, TaskEntry], None]], DelayedSends],
    ) -> None:
        self._scheduler = scheduler
        self._workers = workers
        self._setup = setup
        self._functions = functions
        self._context = context
        self._actors = actors
        self._device_leases = device_leases
        self._leftovers = leftovers
        self._devices_of = devices.of
        self._hides = devices.hides
        self._send = send
        self._notify = notify
        self._answer = answer
        self.held = hold(self._transmit)

    def send(self, command: SendTasks) -> None:
        """Send tasks to their worker."""
        worker = self._workers.get(command.worker_id)
        if worker is None or worker.ended:
            return  # it is dying: WorkerDied follows and the tasks are sent again
        # Whether tasks can be sent to this worker with no look at anything but themselves.
        is_there = worker.node_id == command.node_id and not worker.held and worker.used
        may_be_plain = is_there and not command.devices and not self._context.objects.can_be_lost
        runs: wire.RunTasks | None = None
        for one in command.each() if len(command.tasks) > 1 else (command,):
            try:
                if not (may_be_plain and self._is_plain(one, worker)):
                    runs = None
                    self._send_one(one, worker)
                    continue
                task = one.tasks[0]
                args = task.payload.submit.args
                if runs is None or runs.template != task.terms.number:
                    begun = wire.RunTasks(task.terms.number, [task.task_id], [args])
                    self._send(worker.peer, begun)
                    runs = begun
                else:
                    runs.task_ids.append(task.task_id)
                    runs.args.append(args)
            except Exception as error:
                if one is command:
                    raise
                self._answer(one, error)

    def _send_one(self, command: SendTasks, worker: WorkerProcess) -> None:
        """Send a task, now or once its devices and arguments are there."""
        task = command.task
        if worker.node_id != command.node_id:  # a spare, which belongs to no node before it gets work
            worker.node_id, worker.setup_job = command.node_id, 0
        if self._context.objects.can_be_lost and task.kind is not ACTOR_CALL:
            missing = lineage.missing(self._context, entry_of(task).submit)
            if missing:
                self._notify(ArgumentsLost(task.task_id, missing))
                return
        if command.devices and not self._device_leases.take(command):
            return
        if command.devices and self._leftovers.look_first(command, lambda: self._go_on(command)):
            return
        self._send_leased(command)

    def _go_on(self, command: SendTasks) -> None:
        """Continue after the look at the devices. An error from here on is answered like any error of an order."""
        try:
            self._send_leased(command)
        except Exception as error:
            self._answer(command, error)

    def _send_leased(self, command: SendTasks) -> None:
        worker = self._workers.get(command.worker_id)
        entry = entry_of(command.task)
        if worker is None or worker.ended:
            return
        if not self.held.holds_back(command, worker, entry):
            self._transmit(command, worker, entry)

    def _is_plain(self, command: SendTasks, worker: WorkerProcess) -> bool:
        """Whether the worker needs to be told of nothing but the task's arguments; then it is written down as sent.

        Only for a task without devices, and a worker that needs no other look.
        """
        task = command.tasks[0]
        terms, is_new = task.terms, type(task.payload) is bytes
        if not terms.is_plain or command.choice:
            return False
        if worker.setup_job != terms.job or terms.number not in worker.peer.defined or self._hides(terms):
            return False
        if not is_new and entry_of(task).submit.slots:
            return False
        state = self._scheduler.task_record(task.task_id)
        if state is not None and (state.attempt or state.choice_why):
            return False
        started_at = time.time() if command.first else None
        if is_new:
            make_entry(task, started_at, worker.worker_id, command.node_id)
            return True
        entry = entry_of(task)
        entry.worker_id, entry.node_id, entry.device_ids = worker.worker_id, command.node_id, None
        entry.choice, entry.choice_why, entry.attempt = 0, "", 0
        entry.started_at, entry.times = started_at, []
        return True

    def _transmit(self, command: SendTasks, worker: WorkerProcess, entry: TaskEntry) -> None:
        task, terms, peer, submit = command.task, entry.terms, worker.peer, entry.submit
        if worker.setup_job != terms.job or (
            worker.surroundings != terms.surroundings and terms.kind is not ACTOR_CALL
        ):  # an actor keeps the surroundings that it was made in
            self._setup.of(peer, worker, terms)
        if terms.number not in peer.defined:  # checked here too: this saves a call for every other task
            self._functions.teach(peer, terms)
        slots = [
            (place, id, delivery.give(self._context, id, peer.client_id, worker.refused)) for place, id in submit.slots
        ]
        worker.refused.clear()
        ids, notified, environ = self._devices_of(command, entry)
        state = self._scheduler.task_record(task.task_id)
        attempt, why = (state.attempt, state.choice_why) if state is not None else (0, "")
        if terms.kind is ACTOR_CREATION:
            worker.running_actor = task.actor_id or b""
            self._actors.placed(worker.running_actor, worker.worker_id, command.node_id, ids)
        entry.worker_id, entry.node_id, entry.device_ids = worker.worker_id, command.node_id, ids
        entry.choice, entry.choice_why, entry.attempt = command.choice, why, attempt
        entry.started_at, entry.times = time.time() if command.first else None, []
        worker.used = True
        self._send(
            peer,
            wire.RunTask(
                task.task_id,
                terms.number,
                submit.args,
                slots,
                notified,
                environ,
                attempt,
                command.choice,
                task.actor_id or b"",
                why,
                submit.after,
            ),
        )
