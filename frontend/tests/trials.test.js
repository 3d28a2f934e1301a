// Experiments: their trials as a table and as drawings, from the rows that the kernel answers with.

import assert from "node:assert/strict";
import { test } from "node:test";

import { historian, questionOf, withRows } from "../src/model/history.ts";
import { newState } from "../src/model/state.ts";
import { experimentView } from "../src/runs/experiments.tsx";
import { viewOfRuns } from "../src/runs/runs.tsx";
import { overlaidShape, parallelShape, scatterShape, scatterShapes } from "../src/runs/trial_shapes.tsx";
import { paramWords, pointsOf, pythonOf, trialsOf } from "../src/runs/trials.tsx";
import { html, page } from "./page.js";
import { NOW } from "./snapshots.js";

/** An experiment of four trials: the best one runs, one waits, one has failed. */
function search(changes = {}) {
  return {
    id: "experiment-1",
    name: "search",
    path: "/runs/search",
    hue: 2,
    state: "running",
    started_at: NOW - 70,
    total: 4,
    metric: "loss",
    shown: "loss",
    mode: "min",
    counts: { running: 2, done: 1, error: 1 },
    best: { id: "ab_00002", value: 0.1, config: { lr: "0.01" } },
    ...changes,
  };
}

const curve = (letters, changes = {}) => ({
  first: 0,
  last: letters.length - 1,
  low: 0,
  high: 63,
  letters,
  ...changes,
});

function rows() {
  return {
    ab_00000: {
      number: 0,
      state: "done",
      config: { lr: 0.5, net: { kind: "wide" }, seed: 7 },
      value: 0.5,
      reports: 3,
      curve: curve("/mA"),
      started_at: NOW - 60,
      ended_at: NOW - 50,
      devices: { GPU: ["0"] },
    },
    ab_00001: {
      number: 1,
      state: "error",
      config: { lr: 0.1, net: { kind: "deep" }, seed: 7 },
      error: "ValueError: <odd>",
      started_at: NOW - 60,
      ended_at: NOW - 59,
    },
    ab_00002: {
      number: 2,
      state: "running",
      config: { lr: 0.01, net: { kind: "deep" }, seed: 7 },
      value: 0.1,
      reports: 2,
      curve: curve("/A"),
      started_at: NOW - 40,
      devices: { GPU: ["1"] },
      pid: 77,
      stops: 1,
    },
    ab_00003: { number: 3, state: "running", config: { lr: 0.2, net: { kind: "wide" }, seed: 7 }, waits: true },
  };
}

const answered = (given) => withRows(null, { seq: 9, total: Object.keys(given).length, rows: given });

function drawn(experiment, given, { state = newState(true), ended = false, snapshot = undefined } = {}) {
  if (given) state.past[`rows/${experiment.id}`] = { key: "", due: 0, data: answered(given) };
  return html(
    page(
      viewOfRuns({ experiments: [experiment] })(NOW, ended, snapshot)
        .views.runs(state)
        .flat()
        .filter(Boolean),
    ),
  );
}

