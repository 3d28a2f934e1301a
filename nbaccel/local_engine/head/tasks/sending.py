"""Sends tasks to workers: leases their devices, passes their arguments, and tells the worker all that it needs.

```
  SendTasks ──┬── about which there is nothing else to say ──► RunTasks, one for all of them
              └── all others, each by itself ───────────────► RunTask, with devices, values of arguments, an attempt …
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Peer, Send
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.task_devices import DeviceLeases, Leftovers, TaskEnvironments
from nbaccel.local_engine.head.objects import delivery, lineage
from nbaccel.local_engine.head.objects.store import DelayedSends
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.records import Environments, Job, TaskEntry, WorkerProcess, entry_of, make_entry
from nbaccel.local_engine.head.tasks.submissions import Functions
from nbaccel.scheduling.commands import SendTasks
from nbaccel.scheduling.events import ArgumentsLost
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ACTOR_CALL, ACTOR_CREATION, Terms

Answer = Callable[[SendTasks, Exception], None]


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
