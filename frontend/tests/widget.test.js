// The cockpit as a widget of a kernel's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { runsOf } from "../src/cockpit/second.js";
import { sourceOf } from "../src/cockpit/widget.js";

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
  const sent = { runs_code: "code", runs: '{"served":[]}' };
  let runs;
  await new Promise((loaded) => {
    runs = runsOf({ get: (name) => sent[name] }, loaded);
    runs();
  });
  assert.deepEqual(runs(), { served: [] });
  sent.runs = "";
  assert.equal(runs(), null);
});
