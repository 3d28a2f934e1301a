"""Tasks that wait for arguments which are not there yet, by the objects that they wait for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbaccel.scheduling.tasks import TaskRecord


class AwaitedObjects:
    """The objects that tasks wait for, and the tasks, in order of submission."""

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
