// Lanes, waits and traces.

import assert from "node:assert/strict";
import { test } from "node:test";

import { kernelClock } from "../../nbaccel/notebook/cockpit/clock.js";
import { LAST_MINUTE, WHOLE_RUN, timelineOf } from "../../nbaccel/notebook/cockpit/timeline.js";
import { traceOf } from "../../nbaccel/notebook/cockpit/trace.js";
import { NOW, busy, many } from "./snapshots.js";

const lane = (timeline, label) => timeline.lanes.find((each) => each.label === label);

test("each device has a lane with the tasks that had it", () => {
  const timeline = timelineOf(busy(), WHOLE_RUN, NOW);
  assert.deepEqual(timeline.lanes.map((each) => each.label), ["GPU 0", "GPU 1", "waiting"]);
  const runs = lane(timeline, "GPU 0").bars.filter((bar) => !bar.wait);
  assert.deepEqual(runs.map((bar) => [bar.name, bar.from, bar.to]), [["broken", 10, 20], ["train", 108, 300]]);
});

test("a wait before a run is a bar of its own", () => {
  const waits = lane(timelineOf(busy(), WHOLE_RUN, NOW), "GPU 0").bars.filter((bar) => bar.wait);
  assert.deepEqual(waits.map((bar) => [bar.name, bar.from, bar.to]), [["broken", 0, 10], ["train", 100, 108]]);
});

test("the last minute leaves out what ended before it and cuts what began before it", () => {
  const timeline = timelineOf(busy(), LAST_MINUTE, NOW);
  const bars = lane(timeline, "GPU 0").bars;
  assert.deepEqual(bars.map((bar) => [bar.name, bar.from, bar.to]), [["train", 0, 60]]);
});

test("an actor holds its device from its start on", () => {
  const bars = lane(timelineOf(busy(), LAST_MINUTE, NOW), "GPU 1").bars;
  assert.ok(bars.some((bar) => bar.name === "Keeper" && bar.from === 30 && bar.to === 60));
});

test("tasks side by side lie on tracks of their own", () => {
  const one = lane(timelineOf(busy(), LAST_MINUTE, NOW), "GPU 1");
  assert.equal(one.tracks, 2);
});

test("a lane never has more bars than a screen can tell apart", () => {
  for (const each of timelineOf(many(1, 5000), WHOLE_RUN, NOW).lanes) assert.ok(each.bars.length <= 200);
});

test("the trace has a lane for each device and for waiting, in microseconds", () => {
  const events = traceOf(busy(), NOW);
  const gpu = events.find((event) => event.name === "train" && event.tid === "GPU 0");
  assert.deepEqual([gpu.ph, gpu.pid, gpu.ts, gpu.dur], ["X", "devices", (NOW - 192) * 1e6, 192 * 1e6]);
  assert.ok(events.some((event) => event.name === "infer" && event.tid === "waiting"));
  assert.ok(JSON.stringify(events).length > 0);
});

test("the kernel's clock is ahead or ours, never behind because a picture is old", () => {
  let wall = 100;
  const clock = kernelClock(() => wall);
  clock.heard(40);
  assert.equal(clock.now(), 100);
  clock.heard(105);
  wall = 101;
  assert.equal(clock.now(), 106);
});

test("a bar of another notebook says whose cell it is of", () => {
  const jobs = [{ number: 2, name: "b.ipynb" }];
  const tasks = busy().tasks.map((row) => (row.task_id === "a1" ? { ...row, job: 2 } : row));
  const bars = timelineOf({ ...busy(), jobs, tasks }, 0, NOW).lanes.flatMap((lane) => lane.bars);
  assert.ok(bars.some((bar) => bar.words.endsWith(", cell [7] line 3 of b.ipynb")));
  assert.ok(bars.some((bar) => bar.words.endsWith(", cell [9]")));
});
