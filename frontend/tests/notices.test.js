// A notice of the browser when a long task of one's own has ended.

import assert from "node:assert/strict";
import { test } from "node:test";

import { endings, notify, turnNotices } from "../src/widget/notices.ts";
import { NOW } from "./snapshots.js";

const row = (given) => ({
  task_id: "a1",
  name: "train",
  state: "RUNNING",
  started_at: NOW - 192,
  cell: "[7] line 3",
  ...given,
});
const snapshot = (...tasks) => ({
  runtime: { engine: "local", version: "1", job: 1 },
  time: NOW,
  jobs: [{ number: 2, name: "b.ipynb" }],
  tasks,
});

test("a task of more than a minute that was seen to run is told once, with its time and its reason", () => {
  const noticed = { running: new Set(), told: new Set() };
  assert.deepEqual(endings(noticed, snapshot(row())), []);
  const failed = snapshot(row({ state: "FAILED", finished_at: NOW, why: "ValueError: bad" }));
  assert.deepEqual(endings(noticed, failed), [
    { id: "a1", title: "train #a1 has failed", body: "after 3 min 12 s · cell [7] line 3 · ValueError: bad" },
  ]);
  assert.deepEqual(endings(noticed, failed), []);
});

test("a short task, another notebook's task and one that had ended before are not told", () => {
  const noticed = { running: new Set(), told: new Set() };
  const tasks = [
    row({ started_at: NOW - 50 }),
    row({ task_id: "b", job: 2 }),
    row({ task_id: "c", state: "FINISHED", finished_at: NOW }),
  ];
  endings(noticed, snapshot(...tasks));
  assert.deepEqual(
    endings(noticed, snapshot(...tasks.map((each) => ({ ...each, state: "FINISHED", finished_at: NOW })))),
    [],
  );
});

test("a long task that was never seen to run, for rows are capped, is told once when it has ended", () => {
  const noticed = { running: new Set(), told: new Set() };
  const early = row({ task_id: "early", state: "FINISHED", finished_at: NOW - 5 });
  assert.deepEqual(endings(noticed, snapshot(early)), [], "it had ended before");
  const over = row({ state: "FINISHED", started_at: NOW - 70, finished_at: NOW + 1 });
  assert.deepEqual(
    endings(noticed, snapshot(early, over)).map(({ title }) => title),
    ["train #a1 has finished"],
  );
  assert.deepEqual(endings(noticed, snapshot(early, over)), []);
  assert.deepEqual(endings(noticed, snapshot(early, { ...over, job: 2, task_id: "b" })), [], "another notebook's");
  assert.deepEqual(endings(noticed, snapshot(row({ started_at: NOW + 2 }))), [], "it is tried again");
  const again = endings(noticed, snapshot(row({ state: "FAILED", started_at: NOW + 2, finished_at: NOW + 90 })));
  assert.deepEqual(
    again.map(({ title }) => title),
    ["train #a1 has failed"],
  );
});

test("how it ended is said", () => {
  for (const [state, words] of [
    ["FINISHED", "has finished"],
    ["CANCELLED", "was cancelled"],
  ]) {
    const noticed = { running: new Set(["a1"]), told: new Set() };
    assert.equal(endings(noticed, snapshot(row({ state, finished_at: NOW })))[0].title, `train #a1 ${words}`);
  }
});

test("the browser is asked, and a browser that refuses is said", async () => {
  const shown = [];
  const browser = (answer) => ({
    Notification: Object.assign(
      function (title, given) {
        shown.push([title, given]);
      },
      { requestPermission: async () => answer },
    ),
  });
  const turned = async (page, before = false) => {
    const said = [];
    const state = { notices: before };
    await turnNotices(page, state, (words) => said.push(words));
    return [state.notices, ...said];
  };
  assert.deepEqual(await turned(browser("granted")), [
    true,
    "The browser will tell you when a task of more than a minute ends or fails.",
  ]);
  assert.deepEqual(await turned(browser("granted"), true), [false, ""]);
  assert.match((await turned(browser("denied")))[1], /does not let this page show notices/);
  assert.deepEqual(await turned(null), [false, "This browser shows no notices."]);
  notify(browser("granted"), [{ id: "a1", title: "train has finished", body: "after 2 min" }]);
  assert.deepEqual(shown, [["train has finished", { body: "after 2 min", tag: "nbaccel-a1" }]]);
});
