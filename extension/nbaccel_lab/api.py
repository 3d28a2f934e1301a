"""The addresses under `nbaccel/api/v1/`. docs/extension.md describes them."""

from __future__ import annotations

import math
from typing import Any

from jupyter_server.utils import url_path_join
from tornado.web import HTTPError

import nbaccel_lab
from nbaccel_lab import commands
from nbaccel_lab.handler import NbaccelHandler, looks, orders
from nbaccel_lab.runtimes import PROTOCOL

VERSION = 1
MOST_ROWS = 1000
FEW_ROWS = 200
MOST_LOG_LINES = 5000
FEW_LOG_LINES = 200
MOST_LOG_CHARACTERS = 1 << 16
MOST_STORED = 500
MOST_COMPARED = 20
MOST_NOTE_CHARACTERS = 4000  # as nbaccel keeps
RUN_KINDS = ("run", "experiment", "application")  # of published records


class VersionHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        return {
            "api": VERSION,
            "version": nbaccel_lab.__version__,
            "protocol": PROTOCOL,
            "may_execute": await self.may_execute(),
            "page": url_path_join(self.base_url, "nbaccel/"),
        }


class RuntimesHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        await self.watching.look()
        return self.watching.listed()


class DevicesHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        try:
            return {"machine": await self.watching.sampler.machine()}
        except TimeoutError:
            raise HTTPError(503, "The sampler of nbaccel-lab has not answered: a vendor's library may hang.") from None


class TasksHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        record = await self.runtime(self.get_query_argument("runtime", ""))
        wanted = {
            "states": self.get_query_arguments("state"),
            "text": self.get_query_argument("text", ""),
            "cell": self.get_query_argument("cell", ""),
            "limit": max(1, self.number("limit", FEW_ROWS, MOST_ROWS)),
        }
        said = await self.ask(record, {"ask": "tasks", "filter": wanted})
        return {"rows": said.get("rows", []), "total": said.get("total", 0)}


class WhyHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        record = await self.runtime(self.get_query_argument("runtime", ""))
        said = await self.ask(record, {"ask": "explain", "task_id": self.get_query_argument("task", "") or None})
        return {"explanations": said.get("explanations", [])}


class LogsHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        record = await self.runtime(self.get_query_argument("runtime", ""))
        tail = max(1, self.number("tail", FEW_LOG_LINES, MOST_LOG_LINES))
        task = self.get_query_argument("task", "") or None
        said = await self.ask(record, {"ask": "logs", "task_id": task, "tail": tail})
        return {"text": str(said.get("text", ""))[-MOST_LOG_CHARACTERS:]}


class TimelineHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        record = await self.runtime(self.get_query_argument("runtime", ""))
        question: dict[str, Any] = {"ask": "runs", "since": self.number("since", 0, 1 << 62)}
        for name in ("start", "end"):
            given = self.get_query_argument(name, "")
            try:
                question[name] = float(given) if given else None
            except ValueError:
                question[name] = math.nan
            if question[name] is not None and not math.isfinite(question[name]):
                raise HTTPError(400, f"{name} takes Unix seconds.")
        said = await self.ask(record, question)
        return {"runs": said.get("runs")}


class RunsHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        record = await self.runtime(self.get_query_argument("runtime", ""))
        snapshot = await self.watching.snapshot(record)
        return {"runs": [row for row in snapshot.get("published", []) if row.get("kind") in RUN_KINDS]}


class CancelHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        given = self.given()
        question = _ending(given)
        await self.ask(await self.runtime(given.get("runtime")), question)
        return {"done": "cancel"}


def _ending(given: dict[str, Any]) -> dict[str, Any]:
    """The order that ends what the request names. Raises HTTPError."""
    named = {name: given[name] for name in ("task_id", "actor_id", "run_id") if name in given}
    if len(named) != 1 or not all(isinstance(id, str) and id for id in named.values()):
        raise HTTPError(400, "Name one of task_id, actor_id and run_id, as text.")
    (name, id) = next(iter(named.items()))
    if name == "task_id":
        return {"ask": "cancel", "task_id": id, "force": given.get("force") is True}
    if name == "actor_id":
        return {"ask": "kill", "actor_id": id}
    return {"ask": "ask_publisher", "id": id, "what": _step(given)}


