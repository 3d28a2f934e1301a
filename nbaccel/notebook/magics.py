"""The magics of a cluster and of its tasks: `%accel_init`, `%accel_status`, `%accel_tasks` and their like.

A magic reads its line by the table in `options`, calls one public function and shows a view. A mistake in the line and
a refusal of the cluster are one line of text; a traceback means a bug of ours.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

import nbaccel
from nbaccel import api, engine, starting
from nbaccel.actor import ActorHandle
from nbaccel.exceptions import HeadDiedError
from nbaccel.handles.options import init_options
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.notebook import (
    arguments,
    blocks,
    cells,
    dashboards,
    held_handles,
    options,
    reprs,
    settings,
    static_tables,
    task_names,
    timeline,
    view,
    views,
)
from nbaccel.notebook.arguments import Option, TypingMistake, in_one_line
from nbaccel.notebook.attaching import attach
from nbaccel.notebook.cell_magics import CellMagics
from nbaccel.notebook.growing_magics import GrowingMagics
from nbaccel.notebook.options import CELL_MAGICS, MAGICS, WORDS, asks_for_help, documented
from nbaccel.notebook.task_names import TASKS
from nbaccel.notebook.view import View
from nbaccel.views import sessions, stored_runs, tables, wording
from nbaccel.views.observer_lines import ReadRuns
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import Snapshot, TaskRow
from nbaccel.views.tables import RUNNING
from nbaccel.views.task_filter import TaskFilter


def register(ipython: InteractiveShell) -> None:
    """Register magics, completion and the watch of cells, for `%load_ext nbaccel`. A second call changes nothing."""
    ipython.register_magics(ClusterMagics, TaskMagics, CellMagics, DashboardMagics, GrowingMagics)
    install(ipython)
    install_suggestions(ipython)
    attach(ipython)


@magics_class
class ClusterMagics(Magics):
    """Start, see and end the cluster of this notebook."""

    shell: InteractiveShell

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        # It belongs to the shell: after %reload_ext it still knows what the cluster was started with.
        starter = Starter(api, starting.init, sessions.find)
        self._starter: Starter = shell.__dict__.setdefault("_nbaccel_starter", starter)

    def _parse(self, magic: str, line: str) -> dict[str, Any]:
        return arguments.parse(line, options.MAGICS[magic], self.shell.var_expand)

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Start a cluster for this notebook and show its card; the same again only shows the card.")
    def accel_init(self, line: str) -> None:
        asked = self._parse("accel_init", line)
        shared, restart = asked.pop("shared", False), asked.pop("restart", False)
        for sentence in self._starter.start(asked, shared=shared, restart=restart):
            view.show(view.of_message(sentence))
        dashboards.show(details=False)

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show the cluster: what is free, which device is held by whom, what waits and why.")
    def accel_status(self, line: str) -> None:
        _show(views.status(), as_json=self._parse("accel_status", line).get("json", False))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show every device with its holders and the cells that they belong to.")
    def accel_devices(self, line: str) -> None:
        asked = self._parse("accel_devices", line)
        _show(views.devices(everything=asked.get("all", False)), as_json=asked.get("json", False))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show every actor that lives: its devices, process and cell, and how many calls wait for it.")
    def accel_actors(self, line: str) -> None:
        self._parse("accel_actors", line)
        view.show(views.actors())

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("End this notebook's cluster, or leave the shared one; nothing is left running.")
    def accel_shutdown(self, line: str) -> None:
        self._parse("accel_shutdown", line)
        view.show(view.of_message(self._starter.stop()))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Change how nbaccel shows itself; without options, show the settings.")
    def accel_config(self, line: str) -> None:
        current = settings.of(self.shell)
        current.change(self._parse("accel_config", line))
        view.show(view.of_table(current.as_table()))


def _show(shown: view.View, *, as_json: bool) -> None:
    if as_json and api.is_initialized():
        print(json.dumps(api.snapshot().as_dict()))  # noqa: T201 - text that a person copies
    else:
        view.show(shown)


# ---- `%accel_dashboard`: the live cockpit under a cell


@magics_class
class DashboardMagics(Magics):
    """The magic that shows the cluster live."""

    shell: InteractiveShell

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show every device, what it does and for which cell, live, with buttons to cancel.")
    def accel_dashboard(self, line: str) -> None:
        arguments.parse(line, options.MAGICS["accel_dashboard"], self.shell.var_expand)
        dashboards.show(details=True)


# ---- after IPython refuses a line: names the nbaccel magic that was probably meant, or shows the requested manual
#
# IPython looks magics up itself, so a mistyped name never reaches us; we learn of it from the cell's error.


_NOT_FOUND = re.compile(r"[Mm]agic (?:function )?`%+(\w+)` not found")
_EMPTY_BODY = re.compile(r"%%(\w+) is a cell magic, but the cell body is empty")
ALIKE = 0.75  # with a lower limit, %autoreload and others would be taken for ours


def install_suggestions(shell: InteractiveShell) -> None:
    """Watches the cells of this shell; a second call changes nothing."""
    if not shell.__dict__.get("_nbaccel_explains_magics"):
        shell.__dict__["_nbaccel_explains_magics"] = True
        shell.events.register("post_run_cell", lambda result: _explain(shell, result))


def _explain(shell: InteractiveShell, result: Any) -> None:
    error = getattr(result, "error_in_exec", None)
    if not isinstance(error, UsageError):
        return
    text = _manual(shell, str(error), result.info.raw_cell) or suggested_magic(str(error))
    if text:
        sys.stderr.write(text + "\n")


def suggested_magic(refusal: str) -> str:
    """ "Did you mean %accel_init?" for IPython's message about an unknown magic; "" if no name is near."""
    found = _NOT_FOUND.search(refusal)
    if found and found[1] in CELL_MAGICS and f"%%{found[1]}" in found[0]:
        return f"%%{found[1]} must be the first line of its cell: nothing may stand above it, not even a comment."
    if found and found[1] in MAGICS and found[1] not in CELL_MAGICS:
        if f"%%{found[1]}" in found[0]:
            return f"%{found[1]} is a magic of one line: write it with one %."
        return f"%{found[1]} works in the notebook after %load_ext nbaccel, but not in a task."
    near = difflib.get_close_matches(found[1], MAGICS, n=1, cutoff=ALIKE) if found else []
    return f"Did you mean {'%%' if near[0] in CELL_MAGICS else '%'}{near[0]}?" if near else ""


