// What is asked about the past, and how an answer adds to what was known.

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, spark } from "../src/components/parts.tsx";
import { historian, linesOf, questionOf, withReadings } from "../src/model/history.ts";
import { WHOLE_RUN, newState } from "../src/model/state.ts";
import { accountsView, withAccounts } from "../src/past/accounts.tsx";
import { shapes } from "./page.js";
import { NOW, busy } from "./snapshots.js";

const readings = (given) => ({
  seq: 3,
  pause_s: 2,
  time: NOW,
  origin: NOW - 100,
  step_s: 2,
  first: 0,
  steps: 3,
  power_watts: 100,
  prefix: "5180ff6a4af1/GPU/",
  devices: ["0", "1"],
  utilisation: "A/.AAA",
  memory: "AAA...",
  power: "AA/AAA",
  ...given,
});

test("letters are levels, a point is unknown, and devices of a single node are found without its name", () => {
  const known = withReadings(null, readings());
  assert.equal(known.since, 3);
  assert.deepEqual(linesOf(known, { resource: "GPU", id: "0" }).utilisation, [0, 1, null]);
  assert.deepEqual(linesOf(known, { node_id: "5180ff6a4af162560e00", resource: "GPU", id: "1" }).memory, [
    null,
    null,
    null,
  ]);
  assert.equal(linesOf(known, { resource: "GPU", id: "7" }), null);
  assert.equal(linesOf(null, { resource: "GPU", id: "0" }), null);
});

test("a later answer adds its steps, and two minutes are kept", () => {
  const first = withReadings(null, readings());
  const later = withReadings(
    first,
    readings({ seq: 5, first: 3, steps: 2, utilisation: "//AA", memory: "AAAA", power: "AA/A", power_watts: 200 }),
  );
  const lines = linesOf(later, { resource: "GPU", id: "0" });
  assert.deepEqual(lines.utilisation, [0, 1, null, 1, 1]);
  assert.deepEqual(lines.power, [0, 0, 0.5, 0, 0], "the scale has doubled");
  const last = withReadings(
    later,
    readings({
      seq: 63,
      first: 5,
      steps: 58,
      utilisation: "A".repeat(116),
      memory: "A".repeat(116),
      power: "A".repeat(116),
      power_watts: 200,
    }),
  );
  assert.deepEqual(linesOf(last, { resource: "GPU", id: "0" }).utilisation.slice(0, 3), [1, 1, 0]);
  assert.equal(linesOf(last, { resource: "GPU", id: "0" }).utilisation.length, 60);
});

test("wider steps or another cluster begin anew", () => {
  const first = withReadings(null, readings());
  const other = withReadings(
    first,
    readings({ origin: NOW, first: 0, steps: 1, utilisation: "//", memory: "AA", power: "AA" }),
  );
  assert.deepEqual(linesOf(other, { resource: "GPU", id: "0" }).utilisation, [1]);
});

test("a line breaks where nothing was measured", () => {
  const [, path] = shapes(spark([{ levels: [0, 1, null, 1], kind: "line" }]));
  const [, under] = shapes(spark([{ levels: [1, 1, null], kind: "area" }]));
  assert.equal(under.props.d, "M0 1L1 1L1 16L0 16Z");
  assert.equal(path.props.d, "M0 15L1 1M3 1");
  assert.equal(between([0.2, null, 0.97]), "between 20 % and 97 % in the last two minutes");
  assert.equal(between([null, null]), "");
});

const row = (name, more) => ({
  name,
  job: 0,
  runs: 2,
  failed: 0,
  running: 0,
  seconds: 20,
  device_seconds: 20,
  devices: 0,
  ...more,
});
const accounts = (given) => ({
  seq: 4,
  pause_s: 1,
  time: NOW,
  known_seconds: 200,
  held_seconds: 50,
  left_out: 0,
  hues: { train: 2 },
  functions: [
    row("infer", { device_seconds: 10, failed: 1 }),
    row("train", { device_seconds: 40, devices: 1, running: 1 }),
  ],
  cells: [row("[3]"), row("", { device_seconds: 1 })],
  devices: [
    { device: "5180ff6a4af1/GPU/0", since: NOW - 100, held_seconds: 50, devices: 1 },
    { device: "5180ff6a4af1/GPU/1", since: NOW - 100, held_seconds: 0, devices: 0 },
  ],
  ...given,
});

