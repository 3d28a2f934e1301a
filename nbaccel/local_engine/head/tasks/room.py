"""The tasks' room put together: submissions, sending, returns, streams and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.audience import Audience
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.connections import Connections
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.leftovers import Leftovers
from nbaccel.local_engine.head.devices.room import DeviceRoom
from nbaccel.local_engine.head.devices.task_environment import TaskEnvironments
from nbaccel.local_engine.head.environments import Environments
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.objects.delayed_sends import DelayedSends
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.objects.room import ObjectRoom
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.records import Job
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.conclusions import Conclusions
from nbaccel.local_engine.head.tasks.functions import Functions
from nbaccel.local_engine.head.tasks.returns import Returns
from nbaccel.local_engine.head.tasks.sending import Sending, WorkerSetup
from nbaccel.local_engine.head.tasks.streams import StreamRelay
from nbaccel.local_engine.head.tasks.submissions import SubmissionIntake
from nbaccel.local_engine.head.tasks.unmet_orders import UnmetOrders
from nbaccel.local_engine.head.unread_errors import UnreadErrors
from nbaccel.local_engine.head.until_done import UntilDone
from nbaccel.local_engine.head.worker_processes import WorkerProcesses
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the head has beside the tasks' room, as far as tasks need it."""

    timers: LoopTimers
    config: Config
    connections: Connections
    scheduler: Scheduler
    tell: Tell
    until_done: UntilDone
    note: Note
    audience: Audience
    objects: ObjectRoom
    ledger: Objects
    arguments: Arguments
    actors: Actors
    devices: DeviceRoom
    workers: WorkerProcesses
    jobs: Mapping[int, Job]
    environments: Environments
    unread_errors: UnreadErrors
    of_node: Mapping[bytes, dict[str, str]]
    zygote_for: Callable[[str, str], str]
    act: Callable[[Command], None]
    ended: Callable[[Task], None]


class TaskRoom:
    """Everything that one head has for tasks. Each part is given those that are made before it."""

    def __init__(self, around: Around) -> None:
        devices = around.devices
        self.functions = Functions()
        self.streams = _streams(around)
        self.conclusions = _conclusions(around, self.streams)
        self.submissions = self._submissions(around)
        self.leftovers = Leftovers(
            devices.nodes, devices.looks.look, around.scheduler, around.audience, around.config.leak_threshold
        )
        self.returns = self._returns(around)
        self.unmet = UnmetOrders(
            around.workers,
            around.actors,
            self.conclusions,
            around.tell,
            around.until_done,
            around.note,
            act=around.act,
            forget=lambda command: self.sending.held.forget(command),
        )
        self.sending = self._sending(around)

    def _submissions(self, around: Around) -> SubmissionIntake:
        return SubmissionIntake(
            around.ledger,
            around.arguments,
            self.functions,
            around.environments,
            around.jobs,
            around.tell,
            self.conclusions,
            fill=around.objects.delivery.fill,
            read=around.unread_errors.read,
            actor_submitted=around.actors.submitted,
            zygote_for=around.zygote_for,
            is_shared=around.config.shared,
        )

    def _returns(self, around: Around) -> Returns:
        return Returns(
            around.scheduler,
            around.ledger,
            around.environments,
            around.tell,
            around.note,
            self.leftovers,
            filled=around.objects.store.filled,
            creation_failed=self.conclusions.creation_failed,
            after_failure=around.devices.watch.after_failure,
            changed=around.audience.changed,
        )

    def _sending(self, around: Around) -> Sending:
        config, jobs, environments, devices = around.config, around.jobs, around.environments, around.devices
        processes, send, answer = around.workers.by_id, around.connections.send, self.unmet.answer
        store, hide = around.objects.store, bool(config.options.get("hide_unassigned"))
        return Sending(
            around.scheduler,
            processes,
            WorkerSetup(config, jobs, environments, send, around.of_node),
            self.functions,
            around.objects.delivery,
            around.objects.lineage,
            around.actors,
            device_leases=devices.device_leases,
            leftovers=self.leftovers,
            devices=TaskEnvironments(devices.nodes, environments, jobs, around.audience, hide=hide),
            send=send,
            tell=around.tell,
            answer=answer,
            hold=lambda transmit: DelayedSends(
                around.timers, around.ledger, store.when_here, processes, transmit=transmit, answer=answer
            ),
        )


def _streams(around: Around) -> StreamRelay:
    return StreamRelay(
        around.scheduler,
        around.ledger,
        around.connections.peers,
        around.workers.by_id,
        around.connections.send,
        around.tell,
        fill=around.objects.delivery.fill,
        filled=around.objects.store.filled,
        placed=around.objects.lineage.placed,
    )


def _conclusions(around: Around, streams: StreamRelay) -> Conclusions:
    return Conclusions(
        around.scheduler,
        around.ledger,
        around.objects.delivery,
        around.objects.lineage,
        around.arguments,
        streams,
        around.actors,
        around.unread_errors,
        around.workers.endings,
        around.tell,
        around.ended,
    )
