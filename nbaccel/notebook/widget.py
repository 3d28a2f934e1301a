"""The live cockpit as a widget: one model for each kernel, shown under any number of cells.

The newest snapshot is a trait, so a page that opens late, or again, has it at once. Messages of pages arrive in any
thread of the kernel (subshells have their own), so their handlers only queue a message to the head.
"""

from __future__ import annotations

import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anywidget
import IPython
import msgspec
import traitlets
from IPython.display import publish_display_data

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.notebook import blocks, card, page_pictures, publishing, run_card, view, views
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.displays import Displays
from nbaccel.notebook.kept_history import KeptHistory
from nbaccel.notebook.publishing import Publisher
from nbaccel.notebook.tracebacks import FRAME, with_cell_lines, without_ours
from nbaccel.views import (
    experiment_snapshot,
    palette,
    run_snapshot,
    served_snapshot,
    sinks,
    stack_text,
    tables,
    wording,
)
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.history.answers import (
    AccountingAnswer,
    AccountRow,
    ReadingsAnswer,
    RunKind,
    RunsAnswer,
    TaskLogAnswer,
)
from nbaccel.views.observer_lines import ReadAccounting, ReadReadings, ReadRows, ReadRuns, ReadStack, ReadTaskLog
from nbaccel.views.palette import HUES, owner, usual_hue
from nbaccel.views.record_book import RowsAnswer
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.served_snapshot import ServedSnapshot
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import TaskFilter

MOST_FOUND = 1000  # rows of one answer
MOST_PICTURES = 8  # views whose pictures are drawn anew while things change: the newest
_ESM = Path(__file__).parent / "static" / "cockpit.js"
_PAST = Path(__file__).parent / "static" / "past.js"
_RUNS = Path(__file__).parent / "static" / "runs.js"
_logger = logging.getLogger(__name__)


