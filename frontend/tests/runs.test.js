// Training runs: their view model, and how they are drawn and stopped.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sceneOf } from "../src/model/scene.ts";
import { newState } from "../src/model/state.ts";
import {
  FLOOR,
  HEIGHT,
  LEFT,
  WIDTH,
  curveShape,
  isLogarithmic,
  logTicks,
  reading,
  ticks,
} from "../src/runs/curves.tsx";
import { runView, viewOfRuns } from "../src/runs/runs.tsx";
import { html, page } from "./page.js";
import { ASKED, NOW, busy } from "./snapshots.js";

/** A run of two ranks that has reported eight times. */
function mnist(changes = {}) {
  return {
    id: "run-1",
    name: "mnist",
    path: "/runs/mnist",
    hue: 2,
    state: "running",
    started_at: NOW - 70,
    backend: "nccl",
    ranks: [0, 1].map((rank) => ({
      rank,
      state: "running",
      pid: 100 + rank,
      devices: { GPU: [String(rank)] },
      report: 7,
    })),
    reports: 8,
    curves: [
      { name: "loss", points: Array.from({ length: 8 }, (_, number) => [number, 10 ** -number]) },
      { name: "accuracy", points: Array.from({ length: 8 }, (_, number) => [number, number / 10]) },
    ],
    checkpoints: [
      { name: "checkpoint_000003", report: 3, best: true },
      { name: "checkpoint_000007", report: 7 },
    ],
    load: 'nbaccel.train.Checkpoint("/runs/mnist/checkpoint_000003")',
    ...changes,
  };
}

function drawn(runs, { state = newState(true), ended = false } = {}) {
  return html(page(viewOfRuns({ runs })(NOW, ended).views.runs(state).flat().filter(Boolean)));
}

