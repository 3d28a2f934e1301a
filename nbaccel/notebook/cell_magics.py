"""`%%accel` and `%%accel_time`: run the cell's body as a task on a device, and show its output in the notebook."""

from __future__ import annotations

import ast
import builtins
import difflib
import keyword
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pickle import PicklingError
from typing import Any

import cloudpickle
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

import nbaccel
from nbaccel import api, engine
from nbaccel.exceptions import GetTimeoutError, RayError, RayTaskError
from nbaccel.notebook import accounting, arguments, blocks, cell_run, cells, options, view
from nbaccel.notebook.arguments import in_one_line
from nbaccel.notebook.cell_run import Body, Outcome, prepare
from nbaccel.notebook.options import documented
from nbaccel.views import wording
from nbaccel.views.observer_lines import ReadAccounting
from nbaccel.views.snapshot import TaskRow

_WIDGET = "application/vnd.jupyter.widget-view+json"  # not sent: the widget's model is in the task's process
_OUTPUT_S = 3.0  # what the tasks have printed comes first; a flood of it cannot hold the cell longer
_OWN = frozenset(option.name for option in options.CELL)


@magics_class
class CellMagics(Magics):
    """The magics whose cells run as tasks."""

    shell: InteractiveShell

    @cell_magic
    @no_var_expand
    @documented("Run this cell's body as one task; what it reads of the notebook goes along, what it shows comes back.")
    def accel(self, line: str, cell: str) -> None:
        asked = self._parse("accel", line)
        body = self._body(f"%%accel {line}", cell, asked)
        refs = [self._submit(body, asked, given) for given in self._items(asked)]
        if asked.get("noblock"):
            self._bind(asked, refs)
            self._report_what_is_covered(asked, body)
            names = ", ".join(wording.short_id(ref.task_id().hex()) for ref in refs)
            view.show(view.of_message(f"{wording.count(len(refs), 'task')} submitted: {names}"))
            return
        outcomes = _wait(refs, asked.get("timeout"))
        for outcome in outcomes:
            _publish(outcome)
        self._bind(asked, outcomes)
        self._report_what_was_lost(outcomes)
        self._report_what_is_covered(asked, body)

    @cell_magic
    @no_var_expand
    @documented("As %%accel, and say how long it waited and ran, for how many device-seconds, and its peak memory.")
    def accel_time(self, line: str, cell: str) -> None:
        asked = self._parse("accel_time", line)
        body = self._body(f"%%accel_time {line}", cell, asked)
        started = time.monotonic()
        ref = self._submit(body, asked, {})
        (outcome,) = _wait([ref], asked.get("timeout"))
        wall_s = time.monotonic() - started
        _publish(outcome)
        self._bind(asked, [outcome])
        self._report_what_was_lost([outcome])
        self._report_what_is_covered(asked, body)
        rows = [row for row in api.snapshot().tasks if row.task_id == ref.task_id().hex()]
        in_all = accounting.total(engine.current().history(ReadAccounting()))
        view.show(timing_view(wall_s, rows[0] if rows else None, in_all))

    @in_one_line
    def _parse(self, magic: str, line: str) -> dict[str, Any]:
        asked = arguments.parse(line, options.MAGICS[magic], self.shell.var_expand)
        name = asked.get("o", "result")
        if asked.get("block") and asked.get("noblock"):
            raise arguments.TypingMistake(
                "--block and --noblock exclude each other; %%accel waits unless told --noblock."
            )
        if not name.isidentifier() or keyword.iskeyword(name):
            raise arguments.TypingMistake(f"'-o {name}': it must be a Python name. Example: -o result")
        return asked

    def _body(self, first_line: str, cell: str, asked: dict[str, Any]) -> Body:
        # The body is cached under the cell's number, with the magic's line, so that a traceback shows the cell's lines.
        filename = self.shell.compile.cache(f"{first_line}\n{cell}", cells.install(self.shell).number)
        code = "\n" + self.shell.transform_cell(cell)  # type: ignore[no-untyped-call]
        item = "item" if "each" in asked else ""
        return prepare(code, filename, self.shell.user_ns, keep="o" in asked, item=item)

    def _items(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        if "each" not in asked:
            return [{}]
        found = cell_items(asked["each"], self.shell.user_ns, self.shell.ev)
        return [{"item": item} for item in found]

    def _submit(self, body: Body, asked: dict[str, Any], given: dict[str, Any]) -> Any:
        try:
            return self._submitted(body, asked, given)
        except (TypeError, PicklingError) as error:  # the body reads a variable whose value cannot be sent
            raise UsageError(_who_cannot_be_sent(body) or str(error)) from None

    @in_one_line
    def _submitted(self, body: Body, asked: dict[str, Any], given: dict[str, Any]) -> Any:
        own = {name: value for name, value in asked.items() if name not in _OWN}
        name = own.pop("name", "accel")
        _let_it_travel()
        task = api.remote(**own)(cell_run.accel) if own else api.remote(cell_run.accel)
        return task.options(name=name).remote(body, given)

    def _bind(self, asked: dict[str, Any], values: list[Any]) -> None:
        if "o" in asked:
            self.shell.user_ns[asked["o"]] = values if "each" in asked else values[0]

    @staticmethod
    def _report_what_was_lost(outcomes: list[Outcome]) -> None:
        """One line with the names whose values could not be sent back, however many tasks assigned them."""
        reasons = {name: why for outcome in outcomes for name, why in cell_run.lost(outcome).items()}
        if reasons:
            each = "; ".join(f"'{name}' ({why})" for name, why in reasons.items())
            view.show(view.of_message(f"These values cannot be sent and did not come back: {each}."))

    @staticmethod
    def _report_what_is_covered(asked: dict[str, Any], body: Body) -> None:
        """Tell the user when -o binds a name that the cell assigns too: that variable is inside of the outcome."""
        name = asked.get("o")
        if name is not None and name in (body.wants or ()):
            one = f"{name}[0]" if "each" in asked else name
            one = f"nbaccel.get({one})" if asked.get("noblock") else one
            view.show(
                view.of_message(
                    f"-o {name} binds '{name}' to all that the cell left; the '{name}' that the cell assigns is "
                    f"{one}.{name}."
                )
            )


class CellTasksFailed(RayError):
    """Several tasks of one cell failed: `errors` are theirs, `outcomes` are those of the other tasks."""

    def __init__(self, errors: list[RayError], outcomes: list[Outcome], total: int) -> None:
        super().__init__(f"{len(errors)} of {total} tasks failed.")
        self.errors = errors
        self.outcomes = outcomes


def _who_cannot_be_sent(body: Body) -> str:
    """The notebook's variable that cannot be pickled; an engine's own message blames our record around it."""
    for name, value in body.reads.items():
        try:
            cloudpickle.dumps(value)
        except Exception as error:  # pickling may raise anything
            return (
                f"'{name}' cannot be sent along: {error}. Make it inside the cell, or send what is needed to make it."
            )
    return ""


def _let_it_travel() -> None:
    """Send the code that runs the body along with it: a Ray node may have neither nbaccel nor IPython."""
    ray = sys.modules.get("ray")
    if ray is not None:
        ray.cloudpickle.register_pickle_by_value(cell_run)


def _wait(refs: list[Any], timeout_s: float | None) -> list[Outcome]:
    """Wait for the outcomes, and until what the tasks have printed is shown: it stands above results and errors.

    Raises the error of the task that failed, or CellTasksFailed for several.
    """
    shows = engine.current()
    try:
        outcomes = _outcomes(refs, timeout_s)
    except Exception:
        shows.await_output(_OUTPUT_S)
        raise
    shows.await_output(_OUTPUT_S)
    return outcomes


def _outcomes(refs: list[Any], timeout_s: float | None) -> list[Outcome]:
    """After the timeout the tasks are cancelled, because nobody waits for them any more."""
    try:
        if len(refs) == 1:
            return [api.get(refs[0], timeout=timeout_s)]
        return _wait_for_all(refs, timeout_s)
    except GetTimeoutError as error:
        if isinstance(error, RayTaskError):  # the cell's code raised it, so its task has ended
            raise
        for ref in refs:
            api.cancel(ref)
        if len(refs) > 1:
            raise
        raise GetTimeoutError(f"The task has not ended within {timeout_s:g} s; it is cancelled.") from None


def _wait_for_all(refs: list[Any], timeout_s: float | None) -> list[Outcome]:
    if refs:
        with suppress(ImportError):  # a terminal without tqdm
            nbaccel.progress(refs)
    ready, late = api.wait(refs, num_returns=len(refs), timeout=timeout_s) if refs else ([], [])
    if late:
        raise GetTimeoutError(
            f"{len(late)} of {len(refs)} tasks have not ended within {timeout_s:g} s; they are cancelled."
        )
    outcomes: list[Outcome] = []
    errors: list[RayError] = []
    for ref in ready:
        try:
            outcomes.append(api.get(ref))
        except RayError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else CellTasksFailed(errors, outcomes, len(refs))
    return outcomes


def _publish(outcome: Outcome) -> None:
    for data, metadata in cell_run.shown(outcome):
        if len(data) > 1:
            data = {mime: value for mime, value in data.items() if mime != _WIDGET}
        publish_display_data(data, metadata)  # type: ignore[no-untyped-call]


def timing_view(wall_s: float, row: TaskRow | None, in_all: str = "") -> view.View:
    """How long a task took and what it used; `in_all` is the use of the whole cluster."""
    said = timing(wall_s, row)
    shown = [blocks.paragraph(blocks.words(said, strong=True)), blocks.note(in_all) if in_all else blocks.NOTHING]
    return view.View("\n".join(filter(None, (said, in_all))), blocks.box(shown))


def timing(wall_s: float, row: TaskRow | None) -> str:
    """ "3.2 s, of which 0.1 s waiting; 3.1 device-seconds; peak memory 1.2 GiB"."""
    facts = [f"{wall_s:.2f} s"]
    if row is None or row.started_at is None or row.finished_at is None:
        return f"{facts[0]} (the task is not in the snapshot any more, so what it used is unknown)"
    if row.submitted_at is not None:
        facts.append(f"waited {row.started_at - row.submitted_at:.2f} s")
    devices = sum(row.demand.get(name, 0.0) for name in row.device_ids)
    facts.append(f"{(row.finished_at - row.started_at) * devices:.2f} device-seconds" if devices else "no device")
    peak = row.peak_memory_bytes
    facts.append("peak memory unknown" if peak is None else f"peak memory {wording.size(peak)}")
    return wording.sentence(facts)


# ---- the items of `%%accel --each`: an expression of the notebook's names, or one line that says what is wrong


def cell_items(expression: str, variables: Mapping[str, Any], evaluate: Callable[[str], Any]) -> list[Any]:
    """All items of the expression's value. An exception of the user's own code is raised unchanged.

    Raises UsageError for an expression that is no Python, for an unknown name, and for a value that has no items.
    """
    _check(expression, variables)
    found = evaluate(expression)
    try:
        each = iter(found)
    except TypeError:
        kind = type(found).__name__
        raise UsageError(
            f"'--each={expression}': a value of type {kind} has no items. Example: --each=range(4)"
        ) from None
    return list(each)


def _check(expression: str, variables: Mapping[str, Any]) -> None:
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise UsageError(
            f"'--each={expression}' is not a Python expression: {error.msg}. Example: --each=items"
        ) from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known = {*variables, *bound}
    for node in names:
        if node.id not in known and not hasattr(builtins, node.id):
            near = difflib.get_close_matches(node.id, [name for name in known if not name.startswith("_")], n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"'--each={expression}': there is no variable '{node.id}' in this notebook.{hint}")
