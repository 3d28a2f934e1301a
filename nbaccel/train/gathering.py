"""Brings a gang together: resources, processes, ranks, devices, and a framework's own preparations.

```
  placement group + actors ─► facts of each ─► seats ─► prepare ─► (a backend's on_start) ─► gang_ready
        │ never fits                │ storage is not shared
        └──────────► no_place ◄─────┘                          a worker fails ─► worker_failed
```
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import nbaccel
from nbaccel import exceptions
from nbaccel.train import failures, travelling
from nbaccel.train.backend import Backend, BackendConfig
from nbaccel.train.configs import RunConfig
from nbaccel.train.controller import Controller
from nbaccel.train.errors import ControllerError
from nbaccel.train.gang import Gang, WorkerGroup, as_many_as_fit
from nbaccel.train.mailbox import Inbox
from nbaccel.train.ranks import Facts, Seat, seats
from nbaccel.train.records import Records
from nbaccel.train.saying import say
from nbaccel.train.scaling import ScalingConfig
from nbaccel.train.worker import Assignment
from nbaccel.util.state import row_queries
from nbaccel.views.snapshot import DeviceRow, NodeRow

_LEAVE_S = 10.0  # so long may a backend take to shut down
_LOOK_S = 0.2  # a gang that is not placed after so long is explained
_PATIENCE = 5  # so many looks may an elastic gang wait although there seems to be room for all of it

Kinds = dict[tuple[str, str, str], str]  # (node id, resource, device id) -> "real", "logical" or "simulated"


class GangListener(Protocol):
    """The object that learns the outcome, in the run's thread."""

    def gang_ready(self, gang: Gang) -> None: ...

    def gang_waits(self, sentence: str) -> None: ...

    def gang_shrinks(self, gang: Gang) -> None: ...

    def folder_is_not_shared(self, sentence: str) -> None: ...

    def no_place(self, error: BaseException) -> None: ...

    def worker_failed(self, rank: int, error: BaseException) -> None: ...


