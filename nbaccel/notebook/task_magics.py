"""The magics about tasks: list them, explain why they wait, show what they printed, cancel them."""

from __future__ import annotations

import time
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

import nbaccel
from nbaccel import api, engine
from nbaccel.actor import ActorHandle
from nbaccel.notebook import (
    arguments,
    blocks,
    cells,
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
from nbaccel.notebook.arguments import TypingMistake, in_one_line
from nbaccel.notebook.options import documented
from nbaccel.notebook.view import View
from nbaccel.views import stored_runs, tables, wording
from nbaccel.views.observer_lines import ReadRuns
from nbaccel.views.snapshot import Snapshot, TaskRow
from nbaccel.views.task_filter import TaskFilter


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
