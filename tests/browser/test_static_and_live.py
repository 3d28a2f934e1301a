"""What is saved as HTML says what the live view says of the same snapshot: the same rows, words and colours."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import accounting, blocks, card, page_pictures, publishing, static_tables, timeline, view
from nbaccel.notebook.kept_history import KeptReadings
from nbaccel.views import task_lines
from nbaccel.views.history.answers import AccountingAnswer, ReadingsAnswer, RunsAnswer
from nbaccel.views.snapshot import Snapshot
from tests.browser import sights
from tests.browser.loose import LoosePage
from tests.notebook.levels import LEVELS

READ = """
root => {
  const words = (node, at) => {
    const parts = [];
    const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const parent = walk.currentNode.parentElement;
      if (!parent.closest("tbody button, .ask, .chip, title")) parts.push(walk.currentNode.data);
    }
    return parts.join(" ").replace(/[·\\s]+/g, " ").trim();
  };
  const colour = node => getComputedStyle(node).backgroundColor;
  const tables = [...root.querySelectorAll("table")].map(table => {
    const [heads, ...rows] = [...table.rows].map(row => [...row.cells].map(words));
    const swatches = [...table.querySelectorAll(".swatch, .nbaccel-swatch")].map(colour);
    const running = [...table.querySelectorAll(".sign.ink, .nbaccel-pill > span")];
    const signs = running.filter(sign => sign.textContent === "●").map(sign => getComputedStyle(sign).color);
    return { caption: words(table.caption), heads, rows, swatches, signs };
  });
  const runs = root.querySelectorAll("svg.timeline rect.run, svg:not(.timeline) rect[rx]:not([opacity])");
  const bars = [...runs].map(bar => ({ box: bar.getBoundingClientRect(), style: getComputedStyle(bar) }));
  const [left, right] = [Math.min(...bars.map(({ box }) => box.left)), Math.max(...bars.map(({ box }) => box.right))];
  const tops = [...new Set(bars.map(({ box }) => Math.round(box.top)))].sort((a, b) => a - b);
  const place = x => (x - left) / (right - left);
  const placed = bars.map(({ box, style }) =>
    [tops.indexOf(Math.round(box.top)), place(box.left), place(box.right), style.fill, style.stroke]);
  const lines = [...root.querySelectorAll("svg path.area, svg[aria-hidden] > path:not(.under, .nbaccel-under)")].length;
  return { tables, bars: placed.sort(([a, b], [c, d]) => a - c || b - d), lines, words: words(root) };
}
"""


def read_live(page: LoosePage) -> dict[str, Any]:
    page.page.evaluate("frame()")
    return dict(page.root.evaluate(READ))


def read_static(page: LoosePage, html: str) -> dict[str, Any]:
    """What the same browser reads in static HTML."""
    other = page.page.context.new_page()
    try:
        other.set_content(f"<!doctype html><title>saved</title><body>{html}</body>")
        return dict(other.locator("body").evaluate(READ))
    finally:
        other.close()


def filled(table: dict[str, Any]) -> list[dict[str, str]]:
    """The rows by their heads, each with the line below it; without buttons and columns that no row fills."""
    rows: list[dict[str, str]] = []
    for row in table["rows"]:
        if len(row) == 1 < len(table["heads"]):
            rows[-1]["below"] = row[0]
        else:
            rows.append({**dict(zip(table["heads"], row, strict=True)), "below": ""})
    used = [head for head in [*table["heads"], "below"] if head != "Actions" and any(row[head] for row in rows)]
    return [{head: row[head] for head in used} for row in rows]


def few_of_each_function(shown: Snapshot) -> Snapshot:
    """Without the tasks that a page puts into one row for their function; methods are calls of actors."""
    numbers: Counter[str] = Counter()
    tasks = []
    for row in shown.tasks:
        row.kind = "actor task" if "." in row.name else row.kind
        numbers[row.function or row.name] += 1
        tasks += [row] if numbers[row.function or row.name] <= 8 else []
    return msgspec.structs.replace(shown, tasks=tasks, functions=[])


@pytest.fixture(params=[(2, "busy"), (8, "failing")], ids=["two busy devices", "eight devices, some failing"])
def shown(request: pytest.FixtureRequest) -> Snapshot:
    return few_of_each_function(sights.snapshot(*request.param))


@pytest.fixture
def page(browser: Any, shown: Snapshot) -> Any:
    made = LoosePage(
        browser,
        json.loads(publishing.to_json(publishing.of_snapshot(shown))),
        clock=sights.NOW,
        viewport={"width": 1400, "height": 900},
        timezone_id="UTC",
    )
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_tables_of_devices_tasks_and_actors_have_the_same_rows_in_order_and_colours(
    page: LoosePage, shown: Snapshot
) -> None:
    lines = task_lines.ordered(shown.tasks)
    tasks = [row for line in lines for row in sorted(line.rows, key=lambda each: -(each.submitted_at or 0))]
    static = {
        "Devices": static_tables.devices(shown, tiled=True),
        "Tasks": static_tables.tasks(shown, task_lines.each(tasks)),
        "Actors": static_tables.actors(shown),
    }
    for name, html in static.items():
        page.root.get_by_role("tab", name=name).click()
        (live,), (saved,) = read_live(page)["tables"], read_static(page, blocks.box([html]))["tables"]
        rows = [filled(table) for table in (live, saved)]
        assert waits_at_their_place(rows[0]) == waits_at_their_place(rows[1]), name
        if not any(map(_waits, rows[0])):  # which a saved table has by their reasons
            assert live["swatches"] == saved["swatches"] and live["signs"] == saved["signs"], name
        assert Counter(live["swatches"]) == Counter(saved["swatches"]), name
        assert Counter(live["signs"]) == Counter(saved["signs"]), name


def _waits(row: dict[str, str]) -> bool:
    return "waiting" in row.get("State", "")


def waits_at_their_place(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows in their order; those that wait, which a saved table has by their reasons, by their words."""
    waits = iter(sorted(filter(_waits, rows), key=lambda row: list(row.values())))
    return [next(waits) if _waits(row) else row for row in rows]


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "not counted"])
def test_rows_of_functions_say_the_same(browser: Any, counted: bool) -> None:
    shown = sights.snapshot(8, "failing")
    shown.functions = shown.functions if counted else []
    lines = task_lines.ordered(shown.tasks, functions=shown.functions, is_partial=True)
    page = LoosePage(browser, json.loads(publishing.to_json(publishing.of_snapshot(shown))), clock=sights.NOW)
    try:
        page.root.get_by_role("tab", name="Tasks").click()
        progress = page.root.locator("tr.group th > span.quiet")
        progress.first.wait_for()
        live = progress.all_inner_texts()
        (saved,) = read_static(page, blocks.box([static_tables.tasks(shown, lines)]))["tables"]
    finally:
        page.close()
    said = [line.progress() for line in lines if line.function]
    assert [words.replace("\u00a0", " ") for words in live] == said
    told = [row["State"].replace(" ✕", "") for row in filled(saved)]
    assert [words for words in told if words[0].isdigit() or "newest" in words] == [
        words.replace(" ·", "") for words in said
    ]
    assert said == [
        "1196 of 1214 · 2 running · 2 waiting · 14 failed"
        if counted
        else "of the newest 24: 2 running · 2 waiting · 14 failed · 6 finished"
    ]