const words = (html) =>
  html
    .replace(/<style.*?<\/style>/s, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");
const trialIds = (html) => [...html.matchAll(/data-trial="(\w+)"/g)].map(([, id]) => id);

test("the best trial comes first, then those without a value, failed ones last", () => {
  const ids = (mode) => trialsOf(search({ mode }), answered(rows())).trials.map(({ short }) => short);
  assert.deepEqual(ids("min"), ["00002", "00000", "00003", "00001"]);
  assert.deepEqual(ids("max"), ["00000", "00002", "00003", "00001"]);
  assert.deepEqual(ids(""), ["00000", "00001", "00002", "00003"], "nothing says which is better");
});

test("only parameters that differ have a column, nested names joined", () => {
  assert.deepEqual(trialsOf(search(), answered(rows())).names, ["lr", "net/kind"]);
  const { ab_00000: only } = rows();
  assert.deepEqual(
    trialsOf(search(), answered({ only })).names,
    ["lr", "net/kind", "seed"],
    "of one trial all of them",
  );
});

test("a row says the trial's state, parameters, last value, device, time and why it waits", () => {
  const html = drawn(search(), rows(), {
    snapshot: {
      runtime: {},
      tasks: [{ name: "search ab_00003", state: "PENDING_NODE_ASSIGNMENT", why: "Both GPUs are busy." }],
    },
  });
  assert.match(words(html), /Trial State lr net\/kind loss Curve Device Took Why/);
  assert.match(words(html), /00002 ● running 0\.01 deep 0\.1 GPU 1 40 s/);
  assert.match(words(html), /00003 ● waiting 0\.2 wide Both GPUs are busy\./);
  assert.match(words(html), /1 trial failed: ValueError: &lt;odd&gt; 00001/);
});

test("a trial that had begun when its search was stopped was interrupted: without a device, with the time that it took", () => {
  const over = search({ state: "stopped", ended_at: NOW });
  const given = {
    ab_00002: { ...rows().ab_00002, state: "pending" },
    ab_00004: { ...rows().ab_00002, state: "pending", ended_at: NOW - 5 },
    ab_00005: { number: 5 },
  };
  const html = words(drawn(over, given));
  assert.match(html, /00002 ⊘ interrupted 0\.01 deep 7 0\.1 40 s/);
  assert.match(html, /00004 ⊘ interrupted 0\.01 deep 7 0\.1 35 s/);
  assert.match(html, /\(trial 00002\)/, "one form of a trial's id");
  assert.match(html, /00005 ◌ pending/, "it had not begun");
  assert.doesNotMatch(html, /Device/);
  assert.match(words(drawn(search(), given)), /00002 ◌ pending/, "it goes on");
  assert.match(words(drawn(search(), rows(), { ended: true })), /00002 ⊘ interrupted/, "the cluster has ended");
});

test("each trial that goes on has its Stop, whose steps are its own", () => {
  const html = drawn(search(), rows());
  assert.match(html, /data-id="experiment-1\/1\/ab_00002"[^>]*data-act="cancel-run"[^>]*>Interrupt</);
  assert.match(html, /data-id="experiment-1\/0\/ab_00003"[^>]*aria-label="Stop trial 00003"/);
  assert.doesNotMatch(html, /experiment-1\/\d\/ab_0000[01]/, "ended trials cannot be stopped");
  assert.match(html, /data-id="experiment-1\/0"[^>]*data-act="cancel-run"[^>]*aria-label="Stop search"/);
  const over = drawn(search({ state: "finished", ended_at: NOW }), rows());
  assert.doesNotMatch(over, /cancel-run/);
});

test("a trial of another notebook's experiment is stopped only after a question", () => {
  const state = newState(true);
  const other = search({ owner: "b.ipynb" });
  assert.match(drawn(other, rows(), { state }), /data-id="experiment-1\/0\/ab_00003"[^>]*data-act="doubt"/);
  state.doubted = "experiment-1/0/ab_00003";
  assert.match(drawn(other, rows(), { state }), /data-act="cancel-run"[^>]*>Stop it</);
});

test("a config is copied as Python writes it", () => {
  const config = { lr: 1e-7, flag: true, none: null, net: { sizes: [1, 2] }, name: 'a "b"\n' };
  assert.equal(
    pythonOf(config),
    '{"lr": 1e-7, "flag": True, "none": None, "net": {"sizes": [1, 2]}, "name": "a \\"b\\"\\n"}',
  );
  assert.match(
    drawn(search(), rows()),
    /data-act="copy"[^>]*data-text="\{"lr": 0\.01, "net": \{"kind": "deep"\}, "seed": 7\}"/,
  );
  assert.equal(paramWords([1, true]), "[1, True]");
});

test("letters are the readings of a curve, with gaps, also on a logarithmic scale", () => {
  assert.deepEqual(pointsOf({ curve: curve("A/.A") }), [
    [0, 0],
    [1, 63],
    [3, 0],
  ]);
  const values = pointsOf({ curve: curve("A/", { low: 0.001, high: 1000, log: true, last: 9 }) });
  assert.deepEqual(
    values.map(([x, y]) => [x, Number(y.toPrecision(6))]),
    [
      [0, 0.001],
      [9, 1000],
    ],
  );
});

test("curves lie over each other with the best in front, and many of them are few paths", () => {
  const many = Object.fromEntries(
    Array.from({ length: 1000 }, (_, number) => [
      `t_${number}`,
      { number, state: "done", value: number, config: { lr: number / 7 }, curve: curve("AZaz09+/") },
    ]),
  );
  const { trials, names } = trialsOf(search(), answered(many));
  const shape = overlaidShape(trials, "loss");
  assert.match(shape.words, /^loss over 8 reports of 300 trials, the best in front: 0, now 0$/);
  assert.ok(shape.front.length < 10 && shape.best && shape.others && shape.left === 700);
  for (const made of [shape, parallelShape(trials, names, "loss"), ...scatterShapes(trials, names, "loss")])
    assert.doesNotMatch(JSON.stringify(made), /NaN|Infinity|null,/);
});

test("after the end parallel coordinates and each parameter against the metric are drawn, while it runs they are not", () => {
  assert.doesNotMatch(drawn(search(), rows()), /Parallel coordinates/);
  const html = drawn(search({ state: "finished", ended_at: NOW }), rows());
  assert.match(
    html,
    /aria-label="Parallel coordinates of 2 trials: lr, net\/kind, loss; the best in front: lr 0\.01, net\/kind deep, loss 0\.1"/,
  );
  assert.match(html, /aria-label="loss against lr of 2 trials, the best at 0\.01"/);
});

test("on a narrow page the drawings are as wide as there is room, with as many axes as have room for their numbers", () => {
  const many = Object.fromEntries(
    Array.from({ length: 9 }, (_, number) => [
      `t_${number}`,
      {
        number,
        state: "done",
        value: number,
        config: { learning_rate_of_the_head: number / 7, b: number, c: number, d: number },
        curve: curve("AZaz09+/"),
      },
    ]),
  );
  const { trials, names } = trialsOf(search(), answered(many));
  for (const wide of [260, 560]) {
    assert.equal(overlaidShape(trials, "loss", wide).wide, wide);
    const { axes } = parallelShape(trials, names, "loss", wide);
    assert.equal(axes.length, wide === 260 ? 3 : 5);
    assert.ok(Math.max(...axes.map(({ x }) => x)) < wide);
    assert.match(axes.find(({ name }) => name.startsWith("l")).name, /^learning_r?.*…$/);
  }
  const state = newState(true);
  state.room = 280;
  assert.match(drawn(search(), rows(), { state }), /viewBox="0 0 256 200"/);
});

test("a choice among few numbers has a label for each, and no label touches the one before", () => {
  const widths = [4, 8, 16, 16.5, 4];
  const many = Object.fromEntries(
    widths.map((width, number) => [`t_${number}`, { number, state: "done", value: number, config: { width } }]),
  );
  const { trials, names } = trialsOf(search(), answered(many));
  const [axis, last] = parallelShape(trials, names, "loss").axes;
  assert.deepEqual(
    axis.levels.map(({ label }) => label),
    ["4", "8", "16"],
  );
  assert.deepEqual(
    scatterShape(trials, "width", "loss").below.map(({ label }) => label),
    ["4", "8", "16"],
  );
  assert.ok(last.x + 5 + 6 * 6.5 < 560, "the labels of the last axis are to its right, where no line is");
});

test("on a narrow page a trial's numbers say what they are", () => {
  const html = drawn(search(), rows());
  assert.match(html, /<td[^>]*data-head="lr"[^>]*>/);
  assert.match(html, /<td[^>]*data-head="loss"[^>]*>/);
});

test("a parameter with too many words has no axis, and one value makes no drawing of its parameters", () => {
  const texts = Object.fromEntries(
    Array.from({ length: 20 }, (_, number) => [
      `t_${number}`,
      { number, value: number, config: { text: `word ${number}` } },
    ]),
  );
  const { trials } = trialsOf(search(), answered(texts));
  assert.equal(scatterShape(trials, "text", "loss"), null);
  assert.equal(parallelShape(trials, ["text"], "loss"), null);
  assert.equal(parallelShape(trials.slice(0, 1), ["text"], "loss"), null);
});

test("of a thousand trials only the rows in sight are drawn, and a redraw takes few changes", () => {
  const many = Object.fromEntries(
    Array.from({ length: 1000 }, (_, number) => [
      `t_${number}`,
      { number, state: "done", value: number, config: { lr: number } },
    ]),
  );
  const state = newState(true);
  const first = trialIds(drawn(search(), many, { state }));
  assert.ok(first.length < 60 && first[0] === "t_0");
  state.sights.set("experiment-1", { top: 15_000, height: 460, row: 33 });
  const later = trialIds(drawn(search(), many, { state }));
  assert.ok(later.length < 60 && later.includes("t_460"));
});

test("the order stands still under the pointer, and new trials come below", () => {
  const state = newState(true);
  assert.equal(trialIds(drawn(search(), rows(), { state }))[0], "ab_00002");
  state.heldSight = "experiment-1";
  const better = {
    ...rows(),
    ab_00000: { ...rows().ab_00000, value: 0.001 },
    ab_00004: { number: 4, state: "running", value: 0 },
  };
  assert.deepEqual(trialIds(drawn(search(), better, { state })), [
    "ab_00002",
    "ab_00000",
    "ab_00003",
    "ab_00001",
    "ab_00004",
  ]);
  state.heldSight = "";
  assert.equal(trialIds(drawn(search(), better, { state }))[0], "ab_00004");
});

test("an open experiment asks for what has changed, and for the rest at once", () => {
  const state = newState(true);
  state.tab = "runs";
  const sent = [];
  const snapshot = { runtime: { engine: "local" }, runs: viewOfRuns({ experiments: [search()] }) };
  assert.deepEqual(questionOf(state, snapshot, NOW), { ask: "rows", key: "rows/experiment-1", record: "experiment-1" });
  const history = historian({ snapshot: () => snapshot, send: (message) => sent.push(message) }, state, () => NOW);
  history.look();
  assert.deepEqual([sent[0].ask, sent[0].record, sent[0].since], ["rows", "experiment-1", 0]);
  history.heard({
    ask: "rows",
    key: "rows/experiment-1",
    answer: JSON.stringify({ seq: 4, pause_s: 0.5, total: 1, rows: { a_0: { number: 0 } } }),
  });
  assert.equal(state.past["rows/experiment-1"].data.since, 4);
  assert.equal(state.past["rows/experiment-1"].data.rows.get("a_0").number, 0);
  history.end();
  state.open.add("experiment-1"); // a click closes what is open at first
  assert.equal(questionOf(state, snapshot, NOW), null);
});

/** The Runs view of these experiments: what it asked, its history, and how an answer comes. */
function asking(context, ...experiments) {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const [state, sent] = [newState(true), []];
  state.tab = "runs";
  for (const { id } of experiments.slice(1)) state.open.add(id); // the first one is open without a click
  const snapshot = { runtime: { engine: "local" }, runs: viewOfRuns({ experiments }) };
  const history = historian(
    { snapshot: () => snapshot, send: ({ record, since }) => sent.push([record, since]) },
    state,
    () => NOW,
  );
  const answer = (record, seq) =>
    history.heard({
      ask: "rows",
      key: `rows/${record}`,
      answer: JSON.stringify({ seq, pause_s: 0.5, total: 1, rows: {} }),
    });
  return { sent, history, answer, pass: (ms) => context.mock.timers.tick(ms) };
}

test("after one change each of two open experiments is asked, once", (context) => {
  const { sent, history, answer, pass } = asking(context, search(), search({ id: "experiment-2", name: "other" }));
  history.look();
  answer("experiment-1", 4);
  pass(300);
  assert.deepEqual(sent, [
    ["experiment-1", 0],
    ["experiment-2", 0],
  ]);
  answer("experiment-2", 5);
  pass(60_000);
  assert.equal(sent.length, 2, "nothing is asked while nothing changes");
});

test("what changes while a question is under way is asked for after the pause, and not seconds later", (context) => {
  const { sent, history, answer, pass } = asking(context, search());
  history.look();
  pass(100);
  history.look();
  pass(100);
  answer("experiment-1", 4);
  pass(500);
  assert.deepEqual(sent, [
    ["experiment-1", 0],
    ["experiment-1", 4],
  ]);
});

test("a question without an answer is asked again, and one that was answered is not", (context) => {
  const { sent, history, answer, pass } = asking(context, search());
  history.look();
  pass(10_000);
  assert.equal(sent.length, 2);
  answer("experiment-1", 4);
  pass(60_000);
  assert.equal(sent.length, 2);
});

test("an experiment that has ended says how to go on, and of one that runs the compact form has a line", () => {
  assert.equal(
    experimentView(search({ state: "stopped" }), NOW, false).goOn,
    'tune.Tuner.restore("/runs/search", trainable)',
  );
  assert.equal(experimentView(search({ state: "finished" }), NOW, false).goOn, "");
  const drawn = html(
    page(
      viewOfRuns({ experiments: [search()] })(NOW, false)
        .brief(newState(false))
        .flat()
        .filter(Boolean),
    ),
  );
  assert.match(
    words(drawn),
    /search ● running 1 min 10 s · 2 of 4 trials ended · 2 running · 1 failed · loss 0\.1 with lr 0\.01 Stop/,
  );
});

test("a card draws its own run or experiment and nothing else", () => {
  const state = newState(false);
  state.only = "experiment-1";
  const view = viewOfRuns({ experiments: [search(), search({ id: "experiment-2", name: "other" })] });
  const drawn = html(page(view(NOW, false).only(state).flat().filter(Boolean)));
  assert.match(words(drawn), /search ● running/);
  assert.doesNotMatch(words(drawn), /other/);
  assert.deepEqual(view.open(state), ["experiment-1"]);
});

test("names, parameters and errors of users cannot draw on the page", () => {
  const odd = {
    x_0: { number: 0, state: "error", config: { "<b>": "<script>" }, error: "<img src=x>\u202e" },
    x_1: { number: 1, config: { "<b>": 2 } },
  };
  const html = drawn(search({ name: "<i>", why: "<u>", state: "failed" }), odd)
    .replace(/<button.*?<\/button>/gs, "")
    .replace(/="[^"]*"/g, "");
  assert.doesNotMatch(html, /<b>|<script>|<img|<i>|<u>|\u202e/);
});
