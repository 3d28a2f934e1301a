"""Creates the parts of the devices room: the prober, and the components that ask it and assign devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbaccel import accelerators
from nbaccel.accelerators.detection import DEADLINE_S
from nbaccel.leases import Leases
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.decisions import Notify
from nbaccel.local_engine.head.devices.device_watch import PATIENCE_S, DeviceInspections, DeviceWatch, Recorded
from nbaccel.local_engine.head.devices.node_devices import Key, Nodes, NodeSetup
from nbaccel.local_engine.head.devices.task_devices import DeviceLeases
from nbaccel.local_engine.head.poll import LoopTimers, Note
from nbaccel.local_engine.head.side_process import Helpers
from nbaccel.local_engine.head.watchers import Notifier
from nbaccel.local_engine.side_processes import prober
from nbaccel.scheduling.events import DeviceChanged


def _patience_s() -> float:
    """How long one measurement may take: longer where the user says that the drivers need longer to be found."""
    try:
        return PATIENCE_S * accelerators.usual_deadline_s(accelerators.RealMachine().environ) / DEADLINE_S
    except ValueError:
        return PATIENCE_S  # the head will not begin


class DeviceWiring:
    """Nodes, looks, watch, leases and setup of one head."""

    def __init__(
        self,
        timers: LoopTimers,
        helpers: Helpers,
        config: Config,
        notify: Notify,
        notifier: Notifier,
        note: Note,
        *,
        known: Callable[[], None],
        refuse: Callable[[str], None],
        warn: Callable[[str, str], None],
        is_stopping: Callable[[], bool],
        measured: Recorded,
    ) -> None:
        self._notify = notify
        self._notifier = notifier
        self._on_known = known
        self.nodes = Nodes(notify)
        self.prober = helpers.make("prober", "", decode=prober.decode_report, on_report=self._reported)
        self.prober.on_restart = self._prober_died
        self.looks = DeviceInspections(
            timers,
            self.prober,
            learned=lambda devices, metrics: self.watch.seen(devices, metrics),
            is_stopping=is_stopping,
            patience_s=_patience_s(),
        )
        held = Leases(title=config.title or "nbaccel", owner_pid=config.owner_pid)
        self.device_leases = DeviceLeases(timers, self.nodes, held, notify, notifier, note, offer=self.offer)
        self.watch = DeviceWatch(
            timers,
            self.nodes,
            self.prober,
            notifier,
            note,
            look=self.looks.look,
            look_at_leases=self.look_at_leases,
            offer=self.offer,
            recorded=measured,
        )
        self.setup = NodeSetup(
            timers,
            self.nodes,
            self.prober,
            config.options,
            note,
            arena_bytes=config.arena_bytes,
            known=self._known,
            refuse=refuse,
            warn=warn,
        )

    def offer(self, key: Key) -> None:
        """Tell the scheduler how much of a real device is available, and why the rest is not."""
        node_id, resource, index = key
        device = self.nodes.device(node_id, resource, index)
        lost = self.watch.lost.get(device.lease_key)
        if lost is not None:
            self._notify(DeviceChanged(node_id, resource, index, 0, f"lost: {lost}", True))
            return
        free, reason = self.device_leases.left(device)
        self._notify(DeviceChanged(node_id, resource, index, free, reason))

    def look_at_leases(self) -> None:
        """Check again what other heads hold of this machine's devices."""
        self.device_leases.begin(self.nodes.node_id)

    def _known(self) -> None:
        self.look_at_leases()
        self._on_known()
        if self.watch.wanted:
            self.watch.begin()

    # ---- messages of the prober

    def _reported(self, report: Any) -> None:
        if type(report) is prober.Measured:
            self.watch.measured(report)
        elif type(report) is prober.Inspected:
            self.looks.came(report)
        else:
            self.setup.found(report)
            self._notifier.changed()

    def _prober_died(self) -> None:
        """Tell the new prober what to do."""
        if self.nodes.detection is not None:
            self.watch.prober_died()
        else:
            self.setup.prober_died()
