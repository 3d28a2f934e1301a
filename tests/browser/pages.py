"""A notebook in a browser, as a person has it before them."""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import playwright.sync_api as playwright

from tests.browser.servers import ROOT, Server

PATIENCE_S = 120.0  # Ray and its first workers take most of a minute to start on a busy machine
ANSWERS = 30  # to a page's questions, in a row; a page that is laid out may need several tries for one
RELOADS = 5
SCREENSHOTS = ROOT / "docs" / "images"
PAGES = [
    ROOT / "docs" / f"{name}.md"
    for name in ("cockpit", "design", "extension", "machines", "serving", "training", "tuning")
]  # that show them
_numbers = iter(range(1, 10_000))
BEGUN = re.compile(r"\[(\*|\d+)\]")  # the prompt of a cell that runs or has run; one that is not drawn yet says nothing
CELLS = "[...document.querySelectorAll('.jp-Notebook .jp-CodeCell')]"
IS_LEFT = f"(cell => !/{BEGUN.pattern}/.test(cell.querySelector('.jp-InputPrompt')?.textContent))"
ALL_HAVE_BEGUN = f"{CELLS}.length > 0 && !{CELLS}.some({IS_LEFT})"
FIRST_LEFT_IS_SELECTED = f"() => {CELLS}.find({IS_LEFT})?.classList.contains('jp-mod-active')"
# The panel's words go after eight seconds, in which a busy machine may not come to look at them.
NOTE_WHAT_IS_SAID = """panel => {
    if (panel.said) return;
    panel.said = [];
    const above = panel.querySelector('.nbaccel-above');
    const note = () => panel.said.push(above.querySelector('.said')?.textContent ?? '');
    new MutationObserver(note).observe(above, { subtree: true, childList: true, characterData: true });
}"""
HAS_SAID = "words => document.querySelector('.nbaccel-panel')?.said?.some(each => each.includes(words))"
# The selected cell is the last one, and the others have begun: a page that is laid out may have moved the selection.
ONLY_THE_LAST_IS_LEFT = f"""() => {{
    const cells = {CELLS}, last = cells.pop();
    return last?.classList.contains('jp-mod-active') && {IS_LEFT}(last) && !cells.some({IS_LEFT});
}}"""