def test_alerts_stand_in_the_same_order_everywhere(page: LoosePage, shown: Snapshot) -> None:
    messages = [alert.message for alert in shown.alerts]
    page.root.get_by_role("tab", name="Alerts").click()
    opened = page.root.get_by_role("tabpanel", name="Alerts")
    opened.wait_for()
    live = opened.get_by_role("listitem").all_inner_texts()
    saved = read_static(page, view.status_html(shown))["words"]
    places = [saved.index(" ".join(message.replace("·", " ").split())) for message in messages]
    assert len(live) == len(messages) and places == sorted(places)
    for words, message in zip(live, messages, strict=True):
        assert message in words.replace("\u00a0", " ")
    if messages:
        assert card.text(shown).splitlines()[-1].startswith(f"attention: {messages[0]}")


LINES = """
root => {
  const parts = ".bar > *, .nbaccel-bar > *, .swatch, .nbaccel-swatch";
  const colour = part => {
    const { backgroundImage: hatched, backgroundColor: plain } = getComputedStyle(part);
    return hatched === "none" ? plain : hatched;
  };
  const colours = node => [...node.querySelectorAll(parts)].map(colour);
  const words = node => {
    const copy = node.cloneNode(true);
    for (const each of copy.querySelectorAll("style, .aside, .chip, .nbaccel-between, .nbaccel-at")) each.remove();
    for (const each of copy.querySelectorAll(".device")) each.querySelector(".label").textContent = each.dataset.device;
    for (const each of copy.querySelectorAll("span, button")) each.append(" ");
    return copy.textContent.replace(/[·✕\\s]+/g, " ").replace(/ ?([,:])/g, "$1").trim();
  };
  const lines = [...root.querySelectorAll(".top, .one-line, p")].filter(line => line.className !== "said");
  return lines.map(line => [words(line), colours(line)]);
}
"""


