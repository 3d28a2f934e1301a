// What Python packs by columns is unpacked into the same rows.

import assert from "node:assert/strict";
import test from "node:test";
import { unpacked } from "../src/cockpit/packing.js";

test("rows by columns are the rows again", () => {
  const devices = {
    rows: 3,
    same: { resource: "GPU" },
    each: { id: ["0", "1", "2"] },
    of: { free: [[null, 0], [0, 0, 1]] },
    cut: { uuid: ["GPU-a", ["0", null, ""], "-f"] },
    within: { metrics: { rows: 3, each: { watts: [1, null, 3] } } },
    lists: { holders: { sizes: [1, 0, 2], rows: { rows: 3, same: { name: "f" }, each: { pid: [7, 8, 9] } } } },
  };
  assert.deepEqual(unpacked({ seq: 1, devices, tasks: [{ task_id: "a" }] }), {
    seq: 1,
    devices: [
      { resource: "GPU", id: "0", uuid: "GPU-a0-f", metrics: { watts: 1 }, holders: [{ name: "f", pid: 7 }] },
      { resource: "GPU", id: "1", metrics: {}, holders: [] },
      { resource: "GPU", id: "2", free: 0, uuid: "GPU-a-f", metrics: { watts: 3 }, holders: [{ name: "f", pid: 8 }, { name: "f", pid: 9 }] },
    ],
    tasks: [{ task_id: "a" }],
  });
});

test("a small snapshot is not packed", () => {
  assert.deepEqual(unpacked({ devices: [{ id: "0" }] }), { devices: [{ id: "0" }], tasks: [] });
});
