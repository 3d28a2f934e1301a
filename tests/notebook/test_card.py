"""The card, and the status with all rows, say what the snapshot says, and no name can break out of them."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec
import pytest

from nbaccel.notebook import card, view
from nbaccel.views.snapshot import Alert, ArrivalRow, PublishedRow, Snapshot
from tests.notebook.levels import Reading


class _Words(HTMLParser):
    """The text that a browser shows, and the tags it meets."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.titles: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_card_has_four_lines(busy_snapshot: Snapshot) -> None:
    assert card.text(busy_snapshot).splitlines() == [
        "2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished",
        "1 of 2 CPUs busy · 1 shared GPU has 0.5 free · 1 logical device",
        "GPU 0 ● GPUActor · cell [3] line 14 · 8 s; GPU 1 ◐ train · 0.25 · 3 min 12 s, evaluate · 0.25",
        "attention: GPU 1 keeps 9 GiB that no task holds",
    ]
    page = _Words(card.html(busy_snapshot))
    assert page.tags.count("p") == 4 and "table" not in page.tags
    assert "GPU 1: train · 0.25 · 3 min 12 s, evaluate · 0.25" in page.titles, "where it is cut"


@pytest.mark.parametrize("number", [9, 64, 1000])
def test_of_many_devices_the_holders_are_counted(busy_snapshot: Snapshot, number: int) -> None:
    held, free = busy_snapshot.devices[0], msgspec.structs.replace(busy_snapshot.devices[1], holders=[])
    taken = msgspec.structs.replace(free, free_reason="pid 7 has it")
    busy_snapshot.devices = [msgspec.structs.replace(held, id=str(n)) for n in range(number - 3)] + [free, free, taken]
    said = f"Held by GPUActor × {number - 3} · 2 free · 1 taken by others"
    assert card.text(busy_snapshot).splitlines()[2] == said
    assert said in Reading(card.html(busy_snapshot)).words


def test_one_thing_is_most_worth_knowing(busy_snapshot: Snapshot) -> None:
    """A failure before another alert, an alert before a wait, a wait before a run, a run before a node."""
    busy_snapshot.alerts.insert(0, Alert("failed", "train failed: ValueError", 1.0))
    busy_snapshot.tasks[1].submitted_at = busy_snapshot.time - 5
    run = {"id": "r", "name": "fit", "path": "/r", "state": "running", "reports": 7, "started_at": 1_700_000_000 - 70}
    busy_snapshot.published = [PublishedRow("run", "r", run, 1.0)]
    busy_snapshot.arrivals = [ArrivalRow("n9", "a100", since=busy_snapshot.time - 30)]
    expected = ["attention: train failed: ValueError · and 1 more", "◌ infer waits 5 s: "]
    expected += ["● fit running 1 min 10 s · 7 reports", "◌ a100 arriving for 30 s"]
    expected += ["Nothing waits, and nothing needs attention.", "No task yet. A call makes one: f.remote()"]
    for line in expected:
        last, words = card.text(busy_snapshot).splitlines()[-1], Reading(card.html(busy_snapshot)).words
        assert last.startswith(line)
        assert all(word.strip(":") in words for word in line.removeprefix("attention: ").split()), words
        if busy_snapshot.alerts:
            busy_snapshot.alerts = []
        elif busy_snapshot.tasks:
            busy_snapshot.tasks, busy_snapshot.counts = [], {"RUNNING": 1}
        elif busy_snapshot.published:
            busy_snapshot.published = []
        elif busy_snapshot.arrivals:
            busy_snapshot.arrivals = []
        else:
            busy_snapshot.counts = {}


def test_text_names_every_device_with_its_holder(busy_snapshot: Snapshot) -> None:
    lines = view.status_text(busy_snapshot).splitlines()
    assert lines[0] == "2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished"
    assert lines[1] == "1 of 2 CPUs busy · 1 shared GPU has 0.5 free"
    assert lines[-1] == "nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711"
    first = next(line for line in lines if line.startswith("GPU 0"))
    assert "NVIDIA GPU (logical)" in first
    assert "● held" in first
    assert "GPUActor (pid 52420, cell [3] line 14, 8 s)" in first
    second = next(line for line in lines if line.startswith("GPU 1"))
    assert "NVIDIA A100 " in second
    assert "◐ shared" in second
    assert "12 GiB of 80 GiB, 83 % busy" in second
    assert "train 0.25 (pid 11, 3 min 12 s); evaluate 0.25 (pid 12)" in second


def test_waiting_tasks_and_alerts_say_why(busy_snapshot: Snapshot) -> None:
    text = view.status_text(busy_snapshot)
    assert "◌ infer: waits for 1 GPU; both held" in text
    assert "attention: GPU 1 keeps 9 GiB that no task holds" in text


def test_ten_thousand_waiting_tasks_are_a_count(busy_snapshot: Snapshot) -> None:
    busy_snapshot.counts["PENDING_NODE_ASSIGNMENT"] = 10_000
    assert "◌ and 9999 more tasks" in view.status_text(busy_snapshot)


