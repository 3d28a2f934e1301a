"""What a head knows, for the rooms that read most of it. A component is given what it needs of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.environments import Environments
from nbaccel.local_engine.head.groups import Groups
from nbaccel.local_engine.head.objects.tables import ObjectTables
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.records import ActorEntry, Job, WorkerProcess
from nbaccel.scheduling.scheduler import Scheduler


class HeadRecords(Struct, frozen=True):
    """The records of one head."""

    scheduler: Scheduler
    nodes: Nodes
    objects: ObjectTables
    environments: Environments
    groups: Groups[int]
    actors: Mapping[bytes, ActorEntry]
    workers: Mapping[bytes, WorkerProcess]
    jobs: Mapping[int, Job]
    peers: Mapping[int, Peer]
    clock: Callable[[], float]  # by which the scheduler and all waits go
