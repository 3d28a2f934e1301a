// What nodes are called in every view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sceneOf } from "../src/model/scene.ts";
import { nodeNames } from "../src/model/words.ts";
import { timelineOf } from "../src/past/timeline.ts";
import { ASKED, NOW, busy } from "./snapshots.js";

const POD = "raycluster-kuberay-worker-gpu-group-x7k2p";
const wordsOf = (...names) =>
  [...nodeNames({ nodes: names.map((name, at) => ({ node_id: `n${at}`, name })) }).values()].map(({ words }) => words);

test("a node is called by its name without a domain, and an address is whole", () => {
  assert.deepEqual(wordsOf("gpu-3.cluster.example.org", "10.0.12.34", "fe80::1", "box"), [
    "gpu-3",
    "10.0.12.34",
    "fe80::1",
    "box",
  ]);
  assert.deepEqual(
    wordsOf("gpu.east.org", "gpu.west.org", "cpu.west.org"),
    ["gpu.east.org", "gpu.west.org", "cpu"],
    "which of two it is",
  );
});

test("of a long name the end is kept, which tells it from others", () => {
  assert.deepEqual(wordsOf(POD, "x".repeat(24)), ["raycluster-ku…roup-x7k2p", "x".repeat(24)]);
  assert.ok(wordsOf("y".repeat(300))[0].length === 24);
});

test("all views say the same name, and have the whole in a title", () => {
  const nodes = [POD, "box.example.org"].map((name, at) => ({
    node_id: `n${at}`,
    name,
    leaves_at: NOW + 9,
    idle_since: NOW - 9,
  }));
  const devices = busy().devices.map((device, at) => ({ ...device, node_id: `n${at}` }));
  const snapshot = { ...busy(), nodes, devices };
  const expected = [
    ["raycluster-ku…roup-x7k2p", POD],
    ["box", "box.example.org"],
  ];
  const scene = sceneOf(snapshot, { ...ASKED, tab: "devices" }, NOW);
  assert.deepEqual(
    scene.devices.map(({ node, nodeTitle }) => [node, nodeTitle]),
    expected,
  );
  assert.deepEqual(
    scene.nodes.map(({ name, title }) => [name, title]),
    expected,
  );
  assert.deepEqual(
    timelineOf(snapshot, 0, NOW)
      .lanes.slice(0, 2)
      .map(({ node, nodeTitle }) => [node, nodeTitle]),
    expected,
  );
});