class Gathering:
    """The gathering of one gang. All of it but the backend's own methods runs in the run's thread."""

    def __init__(
        self,
        inbox: Inbox,
        mailbox: Any,
        scaling: ScalingConfig,
        config: RunConfig,
        backend: BackendConfig,
        records: Records,
        name: str,
        before: Sequence[Seat] = (),
    ) -> None:
        """`before`: the seats of the gang before, whose resources come free soon."""
        self._inbox = inbox
        self._mailbox = mailbox
        self._scaling = scaling
        self._config = config
        self._backend = backend
        self._records = records
        self._name = name
        self._before = before
        self._sharing: set[str] = set()  # nodes that see the run's folder

    def begin(self, number: int, controller: Controller, told: GangListener) -> Gang:
        """Ask for everything; returns at once."""
        self._number, self._controller, self._told = number, controller, told
        return self._ask_for(self._how_many())

    def _ask_for(self, size: int) -> Gang:
        self._looks = 0
        self._gang = Gang(self._name, self._scaling, size, self._config.worker_runtime_env)
        self._records.gang_begins(size)
        begun = self._mailbox.begin.remote(self._number, size, self._records.first_report)
        probe = f".probe-{secrets.token_hex(4)}"
        refs = [begun, *self._gang.ask_facts(self._records.folder, probe)]
        self._when_all(refs, lambda values: self._facts_came(values[1:], probe))
        self._look_later()
        return self._gang

    def _is_wanted(self, gang: Gang) -> bool:
        return gang is self._gang and not gang.is_down and not self._controller.has_ended

    def _how_many(self) -> int:
        if not self._scaling.elasticity_enabled:
            return self._scaling.max_workers
        nodes = [(self._soon_free(node), node.labels) for node in row_queries.every(NodeRow) if node.alive]
        return as_many_as_fit(self._scaling, nodes)

    def _soon_free(self, node: Any) -> dict[str, float]:
        """What is available on a node, with what the gang before held there: its processes may not have ended yet."""
        seats = [seat for seat in self._before if seat.facts.node_id == node.node_id]
        free = dict(node.available)
        for name, amount in self._scaling._resources_per_worker_not_none.items():
            free[name] = min(node.totals.get(name, 0), free.get(name, 0) + amount * len(seats))
        return free

    def _look_later(self) -> None:
        """Ask the engine later why the gang waits, because a gang that is not placed at once may wait forever."""
        gang, placed = self._gang, self._gang.placed()
        timer = threading.Timer(_LOOK_S, lambda: self._inbox.put(lambda: self._look(gang, placed)))
        timer.daemon = True
        timer.start()

    def _look(self, gang: Gang, placed: Any) -> None:
        if not self._is_wanted(gang) or gang.facts or _is_ready(placed):
            return
        sentence, never = gang.why_it_waits()
        if _is_ready(placed):  # meanwhile
            return
        if gang.size > self._scaling.min_workers:
            self._shrink(placed, sentence, never=never)
        elif never:
            self._told.no_place(ControllerError(failures.never_placed(sentence)))
        else:
            self._told.gang_waits(sentence)

    def _shrink(self, placed: Any, sentence: str, *, never: bool) -> None:
        """Ask for fewer workers, since an elastic gang does not wait for its largest size."""
        self._looks += 1
        if self._looks >= _PATIENCE:
            self._before = ()  # what is not free by now is somebody else's
        size = self._how_many()
        if _is_ready(placed):  # meanwhile: what is free is what this gang has left
            return
        if size >= self._gang.size:
            if not never and self._looks < _PATIENCE:
                self._look_later()
                return
            size = self._gang.size - 1
        say("train", f"{self._name} begins with {size} of {self._scaling.max_workers} workers: {sentence}")
        self._gang.take_down()
        self._told.gang_shrinks(self._ask_for(size))

    def _when_all(self, refs: list[Any], told: Callable[[list[Any]], None]) -> None:
        """Call `told` with all values once they are there. A ref that fails is the failure of its worker."""
        values: list[Any] = [None] * len(refs)
        left = set(range(len(refs)))
        gang = self._gang
        before_workers = len(refs) - gang.size

        def came(number: int, future: Future[Any]) -> None:
            error = future.exception()
            if error is not None:
                self._told.worker_failed(max(0, number - before_workers), error)
                return
            values[number] = future.result()
            left.discard(number)
            if not left:
                told(values)

        for number, ref in enumerate(refs):
            self._inbox.when(ref, partial(came, number), lambda: self._is_wanted(gang))

    def _facts_came(self, facts: list[Any], probe: str) -> None:
        traces = {each.node_id: Path(self._records.folder, f"{probe}{each.node_id}") for each in facts}
        self._sharing = {node for node, trace in traces.items() if trace.exists()}
        for trace in traces.values():
            trace.unlink(missing_ok=True)
        try:
            files = self._files_for_others(facts)
        except (OSError, ValueError) as error:
            self._told.no_place(ControllerError(str(error), error))
            return
        self._gang.facts = facts
        devices = row_queries.every(DeviceRow)
        positions = {(row.node_id, row.resource, row.id): row.index for row in devices}
        kinds = {(row.node_id, row.resource, row.id): row.kind for row in devices}
        share = self._backend.backend_cls.share_cuda_visible_devices
        placed = seats(facts, positions, driver_node=nbaccel.get_runtime_context().get_node_id(), share=share)
        refs = self._gang.prepare([self._assignment(seat, kinds) for seat in placed], self._mailbox, files)
        self._when_all(refs, lambda _: self._prepared())

    def _assignment(self, seat: Seat, kinds: Kinds) -> Assignment:
        facts = seat.facts
        return Assignment(
            gang=self._number,
            seat=seat,
            run_name=self._name,
            run_folder=facts.folder,
            first_report=self._records.first_report,
            checkpoint=self._records.latest_path(),
            backend=self._backend,
            device_kinds={
                resource: kinds.get((facts.node_id, resource, ids[0]), "logical")
                for resource, ids in facts.device_ids.items()
            },
            restarts=self._controller.failures,
            max_restarts=self._config.failure_config.max_failures,
            log_level=self._config.logging_config.log_level,
            travels=facts.node_id not in self._sharing,
            waits_for_commits=self._config.checkpoint_config.num_to_keep is not None,
        )

    def _files_for_others(self, facts: list[Facts]) -> Any:
        """An object with the checkpoint to go on from, if ranks do not see it. Raises ValueError if it is too large."""
        others = sorted({each.host for each in facts if each.node_id not in self._sharing})
        latest = self._records.latest_path()
        if not others:
            return None
        self._told.folder_is_not_shared(failures.not_shared(self._records.folder, others))
        return nbaccel.put(travelling.pack(latest)) if latest else None

    def _prepared(self) -> None:
        """Run the backend's methods, once all ranks have seats; they may take long, so they have a thread."""
        kind = self._backend.backend_cls
        backend = kind()
        if _overrides(kind, "on_shutdown"):
            self._gang.before_down = partial(self._shut_down, backend)
        if not (_overrides(kind, "on_start") or _overrides(kind, "on_training_start")):
            self._told.gang_ready(self._gang)
            return
        threading.Thread(target=self._run_backend, args=(backend,), name="nbaccel-train-backend", daemon=True).start()

    def _shut_down(self, backend: Backend) -> None:
        """Run the backend's `on_shutdown`, for a few seconds at most: a worker that has died does not answer it."""
        group = WorkerGroup(self._gang, self._scaling)

        def leave() -> None:
            try:
                backend.on_shutdown(group, self._backend)
            except exceptions.RayError:
                pass  # its workers have died, of which the run tells
            except Exception as error:  # a user's own class
                say("train", f"{self._name}: {type(backend).__name__}.on_shutdown failed: {error!r}")

        thread = threading.Thread(target=leave, name="nbaccel-train-backend", daemon=True)
        thread.start()
        thread.join(_LEAVE_S)

    def _run_backend(self, backend: Backend) -> None:
        gang = self._gang
        group = WorkerGroup(gang, self._scaling)
        try:
            backend.on_start(group, self._backend)
            backend.on_training_start(group, self._backend)
        except Exception as error:  # a user's own class
            failed = error
            self._inbox.put(lambda: self._told.worker_failed(0, failed) if self._is_wanted(gang) else None)
        else:
            self._inbox.put(lambda: self._told.gang_ready(gang) if self._is_wanted(gang) else None)


def _is_ready(ref: Any) -> bool:
    return bool(nbaccel.wait([ref], timeout=0)[0])


def _overrides(kind: type[Backend], name: str) -> bool:
    return getattr(kind, name) is not getattr(Backend, name)