def test_html_says_what_the_text_says(busy_snapshot: Snapshot) -> None:
    words = " ".join(_Words(view.status_html(busy_snapshot)).words)
    for part in ("2 of 2 GPUs busy", "● held", "GPUActor cell [3] line 14 · 8 s", "both held", "9 GiB"):
        assert part in words


SHOWN = ((view.status_html, view.status_text), (card.html, card.text))


@pytest.mark.parametrize("where", ["holder", "task", "alert", "device", "resource", "version"])
def test_a_hostile_name_stays_text(busy_snapshot: Snapshot, where: str) -> None:
    hostile = "<img src=x onerror=alert(1)>\x1b[31m"
    places = {
        "holder": (busy_snapshot.devices[0].holders[0], "name"),
        "task": (busy_snapshot.tasks[1], "name"),
        "alert": (busy_snapshot.alerts[0], "message"),
        "device": (busy_snapshot.devices[0], "name"),
        "resource": (busy_snapshot.devices[0], "resource"),
        "version": (busy_snapshot.runtime, "version"),
    }
    setattr(*places[where], hostile)
    for html, text in SHOWN:
        if where == "task":
            busy_snapshot.alerts = []  # of which the card would speak instead
        page = _Words(html(busy_snapshot))
        assert "img" not in page.tags
        if html is view.status_html or where != "device":  # the card names no model
            assert any("<img src=x onerror=alert(1)>" in word for word in [*page.words, *page.titles])
        assert "\x1b" not in page.rawdata + text(busy_snapshot)


def test_a_machine_without_accelerators_says_what_was_looked_for(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = []
    busy_snapshot.found = ["No NVIDIA GPU: there is no /dev/nvidiactl."]
    for html, text in SHOWN:
        assert "No accelerator. No NVIDIA GPU: there is no /dev/nvidiactl." in text(busy_snapshot)
        assert "there is no /dev/nvidiactl." in html(busy_snapshot)


def test_the_bundle_has_text_and_html_and_asks_the_network_for_nothing(busy_snapshot: Snapshot) -> None:
    bundle = card.mimebundle(busy_snapshot)
    assert set(bundle) == {"text/plain", "text/html"}
    assert "http" not in bundle["text/html"]
    assert "script" not in _Words(bundle["text/html"]).tags


def test_a_device_table_can_be_read_by_a_screen_reader(busy_snapshot: Snapshot) -> None:
    html = view.status_html(busy_snapshot)
    assert ">Devices</caption>" in html
    assert html.count('scope="col"') == 4
    assert html.count('scope="row"') == 2


def test_the_last_card_says_what_came_of_the_tasks_and_that_nobody_holds_a_device(busy_snapshot: Snapshot) -> None:
    busy_snapshot.counts = {"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 1, "FINISHED": 40, "CANCELLED": 1}
    for form in card.last_mimebundle(busy_snapshot).values():
        assert "Shut down at 20" in form
        assert "It had CPU 2 · GPU 2 · 1 × NVIDIA GPU (logical) · 1 × NVIDIA A100." in form
        assert "1 cancelled · 40 finished · 3 ended with it" in Reading(form).words
        assert "running" not in form and "● held" not in form and "train" not in form
        assert "GPU 1 keeps 9 GiB" in form


def test_after_the_end_nothing_waits_and_what_ran_it_is_a_title(busy_snapshot: Snapshot) -> None:
    busy_snapshot.alerts.insert(0, Alert("infeasible", "big asks for 9 GPUs. It waits in case a node joins.", 1.0))
    busy_snapshot.counts["FAILED"] = 2
    last = card.last_mimebundle(busy_snapshot)
    assert not any("It waits" in form for form in last.values())
    assert "It waits" in card.last_mimebundle(busy_snapshot, "left")["text/html"]
    said = last["text/plain"].splitlines()[0]
    assert said.startswith("Shut down at 20") and said.endswith(" · 2 failed · 40 finished · 3 ended with it")
    assert Reading(last["text/html"]).words.startswith("Shut down at 20")
    assert "head pid" not in Reading(last["text/html"]).words and 'title="nbaccel 0.1.0' in last["text/html"]


def test_a_head_that_was_killed_was_not_shut_down(busy_snapshot: Snapshot) -> None:
    busy_snapshot.runtime.shared = True
    for form in card.last_mimebundle(busy_snapshot, "died").values():
        assert "Its head has gone; this was known at 20" in form and "ended with it" in form
        assert "Shut down" not in form and "Left" not in form


def test_after_the_end_equal_models_are_said_once(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = [busy_snapshot.devices[0]] * 4
    for form in card.last_mimebundle(busy_snapshot).values():
        assert form.count("NVIDIA GPU") == 1 and "4 × NVIDIA GPU (logical)" in form


def test_of_a_shared_cluster_that_was_left_the_others_tasks_are_not_counted(busy_snapshot: Snapshot) -> None:
    text = card.last_mimebundle(busy_snapshot, "left")["text/plain"]
    assert "Left at 20" in text and "the shared cluster runs on" in text
    assert "40 finished" in text and "ended with it" not in text


def test_a_card_that_is_displayed_live_says_of_when_it_is(busy_snapshot: Snapshot) -> None:
    for form in card.mimebundle_at(busy_snapshot).values():
        assert "as of 20" in form
