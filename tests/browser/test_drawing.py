"""Drawing by itself: big clusters, what is said to the kernel and when, focus, narrow pages, the end of a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.loose import LoosePage

NOW = 1_700_000_000.0


def cluster(devices: int = 2, tasks: int = 3, seq: int = 1) -> dict[str, Any]:
    """A snapshot of so many devices, each held by a task."""
    rows = [
        {"task_id": f"t{number}", "name": f"task_{number}", "state": "RUNNING", "device_ids": {"GPU": [str(number)]},
         "cell": "[7] line 3", "submitted_at": NOW + number, "started_at": NOW + number, "pid": 100 + number}
        for number in range(tasks)
    ]  # fmt: skip
    held = [
        {"resource": "GPU", "id": str(number), "name": "NVIDIA A100", "free": 0.0,
         "metrics": {"utilisation_percent": (seq * 7 + number) % 100, "memory_used_bytes": 4 << 30},
         "memory_bytes": 80 << 30,
         "holders": [{"name": f"task_{number}", "task_id": f"t{number}", "cell": "[7] line 3", "since": NOW}]}
        for number in range(devices)
    ]  # fmt: skip
    node = {"node_id": "n", "name": "box", "totals": {"GPU": devices}, "available": {"GPU": 0}}
    runtime = {"engine": "local", "version": "0.1.0", "pid": 4711}
    return {"runtime": runtime, "seq": seq, "time": NOW + 600 + seq, "nodes": [node], "devices": held, "tasks": rows,
            "counts": {"RUNNING": tasks}}  # fmt: skip


def test_sixty_four_devices_and_five_hundred_tasks_are_drawn(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(64, 500))
    assert page.root.get_by_role("list", name="Devices").get_by_role("button").count() == 64
    page.root.get_by_role("button", name="GPU 7, held: task_7").click()
    page.root.locator('tr[data-device="GPU 7"]').wait_for()
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.locator("tr[data-task]").first.wait_for()
    assert page.root.locator("tr[data-task]").count() < 60
    page.root.get_by_role("region", name="Tasks").evaluate("region => { region.scrollTop = region.scrollHeight; }")
    page.root.locator("tr[data-task=t0]").wait_for()
    page.push(cluster(64, 500, seq=2))
    assert page.root.locator("tr[data-task=t0]").count() == 1


def test_who_has_gone_to_the_last_row_stays_there_when_rows_are_taller_than_thought(
    loose: Callable[..., LoosePage],
) -> None:
    snapshot = cluster(2, 300)
    for row in snapshot["tasks"]:
        row |= {"state": "PENDING_NODE_ASSIGNMENT", "started_at": None, "device_ids": {}}
    page = loose(snapshot)
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.locator("tr[data-task=t299]").wait_for()
    region = page.root.get_by_role("region", name="Tasks")
    region.evaluate("region => { region.scrollTop = region.scrollHeight; }")
    page.root.locator("tr[data-task=t0]").wait_for()
    for row in snapshot["tasks"]:
        row["why"] = "Both GPUs are busy."  # a line more for each
    page.push({**snapshot, "seq": 2})
    is_last = "() => document.querySelector('[data-task=t0]')?.getBoundingClientRect().bottom <= innerHeight"
    at_end = "region => region.scrollTop + region.clientHeight > region.scrollHeight - 2"
    page.page.wait_for_function(is_last)
    assert region.evaluate(at_end)
    more = {**snapshot["tasks"][0], "task_id": "t300", "name": "task_300", "submitted_at": NOW + 300}
    before = region.evaluate("region => region.scrollTop")
    region.evaluate("region => { region.scrollTop -= 400; }")
    page.push({**snapshot, "seq": 3, "tasks": [*snapshot["tasks"], more], "counts": {"PENDING_NODE_ASSIGNMENT": 301}})
    page.push({**snapshot, "seq": 4})
    assert region.evaluate("region => region.scrollTop") < before - 200, "who has gone back up is left there"


def test_of_a_thousand_devices_tiles_are_drawn_as_they_come_into_view(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(1000, 4))
    region, tiles = page.root.get_by_role("region", name="1000 devices"), page.root.locator(".tile")
    assert tiles.count() < 300
    tile = page.root.get_by_role("button", name="GPU 3, held: task_3")
    tile.evaluate("element => { element.mine = true }")
    page.push(cluster(1000, 4, seq=2))
    tile.get_by_text("17 %").wait_for()
    assert tile.evaluate("element => element.mine")  # changed in its place
    tile.hover()
    page.root.locator(".hover").get_by_text("task_3").wait_for()
    region.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    last = page.root.get_by_role("button", name="GPU 999, held: task_999")
    last.click()
    page.root.locator('tr[data-device="GPU 999"]').wait_for()
    assert tiles.count() < 300
    last.focus()
    page.page.keyboard.press("Shift+Tab")
    page.root.locator(".hover").get_by_text("task_998").wait_for()


def with_tasks(number: int) -> dict[str, Any]:
    """A cluster that has had so many tasks of several states, so many actors, and alerts if tasks have failed."""
    others = {"PENDING_NODE_ASSIGNMENT": min(number, 8000), "FAILED": min(number, 1234), "CANCELLED": min(number, 1200)}
    counts = {"RUNNING": min(number, 64)} | ({**others, "FINISHED": number} if number > 1 else {})
    alerts = [{"kind": "failed", "message": "it failed", "since": NOW}] * min(number - 1, 20)
    more = {"counts": counts, "actor_counts": {"ALIVE": number}, "alerts": alerts}
    return cluster(2, 1) | more


@pytest.mark.parametrize("width", [480, 900, 1400])
@pytest.mark.parametrize("details", [True, False], ids=["tabs", "card"])
def test_the_counts_take_one_line_and_nothing_moves_from_one_to_ten_thousand_tasks(
    loose: Callable[..., LoosePage], width: int, details: bool
) -> None:
    page = loose(with_tasks(1), details=details, viewport={"width": width, "height": 700})
    places = []
    for number in (1, 20, 10_000):
        page.push(with_tasks(number))
        counts = [page.root.get_by_role("button", name=f"{min(number, 64)} running")]
        if number > 1:
            counts.append(page.root.get_by_role("button", name=f"{number} finished"))
        assert len({round(each.bounding_box()["y"]) for each in counts}) == 1, "one line"
        edges = [each.bounding_box() for each in page.root.locator("[role=tab], .strip, .most").all()]
        places.append([(round(each["x"]), round(each["y"])) for each in edges])
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert places[0] == places[1] == places[2]


def test_the_badge_of_failed_tasks_has_a_sign_and_a_name(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2) | {"counts": {"RUNNING": 2, "FAILED": 20}})
    tab = page.root.get_by_role("tab", name="Tasks, 20 failed", exact=True)
    assert tab.inner_text() == "Tasks ✕ 20"
    page.push(cluster(2, 2) | {"counts": {"RUNNING": 2, "FAILED": 1200}})
    page.root.get_by_role("tab", name="Tasks, 1200 failed", exact=True).get_by_text("✕ 999+").wait_for()
    page.push(cluster(2, 2))
    page.root.get_by_role("tab", name="Tasks", exact=True).wait_for()


def cluster_of_nodes(nodes: int, per_node: int = 8) -> dict[str, Any]:
    """The devices of so many nodes, one of each node after the other."""
    made = cluster(nodes * per_node, 4)
    made["nodes"] = [{"node_id": f"n{number}", "name": f"gpu-{number}.cluster.example.org"} for number in range(nodes)]
    for number, device in enumerate(made["devices"]):
        device["node_id"] = f"n{number % nodes}"
    return made


@pytest.mark.parametrize(("width", "in_line"), [(480, 4), (900, 8), (1400, 8)])
def test_tiles_stand_below_the_name_of_their_node_eight_to_a_row(
    loose: Callable[..., LoosePage], width: int, in_line: int
) -> None:
    page = loose(cluster_of_nodes(4), viewport={"width": width, "height": 900})
    for number in range(4):
        tiles = page.root.get_by_role("list", name=f"Devices of gpu-{number}").get_by_role("button")
        boxes = [each.bounding_box() for each in tiles.all()]
        name = page.root.get_by_text(f"gpu-{number}", exact=True)
        assert len(boxes) == 8 and sum(box["y"] == boxes[0]["y"] for box in boxes) == in_line
        assert name.get_attribute("title") == f"gpu-{number}.cluster.example.org"
        assert name.bounding_box()["y"] < boxes[0]["y"] and abs(name.bounding_box()["x"] - boxes[0]["x"]) < 2
        assert tiles.first.get_attribute("aria-label").startswith(f"gpu-{number} GPU {number}, ")


def test_of_very_many_nodes_those_in_sight_are_drawn(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster_of_nodes(125))
    region, tiles = page.root.get_by_role("region", name="1000 devices"), page.root.locator(".tile")
    first, last = (page.root.get_by_role("list", name=f"Devices of gpu-{number}", exact=True) for number in (0, 124))
    assert first.get_by_role("button").count() == 8 and tiles.count() < 200
    height = region.evaluate("element => element.scrollHeight")
    region.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    last.wait_for()
    assert last.get_by_role("button").count() == 8 and tiles.count() < 200
    assert abs(region.evaluate("element => element.scrollHeight") - height) < 3, "room for those that are not drawn"
    last.get_by_role("button").last.click()
    page.root.locator('tr[data-device="GPU 999"]').wait_for()
    page.push({**cluster(1000, 4), "seq": 2})  # all of one node
    page.root.get_by_role("list", name="Devices", exact=True).wait_for()
    assert tiles.count() < 400


@pytest.mark.parametrize("width", [480, 1400])
@pytest.mark.parametrize("devices", [0, 2, 8, 64, 1000])
def test_the_card_has_four_lines(loose: Callable[..., LoosePage], devices: int, width: int) -> None:
    snapshot = cluster(devices, min(devices, 3))
    page = loose(snapshot, details=False, viewport={"width": width, "height": 900})
    lines = page.root.locator(".top, .one-line")
    assert lines.count() == 4
    heights = [round(each.bounding_box()["height"]) for each in lines.all()]
    counts = 24 if width < 700 else 0  # which have a line of their own there, whatever they are
    assert heights[0] <= 32 + counts and max(heights[1:]) <= 32, heights
    whole = page.root.bounding_box()["height"]
    assert whole <= 160 + counts
    most = lines.last
    most.get_by_text("Nothing waits" if devices else "No task yet").wait_for()

    waits = {"task_id": "w", "name": "later", "state": "PENDING_NODE_ASSIGNMENT", "why": "All are busy: " + "x, " * 99}
    page.push({**snapshot, "tasks": [*snapshot["tasks"], waits], "counts": {"PENDING_NODE_ASSIGNMENT": 1}})
    most.get_by_text("later").wait_for()
    alerts = [
        {"kind": "failed", "message": "it failed", "since": NOW},
        {"kind": "leak", "message": "GPU 1 keeps 9 GiB", "since": NOW},
    ]
    page.push({**snapshot, "alerts": alerts})
    most.get_by_text("it failed").wait_for()
    assert lines.count() == 4 and page.root.bounding_box()["height"] <= whole + 6
    page.push({**snapshot, "ended": True})
    most.get_by_text("Shut down at").wait_for()
    if devices:
        page.root.get_by_text(f"It had {devices} × NVIDIA A100").wait_for()
    page.push({**snapshot, "alerts": alerts})
    most.get_by_role("button", name="and 1 more").click()
    page.root.get_by_role("tab", name="Alerts", selected=True).wait_for()


def test_a_narrow_card_names_each_holder_of_eight_devices_once(loose: Callable[..., LoosePage]) -> None:
    snapshot = cluster(8, 8)
    for number in (3, 6):
        snapshot["devices"][number]["holders"][0]["name"] = "shared_by_two"
    page = loose(snapshot, details=False, viewport={"width": 900, "height": 600})
    who = page.root.get_by_role("group", name="Devices").locator(".has")
    assert "shared_by_two 3, 6 ·" in who.inner_text().replace("\u00a0", " ")
    assert who.get_attribute("title").startswith("shared_by_two on GPU 3, GPU 6, task_0 on GPU 0")
    assert who.evaluate("line => line.scrollWidth <= line.clientWidth"), "all of it is in sight"


def test_many_tasks_of_one_function_are_a_row_that_opens(loose: Callable[..., LoosePage]) -> None:
    snapshot = cluster(2, 30)
    for number, row in enumerate(snapshot["tasks"]):
        row |= {"name": "shard", "state": "RUNNING" if number < 12 else "FINISHED", "finished_at": NOW + 50}
    page = loose(snapshot)
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.get_by_text("18 of 30 · 12 running").wait_for()
    assert page.root.locator("tr[data-task]").count() == 0
    page.root.get_by_role("button", name="shard", expanded=False).click()
    page.root.locator("tr[data-task]").first.wait_for()


def test_a_button_has_the_words_that_it_shows_in_its_name(loose: Callable[..., LoosePage]) -> None:
    snapshot = cluster(2, 2)
    snapshot["runtime"]["job"], snapshot["jobs"] = (
        1,
        [{"number": 1, "name": "a.ipynb"}, {"number": 2, "name": "b.ipynb"}],
    )
    snapshot["tasks"][0] |= {"state": "FAILED", "finished_at": NOW + 50}
    snapshot["tasks"][1]["job"] = 2
    page = loose(snapshot | {"counts": {"RUNNING": 1, "FAILED": 1}})
    page.root.get_by_role("tab", name="Tasks, 1 failed", exact=True).click()
    page.root.get_by_role("button", name="Cancel task_1 #t1 of b.ipynb", exact=True).click()
    page.root.get_by_role("button", name="Keep task_1 of b.ipynb", exact=True).wait_for()
    assert page.page.evaluate(FOCUSED) == "Keep task_1 of b.ipynb"
    page.root.get_by_role("button", name="Cancel it: task_1 of b.ipynb", exact=True).click()
    assert page.sent()[-1] == {"say": "cancel", "id": "t1"}


def with_actor(**more: Any) -> dict[str, Any]:
    """A cluster whose first device an actor of this notebook holds."""
    snapshot = cluster(2, 2)
    snapshot["actors"] = [{"actor_id": "c1", "class_name": "Keeper", "state": "ALIVE", "pid": 9, "since": NOW}]
    snapshot["devices"][0]["holders"] = [{"name": "Keeper", "actor_id": "c1", "cell": "[7]", "since": NOW}]
    return snapshot | more


@pytest.mark.parametrize(("view", "where"), [("Actors", "#c1"), ("Devices", "on GPU 0")])
def test_an_actor_is_killed_by_an_answer_and_not_by_a_double_click(
    loose: Callable[..., LoosePage], view: str, where: str
) -> None:
    page = loose(with_actor())
    page.root.get_by_role("tab", name=view).click()
    ask = page.root.get_by_role("button", name=f"Kill Keeper {where}", exact=True)
    keep = page.root.get_by_role("button", name="Keep Keeper", exact=True)
    ask.dblclick()
    keep.wait_for()
    page.root.get_by_role("status").get_by_text("Keeper would lose its state, and its calls would fail.").wait_for()
    keep.click()
    ask.wait_for()
    assert page.page.evaluate(FOCUSED) == f"Kill Keeper {where}", "the keyboard stays at the actor"
    assert not any(each["say"] == "kill" for each in page.sent())
    ask.click()
    page.root.get_by_role("button", name="Kill it: Keeper", exact=True).click()
    assert page.sent()[-1] == {"say": "kill", "id": "c1"}


def test_an_actor_is_killed_by_keys_after_a_question(loose: Callable[..., LoosePage]) -> None:
    page = loose(with_actor())
    page.root.get_by_role("tab", name="Actors").click()
    page.root.get_by_role("button", name="Kill Keeper #c1", exact=True).focus()
    for key, has_focus in (
        ("Enter", "Keep Keeper"), ("Escape", "Kill Keeper #c1"), ("Enter", "Keep Keeper"), ("Enter", "Kill Keeper #c1"),
        ("Enter", "Keep Keeper"), ("Tab", "Kill it: Keeper"),
    ):  # fmt: skip
        page.page.keyboard.press(key)
        page.page.evaluate("frame()")
        assert page.page.evaluate(FOCUSED) == has_focus, key
    assert not any(each["say"] == "kill" for each in page.sent())
    page.page.keyboard.press("Enter")
    assert page.sent()[-1] == {"say": "kill", "id": "c1"}


def with_alerts() -> dict[str, Any]:
    """Alerts on failed tasks, a device, a task that never starts, a lost node, and on what has no row."""
    snapshot = cluster(2, 2)
    waits = {"task_id": "w1", "name": "too_big", "state": "PENDING_NODE_ASSIGNMENT", "why": "asks for 9 GPUs"}
    broken = {"task_id": "e1", "name": "broken", "state": "FAILED", "submitted_at": NOW, "why": "ValueError: no"}
    snapshot["tasks"] += [waits, broken]
    snapshot["counts"] = {"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 1, "FAILED": 1}
    lost = {"node_id": "n2", "name": "far", "alive": False, "why": "it was switched off"}
    snapshot["nodes"][0]["node_id"] = "n1"
    snapshot["nodes"].append(lost)
    snapshot["devices"] = [device | {"node_id": "n1"} for device in snapshot["devices"]]
    snapshot["alerts"] = [
        {"kind": "failed", "message": "broken has failed: ValueError: no", "since": NOW, "task_id": "e1"},
        {"kind": "leak", "message": "GPU 1 keeps 9 GiB", "since": NOW, "device": "1", "node_id": "n1"},
        {"kind": "infeasible", "message": "too_big asks for 9 GPUs", "since": NOW, "task_id": "w1"},
        {"kind": "node lost", "message": "Node far is gone", "since": NOW, "node_id": "n2"},
        {"kind": "leases", "message": "a file cannot be written", "since": NOW},
    ]
    return snapshot


FOCUSED_ROW = "(({ task, device, at, aim }) => task ?? device ?? at ?? aim ?? '')(document.activeElement.dataset)"


@pytest.mark.parametrize("by", ["button", "line", "key"])
def test_an_alert_leads_to_its_tasks_device_row_or_node(loose: Callable[..., LoosePage], by: str) -> None:
    page = loose(with_alerts())
    root = page.root
    for message, label, view, row in (
        ("broken has failed", "Show failed tasks", "Tasks, 1 failed", "tasks"),
        ("GPU 1 keeps", "Show device", "Devices", "GPU 1"),
        ("too_big asks", "Show task", "Tasks, 1 failed", "w1"),
        ("Node far", "Show node", "Nodes", "n2"),
    ):
        root.get_by_role("tab", name="Alerts").click()
        alert = root.get_by_role("listitem").filter(has_text=message)
        button = alert.get_by_role("button", name=label, exact=True)
        if by == "button":
            button.click()
        elif by == "line":
            alert.get_by_text(message).first.click()
        else:
            button.focus()
            page.page.keyboard.press("Enter")
        root.get_by_role("tab", name=view, exact=True, selected=True).wait_for()
        page.page.evaluate("frame()")
        if row == "tasks":
            assert root.get_by_label("State").input_value() == "failed"
            assert root.locator("tr[data-task]").count() == 1
        else:
            assert page.page.evaluate(FOCUSED_ROW) == row
            assert page.page.evaluate("document.activeElement.tagName") == "TR"
    root.get_by_role("tab", name="Alerts").click()
    assert root.get_by_role("listitem").filter(has_text="a file cannot").get_by_role("button").count() == 0


def test_words_of_an_alert_are_selected_without_leaving_it(loose: Callable[..., LoosePage]) -> None:
    page = loose(with_alerts())
    page.root.get_by_role("tab", name="Alerts").click()
    box = page.root.get_by_role("listitem").filter(has_text="broken has failed").bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 80, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2)
    page.page.mouse.up()
    page.page.evaluate("frame()")
    assert page.page.evaluate("String(getSelection())")
    page.root.get_by_role("tab", name="Alerts", selected=True).wait_for()


def test_what_never_starts_leads_to_its_alert_and_back(loose: Callable[..., LoosePage]) -> None:
    page = loose(with_alerts())
    page.root.get_by_role("tab", name="Waiting").click()
    page.root.get_by_role("row", name="too_big").get_by_role("button", name="never: see Alerts").click()
    page.root.get_by_role("tab", name="Alerts", selected=True).wait_for()
    page.page.evaluate("frame()")
    assert page.page.evaluate("document.activeElement.innerText").startswith("⚠ Can never start too_big asks")
    page.root.get_by_role("button", name="Show task").click()
    page.root.locator("tr[data-task=w1]").wait_for()
    assert page.root.locator("tr[data-task]").count() == 1


def test_the_card_and_the_alerts_begin_with_the_same_alert_which_leads_on(loose: Callable[..., LoosePage]) -> None:
    snapshot = with_alerts()
    snapshot["alerts"] = snapshot["alerts"][1:]
    page = loose(snapshot, details=False)
    page.root.get_by_role("button", name="Attention: GPU 1 keeps 9 GiB").click()
    page.root.get_by_role("tab", name="Devices", selected=True).wait_for()
    page.page.evaluate("frame()")
    assert page.page.evaluate(FOCUSED_ROW) == "GPU 1"
    page.root.get_by_role("tab", name="Alerts").click()
    first = page.root.get_by_role("tabpanel", name="Alerts").get_by_role("listitem").first
    assert first.inner_text().startswith("⚠ Memory leak GPU 1 keeps")


def test_a_header_sorts_and_a_count_filters(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 5))
    page.root.get_by_role("button", name="5 running").click()
    page.root.get_by_role("tab", name="Tasks", selected=True).wait_for()
    assert page.root.get_by_label("State").input_value() == "running"
    page.root.get_by_role("button", name="Task", exact=True).click()
    page.root.locator("th[aria-sort=ascending]", has_text="Task").wait_for()
    names = "rows => rows.map(row => row.dataset.task)"
    assert page.root.locator("tr[data-task]").evaluate_all(names) == [f"t{number}" for number in range(5)]
    page.root.get_by_role("button", name="Task", exact=True).click()
    page.root.locator("th[aria-sort=descending]", has_text="Task").wait_for()


def test_the_order_stands_still_under_the_pointer(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 3))
    page.root.get_by_role("tab", name="Tasks").click()
    first = page.root.locator("tr[data-task]").first
    assert first.get_attribute("data-task") == "t2"
    first.hover()
    ended = cluster(2, 3, seq=2)
    ended["tasks"][2] |= {"state": "FINISHED", "finished_at": NOW + 500}
    page.push(ended)
    page.root.locator("tr[data-task=t2]", has_text="finished").wait_for()
    assert first.get_attribute("data-task") == "t2"
    page.root.get_by_role("tab", name="Tasks").hover()
    page.root.locator("tr[data-task]").nth(0).and_(page.root.locator("[data-task=t1]")).wait_for()


def test_a_log_opens_below_its_row_goes_on_and_is_searched(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 3))
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.get_by_role("button", name="Log of task_1").click()
    lines = "".join(f"epoch {number}\n" for number in range(60))
    told: dict[str, Any] = {"pause_s": 0.1, "over": False, "pid": 101, "failure": "", "yours": "", "note": ""}
    empty = {"text": "", "to": 0, "left_out": 0}
    page.recall("task_log", told | {"out": {"text": lines, "to": 500, "left_out": 0}, "err": empty})
    log = page.root.get_by_role("region", name="Log of task_1")
    assert page.root.locator("tr[data-task=t1] + tr.logrow").count() == 1
    text = log.get_by_label("What it has printed")
    assert text.evaluate("pre => pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 1"), (
        "the newest line is in sight"
    )
    page.page.wait_for_function("asked.some(each => each.ask === 'task_log' && each.out_since === 500)")
    more = {"text": "half a bar\rthe end\n", "to": 519, "left_out": 0}
    failed = {"over": True, "failure": "whole\ntraceback", "yours": "my frame"}
    page.recall("task_log", told | failed | {"out": more, "err": empty})
    log.get_by_text("the end").wait_for()
    assert log.get_by_text("half a bar").count() == 0
    assert log.locator("pre").first.inner_text() == "my frame"
    log.get_by_label("Search the log").fill("EPOCH 5")
    log.get_by_text("11 of 61 lines").wait_for()
    page.page.keyboard.press("Escape")
    log.wait_for(state="detached")


def test_a_notice_tells_the_end_of_a_long_task_also_while_nobody_looks(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.page.evaluate("""() => {
        window.told = [];
        window.Notification = class { constructor(title) { told.push(title); } };
        Notification.requestPermission = async () => "granted";
    }""")
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.get_by_role("button", name="Notify me", pressed=False).click()
    page.root.get_by_role("button", name="Notify me", pressed=True).wait_for()
    page.page.evaluate("() => { sent.length = 0; document.body.style.paddingTop = '5000px'; }")
    page.page.wait_for_function("sent.length > 0")
    assert page.sent()[-1]["say"] == "visible", "the kernel goes on sending"
    ended = cluster(2, 2, seq=2)
    ended["tasks"][1] |= {"state": "FINISHED", "finished_at": NOW + 500}
    page.push(ended)
    assert page.page.evaluate("told") == ["task_1 #t1 has finished"]
    page.page.evaluate("end()")
    assert page.sent()[-1]["say"] == "hidden"


_SIDEWAYS = """root => [root, ...root.querySelectorAll('*')]
    .filter(each => ['auto', 'scroll'].includes(getComputedStyle(each).overflowX))
    .filter(each => each.scrollWidth > each.clientWidth)
    .map(each => each.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [480, 900, 1400])
