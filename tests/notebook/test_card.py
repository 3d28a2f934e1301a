"""The card says what the snapshot says, in text and HTML, and no name can break out of it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from nbaccel.notebook import card
from nbaccel.views.snapshot import Alert, Snapshot
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


def test_text_names_every_device_with_its_holder(busy_snapshot: Snapshot) -> None:
    lines = card.text(busy_snapshot).splitlines()
    assert lines[0] == "2 of 2 GPUs busy · 2 running · 1 waiting · 40 finished"
    assert lines[1] == "CPU 1 of 2 free · GPU 0.5 of 2 free"
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
    text = card.text(busy_snapshot)
    assert "◌ infer: waits for 1 GPU; both held" in text
    assert "attention: GPU 1 keeps 9 GiB that no task holds" in text


def test_ten_thousand_waiting_tasks_are_a_count(busy_snapshot: Snapshot) -> None:
    busy_snapshot.counts["PENDING_NODE_ASSIGNMENT"] = 10_000
    assert "◌ and 9999 more tasks" in card.text(busy_snapshot)


def test_html_says_what_the_text_says(busy_snapshot: Snapshot) -> None:
    words = " ".join(_Words(card.html(busy_snapshot)).words)
    for part in ("2 of 2 GPUs busy", "● held", "GPUActor cell [3] line 14 · 8 s", "both held", "9 GiB"):
        assert part in words


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
    page = _Words(card.html(busy_snapshot))
    assert "img" not in page.tags
    assert any("<img src=x onerror=alert(1)>" in word for word in [*page.words, *page.titles])
    assert "\x1b" not in card.text(busy_snapshot)


def test_a_machine_without_accelerators_says_what_was_looked_for(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = []
    busy_snapshot.found = ["No NVIDIA GPU: there is no /dev/nvidiactl."]
    assert "No accelerator. No NVIDIA GPU: there is no /dev/nvidiactl." in card.text(busy_snapshot)
    assert "there is no /dev/nvidiactl." in card.html(busy_snapshot)


def test_the_bundle_has_text_and_html_and_asks_the_network_for_nothing(busy_snapshot: Snapshot) -> None:
    bundle = card.mimebundle(busy_snapshot)
    assert set(bundle) == {"text/plain", "text/html"}
    assert "http" not in bundle["text/html"]
    assert "script" not in _Words(bundle["text/html"]).tags


def test_a_device_table_can_be_read_by_a_screen_reader(busy_snapshot: Snapshot) -> None:
    html = card.html(busy_snapshot)
    assert ">Devices</caption>" in html
    assert html.count('scope="col"') == 4
    assert html.count('scope="row"') == 2


def test_the_last_card_says_what_came_of_the_tasks_and_that_nobody_holds_a_device(busy_snapshot: Snapshot) -> None:
    busy_snapshot.counts = {"RUNNING": 2, "PENDING_NODE_ASSIGNMENT": 1, "FINISHED": 40, "CANCELLED": 1}
    for form in card.last_mimebundle(busy_snapshot).values():
        assert "Shut down at 20" in form and "It had CPU 2 · GPU 2." in form
        assert "1 cancelled · 40 finished · 3 ended with it" in form
        assert "GPU 1" in form and "NVIDIA A100" in form
        assert "running" not in form and "● held" not in form and "train" not in form
        assert "GPU 1 keeps 9 GiB" in form


def test_after_the_end_nothing_waits_and_what_ran_it_is_a_title(busy_snapshot: Snapshot) -> None:
    busy_snapshot.alerts.append(Alert("infeasible", "big asks for 9 GPUs. It waits in case a node joins.", 1.0))
    busy_snapshot.counts["FAILED"] = 2
    last = card.last_mimebundle(busy_snapshot)
    assert not any("It waits" in form for form in last.values())
    assert "It waits" in card.last_mimebundle(busy_snapshot, left=True)["text/html"]
    said = last["text/plain"].splitlines()[0]
    assert said.startswith("Shut down at 20") and said.endswith(" · 2 failed · 40 finished · 3 ended with it")
    assert Reading(last["text/html"]).words.startswith("Shut down at 20")
    assert "head pid" not in Reading(last["text/html"]).words and 'title="nbaccel 0.1.0' in last["text/html"]


def test_after_the_end_equal_models_are_said_once(busy_snapshot: Snapshot) -> None:
    busy_snapshot.devices = [busy_snapshot.devices[0]] * 4
    for form in card.last_mimebundle(busy_snapshot).values():
        assert form.count("NVIDIA GPU") == 1 and "4 × NVIDIA GPU (logical)" in form


def test_of_a_shared_cluster_that_was_left_the_others_tasks_are_not_counted(busy_snapshot: Snapshot) -> None:
    text = card.last_mimebundle(busy_snapshot, left=True)["text/plain"]
    assert "Left at 20" in text and "the shared cluster runs on" in text
    assert "40 finished" in text and "ended with it" not in text


def test_a_card_that_is_displayed_live_says_of_when_it_is(busy_snapshot: Snapshot) -> None:
    for form in card.mimebundle_at(busy_snapshot).values():
        assert "as of 20" in form
