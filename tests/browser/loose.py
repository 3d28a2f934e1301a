"""The cockpit's module in a bare page, with a stand-in for the widget's model: for drawing without a server."""

from __future__ import annotations

import json
from typing import Any

from tests.browser.servers import ROOT

MODULE = ROOT / "nbaccel" / "notebook" / "static" / "cockpit.js"
_MOUNT = """
async ([module, snapshot, details]) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  const listeners = {};
  const state = { snapshot, details };
  window.sent = [];
  window.model = {
    get: name => state[name],
    on: (name, call) => (listeners[name] ??= []).push(call),
    off: (name, call) => { listeners[name] = (listeners[name] ?? []).filter(each => each !== call); },
    send: message => window.sent.push(message),
  };
  const call = (name, given) => (listeners[name] ?? []).forEach(each => each(given));
  window.push = snapshot => { state.snapshot = snapshot; call("change:snapshot"); };
  window.tell = message => call("msg:custom", message);
  window.frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  window.widget = widget;
  window.end = widget.render({ model: window.model, el: document.body });
}
"""


class LoosePage:
    """A page with one cockpit and nothing else."""

    def __init__(self, browser: Any, snapshot: dict[str, Any], *, details: bool = True, **options: Any) -> None:
        self._context = browser.new_context(offline=True, **options)
        self.page = self._context.new_page()
        self.page.set_content("<!doctype html><html lang='en'><title>cockpit</title><body></body></html>")
        self.page.evaluate(_MOUNT, [MODULE.read_text(), json.dumps(snapshot), details])
        self.root = self.page.locator(".nbaccel-cockpit")
        self.root.wait_for()

    def push(self, snapshot: dict[str, Any]) -> None:
        """A new snapshot; returns when it is drawn."""
        self.page.evaluate("async text => { push(text); await frame(); }", json.dumps(snapshot))

    def sent(self) -> list[dict[str, Any]]:
        return list(self.page.evaluate("sent"))

    def close(self) -> None:
        self._context.close()
