// A task's log: how answers add up, what a terminal would show of it, and when it is asked for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { historian, questionOf } from "../src/model/history.ts";
import { newState } from "../src/model/state.ts";
import { drawLog, logLines, withLog, withStack } from "../src/past/log.tsx";
import { words } from "./page.js";
import { NOW, busy } from "./snapshots.js";

const answer = (out, err = "", given = {}) => ({
  pause_s: 1,
  over: false,
  pid: 52,
  failure: "",
  note: "",
  out: { text: out, to: out.length, left_out: 0 },
  err: { text: err, to: err.length, left_out: 0 },
  ...given,
});
const looking = () =>
  Object.assign(newState(true), { tab: "tasks", log: { id: "a1", name: "train", search: "", follow: true } });

test("a bar that redraws itself is its last frame, and the two streams do not mix in a line", () => {
  const pieces = [
    { text: "first\n 10 %\r 20 %\rha", err: false },
    { text: "warning\n", err: true },
    { text: "lf\n\nlast", err: false },
  ];
  assert.deepEqual(
    logLines(pieces).map((line) => [line.text, line.err]),
    [
      ["first", false],
      ["half", false],
      ["warning", true],
      ["", false],
      ["last", false],
    ],
  );
});

test("answers add up, and the asking ends once the task is over and has printed no more", () => {
  const first = withLog(null, answer("one\n"));
  const second = withLog(first, answer("two\n", "", { over: true, failure: "ValueError: bad", yours: "yours" }));
  assert.deepEqual(
    logLines(second.pieces).map((line) => line.text),
    ["one", "two"],
  );
  assert.equal(second.done, false, "its last words may still be on their way");
  assert.equal(withLog(second, answer("", "", { over: true })).done, true);
});

test("what was too much to send is said", () => {
  const later = withLog(
    withLog(null, answer("one\n")),
    answer("nine\n", "", { out: { text: "nine\n", to: 900, left_out: 700 } }),
  );
  assert.match(logLines(later.pieces)[1].text, /too much was printed/);
  assert.equal(later.out, 900);
});

test("an open log asks from where the last answer ended, also while nothing else changes", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const state = looking();
  const source = {
    send: (message) => sent.push(message),
    snapshot: () => ({ ...busy(), past: { told: { task_log: withLog } } }),
  };
  const past = historian(source, state, () => NOW);
  context.mock.timers.tick(1000);
  past.look();
  assert.deepEqual([sent[0].ask, sent[0].task_id, sent[0].out_since], ["task_log", "a1", 0]);
  past.heard({ ask: "task_log", key: sent[0].key, answer: JSON.stringify(answer("one\n")) });
  assert.equal(sent.length, 1, "the pause is kept");
  context.mock.timers.tick(1000);
  assert.deepEqual([sent.length, sent[1].out_since], [2, 4]);
  past.heard({ ask: "task_log", key: sent[1].key, answer: JSON.stringify(answer("", "", { over: true })) });
  context.mock.timers.tick(1000);
  past.heard({ ask: "task_log", key: sent[2].key, answer: JSON.stringify(answer("", "", { over: true })) });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 3, "a log that is over is not asked for");
  assert.equal(questionOf(state, busy(), NOW), null);
  past.end();
});

test("a stack is asked for until its process has written it, and again only when the person wants it", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const state = newState(true);
  state.tab = "actors";
  state.log = { id: "m1", name: "Model", process: { pid: 7, node: "n2" } };
  const source = {
    send: (message) => sent.push(message),
    snapshot: () => ({ ...busy(), past: { told: { stack: withStack } } }),
  };
  const past = historian(source, state, () => NOW);
  const answers = (given) => past.heard({ ask: "stack", key: sent.at(-1).key, answer: JSON.stringify(given) });
  const asked = () => sent.map(({ ask, pid, node_id, since }) => [ask, pid, node_id, since]);
  context.mock.timers.tick(1000);
  past.look();
  assert.match(words(drawLog(state)), /Stack of Model.*pid 7.*Asking its process/);
  answers({ text: "", since: 900, pause_s: 0.02 });
  context.mock.timers.tick(250);
  assert.deepEqual(asked(), [
    ["stack", 7, "n2", -1],
    ["stack", 7, "n2", 900],
  ]);
  answers({ text: '  File "a.py", line 3, in train', since: 900, pause_s: 0 });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 2);
  assert.match(words(drawLog(state)), /line 3, in train/);
  delete state.past.stack;
  past.look();
  assert.equal(sent.at(-1).since, -1);
  answers({ text: "", since: 0, pause_s: 0 });
  assert.match(words(drawLog(state)), /No code of yours runs/);
  past.end();
});

test("a log that nobody sees any more is not asked for", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const sent = [];
  const past = historian(
    { send: (message) => sent.push(message), snapshot: () => ({ ...busy(), past: { told: { task_log: withLog } } }) },
    looking(),
    () => NOW,
  );
  context.mock.timers.tick(1000);
  past.look();
  past.end();
  past.heard({ ask: "task_log", key: sent[0].key, answer: JSON.stringify(answer("one\n")) });
  context.mock.timers.tick(60_000);
  assert.equal(sent.length, 1);
});

test("the user's frames come before the whole traceback, and a search keeps the lines that have the text", () => {
  const state = looking();
  state.past.task_log = {
    key: "",
    due: 0,
    data: withLog(null, answer("epoch 1\nloss 2\nEpoch 2\n", "", { over: true, failure: "whole", yours: "my code" })),
  };
  const all = words(drawLog(state));
  assert.ok(all.indexOf("my code") < all.indexOf("whole"));
  assert.match(all, /loss 2/);
  state.log.search = "epoch";
  const found = words(drawLog(state));
  assert.match(found, /2 of 3 lines/);
  assert.doesNotMatch(found, /loss 2/);
});