class NotebookPage:
    """One page with one notebook, of these cells or of a file's `text`. Requests to other machines are refused
    and noted.
    """

    def __init__(
        self,
        browser: Any,
        server: Server,
        cells: Sequence[str],
        *,
        dark: bool = False,
        height: int = 1400,
        text: str | None = None,
        **options: Any,
    ) -> None:
        self.server = server
        self.refused: list[str] = []
        self.dialogs: list[str] = []
        self.frames: list[tuple[float, bytes | str]] = []  # what came from the kernel
        self.watched = 0  # frames that nbaccel-lab's server sent to this page
        self.name = f"notebook{next(_numbers)}.ipynb"
        options = {
            "viewport": {"width": 1300, "height": height},
            "color_scheme": "dark" if dark else "light",
            **options,
        }
        self._context = browser.new_context(**options)
        self._context.route("**/*", self._local_only)
        self.page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        self.page.on("websocket", self._listen)
        asked = self.page.locator("dialog.jp-Dialog:not(:has-text('Shut down nbaccel'))")  # that one a test answers
        self.page.add_locator_handler(asked, self._answer, no_wait_after=True)
        if text is not None:
            server.file(self.name).write_text(text)
        address = server.address(self.name) if text is not None else server.write(self.name, *cells)
        try:
            self.page.goto(address)
        except playwright.Error as error:
            error.add_note(server.told())
            raise
        self._ready()

    def _local_only(self, route: Any) -> None:
        if urlparse(route.request.url).hostname in ("127.0.0.1", "localhost"):
            route.continue_()
        else:
            self.refused.append(route.request.url)
            route.abort()

    def _answer(self, dialog: Any) -> None:
        """The front end asks something, about news or the kernel: the default is what a person would take.

        Where several questions wait, the next one stands there as soon as the one before is answered.
        """
        for _ in range(ANSWERS):
            try:
                self.dialogs.append(dialog.first.inner_text(timeout=2000))
                dialog.first.locator("button.jp-mod-accept, button").last.click(timeout=2000)
                dialog.first.wait_for(state="hidden", timeout=2000)
                return
            except playwright.TimeoutError:
                if not dialog.count():
                    return  # it went while we read it
        raise AssertionError(f"The page goes on asking, whatever is answered: {self.dialogs[-ANSWERS:]}")

    def _listen(self, websocket: Any) -> None:
        if urlparse(websocket.url).path.endswith("/channels"):
            websocket.on("framereceived", lambda frame: self.frames.append((time.monotonic(), frame)))
        if urlparse(websocket.url).path.endswith("/nbaccel/api/v1/watch"):
            websocket.on("framereceived", lambda frame: self._count())

    def _count(self) -> None:
        self.watched += 1

    def _ready(self) -> None:
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        # Before the page has begun to look for a kernel it shows "idle", too. Cells that are run then start one each.
        self.page.locator(".jp-Toolbar-kernelName, .jp-KernelName", has_text="Python").first.wait_for()
        self.page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').first.wait_for(state="attached")

    # ---- what a person does

    def run_all(self) -> NotebookPage:
        """Run every cell. A kernel that shows as idle may still not take the first requests: then it is asked again."""
        left = self.page.locator(".jp-CodeCell", has_not=self.page.locator(".jp-InputPrompt", has_text=BEGUN))
        was_asked = False
        end = time.monotonic() + 2 * PATIENCE_S
        while time.monotonic() < end:
            with suppress(playwright.TimeoutError):
                if not was_asked or left.count():
                    left.first.click(timeout=10_000)  # each time: a page that is laid out may take the focus away
                    self._run_from_here()
                    was_asked = True
                self.page.wait_for_function(ALL_HAVE_BEGUN, timeout=5000)
                return self
        said = self.page.inner_text("body")[:3000]
        raise AssertionError(f"{left.count()} cells have not begun to run; the page says: {said}")

    def _run_from_here(self) -> None:
        """Run the selected cell and those below it, which may not have been drawn yet."""
        for _ in range(3):
            if self._choose("Run", "Run Selected Cell and All Below", only_if=FIRST_LEFT_IS_SELECTED):
                return
        # The item is disabled on the last cell. After a menu, keys may reach nobody; this item reaches the cell.
        if self.page.evaluate(ONLY_THE_LAST_IS_LEFT):
            self._choose("Run", "Run Selected Cell and Do not Advance", only_if=FIRST_LEFT_IS_SELECTED)

    def open_panel(self, command: str = "Show Accelerators") -> Any:
        """The panel of nbaccel-lab, opened by its command."""
        panel = self.page.locator(".nbaccel-panel")
        end = time.monotonic() + 2 * PATIENCE_S
        while not panel.is_visible():
            assert time.monotonic() < end, "The panel does not open."
            self.command(command)
            with suppress(playwright.TimeoutError):
                panel.wait_for(timeout=5000)
        panel.evaluate(NOTE_WHAT_IS_SAID)
        return panel

    def command(self, label: str) -> None:
        """Choose a command from the palette."""
        end = time.monotonic() + 2 * PATIENCE_S
        while not self._command(label):
            assert time.monotonic() < end, f"The palette does not offer {label!r}."

    def _command(self, label: str) -> bool:
        """Whether the command could be chosen. A page that is being laid out may close the palette."""
        field = self.page.locator(".lm-CommandPalette-input")
        chosen = self.page.locator(".lm-CommandPalette-item.lm-mod-active", has_text=label)
        with suppress(playwright.TimeoutError):
            self.page.keyboard.press("Control+Shift+C")
            field.fill(label, timeout=5000)
            chosen.click(timeout=5000)
            return True
        return False

    def menu(self, menu: str, item: str) -> None:
        """Choose an item."""
        end = time.monotonic() + PATIENCE_S
        while not self._choose(menu, item):
            assert time.monotonic() < end, f"{item} of the menu {menu} cannot be chosen."

    def _choose(self, menu: str, item: str, only_if: str = "() => true") -> bool:
        """Whether the item could be chosen. One that is disabled when its menu opens stays so until it opens again.

        `only_if` is asked once the menu is open: a page that is laid out may select another cell until then.
        """
        chosen = self.page.get_by_role("menuitem", name=item).first
        with suppress(playwright.TimeoutError):  # a page that is being laid out may close its menu
            self.page.get_by_role("menuitem", name=menu, exact=True).click(timeout=10_000)
            chosen.wait_for(timeout=10_000)
            if chosen.get_attribute("aria-disabled") != "true" and self.page.evaluate(only_if):
                chosen.click(timeout=10_000)
                return True
        self.page.keyboard.press("Escape")
        self.page.wait_for_timeout(500)
        return False

    def tab_to(self, label: str, most: int = 200) -> None:
        """Press Tab until the element with this label, or these words, has the focus."""
        at = "document.activeElement"
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(f"{at}.getAttribute('aria-label') || {at}.innerText") == label:
                return
        raise AssertionError(f"{most} presses of Tab do not reach {label!r}.")

    def show(self, visibility: str) -> None:
        """Tell the page that it is "hidden", as a tab behind another one is, or "visible" again."""
        said = f"Object.defineProperty(document, 'visibilityState', {{value: '{visibility}', configurable: true}})"
        self.page.evaluate(f"{said}; document.dispatchEvent(new Event('visibilitychange'))")

    def reload(self) -> None:
        """Save, and load the page again; the kernel lives on."""
        self.save("nbaccel-place")
        for _ in range(RELOADS):  # Lab gives the kernel a few seconds to tell of its widgets, too few on a busy machine
            began = time.monotonic()
            self.page.reload()
            self._ready()
            try:
                self.page.locator(".nbaccel-cockpit").first.wait_for(timeout=20_000)
                return
            except playwright.TimeoutError:
                came = {kind: self.messages(kind, began) for kind in ("comm_info_reply", "comm_msg", "comm_close")}
                said = f"the kernel sent {came}; dialogs: {self.dialogs}; the page says: {self.page.inner_text('body')}"
        raise AssertionError(f"The widget is not shown after {RELOADS} reloads: {said[:3000]}")

    def save(self, words: str) -> str:
        """Save the notebook; returns the file's text once these words stand in its outputs."""
        self.menu("File", "Save Notebook")
        self.until(lambda: any(words in output for output in self.saved()))
        return self.file(self.name).read_text()

    def saved(self) -> list[str]:
        """The outputs of the file as JSON, those of one cell after those of another."""
        try:
            cells = json.loads(self.file(self.name).read_text())["cells"]
        except ValueError:
            return []  # it is being written
        return [json.dumps(output, ensure_ascii=False) for cell in cells for output in cell.get("outputs", ())]

    def end_kernel(self) -> None:
        """End the notebook's kernel from outside."""
        for address in self._sessions():
            request = urllib.request.Request(address, method="DELETE", headers=self.server.headers)
            with suppress(urllib.error.HTTPError):  # it is being restarted; it ends with the server
                urllib.request.urlopen(request).close()

    def layout_has(self, name: str) -> bool:
        """Whether the layout that JupyterLab has saved, for pages that are loaded again, has a part of this name."""
        address = self.server.url(f"lab/api/workspaces/{self.name.split('.')[0]}")
        with urllib.request.urlopen(urllib.request.Request(address, headers=self.server.headers)) as answer:
            return name in json.dumps(json.load(answer)["data"].get("layout-restorer:data", {}))

    def _sessions(self) -> list[str]:
        address = self.server.url("api/sessions")
        with urllib.request.urlopen(urllib.request.Request(address, headers=self.server.headers)) as answer:
            sessions = json.load(answer)
        return [f"{address}/{session['id']}" for session in sessions if session["path"].endswith(self.name)]

    # ---- what a person sees

    def cockpit(self, number: int = 0) -> Any:
        """The cockpit that stands at this place among those of the page."""
        found = self.page.locator(".nbaccel-cockpit").nth(number)
        found.wait_for()
        return found

    def cockpit_in_notebook(self) -> Any:
        """The first cockpit of a cell's output."""
        found = self.page.locator(".jp-OutputArea .nbaccel-cockpit").first
        found.wait_for()
        return found

    def holders(self, number: int = 0) -> dict[str, str]:
        """Device -> who holds it, as the rows say, or the card: {"GPU 0": "train"}."""
        rows = self.cockpit(number).locator("tr[data-device], .device[data-device]")
        names = "[...row.querySelectorAll('.holders .name, .has .name')].map(name => name.textContent).join(' ')"
        read = f"rows => rows.map(row => [row.dataset.device, {names}])"
        return dict(rows.evaluate_all(read))

    def output(self, text: str) -> None:
        """Wait until a cell has printed this."""
        self.page.locator(".jp-OutputArea-output", has_text=text).first.wait_for()

    def printed(self) -> str:
        return "\n".join(self.page.locator(".jp-OutputArea-output pre").all_inner_texts())

    @property
    def is_busy(self) -> bool:
        """Whether a cell runs, by its prompt."""
        return any("*" in text for text in self.page.locator(".jp-InputPrompt").all_inner_texts())

    def until_said(self, words: str) -> None:
        """Wait until the panel has said this in its status line, since `open_panel`."""
        self.page.wait_for_function(HAS_SAID, arg=words)

    def until(self, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < deadline, (
                f"waited {within_s} s; dialogs: {self.dialogs}; the page says: {self.page.inner_text('body')[:3000]}"
            )
            self.page.wait_for_timeout(50)

    def until_quiet(self, count: Callable[[], int], for_s: float) -> int:
        """Wait until what is counted stays the same for so long; what it is then."""
        end = time.monotonic() + 2 * PATIENCE_S
        while True:
            before = count()
            self.page.wait_for_timeout(for_s * 1000)
            if count() == before:
                return before
            assert time.monotonic() < end, f"It is not quiet for {for_s:g} s; the last frames: {self.frames[-3:]}"

    def messages(self, kind: str, since: float = 0.0) -> int:
        """How many messages of this type have come from the kernel."""
        mark = f'"msg_type":"{kind}"'.encode()
        spaced = f'"msg_type": "{kind}"'.encode()
        frames = [frame if isinstance(frame, bytes) else frame.encode() for at, frame in self.frames if at >= since]
        return sum(mark in frame or spaced in frame for frame in frames)

    def screenshot(self, name: str, what: Any, down_to: Any = None) -> None:
        """A screenshot, if the docs show it and NBACCEL_SCREENSHOTS=1 asks for new ones.

        It ends a little below `down_to`, where nothing follows.
        """
        if os.environ.get("NBACCEL_SCREENSHOTS") and any(f"images/{name}.png" in page.read_text() for page in PAGES):
            SCREENSHOTS.mkdir(exist_ok=True)
            path = str(SCREENSHOTS / f"{name}.png")
            if down_to is None:
                what.screenshot(path=path)
                return
            box, last = what.bounding_box(), down_to.bounding_box()
            self.page.screenshot(path=path, clip={**box, "height": last["y"] + last["height"] + 8 - box["y"]})

    def file(self, name: str) -> Path:
        return self.server.folder / name

    def close(self) -> None:
        """Leave, and end the notebook's kernel."""
        self._context.close()
        self.end_kernel()
