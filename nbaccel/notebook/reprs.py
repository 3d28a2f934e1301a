"""What a ref or an actor at the end of a cell shows: its state, device, cell and age, as they are at that moment.

The plain text stays Ray's (`ObjectRef(…)`); the HTML is added for this shell only, by IPython's own table of
formatters, so that the classes know nothing of notebooks.
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel import ObjectRef, api, tables, wording
from nbaccel.actor import ActorHandle
from nbaccel.notebook import markup
from nbaccel.snapshot import ActorRow, Snapshot, TaskRow


def install(shell: InteractiveShell) -> None:
    """Adds HTML to refs and actors in this shell."""
    if shell.display_formatter is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(ObjectRef, ref_html)
    html.for_type(ActorHandle, actor_html)


def ref_html(ref: Any) -> str | None:
    """The card of the task behind a ref; None (plain text only) where the picture has no such task."""
    if not api.is_initialized():
        return None
    picture = api.snapshot()
    task_id = ref.task_id().hex()
    row = next((row for row in picture.tasks if row.task_id == task_id), None)
    return None if row is None else markup.box([markup.paragraph(task_line(row, picture))])


def actor_html(actor: Any) -> str | None:
    """The card of an actor; None where the picture has no such actor."""
    if not api.is_initialized():
        return None
    picture = api.snapshot()
    actor_id = actor._actor_id.hex()
    row = next((row for row in picture.actors if row.actor_id == actor_id), None)
    return None if row is None else markup.box([markup.paragraph(actor_line(row, picture))])


def task_line(row: TaskRow, picture: Snapshot) -> str:
    """ "train · running · GPU 1 · pid 4711 · cell [7] line 3 · 8 s"."""
    why = row.why if row.state not in tables.RUNNING else ""
    return wording.sentence(
        [
            wording.plain(row.name),
            tables.state_word(row.state),
            wording.device_ids(row.device_ids),
            f"pid {row.pid}" if row.pid else "",
            wording.cell(row.cell),
            tables.task_age(row, picture.time),
            wording.plain(why),
        ]
    )


def actor_line(row: ActorRow, picture: Snapshot) -> str:
    """ "Trainer 'main' · alive · GPU 0 · pid 4711 · cell [3] line 2 · 3 calls waiting"."""
    name = f" '{wording.plain(row.name)}'" if row.name else ""
    return wording.sentence(
        [
            f"{wording.plain(row.class_name)}{name}",
            tables.state_word(row.state),
            wording.device_ids(row.device_ids),
            f"pid {row.pid}" if row.pid else "",
            wording.cell(row.cell),
            f"{wording.count(row.pending_calls, 'call')} waiting" if row.pending_calls else "",
            wording.count(row.restarts, "restart") if row.restarts else "",
            wording.age(picture.time - row.since) if row.since else "",
            wording.plain(row.why),
        ]
    )
