"""Bursts of plain tasks: messages that are alike are handled together, and so are the scheduler's orders about them.

```
  Submit, Submit, … ──► TasksSubmitted        SendTasks ───► RunTasks        to one worker
  Done, Done, … ──────► TasksReturned         FinishTasks ─► ObjectValues    to those who submitted them
```
Only what is plain goes this way: tasks of a driver without refs among their arguments, and answers with one small value
each. Everything else is handled one by one, as `submissions`, `returns`, `sending` and `conclusions` do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head import outcomes
from nbaccel.local_engine.head.connections import Send, Together
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.objects.delivery import PUSH_BYTES
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.objects.lineage import Lineage
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import TaskEntry, WorkerProcess, entry_of
from nbaccel.local_engine.head.tasks.conclusions import Conclusions
from nbaccel.local_engine.head.tasks.sending import Sending
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.events import TasksReturned, TasksSubmitted
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import TASK, Task, Terms

Answer = Callable[[do.Command, Exception], None]


class TaskBursts:
    """Handles many plain tasks at once. `answer` is called with an order about one of them that failed."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: Objects,
        lineage: Lineage,
        workers: Mapping[bytes, WorkerProcess],
        peers: Mapping[int, Peer],
        sending: Sending,
        conclusions: Conclusions,
        send: Send,
        tell: Tell,
        *,
        ended: Callable[[Task], None],
        answer: Answer,
    ) -> None:
        self._record_of = scheduler.task_record
        self._objects = objects
        self._lineage = lineage
        self._workers = workers
        self._peers = peers
        self._sending = sending
        self._conclusions = conclusions
        self._send = send
        self._tell = tell
        self._ended = ended
        self._answer = answer

    def together(self) -> dict[str, dict[type, Together]]:
        """Of each role the messages that are handled together: how many of them, and by what."""
        return {
            "driver": {wire.Submit: (self.alike_submits, self.submitted)},
            "worker": {wire.Done: (self.alike_dones, self.returned)},
        }

    def acts(self) -> dict[type, Callable[[Any], None]]:
        """The scheduler's orders about several tasks."""
        return {do.SendTasks: self.send, do.FinishTasks: self.finish}

    # ---- submissions

    def alike_submits(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are submissions of one function whose arguments are all here."""
        template = messages[start].template
        terms = peer.templates.get(template)
        number = 0
        if terms is not None and terms.kind is TASK and terms.returns == 1:
            for m in islice(messages, start, None):
                if type(m) is not wire.Submit or m.template != template or m.slots or m.refs or m.actor_id or m.parent:
                    break
                number += 1
        return number

    def submitted(self, peer: Peer, messages: list[Any]) -> None:
        """A driver submits tasks that are alike: promise their results, and tell the scheduler.

        Of each only its arguments are kept until it is sent: `entry_of` makes the rest.
        """
        terms: Terms = peer.templates[messages[0].template]
        client_id, now, retries = peer.client_id, time.time(), terms.max_retries or 0
        caller = client_id.to_bytes(8, "big")
        self._objects.promise_all([return_id(m.task_id, 0) for m in messages], client_id)
        tasks = [Task(terms, m.task_id, m.args, None, None, None, caller, None, now, retries) for m in messages]
        self._tell(TasksSubmitted(tasks))

    # ---- sending

    def send(self, command: do.SendTasks) -> None:
        """Send tasks to their worker: together those for which there is nothing else to do."""
        worker = self._workers.get(command.worker_id)
        if worker is None or worker.ended:
            return  # it is dying: WorkerDied follows and the tasks are sent again
        together = self._sending.may_send_at_once(worker, command.node_id)
        runs: wire.RunTasks | None = None
        for one in command.each():
            try:
                if together and self._sending.is_plain(one, worker):
                    task = one.task
                    if runs is None or runs.template != task.terms.number:
                        begun = wire.RunTasks(task.terms.number, [], [])
                        self._send(worker.peer, begun)
                        runs = begun
                    runs.task_ids.append(task.task_id)
                    runs.args.append(task.payload.submit.args)
                else:
                    runs = None
                    self._sending.send(one)
            except Exception as error:
                self._answer(one, error)

    # ---- returns

    def alike_dones(self, peer: Peer, messages: list[Any], start: int) -> int:
        """How many messages from `start` on are answers of plain tasks that ended well, with one small value each."""
        number, record_of, plain = 0, self._record_of, None
        for m in islice(messages, start, None):
            if type(m) is not wire.Done or m.failed or m.fall_back or m.exiting or len(m.results) != 1 or not m.times:
                break
            result = m.results[0]
            record = record_of(m.task_id)
            if result.value.data is None or result.value.status != wire.OK or result.refs or record is None:
                break
            terms = record.task.terms
            if terms is not plain and not _is_plain(terms):
                break
            plain = terms
            if record.over or record.hold is None or record.hold.parts or record.task.is_straight:
                break
            number += 1
        return number

    def returned(self, peer: Peer, messages: list[Any]) -> None:
        """Write down that these tasks have returned, and tell the scheduler."""
        ids, took_s, loaded = list[bytes](), list[float](), False
        times, now = [0.0], time.time()
        for m in messages:
            record = self._record_of(m.task_id)
            assert record is not None
            outcomes.note_done(entry_of(record.task), m, now)
            times = m.times
            ids.append(m.task_id)
            took_s.append(max(times[-1] - times[0], 0.0))
            loaded = loaded or m.loaded
        worker = peer.worker
        worker.last_done_at = times[-1]
        self._tell(TasksReturned(worker.worker_id, ids, took_s, loaded))

    # ---- results

    def finish(self, command: do.FinishTasks) -> None:
        """Write the results of tasks that have returned, and send them to the client that waits for them."""
        client_id, said = 0, wire.ObjectValues([], [])
        for task in command.tasks:
            entry = entry_of(task)
            try:
                data = self._plain_result(task, entry)
                if data is None:
                    self._conclusions.finish(do.FinishTask(task))
                    continue
                if entry.client_id != client_id:
                    said = self._begin(entry.client_id)
                    client_id = entry.client_id  # only now: what could not be begun is begun for the next one
                said.object_ids.append(return_id(task.task_id, 0))
                said.data.append(data)
                _conclude(entry)  # last: until here the order may be carried out again
            except Exception as error:
                self._answer(do.FinishTask(task), error)

    def _begin(self, client_id: int) -> wire.ObjectValues:
        """A message of results to this client, which leaves with the next flush."""
        said = wire.ObjectValues([], [])
        peer = self._peers.get(client_id)
        if peer is not None:
            self._send(peer, said)
        return said

    def _plain_result(self, task: Task, entry: TaskEntry) -> bytes | None:
        """The bytes of the result, written down, if only its submitter is to be told of it and nothing else is due."""
        submit = entry.submit
        results = entry.results
        if results is None or submit.slots or submit.refs or entry.retryable or self._lineage.active:
            return None
        value = results[0].value
        id = return_id(task.task_id, 0)
        data = value.data
        if data is None or len(data) > PUSH_BYTES or not self._objects.fill_plainly(id, value, entry.client_id):
            return None
        self._ended(task)
        return data


def _conclude(entry: TaskEntry) -> None:
    """Nothing more is to be done for this task."""
    entry.results = None
    entry.written = 1
    entry.pinned = False
    entry.submit.args = b""


def _is_plain(terms: Terms) -> bool:
    return terms.kind is TASK and terms.num_returns == 1 and not terms.max_calls
