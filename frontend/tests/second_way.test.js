// Orders that a busy kernel does not take are offered to the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Window } from "happy-dom";

import { newState } from "../src/model/state.ts";
import { actions, OFFERED, secondWay } from "../src/widget/actions.ts";

const source = { snapshot: () => ({ runtime: { pid: 4711 } }) };
const order = { say: "cancel", id: "a" };

test("an order that nobody on the page takes is not carried out", () => {
  assert.equal(
    secondWay(new EventTarget(), source, order, () => assert.fail("nobody has answered")),
    false,
  );
});

test("who takes an order gets the head's pid, and says how it went", () => {
  const root = new EventTarget();
  const heard = [];
  root.addEventListener(OFFERED, (event) => {
    event.preventDefault();
    assert.deepEqual([event.detail.message, event.detail.pid], [order, 4711]);
    event.detail.taken("Cancelled train #1.");
  });
  assert.equal(
    secondWay(root, source, order, (words) => heard.push(words)),
    true,
  );
  assert.deepEqual(heard, ["Cancelled train #1."]);
});

test("an order that went both ways is told by the first that answers", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { document, CustomEvent } = new Window();
  const before = globalThis.CustomEvent;
  context.after(() => (globalThis.CustomEvent = before));
  globalThis.CustomEvent = CustomEvent;
  for (const headIsFirst of [true, false]) {
    const [root, state] = [document.createElement("div"), newState(true)];
    document.body.append(root);
    const listening = [];
    const kernel = { ...source, send: () => {}, listen: (listener) => (listening.push(listener), () => {}) };
    const end = actions(root, kernel, state, { redraw() {}, more() {}, look() {}, recall() {}, now: () => 0 });
    let taken;
    root.addEventListener(OFFERED, (event) => {
      event.preventDefault();
      taken = event.detail.taken;
    });
    root.innerHTML = '<button data-act="kill" data-id="a" data-name="lasting">Kill it</button>';
    root.firstChild.click();
    context.mock.timers.tick(1500);
    const fromKernel = (words) => listening[0]({ say: "taken", id: "a", words });
    if (headIsFirst) taken("Killed lasting.");
    fromKernel(headIsFirst ? "lasting has ended already." : "Killed lasting.");
    if (!headIsFirst) taken("No actor has this id.");
    context.mock.timers.tick(10_000);
    assert.equal(state.said, "Killed lasting.");
    end();
    root.remove();
  }
});
