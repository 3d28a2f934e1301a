// What the views get of a snapshot, whether a kernel or a head has sent it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { shownOf } from "../src/model/scene.ts";
import { busy } from "./snapshots.js";

test("a holder has its function's colour, and rows name a node only where there are several", () => {
  const given = { ...busy(), nodes: [{ node_id: "n1", name: "box" }] };
  given.tasks[0] = { ...given.tasks[0], name: "fold 3", function: "train", node_id: "n1" };
  given.devices = given.devices.map((row) => ({ ...row, node_id: "n1" }));
  const one = shownOf(given);
  assert.deepEqual(
    one.devices.map(({ holders }) => holders.map((each) => each.function)),
    [["train"], ["half", "Keeper"]],
  );
  assert.deepEqual([one.devices[0].node_id, one.tasks[0].node_id], ["", null]);
  const two = shownOf({ ...given, nodes: [...given.nodes, { node_id: "n2", name: "other" }] });
  assert.deepEqual([two.devices[0].node_id, two.tasks[0].node_id], ["n1", "n1"]);
});
