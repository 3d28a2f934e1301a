"""The cockpit's module in a bare page, with a stand-in for the widget's model: for drawing without a server."""

from __future__ import annotations

import json
from typing import Any

from tests.browser.servers import ROOT

STATIC = ROOT / "nbaccel" / "notebook" / "static"
_MOUNT = """
async ([module, past, snapshot, details, runs, runs_code]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const listeners = {};
  const state = { snapshot, details, published: runs, runs_code };
  window.sent = [];
  window.asked = []; // about the past
  window.model = {
    get: name => state[name],
    on: (name, call) => (listeners[name] ??= []).push(call),
    off: (name, call) => { listeners[name] = (listeners[name] ?? []).filter(each => each !== call); },
    send: message => {
      (["history", "past"].includes(message.say) ? window.asked : window.sent).push(message);
      if (message.say === "past") { state.past_code = past; call("change:past_code"); }
    },
  };
  const call = (name, given) => (listeners[name] ?? []).forEach(each => each(given));
  window.push = snapshot => { state.snapshot = snapshot; call("change:snapshot"); };
  window.pushRuns = runs => { state.published = runs; call("change:published"); };
  window.tell = message => call("msg:custom", message);
  window.answered = () => { // from now on the kernel takes every order at once
    const send = model.send;
    model.send = message => { send(message); setTimeout(() => tell({ say: "taken", id: message.id, words: "" })); };
  };
  window.frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  window.widget = widget;
  window.end = widget.render({ model: window.model, el: document.body });
}
"""


_EMPTY = "<!doctype html><html lang='en' style='color-scheme: light dark'><title>cockpit</title><body></body></html>"


def _published(runs: dict[str, list[Any]]) -> str:
    """The records as the kernel sends them."""
    kinds = {"runs": "run", "experiments": "experiment", "served": "application"}
    return json.dumps([{"kind": kinds[name], "id": each["id"], "record": each} for name in runs for each in runs[name]])


class LoosePage:
    """A page with one cockpit and nothing else.

    `runs` has the published records of training runs and experiments. With a `clock` (Unix seconds) the page's own
    stands still there.
    """

    def __init__(
        self,
        browser: Any,
        snapshot: dict[str, Any],
        *,
        details: bool = True,
        runs: dict[str, Any] | None = None,
        clock: float | None = None,
        **options: Any,
    ) -> None:
        self._context = browser.new_context(offline=True, **options)
        self.page = self._context.new_page()
        self.page.set_content(_EMPTY)
        if clock is not None:
            self.page.evaluate("at => { window.at = at; Date.now = () => window.at; }", 1000 * clock)
        self.page.evaluate(
            _MOUNT,
            [
                (STATIC / "cockpit.js").read_text(),
                (STATIC / "past.js").read_text(),
                json.dumps(snapshot),
                details,
                _published(runs or {}),
                (STATIC / "runs.js").read_text() if runs else "",
            ],
        )
        self.root = self.page.locator(".nbaccel-cockpit")
        self.root.wait_for()
        # What comes before a view knows that it is seen is not drawn. What it asks then is asked before `pass_time`.
        self.page.wait_for_function("sent.some(each => each.say === 'visible')")

    def pass_time(self, milliseconds: int) -> None:
        """Let the page's clock, which stands still, go on."""
        self.page.evaluate("by => { window.at += by; }", milliseconds)

    def push(self, snapshot: dict[str, Any]) -> None:
        """A new snapshot; returns when it is drawn."""
        self.page.evaluate("async text => { push(text); await frame(); }", json.dumps(snapshot))

    def push_runs(self, runs: dict[str, list[Any]]) -> None:
        """New runs and experiments; returns when they are drawn."""
        self.page.evaluate("async text => { pushRuns(text); await frame(); }", _published(runs))

    def recall(self, ask: str, answer: dict[str, Any]) -> None:
        """Wait until the open view asks this about the past, and answer; returns when it is drawn."""
        self.page.wait_for_function("ask => asked.some(each => each.ask === ask)", arg=ask)
        answered = """async ([ask, answer]) => {
            const { id, key } = asked.findLast(each => each.ask === ask);
            tell({ say: "history", id, ask, key, answer });
            await frame();
        }"""
        self.page.evaluate(answered, [ask, json.dumps(answer)])

    def sent(self) -> list[dict[str, Any]]:
        return list(self.page.evaluate("sent"))

    def close(self) -> None:
        self._context.close()
