// Orders that a busy kernel does not take are offered to the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { OFFERED, secondWay } from "../src/widget/actions.ts";

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
