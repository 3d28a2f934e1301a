"""What the process of a task has printed, read by the small actor of its node, and why the task failed."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import ray

from nbaccel import exceptions
from nbaccel.handles.refs import ObjectRef
from nbaccel.ray_engine.reports.reports import Reports
from nbaccel.ray_engine.reports.small_actors import SmallActors
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.views.history.answers import PrintedText, TaskLogAnswer
from nbaccel.views.history.task_log import fitted, printed, shortened
from nbaccel.views.observer_lines import ReadTaskLog

_MARKS = re.compile(r"^:(?:task_name|actor_name|job_id):.*\n?", re.MULTILINE)  # for Ray's log monitor, not for people


class RayTaskLogs:
    """Answers for one process."""

    def __init__(
        self,
        actors: SmallActors,
        reports: Reports,
        submissions: Submissions,
        read: Callable[[ObjectRef[object]], object],
    ) -> None:
        self._actors = actors
        self._reports = reports
        self._submissions = submissions
        self._read = read  # the value of a ref that is there, or its error

    def answer(self, asked: ReadTaskLog) -> TaskLogAnswer:
        """What a task has printed since the asked offsets. Raises ValueError for a task that has not reported."""
        self._reports.learn(0)
        task_id = asked.task_id[:48]
        note = self._reports.notes.get(task_id)
        if note is None or "worker_id" not in note:
            raise ValueError(f"Task {task_id} is not known here: it has not run yet, or ended before anybody watched.")
        over = "ended_at" in note
        answer = TaskLogAnswer(0.0, over, pid=note.get("pid"))
        if over and "error" in note:
            answer.failure = self._traceback(task_id) or note["error"]
        since = [max(asked.out_since, 0), max(asked.err_since, 0)]
        context = ray.get_runtime_context()
        session_dir = f"{context.get_temp_dir()}/{context.get_session_name()}"
        agent, worker_id = self._actors.agent(note["node_id"]), note["worker_id"]

        def read(most: int) -> tuple[PrintedText, PrintedText]:
            parts = ray.get(agent.log_parts.remote(session_dir, worker_id, since, most, over))
            out, err = (_told(data, at, start) for (data, at), start in zip(parts, since, strict=True))
            return out, err

        return fitted(answer, read, is_first=not any(since))

    def _traceback(self, task_id: str) -> str:
        """The text of the error, while somebody holds a ref of the task's result: Ray keeps it nowhere else."""
        found = self._submissions.get(bytes.fromhex(task_id))
        ref = found.inner() if found is not None else None
        if not isinstance(ref, ObjectRef):
            return ""
        try:
            self._read(ref)
        except exceptions.GetTimeoutError:
            return ""
        except exceptions.RayTaskError as error:
            return shortened(error.traceback_str)
        except exceptions.RayError as error:
            return shortened(str(error))
        return ""


def _told(data: bytes, at: int, since: int) -> PrintedText:
    told = printed(data, at, since)
    return msgspec.structs.replace(told, text=_MARKS.sub("", told.text))
