// What is asked about the past, and how an answer adds to what was known.

import assert from "node:assert/strict";
import { test } from "node:test";

import { accountsView, withAccounts } from "../../nbaccel/notebook/past/accounts.js";
import { between, spark } from "../../nbaccel/notebook/cockpit/draw_spark.js";
import { historian, questionOf } from "../../nbaccel/notebook/cockpit/history.js";
import { linesOf, withReadings } from "../../nbaccel/notebook/cockpit/readings.js";
import { WHOLE_RUN, newState } from "../../nbaccel/notebook/cockpit/state.js";
import { NOW, busy } from "./snapshots.js";

const readings = (given) => ({
  seq: 3, pause_s: 2, time: NOW, origin: NOW - 100, step_s: 2, first: 0, steps: 3, power_watts: 100,
  prefix: "5180ff6a4af1/GPU/", devices: ["0", "1"], utilisation: "A/.AAA", memory: "AAA...", power: "AA/AAA", ...given,
});

test("letters are levels, a point is unknown, and devices of a single node are found without its name", () => {
  const known = withReadings(null, readings());
  assert.equal(known.since, 3);
  assert.deepEqual(linesOf(known, { resource: "GPU", id: "0" }).utilisation, [0, 1, null]);
  assert.deepEqual(linesOf(known, { node_id: "5180ff6a4af162560e00", resource: "GPU", id: "1" }).memory, [null, null, null]);
  assert.equal(linesOf(known, { resource: "GPU", id: "7" }), null);
  assert.equal(linesOf(null, { resource: "GPU", id: "0" }), null);
});

test("a later answer adds its steps, and two minutes are kept", () => {
  const first = withReadings(null, readings());
  const later = withReadings(first, readings({ seq: 5, first: 3, steps: 2, utilisation: "//AA", memory: "AAAA", power: "AA/A", power_watts: 200 }));
  const lines = linesOf(later, { resource: "GPU", id: "0" });
  assert.deepEqual(lines.utilisation, [0, 1, null, 1, 1]);
  assert.deepEqual(lines.power, [0, 0, 0.5, 0, 0], "the scale has doubled");
  const last = withReadings(later, readings({ seq: 63, first: 5, steps: 58, utilisation: "A".repeat(116), memory: "A".repeat(116), power: "A".repeat(116), power_watts: 200 }));
  assert.deepEqual(linesOf(last, { resource: "GPU", id: "0" }).utilisation.slice(0, 3), [1, 1, 0]);
  assert.equal(linesOf(last, { resource: "GPU", id: "0" }).utilisation.length, 60);
});

test("wider steps or another cluster begin anew", () => {
  const first = withReadings(null, readings());
  const other = withReadings(first, readings({ origin: NOW, first: 0, steps: 1, utilisation: "//", memory: "AA", power: "AA" }));
  assert.deepEqual(linesOf(other, { resource: "GPU", id: "0" }).utilisation, [1]);
});

test("a line breaks where nothing was measured", () => {
  const [path] = spark([{ levels: [0, 1, null, 1], kind: "line" }]).children;
  const [under] = spark([{ levels: [1, 1, null], kind: "area" }]).children;
  assert.equal(under.props.d, "M0 1L1 1L1 16L0 16Z");
  assert.equal(path.props.d, "M0 15L1 1M3 1");
  assert.equal(between([0.2, null, 0.97]), "between 20 % and 97 % in the last two minutes");
  assert.equal(between([null, null]), "");
});

const row = (name, more) => ({ name, job: 0, runs: 2, failed: 0, running: 0, seconds: 20, device_seconds: 20, devices: 0, ...more });
const accounts = (given) => ({
  seq: 4, pause_s: 1, time: NOW, known_seconds: 200, held_seconds: 50, left_out: 0, hues: { train: 2 },
  functions: [row("infer", { device_seconds: 10, failed: 1 }), row("train", { device_seconds: 40, devices: 1, running: 1 })],
  cells: [row("[3]"), row("", { device_seconds: 1 })],
  devices: [{ device: "5180ff6a4af1/GPU/0", since: NOW - 100, held_seconds: 50, devices: 1 }, { device: "5180ff6a4af1/GPU/1", since: NOW - 100, held_seconds: 0, devices: 0 }],
  ...given,
});

test("accounts are sorted by use, and what is held is used on", () => {
  const view = accountsView(withAccounts(null, accounts()), busy(), NOW + 10);
  assert.deepEqual(view.functions.map((each) => [each.name, each.used, each.failed]), [["train", "50", ""], ["infer", "10", "1"]]);
  assert.deepEqual(view.cells.map((each) => each.name), ["[3]"], "what ran outside of a cell has no row there");
  assert.deepEqual(view.devices.map((each) => [each.label, each.held, each.idle]), [["GPU 1", "never", "100 %"], ["GPU 0", "1 min", "45 %"]]);
  assert.equal(view.total, "60 device-seconds in all, devices idle 73 % of the time");
  assert.equal(Math.floor(view.functions[0].colour / 3), 2);
});