@pytest.mark.parametrize("letters", [40, 300])
def test_no_view_scrolls_sideways(loose: Callable[..., LoosePage], width: int, letters: int) -> None:
    name = f"a_function_with_a_name_of_many_{'x' * letters}"[:letters]
    for devices in (2, 64):
        snapshot = cluster(devices, devices + 4)
        for row in snapshot["tasks"]:
            row["name"] = name
        for row in snapshot["tasks"][devices:]:
            row |= {"state": "FAILED", "why": f"{name} was killed by SIGKILL " * 4}
        snapshot["tasks"][-1] |= {"state": "PENDING_NODE_ASSIGNMENT", "why": f"All are busy: {name} on GPU 0."}
        for device in snapshot["devices"]:
            device["holders"][0] |= {"name": name, "job": 2}
        snapshot["jobs"] = [{"number": 2, "name": f"{name}.ipynb"}]
        snapshot["actors"] = [{"actor_id": "c1", "class_name": name, "name": name, "state": "ALIVE", "job": 2}]
        snapshot["alerts"] = [{"kind": "failed", "message": f"{name} has failed", "since": NOW}]
        snapshot["counts"] = {"RUNNING": devices, "FAILED": 3, "PENDING_NODE_ASSIGNMENT": 1}
        page = loose(snapshot, viewport={"width": width, "height": 700})
        for tab in ("Devices", "Waiting", "Tasks", "Actors", "Timeline", "Accounting", "Alerts"):
            page.root.get_by_role("tab", name=tab).click()
            page.root.get_by_role("tabpanel", name=tab).wait_for()
            if tab != "Accounting":  # nobody answers it here
                page.root.get_by_text("Asking the kernel").wait_for(state="detached")
            assert page.root.evaluate(_SIDEWAYS) == [], (tab, devices)
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width, (tab, devices)
        page.root.get_by_role("button", name="Details").click()
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width, ("card", devices)


