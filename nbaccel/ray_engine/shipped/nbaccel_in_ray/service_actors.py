"""The service actors of nbaccel in a cluster: one collects a job's reports, and one on each node answers about it.

The collector is created when somebody first watches or asks. When nobody has asked it for a while, it takes away the
sign that somebody watches, and no more reports come: what it costs then does not depend on what the job does. The next
question puts the sign back.
"""

from __future__ import annotations

import asyncio
import glob
import os
import time
from collections import Counter, deque
from typing import Any

from ray.experimental import internal_kv

from nbaccel_in_ray import internals, stacks
from nbaccel_in_ray.collector_link import BRIEF, NAMESPACE, Briefs, Forgotten, expanded

MOST_TASKS = 5_000
MOST_SENT = 2_000
MOST_FUNCTIONS = 200  # tasks of further ones are counted together, under the name ""
WATCH_LASTS_S = 30.0  # after the last question; a view asks at least every 20 s

Note = dict[str, Any]


Endings = dict[str, int]  # state -> the number of tasks that ended in it

NO_BRIEFS: Briefs = ([], b"")


class WatchSign:
    """The key in Ray's store by which the processes of a job see that somebody watches."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def put(self) -> None:
        internal_kv._internal_kv_put(self._key, b"1", namespace=NAMESPACE)

    def remove(self) -> None:
        internal_kv._internal_kv_del(self._key, namespace=NAMESPACE)


def _is_of_earlier(note: Note, known: Note) -> bool:
    """Whether a note is of an earlier attempt than what is known. (A supervisor that is run again counts anew.)"""
    return bool(note["attempt"] < known["attempt"] and note["started_at"] < known["started_at"])


class Collector:
    """The latest attempt of each task, numbered by its last change; short tasks stay packed in batches.

    `key`: of the sign that somebody watches.
    """

    def __init__(self, key: bytes, sign: WatchSign | None = None) -> None:
        self._sign = sign or WatchSign(key)
        self._asked_at = 0.0
        self._until_unwatched: asyncio.Task[None] | None = None  # while the sign is there
        self._unwatched_at = 0.0  # when the sign was last taken away (Unix seconds)
        self._tasks: dict[str, Note] = {}
        self._ended: dict[str, Endings] = {}
        self._seq = 0
        self._changed: asyncio.Event | None = None
        self._open: set[str] = set()  # tasks that have not ended
        self._briefs: deque[tuple[int, Note, Briefs]] = deque()  # (number, process, packed tasks)
        self._brief_rows = 0

    async def report(
        self, where: Note, batch: list[Note], briefs: Briefs = NO_BRIEFS, forgotten: Forgotten | None = None
    ) -> None:
        """Take a process's notes of the tasks that it runs or has submitted.

        `forgotten`: how many have ended there whose notes had no room until somebody watched.
        """
        if forgotten:
            self._forget_pending(forgotten)
        for note in batch:
            self._take(note, where if "started_at" in note else {"submitter": where.get("worker_id")})
        if briefs[1]:
            self._take_briefs(where, briefs)
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def _take_briefs(self, where: Note, briefs: Briefs) -> None:
        """Store a batch of short tasks packed, unless one of them is a task that is known already."""
        if any(row[2] or row[0].hex() in self._open for row in BRIEF.iter_unpack(briefs[1])):  # also of later attempts
            for note in expanded(briefs, where):
                self._take(note, where)
            return
        self._seq += 1
        count = len(briefs[1]) // BRIEF.size
        kinds = Counter(row[1] for row in BRIEF.iter_unpack(briefs[1]))
        for kind, number in kinds.items():
            name, what, _choice = briefs[0][kind]
            self._endings(name, what)["FINISHED"] += number
        self._briefs.append((self._seq, where, briefs))
        self._brief_rows += count
        while self._brief_rows > MOST_TASKS:
            self._brief_rows -= len(self._briefs.popleft()[2][1]) // BRIEF.size

    def _take(self, note: Note, where: Note) -> None:
        known = self._tasks.get(note["task_id"], {})
        if "started_at" in note and "started_at" in known and _is_of_earlier(note, known):
            return  # it comes late: the process of a later attempt has spoken before
        self._seq += 1
        self._tasks.pop(note["task_id"], None)
        if "started_at" in note and known.get("attempt", 0) < note["attempt"]:
            if "ended_at" in known:  # the end of an earlier attempt: a task is counted once
                self._endings_of(known)[known.get("end", "FINISHED")] -= 1
            for name in ("ended_at", "error", "end", "progress"):
                known.pop(name, None)
        joined = self._tasks[note["task_id"]] = {**known, **note, **where, "seq": self._seq}
        if "ended_at" in note and "ended_at" not in known:
            self._endings_of(joined)[note.get("end", "FINISHED")] += 1
        (self._open.discard if "ended_at" in joined else self._open.add)(note["task_id"])
        if len(self._tasks) > MOST_TASKS:
            self._forget_one()

    def _endings_of(self, note: Note) -> Endings:
        return self._endings(note.get("name", ""), note.get("kind", "task"))

    def _endings(self, name: str, kind: str) -> Endings:
        """How the tasks of a function have ended, or the constructors and calls of a class."""
        subject = name if kind == "task" else name.split(".", 1)[0]
        if subject not in self._ended and len(self._ended) >= MOST_FUNCTIONS:
            subject = ""
        return self._ended.setdefault(subject, {"FINISHED": 0, "FAILED": 0, "CANCELLED": 0})

    def _forget_pending(self, forgotten: Forgotten) -> None:
        """Count these; one of them may be a nested task that waited when the sign was taken away."""
        for (name, kind, state), number in forgotten.items():
            self._endings(name, kind)[state] += number
        for task_id in list(self._open):
            note = self._tasks[task_id]
            if "started_at" not in note and note.get("submitted_at", 0.0) < self._unwatched_at:
                self._take({"task_id": task_id, "forgotten": True}, {})
                self._open.discard(task_id)

    def _forget_one(self) -> None:
        """Forget the task that changed longest ago, an ended one if there is any."""
        for task_id, note in self._tasks.items():
            if "ended_at" in note:
                del self._tasks[task_id]
                return
        oldest = next(iter(self._tasks))
        del self._tasks[oldest]
        self._open.discard(oldest)

    async def since(
        self, seq: int, wait_s: float
    ) -> tuple[int, list[Note], dict[str, Endings], list[tuple[Note, Briefs]]]:
        """(seq, notes that changed after `seq`, number of ended tasks by function and state, packed short tasks).

        Waits up to `wait_s` for a first change.
        """
        self._asked()
        if self._seq <= seq and wait_s > 0:
            if self._changed is None:
                self._changed = asyncio.Event()
            try:
                await asyncio.wait_for(self._changed.wait(), wait_s)
            except TimeoutError:
                return self._seq, [], self._ended, []
        notes: list[Note] = []
        for note in reversed(self._tasks.values()):
            if note["seq"] <= seq or len(notes) >= MOST_SENT:
                break
            notes.append(note)
        if len(notes) >= MOST_SENT:  # what has not ended is told all the same: nothing else may ever be said of it
            oldest = notes[-1]["seq"]
            older = [self._tasks[task_id] for task_id in self._open if seq < self._tasks[task_id]["seq"] < oldest]
            notes += sorted(older, key=lambda note: -note["seq"])
        return (
            self._seq,
            notes,
            self._ended,
            [(where, briefs) for number, where, briefs in self._briefs if number > seq],
        )

    # ---- whether somebody watches

    def _asked(self) -> None:
        """Somebody watches from now on for `WATCH_LASTS_S`."""
        self._asked_at = time.monotonic()
        if self._until_unwatched is None:
            self._sign.put()
            self._until_unwatched = asyncio.get_running_loop().create_task(self._wait_until_unwatched())

    async def _wait_until_unwatched(self) -> None:
        while (left_s := self._asked_at + WATCH_LASTS_S - time.monotonic()) > 0:
            await asyncio.sleep(left_s)
        self._sign.remove()
        self._unwatched_at = time.time()
        self._until_unwatched = None


Sample = dict[str, Any]

_MARKS = (":task_name:", ":actor_name:", ":job_id:")  # whose lines follow, for Ray's log monitor


class NodeAgent:
    """Answers questions about its machine; it has no state."""

    def devices(self) -> list[Sample]:
        """One record for each NVIDIA device, as snapshot rows need them; [] without one."""
        try:
            pynvml = internals.nvml()
        except Exception:  # no driver, no library, or one that Ray's copy of pynvml does not know
            return []
        try:
            return [_sampled(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
        finally:
            pynvml.nvmlShutdown()

    def log_tail(self, session_dir: str, worker_id: str, lines: int) -> str:
        """The last lines that a worker has printed, or all workers if `worker_id` is empty."""
        pattern = os.path.join(session_dir, "logs", f"worker-{worker_id or '*'}*.[oe][ur][tr]")
        found: list[str] = []
        for path in sorted(glob.glob(pattern)):
            with open(path, errors="replace", newline="\n") as file:
                text = file.read().removesuffix("\n")
            printed = text.split("\n") if text else []
            found += [_last_frame(line) for line in printed if not line.startswith(_MARKS)]
        return "\n".join(found[-lines:] if lines > 0 else found)

    def stack(self, pid: int) -> str:
        """The stacks of a worker, innermost frames first; "" if it does not answer."""
        return str(stacks.of(pid))

    def log_parts(
        self, session_dir: str, worker_id: str, since: list[int], most: int, whole: bool
    ) -> list[tuple[bytes, int]]:
        """The newest bytes of a worker's stdout and stderr after these offsets, and where each part begins.

        A line that is not ended is left for the next time, unless the `whole` of it is wanted.
        """
        names = [os.path.join(session_dir, "logs", f"worker-{worker_id}*.{end}") for end in ("out", "err")]
        paths = [next(iter(sorted(glob.glob(name))), "") for name in names]
        sizes = [os.stat(path).st_size if path else 0 for path in paths]
        new = [max(size - start, 0) for size, start in zip(sizes, since, strict=True)]
        err = min(new[1], max(most // 2, most - new[0]))
        parts = []
        for path, size, start, count in zip(paths, sizes, since, (min(new[0], most - err), err), strict=True):
            data, at = b"", start
            if count:
                at = size - count
                with open(path, "rb") as file:
                    file.seek(at)
                    data = file.read(count)
            if not whole:
                data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
            parts.append((data, at))
        return parts


def _last_frame(line: str) -> str:
    """The last text of a line that redraws itself, such as a progress bar."""
    return line.rstrip("\r").rpartition("\r")[2]


def _sampled(pynvml: Any, index: int) -> Sample:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    reasons: dict[str, str] = {}

    def ask(field: str, question: Any, *more: Any) -> Any:
        try:
            return question(handle, *more)
        except pynvml.NVMLError as error:
            reasons[field] = str(error)
            return None

    memory = ask("memory_used_bytes", pynvml.nvmlDeviceGetMemoryInfo)
    rates = ask("utilisation_percent", pynvml.nvmlDeviceGetUtilizationRates)
    power = ask("power_watts", pynvml.nvmlDeviceGetPowerUsage)
    return {
        "name": _text(ask("name", pynvml.nvmlDeviceGetName)),
        "uuid": _text(ask("uuid", pynvml.nvmlDeviceGetUUID)),
        "metrics": {
            "utilisation_percent": None if rates is None else float(rates.gpu),
            "memory_used_bytes": None if memory is None else memory.used,
            "memory_total_bytes": None if memory is None else memory.total,
            "temperature_celsius": ask("temperature_celsius", pynvml.nvmlDeviceGetTemperature, 0),
            "power_watts": None if power is None else power / 1000,
            "reasons": reasons,
            "sampled_at": time.time(),
        },
    }


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