test("a later answer replaces the rows that it has", () => {
  const first = withAccounts(null, accounts());
  const later = withAccounts(first, accounts({ seq: 5, functions: [row("infer", { device_seconds: 99 })], cells: [], devices: [] }));
  const view = accountsView(later, busy(), NOW);
  assert.deepEqual(view.functions.map((each) => [each.name, each.used]), [["infer", "99"], ["train", "40"]]);
  assert.equal(view.devices.length, 2);
  assert.equal(accountsView(null, busy(), NOW), null);
});

test("only the open view asks, and only for what it shows", () => {
  const state = newState(true);
  assert.equal(questionOf(state, busy(), NOW).ask, "readings");
  assert.equal(questionOf(state, { ...busy(), devices: [] }, NOW), null);
  const measured = busy().devices.find((each) => each.metrics);
  assert.equal(questionOf(state, { ...busy(), devices: Array(129).fill(measured) }, NOW), null); // too many for lines
  state.tab = "tasks";
  assert.equal(questionOf(state, busy(), NOW), null);
  state.tab = "accounting";
  assert.equal(questionOf(state, busy(), NOW).ask, "accounting");
  state.details = false;
  assert.equal(questionOf(state, busy(), NOW).ask, "readings");
});

test("the next question says what is known, and comes after the pause that the answer asks for", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const sent = [];
  const state = newState(true);
  let snapshot = busy();
  const { look, heard } = historian({ snapshot: () => snapshot, send: (message) => sent.push(message) }, state, () => NOW);
  look();
  look();
  assert.deepEqual(sent.map(({ ask, since }) => [ask, since]), [["readings", 0]]);
  heard({ ask: "readings", key: sent[0].key, answer: JSON.stringify(readings()) });
  look();
  context.mock.timers.tick(1999);
  assert.equal(sent.length, 1);
  context.mock.timers.tick(1);
  assert.deepEqual(sent.map(({ ask, since }) => [ask, since]), [["readings", 0], ["readings", 3]]);
  heard({ ask: "readings", key: sent[1].key, answer: JSON.stringify(readings({ seq: 3, first: 3, steps: 0, utilisation: "", memory: "", power: "" })) });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 2, "nothing is asked while nothing changes");
  snapshot = { ...busy(), nodes: [{ node_id: "another" }] };
  look();
  assert.deepEqual(sent.slice(2).map(({ ask, since }) => [ask, since]), [["readings", 0]]);
  heard({ ask: "readings", key: "of the cluster before", answer: "{}" });
  snapshot = { ...busy(), ended: true };
  context.mock.timers.tick(60_000);
  look();
  assert.equal(sent.length, 3, "a cluster that has ended is asked nothing");
});

test("a line of one point is asked for again, also while nothing changes, and one of two is not", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const sent = [];
  const { look, heard } = historian({ snapshot: busy, send: (message) => sent.push(message) }, newState(true), () => NOW);
  look();
  heard({ ask: "readings", key: sent[0].key, answer: JSON.stringify(readings({ seq: 1, steps: 1, utilisation: "/A", memory: "AA", power: "AA" })) });
  context.mock.timers.tick(2000);
  assert.deepEqual(sent.map(({ ask, since }) => [ask, since]), [["readings", 0], ["readings", 1]]);
  heard({ ask: "readings", key: sent[1].key, answer: JSON.stringify(readings({ seq: 2, first: 1, steps: 1, utilisation: "/A", memory: "AA", power: "AA" })) });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 2);
});

test("a view of the past first asks for the module that draws it, then for what it draws", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const sent = [];
  const state = newState(true);
  let past = null;
  const { look, heard } = historian({ snapshot: () => ({ ...busy(), past }), send: (message) => sent.push(message) }, state, () => NOW);
  state.tab = "accounting";
  look();
  look();
  assert.deepEqual(sent, [{ say: "past" }]);
  past = { told: { accounting: withAccounts } };
  look();
  assert.equal(sent[1].ask, "accounting");
  heard({ ask: "accounting", key: sent[1].key, answer: JSON.stringify(accounts()) });
  assert.equal(state.past.accounting.data.functions.size, 2);
});

test("the last minute keeps its beginning for a while, so that a later answer adds to it; a closer look is a window of its own", () => {
  const state = newState(true);
  state.tab = "timeline";
  const first = questionOf(state, busy(), NOW);
  assert.deepEqual([first.ask, first.start, first.end], ["runs", NOW - 60, undefined]);
  state.past.runs = { key: first.key, start: first.start, due: 0, data: null };
  assert.equal(questionOf(state, busy(), NOW + 100).start, NOW - 60);
  assert.equal(questionOf(state, busy(), NOW + 130).start, NOW + 70);
  state.window = WHOLE_RUN;
  assert.equal(questionOf(state, busy(), NOW).start, undefined);
  state.range = { from: NOW - 9, to: NOW - 5 };
  assert.deepEqual([questionOf(state, busy(), NOW).start, questionOf(state, busy(), NOW).end], [NOW - 9, NOW - 5]);
});