test("accounts are sorted by use, and what is held is used on", () => {
  const view = accountsView(withAccounts(null, accounts()), busy(), NOW + 10);
  assert.deepEqual(
    view.functions.map((each) => [each.name, each.used, each.failed]),
    [
      ["train", "50", ""],
      ["infer", "10", "1"],
    ],
  );
  assert.deepEqual(
    view.cells.map((each) => each.name),
    ["[3]"],
    "what ran outside of a cell has no row there",
  );
  assert.deepEqual(
    view.devices.map((each) => [each.label, each.held, each.idle]),
    [
      ["GPU 0", "60", "45 %"],
      ["GPU 1", "never", "100 %"],
    ],
  );
  assert.equal(view.total, "60 device-seconds in all, devices idle 73 % of the time");
  assert.equal(Math.floor(view.functions[0].colour / 3), 2);
});

test("each share has its number, and all of a view one unit, which fits the largest number", () => {
  const told = (times) =>
    accountsView(
      withAccounts(
        null,
        accounts({
          functions: [
            row("train", { seconds: 20 * times, device_seconds: 40 * times }),
            row("infer", { seconds: times, device_seconds: times / 9 }),
          ],
        }),
      ),
      busy(),
      NOW,
    );
  assert.deepEqual(
    [1, 20, 1000].map((times) => [told(times).unit, told(times).functions[0].used, told(times).functions[0].took]),
    [
      ["second", "40", "20"],
      ["minute", "13.3", "6.7"],
      ["hour", "11.1", "5.6"],
    ],
  );
  assert.deepEqual(
    told(1000).functions.map(({ shareWords }) => shareWords),
    ["100 %", "< 1 %"],
  );
  assert.equal(told(1000).functions[1].used, "< 0.1");
  assert.deepEqual(
    told(1000).devices.map(({ held, shareWords }) => [held, shareWords]),
    [
      ["< 0.1", "50 %"],
      ["never", "0 %"],
    ],
  );
  assert.equal(told(20).total, "13.4 device-minutes in all, devices idle 75 % of the time");
});

test("where no device was held there are no bars, and many that were never held are one row", () => {
  const devices = Array.from({ length: 64 }, (_, id) => ({
    device: `5180ff6a4af1/GPU/${id}`,
    since: NOW - 100,
    held_seconds: 0,
    devices: 0,
  }));
  const idle = accountsView(
    withAccounts(null, accounts({ functions: [row("count", { device_seconds: 0 })], cells: [], devices })),
    busy(),
    NOW,
  );
  assert.deepEqual([idle.devices, idle.functions[0].used], [[], ""]);
  devices[5].held_seconds = 50;
  const { devices: shown } = accountsView(withAccounts(null, accounts({ devices })), busy(), NOW);
  assert.deepEqual(
    shown.map((each) => [each.label, each.held, each.shareWords]),
    [
      ["63 devices", "never", "0 %"],
      ["GPU 5", "50", "50 %"],
    ],
  );
  assert.ok(shown[0].title.startsWith("GPU 0, GPU 2, GPU 3, GPU 4, GPU 6"), shown[0].title);
});