const words = (html) =>
  html
    .replace(/<style.*?<\/style>/s, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");

test("a run says what it is, how far, on which devices, and which checkpoint is best", () => {
  const view = runView(mnist({ epochs: 10, epochs_done: 3, left_s: 125 }), NOW, false);
  assert.equal(view.progress, "3 of 10 epochs · about 2 min 05 s left · 8 reports");
  assert.equal(view.workers, "2 workers on GPU 0, 1 · nccl");
  assert.equal(view.time, "1 min 10 s");
  assert.equal(view.checkpoints, "2 checkpoints, best checkpoint_000003");
  assert.equal(view.metrics, "loss 1e-07, accuracy 0.7");
  assert.equal(view.ranks[1].title, "rank 1: running, report 7, GPU 1, pid 101");
  assert.equal(view.resume, "");
});

test("a run that has failed or was stopped says how to resume, and cannot be stopped", () => {
  for (const state of ["failed", "stopped"]) {
    const view = runView(mnist({ state, ended_at: NOW }), NOW + 500, false);
    assert.equal(view.resume, "Resume: run the cell again; a run of the same name goes on from checkpoint_000007");
    assert.equal(view.stop, null);
    assert.equal(view.time, "1 min 10 s");
  }
  assert.equal(runView(mnist({ state: "finished" }), NOW, false).resume, "");
  assert.match(
    runView(mnist({ state: "failed", checkpoints: [] }), NOW, false).resume,
    /from its beginning, since it has no checkpoint/,
  );
});

test("each press of Stop goes one step further, and the press names its step", () => {
  const steps = [0, 1, 2, 3].map((stops) => runView(mnist({ stops }), NOW, false).stop);
  assert.deepEqual(
    steps.map((step) => step.label),
    ["Stop", "Interrupt", "Kill", "Kill"],
  );
  assert.deepEqual(
    steps.map((step) => step.order),
    ["run-1/0", "run-1/1", "run-1/2", "run-1/3"],
  );
  const state = newState(true);
  assert.match(drawn([mnist()], { state }), /data-id="run-1\/0"[^>]*data-act="cancel-run"[^>]*>Stop</);
  state.asked.add("run-1/0");
  assert.match(drawn([mnist()], { state }), /disabled=""[^>]*>asked…</);
  assert.match(drawn([mnist({ stops: 1, state: "stopping" })], { state }), />Interrupt</);
});

test("a run of another notebook is stopped only after a question", () => {
  const state = newState(true);
  const other = mnist({ owner: "b.ipynb" });
  assert.match(drawn([other], { state }), /data-act="doubt"[^>]*>Stop…</);
  state.doubted = "run-1/0";
  const html = drawn([other], { state });
  assert.match(html, />Keep</);
  assert.match(html, /data-act="cancel-run"[^>]*>Stop it</);
});

test("when the cluster has ended nothing can be stopped, and no run is called running", () => {
  const html = drawn([mnist()], { ended: true });
  assert.match(words(html), /mnist – ended with it/);
  assert.doesNotMatch(html, /cancel-run/);
  assert.match(words(html), /goes on from checkpoint_000007/);
});

test("a curve stays within its drawing, has few round numbers, ticks for checkpoints and a star for the best", () => {
  const shape = curveShape(mnist().curves[0], mnist().checkpoints);
  const numbers = [...shape.line.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
  assert.equal(numbers.length, 8);
  for (const [x, y] of numbers) assert.ok(x >= LEFT && x <= WIDTH && y >= 0 && y <= FLOOR, `${x} ${y}`);
  assert.deepEqual(
    shape.levels.map(({ label }) => label),
    ["1e-07", "1e-05", "0.001", "0.1"],
  );
  assert.ok(shape.levels.length <= 5 && shape.reports.length <= 6);
  assert.equal(shape.marks.length, 2);
  assert.equal(shape.best, shape.marks[0]);
  assert.equal(
    shape.words,
    "loss over 8 reports: from 1 to 1e-07, between 1e-07 and 1 on a logarithmic axis, 2 checkpoints, the best one at report 3",
  );
});

test("a flat curve and one that fell below zero are drawn too", () => {
  for (const points of [
    [
      [0, 2],
      [9, 2],
    ],
    [
      [3, -1],
      [4, 1],
    ],
  ]) {
    const shape = curveShape({ name: "x", points }, []);
    assert.doesNotMatch(JSON.stringify(shape), /NaN|Infinity/);
    assert.ok(shape.levels.every(({ y }) => y >= 0 && y <= HEIGHT));
  }
});

test("readings and ticks are those of the static card", () => {
  assert.deepEqual([0.0321688, 12500, 1, 1e12, 1e-5, 0, -0.5, 9999.6].map(reading), [
    "0.03217",
    "12500",
    "1",
    "1e+12",
    "1e-05",
    "0",
    "-0.5",
    "1e+04",
  ]);
  assert.deepEqual(ticks(0, 1), [0, 0.5, 1]);
  assert.deepEqual(ticks(13, 87), [20, 40, 60, 80]);
});

test("runs under way are open at first, the others closed, and a click changes that", () => {
  const state = newState(true);
  const runs = [mnist(), mnist({ id: "run-2", name: "older", state: "finished" })];
  const open = (html) => [...html.matchAll(/aria-expanded="(\w+)"/g)].map(([, word]) => word);
  assert.deepEqual(open(drawn(runs, { state })), ["true", "false"]);
  state.open.add("run-2");
  state.open.add("run-1");
  assert.deepEqual(open(drawn(runs, { state })), ["false", "true"]);
  assert.deepEqual(open(drawn(runs.slice(1))), ["true"], "without a run under way the latest is open");
});

test("sixteen runs of 64 ranks are drawn within two frames", () => {
  const ranks = Array.from({ length: 64 }, (_, rank) => ({
    rank,
    state: rank ? "running" : "failed",
    devices: { GPU: [String(rank)] },
    report: 9999,
  }));
  const curves = Array.from({ length: 6 }, (_, number) => ({
    name: `metric ${number}`,
    points: Array.from({ length: 25 }, (_, at) => [at * 400, Math.sin(at)]),
  }));
  const runs = Array.from({ length: 16 }, (_, number) =>
    mnist({
      id: `run-${number}`,
      name: `a name of many words, the last of which is its number ${number}`,
      ranks,
      curves,
    }),
  );
  const html = drawn(runs);
  assert.equal([...html.matchAll(/aria-expanded="true"/g)].length, 2);
  assert.match(html, /Ranks: 1 failed, 63 running/);
});

test("names and reasons of users cannot draw on the page", () => {
  const html = drawn([mnist({ name: "<b>\n\u202e", why: "<script>", state: "failed" })]);
  assert.doesNotMatch(words(html), /\u202e/);
  assert.doesNotMatch(html.replaceAll('title="<b>', ""), /<b>|<script>/);
  assert.match(words(html), /⚠ Attention:/);
});

test("the cockpit has a tab for runs once there is one, and the compact form a line for each under way", () => {
  const labels = (runs) =>
    sceneOf({ ...busy(), runs }, { ...ASKED, tab: "runs" }, NOW).tabs.map(({ label, badge }) => `${label} ${badge}`);
  assert.ok(!labels(null).some((label) => label.startsWith("Runs")));
  const view = viewOfRuns({ runs: [mnist(), mnist({ id: "run-2", state: "finished" })] });
  assert.ok(labels(view).includes("Runs 1"));
  const drawn = html(page(view(NOW, false).brief(newState(false)).flat().filter(Boolean)));
  assert.match(words(drawn), /mnist ● running 1 min 10 s · 8 reports · loss 1e-07, accuracy 0.7 Stop/);
  assert.deepEqual(view(NOW, true).brief(newState(false)), []);
});

test("a loss has a logarithmic axis sooner and enough labels", () => {
  assert.deepEqual(
    [isLogarithmic(0.05, 1, "val_loss"), isLogarithmic(0.05, 1, "accuracy"), isLogarithmic(0, 1, "loss")],
    [true, false, false],
  );
  assert.deepEqual(logTicks(0.05, 1).map(reading), ["0.1", "0.3", "1"]);
  assert.deepEqual(logTicks(1e-7, 1).map(reading), ["1e-07", "1e-05", "0.001", "0.1"]);
});