def _manual(shell: InteractiveShell, refusal: str, cell: str) -> str:
    """Of `%%accel --help` without a body, which IPython refuses."""
    found = _EMPTY_BODY.search(refusal)
    magic = shell.find_cell_magic(found[1]) if found and found[1] in MAGICS else None  # type: ignore[no-untyped-call]
    return str(magic.__doc__) if magic is not None and asks_for_help(cell.lstrip().partition("\n")[0]) else ""


# ---- starts a cluster from a cell that may run twice: the same request changes nothing, another one is reported


class StartedApi(Protocol):
    """The functions of nbaccel that starting needs: those of `nbaccel.api`, or of a test."""

    def is_initialized(self) -> bool: ...
    def shutdown(self) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def start_head(self, **options: Any) -> SessionRecord: ...


class Starter:
    """Remembers what this notebook's cluster was started with."""

    def __init__(
        self, cluster: StartedApi, init: Callable[..., object], find_heads: Callable[[], Sequence[SessionRecord]]
    ) -> None:
        self._cluster = cluster
        self._init = init
        self._find_heads = find_heads
        self._asked: dict[str, Any] | None = None
        self._session = ""

    def start(self, asked: dict[str, Any], *, shared: bool = False, restart: bool = False) -> list[str]:
        """Starts the requested cluster unless it runs already; returns sentences for the user.

        Raises TypingMistake, with the difference, if another cluster runs.
        """
        init_options(**asked)  # wrong options raise an error before anything is compared or ended
        said: list[str] = []
        if self._cluster.is_initialized() and (restart or self._why_lost()):
            said.append(self.stop())
        if self._cluster.is_initialized():
            return said + self._compare(asked, shared=shared)
        if shared:
            said += self._join_shared(asked)
        else:
            self._init(**asked)
        self._asked = {"shared": True} if shared else asked
        snapshot = self._cluster.snapshot()
        self._session = snapshot.runtime.session
        return said + _fewer_cpus(asked.get("num_gpus"), snapshot)

    def stop(self) -> str:
        """Ends the cluster, or leaves a shared one; returns a sentence that says which."""
        self._asked = None
        if not self._cluster.is_initialized():
            return "nbaccel was not running here."
        if why := self._why_lost():
            self._cluster.shutdown()
            return why
        runtime = self._cluster.snapshot().runtime
        shared = runtime.shared
        self._cluster.shutdown()
        if shared and runtime.engine == "ray":
            return (
                "Left the Ray cluster; it runs on. It is ended where it was started: `nbaccel stop` on the machine of "
                "`nbaccel start --head`, `kubectl delete raycluster NAME` on Kubernetes."
            )
        if owner := shared and self._owner_of(runtime.session):
            return (
                "Left the cluster; it runs on. `cluster.shutdown()` ends it where `Cluster(...)` started it, or the "
                f"end of that process (pid {owner})."
            )
        return "Left the shared cluster; it runs on. End it with: nbaccel stop" if shared else "nbaccel has shut down."

    def _owner_of(self, session: str) -> int:
        """The pid of the process whose end is the end of this head; 0 for a daemon."""
        return next((record.owner_pid for record in self._find_heads() if record.session == session), 0)

    def _why_lost(self) -> str:
        """A sentence if the cluster of this notebook has gone by itself, such as by the death of its head."""
        try:
            self._cluster.snapshot()
        except HeadDiedError as error:
            return f"The old cluster has gone. {str(error).partition(' What had not been fetched')[0]}"
        return ""

    def _compare(self, asked: dict[str, Any], *, shared: bool) -> list[str]:
        snapshot = self._cluster.snapshot()
        runtime = snapshot.runtime
        started = self._asked if runtime.session == self._session else None
        if runtime.shared and shared:
            return (
                [f"This notebook uses the shared cluster of pid {runtime.pid}. {_not_applied(asked)}"] if asked else []
            )
        asked = asked | ({"shared": True} if shared else {})
        if not asked or asked == started:
            return []
        if runtime.shared:
            raise TypingMistake(
                f"This notebook uses the shared cluster of pid {runtime.pid}. {_not_applied(asked)} "
                "--restart leaves it for a cluster of this notebook's own; that ends only what runs of this notebook."
            )
        busy = sum(number for state, number in snapshot.counts.items() if state in RUNNING)
        price = f", which ends {wording.count(busy, 'running task')}" if busy else ""
        if started is None:
            raise TypingMistake(
                "A cluster that %accel_init did not start runs already: nbaccel.init() started it, or the first call, "
                "such as f.remote() or %accel_probe. Use it as it is (%accel_status), or give --restart to start with "
                f"{_words(asked)}{price}."
            )
        raise TypingMistake(f"{_difference(started, asked)} To restart with the new options, add --restart{price}.")

    def _join_shared(self, asked: dict[str, Any]) -> list[str]:
        running = [record for record in self._find_heads() if record.shared]
        if running:
            self._init(address=running[0].socket)
            ignored = f" {_not_applied(asked)}" if asked else ""
            return [f"Joined the shared cluster of pid {running[0].pid}.{ignored}"]
        record = self._cluster.start_head(**asked)
        self._init(address=record.socket)
        return [f"Started a shared cluster, pid {record.pid}; other notebooks join it with %accel_init shared=true."]