test("a later answer replaces the rows that it has", () => {
  const first = withAccounts(null, accounts());
  const later = withAccounts(
    first,
    accounts({ seq: 5, functions: [row("infer", { device_seconds: 99 })], cells: [], devices: [] }),
  );
  const view = accountsView(later, busy(), NOW);
  assert.deepEqual(
    view.functions.map((each) => [each.name, each.used]),
    [
      ["infer", "99"],
      ["train", "40"],
    ],
  );
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
  const state = newState(false);
  let snapshot = busy();
  const { look, heard } = historian(
    { snapshot: () => snapshot, send: (message) => sent.push(message) },
    state,
    () => NOW,
  );
  look();
  look();
  assert.deepEqual(
    sent.map(({ ask, since }) => [ask, since]),
    [["readings", 0]],
  );
  heard({ ask: "readings", key: sent[0].key, answer: JSON.stringify(readings()) });
  look();
  context.mock.timers.tick(1999);
  assert.equal(sent.length, 1);
  context.mock.timers.tick(1);
  assert.deepEqual(
    sent.map(({ ask, since }) => [ask, since]),
    [
      ["readings", 0],
      ["readings", 3],
    ],
  );
  heard({
    ask: "readings",
    key: sent[1].key,
    answer: JSON.stringify(readings({ seq: 3, first: 3, steps: 0, utilisation: "", memory: "", power: "" })),
  });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 2, "nothing is asked while nothing changes");
  snapshot = { ...busy(), nodes: [{ node_id: "another" }] };
  look();
  assert.deepEqual(
    sent.slice(2).map(({ ask, since }) => [ask, since]),
    [["readings", 0]],
  );
  heard({ ask: "readings", key: "of the cluster before", answer: "{}" });
  snapshot = { ...busy(), ended: true };
  context.mock.timers.tick(60_000);
  look();
  assert.equal(sent.length, 3, "a cluster that has ended is asked nothing");
});

test("a line of one point is asked for again, also while nothing changes, and one of two is not", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const sent = [];
  const { look, heard } = historian(
    { snapshot: busy, send: (message) => sent.push(message) },
    newState(false),
    () => NOW,
  );
  look();
  heard({
    ask: "readings",
    key: sent[0].key,
    answer: JSON.stringify(readings({ seq: 1, steps: 1, utilisation: "/A", memory: "AA", power: "AA" })),
  });
  context.mock.timers.tick(2000);
  assert.deepEqual(
    sent.map(({ ask, since }) => [ask, since]),
    [
      ["readings", 0],
      ["readings", 1],
    ],
  );
  heard({
    ask: "readings",
    key: sent[1].key,
    answer: JSON.stringify(readings({ seq: 2, first: 1, steps: 1, utilisation: "/A", memory: "AA", power: "AA" })),
  });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 2);
});

/** A view of the cluster, whose questions are answered at once for so many seconds: how many it asked. */
function askedIn(seconds, context, { state, snapshot, end }) {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  let [asked, message] = [0, null];
  const history = historian(
    {
      snapshot: () => snapshot,
      send: (sent) => {
        asked += 1;
        message = sent;
      },
    },
    state,
    () => NOW,
  );
  history.look();
  for (let second = 0; second < seconds; second += 1) {
    if (message) history.heard({ ask: "readings", key: message.key, answer: JSON.stringify(readings()) });
    message = null;
    if (second === end) history.end();
    context.mock.timers.tick(1000);
  }
  context.mock.timers.reset();
  return asked;
}

test("an open view of devices asks every two seconds how they are, also while nothing changes", (context) => {
  assert.ok(askedIn(1200, context, { state: newState(true), snapshot: busy() }) > 390, "while somebody here holds one");
  const idle = { ...busy(), devices: busy().devices.map((row) => ({ ...row, holders: [] })) };
  const asked = askedIn(1200, context, { state: newState(true), snapshot: idle });
  assert.ok(asked > 190 && asked <= 302, `${asked} questions in ten minutes, then none`);
  assert.equal(
    askedIn(1200, context, { state: newState(true), snapshot: idle, end: 9 }),
    askedIn(9, context, { state: newState(true), snapshot: idle }),
    "nothing is asked while nobody looks",
  );
  assert.equal(askedIn(60, context, { state: newState(false), snapshot: idle }), 1, "a card shows no lines");
  assert.ok(askedIn(60, context, { state: { ...newState(false), listed: true }, snapshot: idle }) > 18, "a panel does");
  assert.equal(askedIn(60, context, { state: { ...newState(true), tab: "tasks" }, snapshot: idle }), 0);
});

test("a view of the past first asks for the module that draws it, then for what it draws", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const sent = [];
  const state = newState(true);
  let past = null;
  const { look, heard } = historian(
    { snapshot: () => ({ ...busy(), past }), send: (message) => sent.push(message) },
    state,
    () => NOW,
  );
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
