"""Every part says the same with its looks, without style sheets, and with nothing but words and tables left."""

from __future__ import annotations

import msgspec
import pytest

from nbaccel.notebook import blocks, card, curves, reprs, static_tables, timeline, view
from nbaccel.notebook.accounting import accounting_view
from nbaccel.notebook.curves import Series
from nbaccel.views import palette, tables, task_lines
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.snapshot import ActorRow, DeviceMetrics, NodeRow, Snapshot
from tests.notebook.levels import LEVELS, Reading, bare, without_style_sheets
from tests.notebook.test_accounting import accounting_answer
from tests.notebook.test_kept_history import kept_history
from tests.notebook.test_timeline import a_failed_run


class _Ref:
    """Stands for a ref of the task with this id."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id

    def task_id(self) -> _Ref:
        return self

    def hex(self) -> str:
        return self._task_id


def _shown(snapshot: Snapshot) -> dict[str, str]:
    """Everything that is shown as HTML, once."""
    snapshot.actors = [ActorRow("a1", "GPUActor", "ALIVE", name="main", device_ids={"GPU": ["0"]}, pid=52420)]
    waits = Explanation("t2", "infer", "PENDING_NODE_ASSIGNMENT", "infer asks for 1 GPU: 0 of 2 are free", "1 GPU")
    losses = Series("trial 1", [(step, 1 / (step + 1)) for step in range(20)], palette.COLOURS[0][0])
    group = {"name": "", "state": "CREATED", "strategy": "SPREAD", "bundles": {n: {"GPU": 1.0} for n in range(6)}}
    return {
        "card": card.html(snapshot, "as of 2026-11-22 14:03:22"),
        "last card": card.last_mimebundle(snapshot, past=kept_history(snapshot).sections(snapshot))["text/html"],
        "devices": blocks.box([static_tables.devices(snapshot)]),
        "tiles": blocks.box([static_tables.devices(_many(snapshot), tiled=True)]),
        "tasks": blocks.box([static_tables.tasks(snapshot, task_lines.ordered(snapshot.tasks))]),
        "actors": blocks.box([static_tables.actors(snapshot)]),
        "settings": view.of_table(tables.Table("Settings", ("Setting", "Value"), [("burst_lines", "60")])).html,
        "timeline": blocks.box(timeline.sections(a_failed_run(), snapshot, blocks.Html("<svg></svg>"))),
        "accounting": accounting_view(accounting_answer()).html,
        "status": view.of_cluster(snapshot).html,
        "refs": reprs.refs_html([_Ref(row.task_id) for row in snapshot.tasks], snapshot),
        "why": blocks.box([reprs.explanations([waits, waits])]),
        "probe": blocks.box([reprs.probe(Probe(Verdict.BUSY, "1 GPU: 0 of 2 are free."))]),
        "group": blocks.box([reprs.group_table(group)]),
        "curve": blocks.box([curves.curve("loss", [losses])]),
    }


def _many(snapshot: Snapshot) -> Snapshot:
    import msgspec

    devices = [msgspec.structs.replace(snapshot.devices[0], id=str(number)) for number in range(64)]
    return msgspec.structs.replace(snapshot, devices=devices)


def test_all_words_and_rows_are_left_at_every_level_in_the_same_order(busy_snapshot: Snapshot) -> None:
    for name, html in _shown(busy_snapshot).items():
        full, *others = (Reading(level(html)) for level in LEVELS.values())
        assert full.words and (full.rows or name in ("card", "tiles", "probe")), name
        for other in others:
            assert (other.words, other.rows) == (full.words, full.rows), name


def test_a_bare_page_has_no_looks_left_and_a_mail_keeps_the_colours(busy_snapshot: Snapshot) -> None:
    for name, html in _shown(busy_snapshot).items():
        page = Reading(bare(html))
        assert not {"style", "svg", "script"} & set(page.tags) and not {"style", "class"} & set(page.attributes), name
    mail = without_style_sheets(_shown(busy_snapshot)["status"])
    assert "background:#" in mail and "text-align:left" in mail


def test_the_bare_status_reads_as_a_person_would_tell_it(busy_snapshot: Snapshot) -> None:
    page = Reading(bare(view.status_html(busy_snapshot)))
    assert page.words.startswith("2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished")
    assert page.rows[0] == ["Device", "In use", "Load, memory, power", "Held by"]
    unknown, held_by = "utilisation unknown memory unknown", "GPUActor cell [3] line 14 · 8 s"
    assert page.rows[1] == ["GPU 0 NVIDIA GPU (logical)", "● held", unknown, held_by]
    assert page.rows[2][1:3] == ["◐ shared", "83 % 12 GiB of 80 GiB"]


def test_a_curve_becomes_a_small_table(busy_snapshot: Snapshot) -> None:
    rows = Reading(bare(_shown(busy_snapshot)["curve"])).rows
    assert rows[0] == ["step", "trial 1"]
    assert rows[1] == ["0", "1"] and rows[-1] == ["19", "0.05"]
    assert len(rows) == 1 + curves.TABLE_ROWS


def test_sixty_four_devices_are_tiles_and_holders_that_are_alike_one_line(busy_snapshot: Snapshot) -> None:
    page = Reading(bare(_shown(busy_snapshot)["tiles"]))
    assert page.tags.count("li") == 64
    assert page.words.startswith("64 × NVIDIA GPU (logical) GPU 0 GPUActor GPU 1 GPUActor")
    assert page.words.endswith("Held by GPUActor × 64")


def test_a_tile_says_the_utilisation_where_it_is_measured(busy_snapshot: Snapshot) -> None:
    many = _many(busy_snapshot)
    many.devices[0].metrics = DeviceMetrics(83.4)
    words = Reading(bare(blocks.box([static_tables.devices(many, tiled=True)]))).words
    assert "GPU 0 GPUActor · 83 % GPU 1 GPUActor GPU 2" in words


def test_what_all_devices_have_in_common_is_said_once(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices[1] = busy_snapshot.devices[0]
    page = Reading(bare(view.status_html(busy_snapshot)))
    assert [row[0] for row in page.rows[1:]] == ["GPU 0", "GPU 0"]
    assert page.words.count("NVIDIA GPU (logical)") == 1 and "2 × NVIDIA GPU (logical)" in page.words


def test_a_failure_alone_is_red(busy_snapshot: Snapshot) -> None:
    assert palette.FAILURE not in without_style_sheets(card.html(busy_snapshot))
    busy_snapshot.counts["FAILED"] = 1
    html = without_style_sheets(card.html(busy_snapshot))
    assert f'color:{palette.FAILURE}">✕</span> 1 failed' in html
    assert palette.FAILURE in blocks.pill("failed", palette.COLOURS[0][0])
    assert palette.WAITING in blocks.pill("waiting", palette.COLOURS[0][0])
    assert palette.COLOURS[0][0] in blocks.pill("running", palette.COLOURS[0][0])


def test_a_device_that_others_have_taken_is_hatched_as_in_the_cockpit(busy_snapshot: Snapshot) -> None:
    taken = busy_snapshot.devices[0]
    taken.holders, taken.free, taken.free_reason = [], 0.0, "9.5 GiB are taken by pid 28001"
    for html in (static_tables.devices(busy_snapshot), card.html(busy_snapshot)):
        assert palette.TAKEN in html


def test_how_far_a_task_is_stands_below_its_time(busy_snapshot: Snapshot) -> None:
    row = next(each for each in busy_snapshot.tasks if each.state == "RUNNING")
    row.progress, row.started_at = (20.0, 80.0), busy_snapshot.time - 8
    html = static_tables.tasks(busy_snapshot, task_lines.each(busy_snapshot.tasks))
    assert '8 s<br><span class="nbaccel-quiet nbaccel-small">25 % · 24 s left</span>' in html


def test_the_engine_its_process_and_version_are_the_first_lines_title(busy_snapshot: Snapshot) -> None:
    assert 'title="nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711"' in card.html(busy_snapshot)


def test_a_task_has_one_colour_on_its_device_and_in_its_row(busy_snapshot: Snapshot) -> None:
    row, holder = busy_snapshot.tasks[0], busy_snapshot.devices[1].holders[0]
    row.name, row.function, holder.name, holder.task_id = "alpha", "train", "alpha", row.task_id
    assert static_tables.task_colour(row) == static_tables.holder_colour(holder, busy_snapshot)


def test_a_long_name_is_cut_by_looks_alone(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks[0].name = "a_function_with_a_name_of_forty_characters"
    html = static_tables.tasks(busy_snapshot, task_lines.each(busy_snapshot.tasks))
    assert html.count("a_function_with_a_name_of_forty_characters") == 2, "as text and as title"


def test_a_reason_that_the_row_above_has_said_is_in_the_title(busy_snapshot: Snapshot) -> None:
    failed = [
        msgspec.structs.replace(busy_snapshot.tasks[0], task_id=f"{number}", state="FAILED", why=why)
        for number, why in enumerate(["ValueError: no", "ValueError: no", "KeyError", "ValueError: no"])
    ]
    html = static_tables.tasks(busy_snapshot, task_lines.each(failed))
    assert html.count(">ValueError: no<") == 2 and html.count("same reason") == 1
    assert '<span class="nbaccel-quiet" title="ValueError: no">same reason</span>' in html
    actors = [ActorRow(id, "Keeper", "RESTARTING", why="its process ended") for id in "ab"]
    html = static_tables.actors(busy_snapshot, actors)
    assert html.count(">its process ended<") == 1 and html.count("same reason") == 1
    fine = msgspec.structs.replace(failed[0], why="")
    assert "same reason" not in static_tables.tasks(busy_snapshot, task_lines.each([fine, fine]))


def test_nothing_says_what_would_be_here_and_what_makes_it_appear(busy_snapshot: Snapshot) -> None:
    assert "<code>f.remote()</code>" in static_tables.tasks(busy_snapshot, [])
    assert "<code>Counter.remote()</code>" in static_tables.actors(busy_snapshot, [])


def test_equal_waits_are_one_line(busy_snapshot: Snapshot) -> None:
    busy_snapshot.tasks += [msgspec.structs.replace(busy_snapshot.tasks[1], task_id=f"t{n}") for n in range(3, 5)]
    busy_snapshot.counts["PENDING_NODE_ASSIGNMENT"] = 3
    lines = [line for line in view.status_text(busy_snapshot).splitlines() if line.startswith("◌")]
    assert lines == ["◌ × 3 infer: waits for 1 GPU; both held"]


@pytest.mark.parametrize("hostile", ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>'])
def test_no_name_breaks_out_of_any_part(busy_snapshot: Snapshot, hostile: str) -> None:
    busy_snapshot.tasks[0].name = busy_snapshot.tasks[0].why = hostile
    busy_snapshot.devices[0].holders[0].name = busy_snapshot.devices[1].name = hostile
    for name, html in _shown(busy_snapshot).items():
        assert not {"img", "script"} & set(Reading(html).tags), name


def test_a_line_of_a_share_is_an_area_in_a_box_and_of_anything_else_a_line_over_zero() -> None:
    share, other = blocks.spark([0.0, 1.0, None, 0.5], of_all=True), blocks.spark([0.0, 1.0, None, 0.5])
    line = 'd="M0 15.0L1 1.0M3 8.0"'
    assert line in share and line in other
    assert 'd="M0 15.0L1 1.0L1 16L0 16ZM3 8.0L3 16L3 16Z"' in share and "border:1px" in share
    assert other.count("<path") == 1 and "border-bottom:1px" in other
    assert "<path" in blocks.spark([None, None], of_all=True)


def test_saved_tiles_stand_below_the_name_of_their_node(busy_snapshot: Snapshot) -> None:
    import msgspec

    shown = _many(busy_snapshot)
    shown.nodes = [NodeRow(f"n{number}", f"gpu-{number}.cluster.example.org") for number in range(8)]
    shown.devices = [
        msgspec.structs.replace(row, node_id=f"n{number % 8}", index=number) for number, row in enumerate(shown.devices)
    ]
    html = static_tables.devices(shown, tiled=True)
    assert html.count("<ul") == 8 and html.count("<li") == 64
    first, second = html.split("<ul")[1:3]
    assert first.count("<li") == 8 and 'aria-label="Devices of gpu-0"' in first
    assert 'title="gpu-1.cluster.example.org">gpu-1<' in first and 'aria-label="Devices of gpu-1"' in second