def _step(given: dict[str, Any]) -> str:
    """What a run or an experiment is asked: a step towards its end, or the end of one trial. Raises HTTPError."""
    before, trial = given.get("before", ""), given.get("trial", "")
    if not isinstance(trial, str) or not (before == "" or (isinstance(before, int) and not isinstance(before, bool))):
        raise HTTPError(400, "before takes a whole number, and trial the id of a trial.")
    return f"stop-trial {before or 0} {trial}" if trial else f"stop {before}".strip()


class RetryHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        given = self.given()
        task = given.get("task_id")
        if not isinstance(task, str) or not task:
            raise HTTPError(400, "Name a task_id, as text.")
        await self.ask(await self.runtime(given.get("runtime")), {"ask": "retry", "task_id": task})
        return {"done": "retry"}


class RecycleHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        said = await self.ask(await self.runtime(self.given().get("runtime")), {"ask": "recycle"})
        return {"done": "recycle", "workers": said.get("workers", 0)}


class ShutdownHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        await self.ask(await self.runtime(self.given().get("runtime")), {"ask": "stop"})
        return {"done": "shutdown"}


class StartHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        pid = await commands.start(self.kernel_spec_manager, self.kernelspec(self.given().get("kernelspec")))
        await self.watching.look()
        for record in self.watching.records():
            if record.pid == pid:
                return {"done": "start", "runtime": self.watching.row(record)}
        raise HTTPError(503, "The head has started and ended again, or has another runtime directory than this server.")


class StoredHandler(NbaccelHandler):
    @looks
    async def get(self) -> dict[str, Any]:
        only = self.get_query_arguments("run")
        if len(only) > MOST_COMPARED:
            raise HTTPError(400, f"At most {MOST_COMPARED} runs have their curves in one answer.")
        kernelspec = self.kernelspec(self.get_query_argument("kernelspec", ""))
        experiment = self.get_query_argument("trials", "")
        async with self.settings["nbaccel_reading"]:  # each reading is a process
            found = await commands.stored_runs(self.kernel_spec_manager, kernelspec, only, experiment)
        return {"runs": found[:MOST_STORED], "total": len(found)}


class DeleteRunHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        given = self.given()
        run = _named_run(given)
        await commands.delete_run(self.kernel_spec_manager, self.kernelspec(given.get("kernelspec")), run)
        return {"done": "delete_run"}


class NoteRunHandler(NbaccelHandler):
    @orders
    async def post(self) -> dict[str, Any]:
        given = self.given()
        run, text = _named_run(given), given.get("text")
        if not isinstance(text, str) or len(text) > MOST_NOTE_CHARACTERS:
            raise HTTPError(400, f"A note is a text of at most {MOST_NOTE_CHARACTERS:,} characters.")
        await commands.note_run(self.kernel_spec_manager, self.kernelspec(given.get("kernelspec")), run, text)
        return {"done": "note_run"}


def _named_run(given: dict[str, Any]) -> str:
    """Raises HTTPError."""
    run = given.get("run")
    if not isinstance(run, str) or not run:
        raise HTTPError(400, "Name a run by its folder, as text.")
    return run


HANDLERS: dict[str, type[NbaccelHandler]] = {
    "version": VersionHandler,
    "runtimes": RuntimesHandler,
    "devices": DevicesHandler,
    "tasks": TasksHandler,
    "why": WhyHandler,
    "logs": LogsHandler,
    "timeline": TimelineHandler,
    "runs": RunsHandler,
    "stored": StoredHandler,
    "cancel": CancelHandler,
    "retry": RetryHandler,
    "recycle": RecycleHandler,
    "shutdown": ShutdownHandler,
    "start": StartHandler,
    "delete_run": DeleteRunHandler,
    "note_run": NoteRunHandler,
}