@pytest.mark.parametrize("width", [320, 480])
def test_the_names_of_those_who_hold_many_devices_fit_a_narrow_page(
    loose: Callable[..., LoosePage], width: int
) -> None:
    snapshot = cluster(64, 64)
    for device in snapshot["devices"]:
        device["holders"][0]["name"] = "train_the_large_model_on_every_shard_of_the_corpus_once_more_" * 2
    page = loose(snapshot, viewport={"width": width, "height": 700})
    page.root.get_by_text("× 64").first.wait_for()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [480, 900])
def test_a_log_of_long_lines_fits_the_page(loose: Callable[..., LoosePage], width: int) -> None:
    page = loose(cluster(2, 3), viewport={"width": width, "height": 700})
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.get_by_role("button", name="Log of task_1").click()
    out = {"text": f"words of a line {'and more of them ' * 20}\n{'/a/long/path' * 40}\n", "to": 900, "left_out": 0}
    failed = {"failure": f"RuntimeError: {'x' * 400}", "yours": f"{' ' * 40}y = '{'y' * 300}'"}
    told: dict[str, Any] = {"pause_s": 0.1, "over": True, "pid": 101, "note": ""}
    page.recall("task_log", told | failed | {"out": out, "err": {"text": "", "to": 0, "left_out": 0}})
    log = page.root.get_by_role("region", name="Log of task_1")
    text = log.get_by_label("What it has printed")
    text.wait_for()
    assert page.root.evaluate(_SIDEWAYS) == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert text.evaluate("pre => pre.clientWidth") >= width - 100, "the lines have nearly the whole width"
    for part in (log.get_by_role("button", name="Close the log"), log.get_by_label("Search the log")):
        box = part.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width


