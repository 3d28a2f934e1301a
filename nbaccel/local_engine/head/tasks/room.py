"""The tasks' room put together: submissions, sending, returns, streams, outcomes, and direct calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.audience import Audience
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.cluster_history import ClusterHistory
from nbaccel.local_engine.head.connections import Connections, Together
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.leftovers import Leftovers
from nbaccel.local_engine.head.devices.room import DeviceRoom
from nbaccel.local_engine.head.devices.task_environment import TaskEnvironments
from nbaccel.local_engine.head.direct_calls import DirectCalls
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.objects.context import ObjectContext
from nbaccel.local_engine.head.objects.delayed_sends import DelayedSends
from nbaccel.local_engine.head.objects.store import Store
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.retry_until_success import RetryUntilSuccess
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.failed_commands import FailedCommands
from nbaccel.local_engine.head.tasks.flow import TaskFlow
from nbaccel.local_engine.head.tasks.sending import Sending, WorkerSetup
from nbaccel.local_engine.head.unread_errors import UnreadErrors
from nbaccel.local_engine.head.worker_processes import WorkerProcesses
from nbaccel.scheduling import commands as do
from nbaccel.scheduling.commands import Command


class Around(Struct, frozen=True, kw_only=True):
    """What the head has beside the tasks' room, as far as tasks need it."""

    timers: LoopTimers
    config: Config
    connections: Connections
    records: HeadRecords
    tell: Tell
    retry_until_success: RetryUntilSuccess
    note: Note
    audience: Audience
    objects: ObjectContext
    store: Store
    arguments: Arguments
    actors: Actors
    devices: DeviceRoom
    workers: WorkerProcesses
    unread_errors: UnreadErrors
    of_node: Mapping[bytes, dict[str, str]]
    zygote_for: Callable[[str, str], str]
    act: Callable[[Command], None]
    history: ClusterHistory


class TaskRoom:
    """Everything that one head has for tasks. Each part is given those that are made before it."""

    def __init__(self, around: Around) -> None:
        devices, config, audience = around.devices, around.config, around.audience
        self.leftovers = Leftovers(
            devices.nodes, devices.looks.look, around.records.scheduler, audience, config.leak_threshold
        )
        self.flow = TaskFlow(
            around.records,
            around.objects,
            around.arguments,
            around.actors,
            around.unread_errors,
            self.leftovers,
            around.connections.send,
            around.tell,
            around.note,
            endings=around.workers.endings,
            zygote_for=around.zygote_for,
            after_failure=devices.watch.after_failure,
            changed=audience.changed,
            ended=around.history.ended,
            is_shared=config.shared,
            timers=around.timers,
        )
        self.failed_commands = FailedCommands(
            around.workers,
            around.actors,
            self.flow.conclusions,
            around.tell,
            around.retry_until_success,
            around.note,
            act=around.act,
            forget=lambda command: self.sending.held.forget(command),
        )
        self.sending = self._sending(around)
        self.flow.conclusions.answer = self.failed_commands.answer
        self._tell_worker = around.workers.tell
        self.direct_calls = self._direct_calls(around)

    def together(self) -> dict[str, dict[type, Together]]:
        """Of each role the messages that are handled together: how many of them, and by what."""
        return self.flow.together()

    def acts(self) -> dict[type, Callable[[Any], None]]:
        """The scheduler's orders about tasks, with what carries them out."""
        return {
            do.SendTasks: self.sending.send,
            do.FinishTasks: self.flow.conclusions.finish,
            do.FailTask: self.flow.conclusions.fail,
            do.RecallTasks: lambda c: self._tell_worker(c.worker_id, wire.Recall()),
            do.InterruptTask: lambda c: self._tell_worker(c.worker_id, wire.Interrupt(c.task_id)),
        }

    def _direct_calls(self, around: Around) -> DirectCalls:
        return DirectCalls(
            around.records,
            around.arguments,
            around.unread_errors,
            around.connections.send,
            around.tell,
            around.history,
        )

    def _sending(self, around: Around) -> Sending:
        config, records, devices, send = around.config, around.records, around.devices, around.connections.send
        jobs, environments, processes, answer = (
            records.jobs,
            records.environments,
            records.workers,
            self.failed_commands.answer,
        )
        store, hide = around.store, bool(config.options.get("hide_unassigned"))
        return Sending(
            records.scheduler,
            processes,
            WorkerSetup(config, jobs, environments, send, around.of_node),
            self.flow.functions,
            around.objects,
            around.actors,
            device_leases=devices.device_leases,
            leftovers=self.leftovers,
            devices=TaskEnvironments(devices.nodes, environments, jobs, records.groups, around.audience, hide=hide),
            send=send,
            tell=around.tell,
            answer=answer,
            hold=lambda transmit: DelayedSends(
                around.timers, records.objects, store.when_here, processes, transmit=transmit, answer=answer
            ),
        )