def as_card(browser: Any, shown: Snapshot) -> LoosePage:
    """The page with the compact form."""
    given = json.loads(publishing.to_json(publishing.of_snapshot(shown)))
    size = {"width": 1400, "height": 900}
    return LoosePage(browser, given, details=False, clock=sights.NOW, viewport=size, timezone_id="UTC")


@pytest.mark.parametrize("alerts", [True, False], ids=["with alerts", "without alerts"])
@pytest.mark.parametrize("condition", ["empty", "busy", "failing"])
@pytest.mark.parametrize("devices", [2, 8, 64])
def test_the_four_lines_of_the_card_say_the_same(browser: Any, devices: int, condition: str, alerts: bool) -> None:
    shown = sights.snapshot(devices, condition)
    shown.alerts = shown.alerts if alerts else []
    page = as_card(browser, shown)
    try:
        other = page.page.context.new_page()
        other.set_content(f"<!doctype html><title>saved</title><body>{card.html(shown)}</body>")
        live, saved = (each.evaluate(LINES) for each in (page.root, other.locator("body")))
        heights = [round(each.bounding_box()["height"]) for each in other.locator("p").all()]
    finally:
        page.close()
    assert len(live) == len(saved) == len(card.text(shown).splitlines()) == 4
    assert live == saved
    assert max(heights) <= 48, "the last line may be long, and is not cut"


def _opened(page: LoosePage, name: str) -> None:
    """Opens a view; it asks about the past a moment after the view before."""
    page.pass_time(300)
    page.root.get_by_role("tab", name=name).click()


def _past(shown: Snapshot, ask: str, kind: type[Any]) -> tuple[dict[str, Any], Any]:
    """(the answer as a page gets it, the same as a record)."""
    said = json.loads(sights.past(shown, "failing")[ask])
    return said, msgspec.convert({name: value for name, value in said.items() if name != "hues"}, kind, strict=False)


def test_the_accounting_says_the_same(page: LoosePage, shown: Snapshot) -> None:
    said, answer = _past(shown, "accounting", AccountingAnswer)
    _opened(page, "Accounting")
    page.recall("accounting", said)
    live, saved = read_live(page), read_static(page, accounting.accounting_view(answer, shown).html)
    assert [table["caption"] for table in live["tables"]] == [table["caption"] for table in saved["tables"]]
    for one, other in zip(live["tables"], saved["tables"], strict=True):
        assert filled(one) == filled(other)
        assert one["swatches"] == other["swatches"]
    assert accounting.total(answer) in live["words"] and accounting.total(answer) in saved["words"]


