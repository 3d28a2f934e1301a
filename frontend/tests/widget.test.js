// The cockpit as a widget of a kernel's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sourceOf } from "../src/widget/widget.ts";

/** What anywidget gives, of a kernel that may end. */
function model() {
  const listeners = new Map();
  const sent = [];
  let isOpen = true;
  return {
    sent,
    get: () => "",
    on: (name, listener) => listeners.set(name, listener),
    off: (name) => listeners.delete(name),
    send(message) {
      if (!isOpen) throw new Error("Cannot send");
      sent.push(message);
    },
    end() {
      isOpen = false;
      listeners.get("comm_live_update")?.();
    },
  };
}

test("a view whose kernel has ended says nothing to it", () => {
  const kernel = model();
  const source = sourceOf(kernel);
  source.subscribe(() => undefined);
  source.send({ say: "visible" });
  kernel.end();
  source.send({ say: "hidden" });
  assert.deepEqual(kernel.sent, [{ say: "visible" }]);
});

test("a kernel that takes back the last of its runs and applications leaves none in the view", async (context) => {
  context.mock.method(URL, "createObjectURL", () => "data:text/javascript,export default () => (sent) => sent");
  const application = { kind: "application", id: "a", record: { name: "chat" }, job: 2 };
  const snapshot = { runtime: { job: 1 }, jobs: [{ number: 2, name: "b.ipynb" }], hues: { chat: 3 } };
  const sent = { runs_code: "code", snapshot: JSON.stringify(snapshot), published: JSON.stringify([application]) };
  let source;
  await new Promise((loaded) => {
    source = sourceOf({ ...model(), get: (name) => sent[name] });
    source.subscribe(loaded);
    source.snapshot();
  });
  assert.deepEqual(source.snapshot().runs.served, [{ name: "chat", hue: 3, owner: "b.ipynb" }]);
  sent.published = "[]";
  assert.equal(source.snapshot().runs, null);
});