def _not_applied(asked: dict[str, Any]) -> str:
    return f"Its own options apply, not {_words(asked)}."


def _difference(started: dict[str, Any], asked: dict[str, Any]) -> str:
    changed = [name for name in {**started, **asked} if started.get(name) != asked.get(name)]
    parts = [f"{name} was {_value(started, name)} and is now {_value(asked, name)}" for name in changed]
    return f"nbaccel runs already with other options: {'; '.join(parts)}."


def _value(options: dict[str, Any], name: str) -> str:
    return str(options[name]) if name in options else "not given"


def _words(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _fewer_cpus(gpus: float | None, snapshot: Snapshot) -> list[str]:
    """A sentence where tasks that hold a CPU each, as tasks do by default, cannot use all GPUs at the same time."""
    cpus = sum(node.totals.get("CPU", 0) for node in snapshot.nodes)
    if not gpus or cpus >= gpus:
        return []
    return [
        f"There are {gpus:g} GPUs and {wording.count(int(cpus), 'CPU')}. A task holds one CPU unless it says "
        f"otherwise: use @remote(num_gpus=1, num_cpus=0), or start with num_cpus={gpus:g}."
    ]


# ---- tab after one of our magics: its keys, and after `=` their values. It asks no process, so it costs microseconds


def install(ipython: InteractiveShell) -> None:
    """Adds our matcher to IPython's completer, once."""
    matchers = ipython.Completer.custom_matchers
    if magic_options not in matchers:
        matchers.append(magic_options)


@context_matcher()  # type: ignore[untyped-decorator]
def magic_options(context: CompletionContext) -> SimpleMatcherResult:
    """Completes `%accel_… key=value`; returns nothing on every other line."""
    line = context.text_until_cursor.split("\n")[-1]
    magic, _, typed = line.lstrip().partition(" ")
    options = MAGICS.get(magic.lstrip("%"))
    if options is None or not magic.startswith("%") or not (typed or line.endswith(" ")):
        return SimpleMatcherResult(completions=[], suppress=False)
    *before, current = typed.split(" ")
    given = {piece.lstrip("-").partition("=")[0].replace("-", "_") for piece in before}
    fragment, words = _candidates(current, before, [option for option in options if option.name not in given], options)
    if fragment == current and magic.lstrip("%") in WORDS and not current.startswith("-"):
        words += _starting(current, _tasks(magic.lstrip("%")))
    return SimpleMatcherResult(
        completions=[SimpleCompletion(text=word, type="param") for word in words],
        matched_fragment=fragment,
        # Without this, Jedi and the notebook's variables fill the list with names that the magic does not accept.
        suppress=True,
    )


def _candidates(
    current: str, before: list[str], free: list[Option], options: Iterable[Option]
) -> tuple[str, list[str]]:
    """The part of the text to complete, and its possible completions."""
    table = {option.name: option for option in options}
    key, equals, value = current.partition("=")
    if equals:
        return value, _starting(value, _choices(table.get(_name(key))))
    previous = (
        table.get(_name(before[-1])) if before and before[-1].startswith("--") and "=" not in before[-1] else None
    )
    if previous is not None and not previous.is_switch:
        return current, _starting(current, _choices(previous))
    style: Callable[[Option], str] = _dashed if current.startswith("-") else _keyword
    return current, _starting(current, [style(option) for option in free])


def _tasks(magic: str) -> list[str]:
    """The ids in the last snapshot that was shown, and the notebook's variables that hold what the magic takes."""
    snapshot = views.last_seen() if api.is_initialized() else None
    rows = snapshot.tasks if snapshot is not None else []
    over = tables.ENDED if magic == "accel_cancel" else ()
    if snapshot is not None and magic == "accel_cancel":
        rows = [row for row in rows if not tables.owner(snapshot, row.job)]
    kinds = (*TASKS, PlacementGroup) if magic == "accel_why" else TASKS
    return [wording.short_id(row.task_id) for row in rows if row.state not in over] + [
        name for name, value in _variables().items() if isinstance(value, kinds)
    ]


def _variables() -> dict[str, Any]:
    """The notebook's own variables, without those of IPython."""
    shell = get_ipython()
    if shell is None:
        return {}
    named = dict(shell.user_ns)
    return {name: named[name] for name in named if not name.startswith("_") and name not in shell.user_ns_hidden}


def _choices(option: Option | None) -> Iterable[str]:
    if option is not None and option.name == "each":  # any expression; usually a variable
        return [name for name, value in _variables().items() if hasattr(type(value), "__iter__")]
    return option.choices if option else ()


def _starting(typed: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(typed)]


def _name(key: str) -> str:
    return key.lstrip("-").replace("-", "_")


def _dashed(option: Option) -> str:
    return f"{'-' if len(option.name) == 1 else '--'}{option.name.replace('_', '-')}"


def _keyword(option: Option) -> str:
    return _dashed(option) if option.choices == ("true",) or len(option.name) == 1 else f"{option.name}="


# ---- the magics about tasks: list them, explain why they wait, show what they printed, cancel them


@magics_class
class TaskMagics(Magics):
    """The magics about the tasks of this notebook's cluster."""

    shell: InteractiveShell

    def _parse(self, magic: str, line: str) -> dict[str, Any]:
        asked, words = self._parse_with_words(magic, line)
        if words:
            arguments.parse(words[0], options.MAGICS[magic])  # raises an error that says what is wrong
        return asked

    def _parse_with_words(self, magic: str, line: str) -> tuple[dict[str, Any], list[str]]:
        asked, words = arguments.parse_with_words(line, options.MAGICS[magic], self.shell.var_expand)
        if asked.get("cell") == "here":
            asked["cell"] = str(cells.install(self.shell).number)
        return asked, words

    def _ids(self, words: list[str], snapshot: Snapshot) -> list[str]:
        return [task_names.task_id(word, snapshot, self.shell.user_ns, _having) for word in words]

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show the newest tasks: state, devices, process, cell, age, and why one waits or failed.")
    def accel_tasks(self, line: str) -> None:
        view.show(views.tasks(**{"limit": settings.of(self.shell).tasks_shown, **self._parse("accel_tasks", line)}))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Say in a sentence why a task, an actor or a placement group waits; without one, of all that wait.")
    def accel_why(self, line: str) -> None:
        _, words = self._parse_with_words("accel_why", line)
        snapshot = views.seen()
        ids = [task_names.explained_id(word, snapshot, self.shell.user_ns, _having) for word in words]
        answers = [nbaccel.explain(id) for id in ids] if words else nbaccel.explain()
        more = "" if words else reprs.left_out(snapshot, answers)
        text = "\n".join(filter(None, (*reprs.sentences(answers), more)))
        drawn = blocks.join((reprs.explanations(answers), blocks.note(more)), "\n")
        view.show(view.boxed(snapshot, text, drawn))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Say whether a task with these options could start now, later or never, without starting one.")
    def accel_probe(self, line: str) -> None:
        answer = nbaccel.probe(**self._parse("accel_probe", line))
        view.show(View(f"{reprs.VERDICTS[answer.verdict]}: {answer.sentence}", blocks.box([reprs.probe(answer)])))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented(
        "Cancel tasks of this notebook: those named, those of a cell, or all; what ignores it ends with --force."
    )
    def accel_cancel(self, line: str) -> None:
        asked, words = self._parse_with_words("accel_cancel", line)
        if not words and "cell" not in asked and not asked.get("all"):
            raise TypingMistake("Which tasks? Name some, or say cell=7 or --all; %accel_tasks shows them.")
        snapshot, everyone = views.seen(), asked.get("everyone", False)
        for word in words:
            if isinstance(self.shell.user_ns.get(word), ActorHandle):
                raise TypingMistake(
                    f"'{word}' is an actor, which %accel_cancel does not end: nbaccel.kill({word}) does."
                )
        ids = self._ids(words, snapshot)
        if not everyone:
            _refuse_strangers(ids, snapshot)
        ended = [id for id in ids if _has_ended(id)]
        ids = [id for id in ids if id not in ended]
        others = 0
        if "cell" in asked or asked.get("all"):
            unfinished = [row for row in _unfinished(asked.get("cell", "")) if row.task_id not in ids]
            own = [row for row in unfinished if everyone or not tables.owner(snapshot, row.job)]
            ids += [row.task_id for row in own]
            others = len(unfinished) - len(own)
        for id in ids:
            engine.current().cancel_by_id(id, force=asked.get("force", False))
        left = f" {wording.count(others, 'task')} of other notebooks left alone: --everyone ends them too."
        over = f" {', '.join(map(wording.short_id, ended))} had already ended." if ended else ""
        view.show(view.of_message(f"{wording.count(len(ids), 'task')} told to end.{over}{left if others else ''}"))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show what a task's worker has printed, all of it; without a task, what every worker has.")
    def accel_logs(self, line: str) -> None:
        asked, words = self._parse_with_words("accel_logs", line)
        if len(words) > 1:
            raise TypingMistake(
                f"One task at a time: '{words[1]}' is too much. Example: %accel_logs {words[0]} tail=100"
            )
        if not api.is_initialized():
            view.show(view.of_message(views.NOT_RUNNING))
            return
        id = self._ids(words[:1], views.seen())[0] if words else None
        print(engine.current().logs(id, tail=asked.get("tail", 1000)) or "Nothing was printed.")  # noqa: T201

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show the line at which a task, an actor, a training run or a trial is; of what waits, the reason.")
    def accel_stack(self, line: str) -> None:
        _, words = self._parse_with_words("accel_stack", line)
        if len(words) != 1:
            raise TypingMistake("Whose? Name a task, an actor, a training run or a trial: %accel_tasks shows tasks.")
        value = self.shell.user_ns.get(words[0], words[0])
        named = value if isinstance(value, task_names.TASKS) else int(words[0]) if words[0].isdigit() else words[0]
        print(nbaccel.stack(named))  # noqa: T201 - as aligned as a traceback

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Show all training runs and experiments of a storage folder, the newest first; no cluster is needed.")
    def accel_runs(self, line: str) -> None:
        asked = self._parse("accel_runs", line)
        found = stored_runs.runs(asked.get("path"), text=asked.get("text", ""), state=asked.get("state", ""))
        view.show(view.of_table(stored_runs.table(found[: asked.get("limit", 50)], time.time())))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("List what each device has done: which functions ran on it, how often, from when to when.")
    def accel_timeline(self, line: str) -> None:
        asked = self._parse("accel_timeline", line)
        since_s = time.time() - asked["last"] if "last" in asked else None
        if "save" in asked:
            api.timeline(asked["save"])
        seen = views.seen()
        runs = engine.current().history(ReadRuns(since_s))
        shown = timeline.table(runs, seen, asked.get("cell", ""))
        if "cell" in asked and not shown.rows:
            view.show(view.of_message(f"No task of cell {asked['cell']} has run."))
        else:
            view.show(view.of_snapshot(seen, shown, static_tables.of_table(shown)))
        if "save" in asked:
            view.show(view.of_message(f"Written to {asked['save']}, for chrome://tracing or Perfetto."))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("End the idle workers that have run code, with the device memory that they may keep.")
    def accel_recycle(self, line: str) -> None:
        self._parse("accel_recycle", line)
        if not api.is_initialized():
            view.show(view.of_message(views.NOT_RUNNING))
            return
        view.show(view.of_message(f"{wording.count(nbaccel.recycle(), 'idle worker')} ended."))

    @line_magic
    @no_var_expand
    @in_one_line
    @documented("Let go of actors and values that only outputs, the last error or functions sent before still hold.")
    def accel_release(self, line: str) -> None:
        _, words = self._parse_with_words("accel_release", line)
        if words:
            done = f"Removed {wording.count(held_handles.remove_groups(words), 'placement group')}."
        else:
            names = ", ".join(held_handles.release(self.shell))
            done = f"Let go of what {names} held." if names else "Nothing is held beside your variables."
        view.show(view.of_message(done))


def _having(word: str) -> list[TaskRow]:
    """All tasks with this word in their name or id."""
    return engine.current().tasks(TaskFilter(text=word)).rows


def _unfinished(cell: str) -> list[TaskRow]:
    """The unfinished tasks of all notebooks, because those that are left alone are counted."""
    return [row for row in engine.current().tasks(TaskFilter(cell=cell)).rows if row.state not in tables.ENDED]


def _has_ended(id: str) -> bool:
    rows = engine.current().tasks(TaskFilter(text=id)).rows
    return bool(rows) and all(row.state in tables.ENDED for row in rows)


def _refuse_strangers(ids: list[str], snapshot: Snapshot) -> None:
    """Raises TypingMistake if one of these tasks belongs to another notebook; called unless `--everyone` is given."""
    for id in ids:
        for row in engine.current().tasks(TaskFilter(text=id)).rows:
            if whose := tables.owner(snapshot, row.job):
                name, where = wording.plain(row.name), f" {wording.cell(row.cell)}" if row.cell else ""
                raise TypingMistake(
                    f"{name} ({wording.short_id(id)}) belongs to {whose}{where}. Nothing was cancelled; add --everyone "
                    "to cancel it all the same."
                )
