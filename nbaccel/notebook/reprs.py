"""What a ref, an actor or a placement group at the end of a cell shows: its state and device as they are then.

The plain text stays Ray's (`ObjectRef(…)`); the HTML is added for this shell only, by IPython's own table of
formatters, so that the classes know nothing of notebooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel import ObjectRef, api, engine
from nbaccel.actor import ActorHandle
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.notebook import markup, views
from nbaccel.views import tables, wording
from nbaccel.views.snapshot import ActorRow, Snapshot, TaskRow

_BUNDLES_SHOWN = 4


def install(shell: InteractiveShell) -> None:
    """Adds HTML to refs, actors and placement groups in this shell."""
    if shell.display_formatter is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(ObjectRef, ref_html)
    html.for_type(ActorHandle, actor_html)
    html.for_type(PlacementGroup, group_html)


def ref_html(ref: Any) -> str | None:
    """The card of the task behind a ref, or whether its value is there, where the picture has no such task.

    None (plain text only) where nothing runs that could know of it.
    """
    if not api.is_initialized():
        return None
    picture = views.seen()
    task_id = ref.task_id().hex()
    row = next((row for row in picture.tasks if row.task_id == task_id), None)
    line = task_line(row, picture) if row is not None else _value_line(ref)
    return markup.box([markup.paragraph(line)]) if line else None


def _value_line(ref: Any) -> str:
    """Of a value that was put, or whose task ended too long ago to be in the picture."""
    if ref._engine is not engine.current():
        return ""  # of a cluster that is over
    ready, _ = api.wait([ref], timeout=0, fetch_local=False)
    return "value · ready" if ready else "value · not ready"


def actor_html(actor: Any) -> str | None:
    """The card of an actor; None where the picture has no such actor."""
    if not api.is_initialized():
        return None
    picture = views.seen()
    actor_id = actor._actor_id.hex()
    row = next((row for row in picture.actors if row.actor_id == actor_id), None)
    return None if row is None else markup.box([markup.paragraph(actor_line(row, picture))])


def group_html(group: Any) -> str | None:
    """The card of a placement group; None where nobody knows it."""
    if not api.is_initialized() or group.is_empty:
        return None
    row = engine.current().group_table(group.id.binary())
    if not row:
        return None
    why = nbaccel.explain(group).sentence if row["state"] in ("PENDING", "RESCHEDULING") else ""
    return markup.box([markup.paragraph(group_line(row, why))])


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


def group_line(row: Mapping[str, Any], why: str = "") -> str:
    """ "placement group 'main' · created · PACK · 2 bundles: 1 GPU; 1 CPU"."""
    bundles = [wording.demand(bundle) for _, bundle in sorted(row["bundles"].items())]
    more = len(bundles) - _BUNDLES_SHOWN
    shown = "; ".join([*bundles[:_BUNDLES_SHOWN], *([f"and {more} more"] if more > 0 else [])])
    name = f" '{wording.plain(row['name'])}'" if row["name"] else ""
    return wording.sentence(
        [
            f"placement group{name}",
            tables.state_word(row["state"]),
            str(row["strategy"]),
            f"{wording.count(len(bundles), 'bundle')}: {shown}" if bundles else "",
            wording.plain(why),
        ]
    )
