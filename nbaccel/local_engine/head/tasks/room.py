"""The tasks' room put together: submissions, sending, returns, streams and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
from nbaccel.local_engine.head.objects.held_sends import HeldSends
from nbaccel.local_engine.head.objects.ledger import Objects
from nbaccel.local_engine.head.objects.room import ObjectRoom
from nbaccel.local_engine.head.poll import Timers
from nbaccel.local_engine.head.records import Job
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.conclusions import Conclusions
from nbaccel.local_engine.head.tasks.functions import Functions
from nbaccel.local_engine.head.tasks.returns import Returns
from nbaccel.local_engine.head.tasks.sending import Sending, WorkerSetup
from nbaccel.local_engine.head.tasks.streams import Streams
from nbaccel.local_engine.head.tasks.submissions import Submissions
from nbaccel.local_engine.head.tasks.unmet_orders import UnmetOrders
from nbaccel.local_engine.head.unread_errors import UnreadErrors
from nbaccel.local_engine.head.until_done import UntilDone
from nbaccel.local_engine.head.worker_processes import WorkerProcesses
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.scheduler import Scheduler


class TaskRoom:
    """Everything that one head has for tasks."""

    def __init__(
        self,
        timers: Timers,
        config: Config,
        connections: Connections,
        scheduler: Scheduler,
        tell: Tell,
        until_done: UntilDone,
        note: Note,
        audience: Audience,
        *,
        objects: ObjectRoom,
        ledger: Objects,
        arguments: Arguments,
        actors: Actors,
        devices: DeviceRoom,
        workers: WorkerProcesses,
        jobs: Mapping[int, Job],
        environments: Environments,
        unread_errors: UnreadErrors,
        of_node: Mapping[bytes, dict[str, str]],
        zygote_for: Callable[[str, str], str],
        act: Callable[[Command], None],
    ) -> None:
        send, delivery, lineage = connections.send, objects.delivery, objects.lineage
        processes = workers.by_id
        self.functions = Functions()
        self.streams = Streams(
            scheduler,
            ledger,
            connections.peers,
            processes,
            send,
            tell,
            fill=delivery.fill,
            filled=objects.store.filled,
            placed=lineage.placed,
        )
        self.conclusions = Conclusions(
            scheduler,
            ledger,
            delivery,
            lineage,
            arguments,
            self.streams,
            actors,
            unread_errors,
            workers.endings,
            tell,
        )
        self.submissions = Submissions(
            ledger,
            arguments,
            self.functions,
            environments,
            jobs,
            tell,
            self.conclusions,
            fill=delivery.fill,
            read=unread_errors.read,
            actor_submitted=actors.submitted,
            zygote_for=zygote_for,
            is_shared=config.shared,
        )
        self.leftovers = Leftovers(devices.nodes, devices.looks.look, scheduler, audience, config.leak_threshold)
        self.returns = Returns(
            scheduler,
            ledger,
            environments,
            tell,
            note,
            self.leftovers,
            filled=objects.store.filled,
            creation_failed=self.conclusions.creation_failed,
            after_failure=devices.watch.after_failure,
            changed=audience.changed,
        )
        self.unmet = UnmetOrders(
            workers,
            actors,
            self.conclusions,
            tell,
            until_done,
            note,
            act=act,
            forget=lambda command: self.sending.held.forget(command),
        )
        self.sending = Sending(
            scheduler,
            processes,
            WorkerSetup(config, jobs, environments, send, of_node),
            self.functions,
            delivery,
            lineage,
            actors,
            lending=devices.lending,
            leftovers=self.leftovers,
            devices=TaskEnvironments(
                devices.nodes,
                environments,
                jobs,
                audience,
                hide=bool(config.options.get("hide_unassigned")),
            ),
            send=send,
            tell=tell,
            answer=self.unmet.answer,
            hold=lambda transmit: HeldSends(
                timers, ledger, objects.store.when_here, processes, transmit=transmit, answer=self.unmet.answer
            ),
        )