class Cockpit(anywidget.AnyWidget):
    """The widget. `snapshot` is what is drawn, as JSON; `details` is whether new views open with their tabs.

    In a kernel, what a cell displays is a place for a view and the card, so that a saved notebook names no widget.
    """

    _esm = _ESM.read_text()
    snapshot = traitlets.Unicode("").tag(sync=True)
    published = traitlets.Unicode("[]").tag(sync=True)  # runs, experiments and applications, as JSON
    runs_code = traitlets.Unicode("").tag(sync=True)  # the module that draws them, from the first one on
    past_code = traitlets.Unicode("").tag(sync=True)  # the module that draws the past, once a page has asked for it
    place = traitlets.Unicode("").tag(sync=True)  # the CSS class of the elements into which a page puts a view
    details = traitlets.Bool(False).tag(sync=True)

    def __init__(self, displays: Displays | None = None) -> None:
        super().__init__(place=f"nbaccel-live-{uuid.uuid4().hex}")
        self._displays = displays  # None without a kernel: only the front end knows where views are
        self.in_places = False  # whether the page puts views into places (see `displays`)
        self._publisher = Publisher(self._set_snapshot, self._keep, self._lost)
        self._reader = ThreadPoolExecutor(1, "nbaccel-cockpit")  # a thread: asking the head for logs takes a moment
        self._static: Snapshot | None = None
        self._engine: engines.Engine | None = None  # the engine that is shown
        self._past = KeptHistory()
        self._pictures: dict[str, bool] = {}  # names of outputs that are places -> whether they open with their tabs
        self._drawing: threading.Timer | None = None  # until the pictures are drawn anew
        self._last_card: Callable[[Html], dict[str, str]] | None = None  # of what has ended, until its pictures come
        self.on_msg(self._receive)
        _keep_subshell(self.comm)

    def follow(self, engine: engines.Engine, now: Snapshot, *, details: bool) -> None:
        """Show this engine's snapshots from now on; the next view that is displayed opens with its tabs, or without."""
        if self._engine is not engine:
            self._lost()  # the previous engine ended without a message
            self._past = KeptHistory()
        self._static, self._engine = now, engine
        self._show_runs(now)
        self.details = details
        self._publisher.follow(engine, now)

    @property
    def live_place(self) -> str:
        """The CSS class of places for its views; "" if the page puts none there, or there is nothing to show."""
        return self._key(self._static) if self.in_places and self._engine is not None and self._static else ""

    def _key(self, snapshot: Snapshot) -> str:
        return run_card.place_key(self.place, snapshot.runtime.session)

    def _set_snapshot(self, json: str) -> None:
        self.snapshot = json
        if self._pictures and self._drawing is None:
            self._drawing = threading.Timer(run_card.PICTURE_S, self._draw_pictures)
            self._drawing.daemon = True
            self._drawing.start()

    def _keep(self, snapshot: Snapshot) -> None:
        views.keep(snapshot)
        self._show_runs(snapshot)

    def _draw_pictures(self) -> None:
        """Draw the pictures below the live views as things are now: the notebook's file keeps them."""
        self._drawing, snapshot = None, views.last_seen()
        if self._engine is None or self._displays is None or snapshot is None:
            return
        for name, details in list(self._pictures.items()):
            self._displays.draw_one(name, self._place_of(snapshot, name, details))

    def _place_of(self, snapshot: Snapshot, name: str, details: bool) -> dict[str, str]:
        kept = self._kept(snapshot, details)
        return run_card.live_bundle(self._key(snapshot), kept, details=details, at=name)

    def _show_runs(self, snapshot: Snapshot) -> None:
        if snapshot.published and not self.runs_code:
            self.runs_code = _RUNS.read_text()
        self.published = publishing.records_json(snapshot.published)

    def _repr_mimebundle_(self, **given: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The widget, with the card as text and HTML for programs that cannot run it: nbconvert, GitHub, e-mail."""
        bundle, metadata = super()._repr_mimebundle_(**given) or ({}, {})
        kept = self._kept(self._static, self.details) if self._static is not None else {}
        return {**bundle, **kept}, metadata

    def _kept(self, snapshot: Snapshot, details: bool) -> dict[str, str]:
        """What a notebook keeps of a view: the card's four lines, or all of it."""
        return view.status_at(snapshot) if details else card.mimebundle_at(snapshot)

    def _ipython_display_(self, **given: Any) -> None:
        """Display the cockpit; called by `display` and for the last line of a cell."""
        if self._displays is None or self._static is None:
            publish_display_data(*self._repr_mimebundle_())  # type: ignore[no-untyped-call]
        elif self.in_places:
            name = self._displays.new_name()
            self._displays.show(self._place_of(self._static, name, self.details), {}, name)
            self._pictures[name] = self.details
            while len(self._pictures) > MOST_PICTURES:
                del self._pictures[next(iter(self._pictures))]
        else:
            self._displays.show(*self._repr_mimebundle_())

    # ---- the end

    def engine_ends(self, engine: engines.Engine) -> None:
        """Keep the engine's last snapshot in the notebook, on the page and in the file, while it can still be asked."""
        if engine is not self._engine:
            return
        try:
            last: Snapshot | None = engine.snapshot()
        except (RayError, OSError, RuntimeError):  # the head has gone
            last = None
        self._publisher.end(engine, last, died=last is None)
        if last is not None:
            self._past.renew(engine)
        self._draw_last(last or views.last_seen(), died=last is None)

    def _lost(self) -> None:
        """Keep the last known snapshot, because the engine has ended and cannot be asked."""
        if self._engine is not None:
            self._draw_last(views.last_seen(), died=True)

    def _draw_last(self, last: Snapshot | None, *, died: bool) -> None:
        self._engine, last = None, last or self._static
        self._pictures.clear()
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        if self._displays is not None and last is not None:
            past = self._past
            how: card.End = "died" if died else "left" if last.runtime.shared else "shut down"
            self._last_card = lambda pictures: card.last_mimebundle(
                last, how, past=past.sections(last, pictures), used=past.line()
            )
            self._displays.draw_last(self._last_card(blocks.NOTHING))

    def _take_pictures(self, id: str, sent: object) -> None:
        """Put what a page has drawn into the card of what has ended: a cluster, or the experiment of this id."""
        drawn = page_pictures.cleaned(sent)
        if id:
            sinks.installed.pictures(id, drawn)
        elif drawn and self._last_card is not None and self._displays is not None:
            self._displays.draw_last_again(self._last_card(drawn))
            self._last_card = None

    def kernel_ends(self) -> None:
        if self._engine is not None:
            self.engine_ends(self._engine)

    # ---- messages of pages

    def _receive(self, widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        order, id = content.get("say"), str(content.get("id", ""))
        if order == "visible":
            self._publisher.seen(str(content.get("view", "")), int(content.get("rows") or 0))
        elif order == "hidden":
            self._publisher.hidden(str(content.get("view", "")))
        elif order in ("cancel", "kill"):
            self._ordered(order, id)
        elif order == "stop":
            words = stop_run(engines.started(), id, views.last_seen())
            self.send({"say": "taken", "id": id, "words": words})
        elif order == "curl":
            self.send({"say": "taken", "id": id, **copied_curl(id, views.last_seen())})
        elif order == "retry":
            self._reader.submit(self._retry, id)
        elif order == "cancel-many":
            self._reader.submit(self._cancel_many, id, content)
        elif order == "find":
            self._reader.submit(self._find, id, content)
        elif order == "pictures":
            self._take_pictures(id, content.get("pictures"))
        elif order == "past":
            self.past_code = self.past_code or _PAST.read_text()
        elif order == "history":
            self._reader.submit(self._recall, id, content)

    def _ordered(self, order: str, id: str) -> None:
        words = end_one(engines.started(), order, id, views.last_seen())
        self.send({"say": "taken", "id": id, "words": words})

    def _retry(self, id: str) -> None:
        words = retry(engines.started(), id, views.last_seen())
        self.send({"say": "taken", "id": id, "words": words})

    def _cancel_many(self, id: str, content: dict[str, Any]) -> None:
        """Cancel all tasks that pass a view's filter, of one function or of all."""
        snapshot = views.last_seen()
        if snapshot is None:
            return
        try:
            wanted = _filter({**content, "limit": 0, "function": ""}, snapshot)
        except (KeyError, ValueError, TypeError) as error:
            _logger.debug("the order of a view was not understood: %s", error)
            return
        words = end_many(engines.started(), wanted, str(content.get("function") or ""), snapshot)
        self.send({"say": "taken", "id": id, "words": words})

    def _find(self, id: str, content: dict[str, Any]) -> None:
        """Answer with the tasks that pass a view's filter, among all that the engine knows."""
        engine = engines.started()
        snapshot = views.last_seen()
        if engine is None or snapshot is None:
            return
        try:
            wanted = _filter(content, snapshot)
            found = engine.tasks(wanted)
        except (RayError, KeyError, ValueError, TypeError, OSError) as error:
            _logger.debug("the filter of a view was not applied: %s", error)
            return
        answer = {
            "key": content.get("key", ""),
            "tasks": found.rows,
            "total": found.total,
            "functions": found.functions,
        }
        self.send({"say": "found", "id": id, "found": msgspec.to_builtins(answer)})

    def _recall(self, id: str, content: dict[str, Any]) -> None:
        """Answer what the open view of a page asks about the past."""
        engine, snapshot = engines.started(), views.last_seen()
        if engine is None or snapshot is None:
            return
        try:
            answer = answered(engine, content, snapshot, self._past.keep)
        except (RayError, KeyError, ValueError, TypeError, OSError) as error:
            _logger.debug("the question of a view was not answered: %s", error)
            return
        self.send({"say": "history", "id": id, "ask": content["ask"], "key": content.get("key"), "answer": answer})


def _filter(content: dict[str, Any], snapshot: Snapshot) -> TaskFilter:
    """A view's filter, whose cell is named as rows name it: "[7]", or "b.ipynb [7]" of another notebook."""
    given = content["filter"]
    owner, _, cell = str(given["cell"]).rpartition(" ")
    jobs = {wording.plain(row.name): row.number for row in snapshot.jobs}
    return TaskFilter(
        states=[str(given["state"])] if given["state"] else [],
        cell=cell,
        job=jobs.get(owner, snapshot.runtime.job) if cell else 0,
        text=str(given["text"]),
        limit=min(int(content["limit"]), MOST_FOUND),
        function=str(content.get("function") or ""),
        skip=max(int(content.get("skip") or 0), 0),
        by_state=bool(content.get("by_state")),
    )


def _keep_subshell(comm: Any) -> None:
    """Let messages of pages arrive while a cell runs.

    ipykernel 7.4 sends a page's message to whichever (sub)shell spoke last on the comm, which for snapshots is the main
    one, busy with the cell; our handlers may run on any thread, so the page's own choice is right.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, chosen_by_page: chosen_by_page


# ----
# carries out orders of a page: end a task, an actor, all tasks that pass a filter, stop a run, retry a failed task
#
# Answers say what was done.


OVER = "nbaccel has been shut down: there is nothing left to end."


def end_one(engine: engines.Engine | None, order: str, id: str, snapshot: Snapshot | None) -> str:
    """Cancel a task or kill an actor: "Cancelled slow #3f2a-7." """
    if engine is None:
        return OVER
    try:
        engine.cancel_by_id(id) if order == "cancel" else engine.kill_by_id(id)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f"{'Cancelled' if order == 'cancel' else 'Killed'} {_name(id, snapshot)}."


def retry(engine: engines.Engine | None, id: str, snapshot: Snapshot | None) -> str:
    """Run a failed task's call once more: "Retried train #3f2a-7 as #9b1c-1: nbaccel.ref_of("9b1c-1")." """
    if engine is None:
        return OVER
    try:
        again = wording.short_id(engine.retry(id))
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f'Retried {_name(id, snapshot)} as #{again}: nbaccel.ref_of("{again}").'


def stop_run(engine: engines.Engine | None, order: str, snapshot: Snapshot | None) -> str:
    """Take one step down the ladder of a run, an experiment or a trial: "Asked mnist to stop."

    `order` is its id and how often it had been asked before, as the pressed button knew it. A press that comes twice,
    or from a page that was drawn before another one's press, is no further step. An order with a trial's id at its end
    is about this trial alone.
    """
    if engine is None:
        return OVER
    id, _, rest = order.partition("/")
    before, _, trial = rest.partition("/")
    run = _run(id, snapshot)
    name = (
        f"trial {experiment_snapshot.short_trial(trial)}"
        if trial
        else wording.plain(run.name)
        if run is not None
        else id
    )
    what = f"stop-trial {before} {trial}" if trial else f"stop {before}" if before else "stop"
    if run is not None and not trial and not run_snapshot.asks_to_stop(what, run.stops):
        return f"{name} has been asked to stop since this button was drawn. Press it again to go one step further."
    try:
        engine.ask(id, what)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f"Asked {name} to stop."


def copied_curl(id: str, snapshot: Snapshot | None) -> dict[str, str]:
    """For the clipboard: the line of an application that this process serves, with its token."""
    served = _run(id, snapshot)
    token = served_snapshot.own_tokens.get(id)
    if not isinstance(served, ServedSnapshot) or not token:
        return {"words": "Only the notebook that serves it knows its token."}
    return {"words": "Copied the line with its token.", "copy": served_snapshot.curl_words(served, token)}


def _run(id: str, snapshot: Snapshot | None) -> RunSnapshot | ExperimentSnapshot | ServedSnapshot | None:
    if snapshot is None:
        return None
    shown: list[RunSnapshot | ExperimentSnapshot | ServedSnapshot] = [
        *run_snapshot.of_snapshot(snapshot),
        *experiment_snapshot.of_snapshot(snapshot),
        *served_snapshot.of_snapshot(snapshot),
    ]
    return next((run for run in shown if run.id == id), None)


def _name(id: str, snapshot: Snapshot | None) -> str:
    """The name that views use; the id alone if the last snapshot has no such task or actor."""
    names = {row.task_id: (row.name, wording.short_id(id)) for row in snapshot.tasks} if snapshot is not None else {}
    names |= {row.actor_id: (row.class_name, id[:8]) for row in snapshot.actors} if snapshot is not None else {}
    name, short = names.get(id, ("", wording.short_id(id)))
    return " ".join(part for part in (wording.plain(name), f"#{short}") if part)


def end_many(engine: engines.Engine | None, wanted: TaskFilter, function: str, snapshot: Snapshot) -> str:
    """Cancel the notebook's own unfinished tasks that pass the filter, of one function if one is named.

    Tasks of other notebooks are left alone and counted: a person confirms the end of each of them.
    """
    if engine is None:
        return OVER
    try:
        rows = [row for row in engine.tasks(wanted).rows if row.state not in tables.ENDED]
        rows = [row for row in rows if not function or palette.subject(row.name, row.function, row.kind) == function]
        own = [row for row in rows if not tables.owner(snapshot, row.job)]
        for row in own:
            engine.cancel_by_id(row.task_id)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    left = f" {wording.count(len(rows) - len(own), 'task')} of other notebooks left alone." if rows != own else ""
    return f"Cancelled {wording.count(len(own), 'task')}.{left}"


# ---- answers what an open view of a page asks: runs, use and state of devices, trials of an experiment, a log, a stack
#
# The answers are the engine's own. For the page they get the hues of the functions that they name, and rows of this
# notebook have no job, as in snapshots.


QUESTIONS: dict[str, type[Any]] = {
    "task_log": ReadTaskLog, "runs": ReadRuns, "accounting": ReadAccounting, "readings": ReadReadings,
    "rows": ReadRows, "stack": ReadStack,
}  # fmt: skip
Answer = RunsAnswer | AccountingAnswer | ReadingsAnswer | RowsAnswer


def answered(
    engine: engines.Engine,
    asked: dict[str, Any],
    snapshot: Snapshot,
    keep: Callable[[object, object], None] = lambda asked, answer: None,
) -> str:
    """The answer to a page's question (`ask` and the question's fields) as JSON; `keep` gets both as records.

    Raises KeyError or ValidationError if the page asks for something else, and what the engine raises.
    """
    question = QUESTIONS[str(asked["ask"])]
    fields = {name: asked[name] for name in question.__struct_fields__ if asked.get(name) is not None}
    if question is ReadRows:
        fields["id"] = asked["record"]  # the page's `id` is that of its view
    asking = msgspec.convert(fields | {"ask": asked["ask"]}, question)
    if isinstance(asking, ReadTaskLog):
        return _of_log(engine, asking)
    if isinstance(asking, ReadStack):
        stack = engine.history(asking)
        return msgspec.json.encode(msgspec.structs.replace(stack, text=stack_text.with_sources(stack.text))).decode()
    answer: Answer = engine.history(asking)
    keep(asking, answer)
    functions, jobs = _named(answer)
    for row in jobs:
        row.job = 0 if row.job == snapshot.runtime.job else row.job
    said = msgspec.json.encode(answer)
    return (said[:-1] + b',"hues":' + msgspec.json.encode(_hues(functions)) + b"}").decode()


def _of_log(engine: engines.Engine, asking: ReadTaskLog) -> str:
    """A task's log. Where it cannot be read, the answer says why and ends the asking."""
    try:
        answer = engine.history(asking)
    except (RayError, ValueError, OSError) as error:
        answer = TaskLogAnswer(1.0, True, note=str(error))
    said = dict(msgspec.to_builtins(answer))
    said["yours"], said["failure"] = readable_failure(answer.failure)
    return msgspec.json.encode(said).decode()


def _named(answer: Answer) -> tuple[list[str], list[RunKind] | list[AccountRow]]:
    """(the functions that an answer names, the rows that name a job)."""
    if isinstance(answer, RunsAnswer):
        return [row.function for row in answer.kinds], answer.kinds
    return ([row.name for row in answer.functions], answer.cells) if isinstance(answer, AccountingAnswer) else ([], [])


def _hues(functions: Iterable[str]) -> dict[str, int]:
    """The hue of each function, where it is not the usual one of its name."""
    hues = {function: HUES.of(owner(function)) for function in dict.fromkeys(functions)}
    return {function: hue for function, hue in hues.items() if hue != usual_hue(function)}


# ---- the traceback of a failed task for its log: the frames of the user's code first, then all of them


_LIBRARY = re.compile(r"[/\\\\](?:site|dist)-packages[/\\\\]|[/\\\\]lib[/\\\\]python3|^<frozen ")


def readable_failure(failure: str) -> tuple[str, str]:
    """(the error with the frames of the user's code alone, "" without such frames; the whole traceback)."""
    shell = IPython.get_ipython()
    text = without_ours(failure)
    yours, has_users = _users(text.splitlines())
    return with_cell_lines(yours, shell) if has_users else "", with_cell_lines(text, shell)


def _users(lines: list[str]) -> tuple[str, bool]:
    """A traceback without the frames of libraries, and whether a frame is left."""
    kept: list[str] = []
    library = ""
    has_users = False
    for line in lines:
        match = FRAME.match(line)
        if match is not None:
            library = match["indent"] + "  " if _LIBRARY.search(match["file"]) else ""
            has_users = has_users or not library
        elif not (library and line.startswith(library)):
            library = ""
        if not library:
            kept.append(line)
    return "\n".join(kept), has_users