# What has the focus says this to ears.
FOCUSED = "(at => at.getAttribute('aria-label') ?? at.innerText.replace(/ [▴▾]/, ''))(document.activeElement)"


def test_a_new_snapshot_keeps_the_rows_and_the_focus(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(8, 8))
    row = page.root.locator('tr[data-device="GPU 3"]').element_handle()
    page.root.get_by_role("button", name="Cancel task_3 on GPU 3").focus()
    page.push(cluster(8, 8, seq=2))
    assert row.evaluate("row => row.isConnected")
    assert page.page.evaluate("document.activeElement.dataset.name") == "task_3"


def test_the_keys_of_the_timeline_go_on_after_a_zoom_to_a_time_without_runs(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.root.get_by_role("tab", name="Timeline").click()
    lanes = page.root.get_by_role("region", name="Timeline")
    lanes.focus()
    presses = 0
    while page.root.locator("svg.timeline rect.run").count():
        page.page.keyboard.press("ArrowRight")  # by a fifth of what is shown
        page.page.evaluate("frame()")
        presses += 1
        assert presses < 10, page.root.inner_text()
    page.root.get_by_text("Nothing ran in this time").wait_for()
    page.page.keyboard.press("0")
    page.root.get_by_role("img", name="2 task runs on 2 lanes in 1 min").wait_for()
    page.page.keyboard.press("+")  # what said that nothing ran has gone from above the lanes
    page.root.get_by_role("img", name="2 task runs on 2 lanes in 30 s").wait_for()


def test_the_lines_of_idle_devices_go_on_while_nothing_else_happens(loose: Callable[..., LoosePage]) -> None:
    snapshot = cluster(2, 0)
    for device in snapshot["devices"]:
        device["holders"] = []
    page = loose(snapshot)
    told = {"pause_s": 0.1, "time": NOW, "origin": NOW - 100, "step_s": 2, "steps": 3, "power_watts": 100,
            "prefix": "n/GPU/", "devices": ["0", "1"], "memory": "......", "power": "......"}  # fmt: skip
    page.recall("readings", {**told, "seq": 3, "first": 0, "utilisation": "AAAAAA"})
    load = page.root.get_by_role("meter", name="GPU 0 utilisation")
    assert load.locator("path.area").get_attribute("d") == "M0 15L1 15L2 15"
    page.page.wait_for_function("asked.at(-1).since === 3")
    page.recall("readings", {**told, "seq": 6, "first": 3, "utilisation": "//////"})
    assert load.locator("path.area").get_attribute("d") == "M0 15L1 15L2 15L3 1L4 1L5 1"


def test_a_second_key_counts_before_the_first_is_drawn(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.root.get_by_role("tab", name="Timeline").click()
    lanes = page.root.get_by_role("region", name="Timeline")
    press = "region.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))"
    lanes.evaluate(f"region => {{ {press}; {press}; }}")
    page.root.get_by_role("img", name="2 task runs on 2 lanes in 15 s").wait_for()


def test_a_button_keeps_the_focus_when_another_comes_before_it(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.root.get_by_role("button", name="Details").focus()
    page.push(cluster(2, 2, seq=2) | {"alerts": [{"kind": "failed", "message": "it failed", "since": NOW}]})
    page.root.get_by_role("button", name="1 alert").wait_for()
    assert page.page.evaluate(FOCUSED) == "Details"
    page.root.get_by_role("tab", name="Timeline").click()
    page.root.get_by_role("button", name="Save as Chrome trace").focus()
    box = page.root.get_by_role("img", name="2 task runs").bounding_box()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -100)
    page.root.get_by_role("button", name="Follow").wait_for()
    assert page.page.evaluate(FOCUSED) == "Save as Chrome trace"


def test_a_button_keeps_the_focus_when_its_row_moves(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 3))
    page.root.get_by_role("tab", name="Tasks").click()
    page.root.get_by_role("button", name="Log of task_2").focus()
    names = "rows => rows.map(row => row.dataset.task)"
    assert page.root.locator("tr[data-task]").evaluate_all(names) == ["t2", "t1", "t0"]
    ended = cluster(2, 3, seq=2)
    ended["tasks"][2] |= {"state": "FINISHED", "finished_at": NOW + 500}
    page.push(ended)
    assert page.root.locator("tr[data-task]").evaluate_all(names) == ["t1", "t0", "t2"]
    assert page.page.evaluate(FOCUSED) == "Log of task_2 #t2"


def test_focus_stays_near_when_its_row_goes(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.root.get_by_role("button", name="Cancel task_1 on GPU 1").focus()
    page.push(cluster(2, 1) | {"devices": cluster(1, 1)["devices"]})
    assert page.page.evaluate("document.activeElement.getAttribute('role')") == "tab"


def test_a_view_says_when_it_is_seen_and_when_it_ends(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster())
    page.page.wait_for_function("sent.length > 0")
    assert page.sent()[0]["say"] == "visible"
    page.page.evaluate("() => { document.body.style.paddingTop = '5000px'; }")
    page.page.wait_for_function("sent.at(-1).say === 'hidden'")
    page.page.evaluate("() => { document.body.style.paddingTop = ''; }")
    page.page.wait_for_function("sent.at(-1).say === 'visible'")
    page.page.evaluate("end()")
    assert page.sent()[-1]["say"] == "hidden"
    assert page.root.count() == 0


def test_a_kernel_that_does_not_answer_is_said_to_be_busy(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster())
    page.root.get_by_role("button", name="Cancel task_0 on GPU 0").click()
    assert page.sent()[-1] == {"say": "cancel", "id": "t0"}
    page.root.get_by_text("asked…").wait_for()
    page.root.get_by_text("is told when the running cell ends").wait_for()


def test_a_kernel_that_answers_is_not(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster())
    page.page.evaluate("answered()")
    page.root.get_by_role("button", name="Cancel task_0 on GPU 0").click()
    page.push(cluster(2, 3) | {"devices": []})
    page.page.wait_for_timeout(2000)  # past the moment at which it would be said
    assert page.root.get_by_text("is told when the running cell ends").count() == 0


@pytest.mark.parametrize("width", [560, 620, 900])
def test_every_cancel_is_in_sight_on_a_narrow_page(loose: Callable[..., LoosePage], width: int) -> None:
    page = loose(cluster(), viewport={"width": width, "height": 700})
    button = page.root.get_by_role("button", name="Cancel task_0 on GPU 0")
    box, root = button.bounding_box(), page.root.bounding_box()
    assert box is not None and root is not None
    assert box["x"] + box["width"] <= root["x"] + root["width"]


def test_an_unchanged_snapshot_is_drawn_without_a_change(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(8, 20))
    page.push(cluster(8, 20))
    count = """async text => {
        let changes = 0;
        const observer = new MutationObserver(records => { changes += records.length; });
        const every = {subtree: true, childList: true, attributes: true};
        observer.observe(document.querySelector(".nbaccel-cockpit"), every);
        push(text); await frame(); observer.disconnect(); return changes;
    }"""
    import json

    assert page.page.evaluate(count, json.dumps(cluster(8, 20))) == 0