def test_nodes_have_the_same_names_in_both(browser: Any) -> None:
    shown = sights.with_long_node_names(sights.snapshot(16, "busy"))
    page = LoosePage(browser, json.loads(publishing.to_json(publishing.of_snapshot(shown))), clock=sights.NOW)
    said, answer = _past(shown, "accounting", AccountingAnswer)
    try:
        _opened(page, "Accounting")
        page.recall("accounting", said)
        live, saved = read_live(page), read_static(page, accounting.accounting_view(answer, shown).html)
        names = [row["Device"] for row in filled(live["tables"][-1])]
        assert names == [row["Device"] for row in filled(saved["tables"][-1])]
        assert names[0] == "raycluster-ku…ycluste000 GPU 0" and len(set(names)) == 16
        whole = page.root.get_by_role("row", name="GPU 15").get_by_role("rowheader").get_attribute("title")
        assert whole == shown.nodes[1].name
    finally:
        page.close()


def test_the_timeline_that_is_saved_is_the_one_that_was_drawn(page: LoosePage, shown: Snapshot) -> None:
    said, answer = _past(shown, "runs", RunsAnswer)
    _opened(page, "Timeline")
    page.recall("runs", said)
    page.pass_time(300)
    page.root.get_by_role("button", name="Whole run").click()
    page.page.wait_for_function("asked.at(-1).key.endsWith(' all')")
    page.recall("runs", said)
    names = page.root.locator("p:has(.swatch) span.nowrap").all_inner_texts()
    live = read_live(page)
    words = page.root.get_by_role("region", name="Timeline").locator("text").all_text_contents()
    page.push(json.loads(publishing.to_json(publishing.of_snapshot(shown))) | {"ended": True})
    (sent,) = [each["pictures"] for each in page.sent() if each["say"] == "pictures"]
    pictures = page_pictures.cleaned(sent)
    saved = read_static(page, blocks.box(timeline.sections(answer, shown, pictures)))
    assert len(live["bars"]) == len(saved["bars"]) > 5
    for one, other in zip(live["bars"], saved["bars"], strict=True):
        assert [one[0], *one[3:]] == [other[0], *other[3:]], "the same line, colour and outline"
        assert one[1:3] == pytest.approx(other[1:3], abs=0.004), "from the same moment to the same moment"
    for said_there in [*words, *names]:
        assert " ".join(said_there.split()) in " ".join(saved["words"].split())
    runs = Counter[str]()
    for row in timeline.table(answer, shown).rows:
        runs[row[1].removesuffix(" and others")] += int(row[3])
    for name in names:
        function, _, number = name.strip().partition(" × ")
        assert runs[function] == int(number or 1)


def test_the_last_two_minutes_are_lines_in_both(page: LoosePage, shown: Snapshot) -> None:
    said, answer = _past(shown, "readings", ReadingsAnswer)
    page.recall("readings", said)
    kept = KeptReadings()
    kept.add(answer)
    saved = read_static(page, blocks.box(kept.sections(shown)))
    devices = [row.index for row in shown.devices]
    assert [row["Device"] for row in filled(saved["tables"][0])] == [f"GPU {number}" for number in devices]
    assert saved["lines"] == page.root.locator("svg.spark path:not(.under)").count() == 3 * len(devices)
    assert page.root.locator(".measure").first.get_attribute("title") == (
        f"utilisation: {filled(saved['tables'][0])[0]['Load'].partition(', ')[2]} in the last two minutes"
    )


def test_each_level_keeps_the_words_that_the_page_shows(page: LoosePage, shown: Snapshot) -> None:
    html = blocks.box(
        [static_tables.devices(shown, tiled=True), static_tables.tasks(shown, task_lines.each(shown.tasks))]
    )
    full, *others = (read_static(page, level(html)) for level in LEVELS.values())
    for other in others:
        assert [table["rows"] for table in other["tables"]] == [table["rows"] for table in full["tables"]]
