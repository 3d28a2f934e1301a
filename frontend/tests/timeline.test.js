// Lanes, waits and traces.

import assert from "node:assert/strict";
import { test } from "node:test";

import { kernelClock } from "../src/model/history.ts";
import { LAST_MINUTE, WHOLE_RUN, newState } from "../src/model/state.ts";
import { keyed, timelineOf, traceOf, withRuns, zoomed } from "../src/past/timeline.ts";
import { drawTimeline } from "../src/past/timeline_view.tsx";
import { shapes, words } from "./page.js";
import { NOW, busy, many } from "./snapshots.js";

const lane = (timeline, label) => timeline.lanes.find((each) => each.label === label);

test("each device has a lane with the tasks that had it", () => {
  const timeline = timelineOf(busy(), WHOLE_RUN, NOW);
  assert.deepEqual(
    timeline.lanes.map((each) => each.label),
    ["GPU 0", "GPU 1"],
  );
  assert.deepEqual(
    lane(timeline, "GPU 0").bars.map((bar) => [bar.name, bar.from, bar.to]),
    [
      ["broken", 10, 20],
      ["train", 108, 300],
    ],
  );
});

test("how many waited is a strip of its own, never over others' runs", () => {
  const { depth } = timelineOf(busy(), WHOLE_RUN, NOW);
  assert.equal(depth.most, 1);
  assert.deepEqual(
    depth.steps.map(({ at, waiting }) => [at, waiting]),
    [
      [0, 1],
      [10, 0],
      [100, 1],
      [108, 0],
      [295, 1],
      [300, 0],
    ],
  );
  const bar = lane(timelineOf(busy(), WHOLE_RUN, NOW), "GPU 0").bars[1];
  assert.deepEqual(bar.facts.slice(0, -1), ["running 3 min 12 s", "cell [7] line 3", "waited 8 s before"]);
});

test("most that waited is said as what it is: a number, or the highest mean", () => {
  assert.equal(timelineOf(busy(), WHOLE_RUN, NOW).depth.words, "up to 1");
  assert.equal(timelineOf(busy(), WHOLE_RUN, NOW, null, withRuns(null, answer())).depth.words, "up to about 1");
});

/** The lanes' names as they are drawn at this width, and how wide their gutter is. */
function drawnLanes(room, ids) {
  const device = { ...busy().devices[0], parent: "GPU-1", profile: "1g.5gb" };
  const devices = ids.map((id) => (id.startsWith("MIG") ? { ...device, id } : { ...busy().devices[0], id }));
  const state = { ...newState(true), room };
  const all = shapes(drawTimeline({ timeline: timelineOf({ ...busy(), devices }, WHOLE_RUN, NOW), ended: "" }, state));
  return { cut: all.some((each) => each.props.class === "lane" && words(each).includes("…")), left: state.lanes.left };
}

test("the gutter fits the names of its lanes, and takes no more", () => {
  const [few, mig] = [drawnLanes(900, ["0", "1"]), drawnLanes(900, ["MIG-a", "MIG-b"])];
  assert.ok(!few.cut && !mig.cut);
  assert.ok(few.left < 80 && mig.left > 150, JSON.stringify([few, mig]));
  assert.ok(drawnLanes(450, ["MIG-a"]).left <= 135, "most of a narrow page is for the lanes");
});

test("runs that are narrower than a pixel become one bar that counts them", () => {
  const [row] = busy().tasks;
  const tasks = Array.from({ length: 10_000 }, (_, index) => ({
    ...row,
    task_id: `t${index}`,
    state: "FINISHED",
    submitted_at: NOW - 100 + index / 100,
    started_at: NOW - 100 + index / 100,
    finished_at: NOW - 100 + index / 100 + 0.009,
  }));
  const timeline = timelineOf({ ...busy(), tasks, actors: [] }, WHOLE_RUN, NOW);
  const { bars } = lane(timeline, "GPU 0");
  assert.ok(bars.length <= 900);
  assert.equal(
    bars.reduce((sum, bar) => sum + bar.number, 0),
    10_000,
  );
  const close = timelineOf({ ...busy(), tasks, actors: [] }, WHOLE_RUN, NOW, { from: NOW - 100, to: NOW - 99.9 });
  assert.deepEqual(
    lane(close, "GPU 0")
      .bars.slice(0, 2)
      .map((bar) => [bar.number, Number(bar.to.toFixed(3))]),
    [
      [1, 0.009],
      [1, 0.019],
    ],
  );
});

test("keys and buttons look closer, move and come back", () => {
  const range = { from: 100, to: 200 };
  assert.deepEqual(zoomed(range, 0.5, 0), { from: 100, to: 150 });
  assert.deepEqual(keyed("+", range), { range: { from: 125, to: 175 } });
  assert.deepEqual(keyed("-", range), { range: { from: 50, to: 250 } });
  assert.deepEqual(keyed("ArrowRight", range), { range: { from: 120, to: 220 } });
  assert.deepEqual(keyed("0", range), { range: null });
  assert.equal(keyed("x", range), null);
  const ticks = timelineOf(busy(), WHOLE_RUN, NOW, { from: NOW - 20, to: NOW - 10 }).ticks;
  assert.deepEqual(
    ticks.map((tick) => [tick.label, tick.at]),
    [
      ["−10 s", 10],
      ["−12 s", 8],
      ["−14 s", 6],
      ["−16 s", 4],
      ["−18 s", 2],
      ["−20 s", 0],
    ],
  );
});

/** An answer of the history: two runs on GPU 0, the second of ten thousand short ones; one goes on. */
const answer = (given) => ({
  seq: 9,
  pause_s: 2,
  time: NOW,
  origin: NOW - 1000,
  whole: true,
  grain_s: 0.1,
  kinds: [
    { index: 0, function: "train", cell: "[7] line 3", job: 0, state: "FINISHED" },
    { index: 1, function: "Model.predict", cell: "[9]", job: 2, state: "FAILED" },
    { index: 2, function: "train", cell: "[8] line 1", job: 0, state: "RUNNING" },
  ],
  lanes: { 0: "5180ff6a4af1/GPU/0", 1: "cpu" },
  ended: [
    {
      lane: 0,
      bars: [
        [0, 100_000, 5000, 1, 2, 3000],
        [1, 200_000, 9000, 10_000],
      ],
    },
    { lane: 1, bars: [[0, 100_000, 50, -12]] },
  ],
  running: [{ lane: 0, bars: [[2, 990_000, 10_000, 1, 1]] }],
  waiting: [0, 2.5, 1],
  waiting_from: NOW - 990,
  waiting_step_s: 10,
  hues: { "Model.predict": 3 },
  ...given,
});

test("the history has every run: many short ones are one bar with their number", () => {
  const timeline = timelineOf(busy(), WHOLE_RUN, NOW, null, withRuns(null, answer()));
  assert.deepEqual(
    timeline.lanes.map((each) => [each.label, each.bars.length]),
    [
      ["GPU 0", 3],
      ["GPU 1", 0],
      ["CPU", 1],
    ],
  );
  const [first, many, last] = lane(timeline, "GPU 0").bars;
  assert.deepEqual(
    [first.name, first.state, first.facts.slice(0, 3)],
    ["train", "finished", ["finished 5.0 s", "cell [7] line 3", "waited 3 s before"]],
  );
  assert.deepEqual(
    [many.name, many.number, many.state, Math.floor(many.colour / 3)],
    ["10000 × Model.predict", 10_000, "failed", 3],
  );
  assert.equal(many.facts[0], "10000 runs failed within 9.0 s");
  assert.equal(last.to, timeline.seconds, "it goes on");
  assert.equal(lane(timeline, "CPU").bars[0].name, "12 × train and others");
  assert.match(timeline.words, /^10014 task runs on 3 lanes/);
});

test("a later answer takes the place of the later ones before it, and what was under way is known anew", () => {
  const first = withRuns(null, answer());
  const later = answer({
    whole: false,
    seq: 11,
    ended: [{ lane: 0, bars: [[0, 990_000, 12_000]] }],
    running: [],
    waiting: [4],
    waiting_from: NOW - 970,
  });
  const both = withRuns(withRuns(first, answer({ whole: false, ended: [], running: [] })), later);
  assert.equal(both.since, 9, "what is asked next is what came after the whole");
  const timeline = timelineOf(busy(), WHOLE_RUN, NOW + 5, null, both);
  assert.deepEqual(
    lane(timeline, "GPU 0").bars.map((bar) => bar.state),
    ["finished", "failed", "finished"],
  );
  assert.equal(timeline.depth.most, 4);
  assert.equal(withRuns(both, answer({ whole: false, grain_s: 1 })).since, 0, "too coarse: all is asked anew");
});

test("cells are bands over the time in which their tasks ran, those of other notebooks are not", () => {
  const { bands } = timelineOf(busy(), WHOLE_RUN, NOW, null, withRuns(null, answer()));
  assert.deepEqual(
    bands.map(({ label, track }) => [label, track]),
    [
      ["[7]", 0],
      ["[8]", 0],
    ],
  );
  assert.deepEqual(
    timelineOf(busy(), WHOLE_RUN, NOW).bands.map((band) => band.label),
    ["[7]", "[9]"],
  );
});

test("the last minute leaves out what ended before it and cuts what began before it", () => {
  const timeline = timelineOf(busy(), LAST_MINUTE, NOW);
  const bars = lane(timeline, "GPU 0").bars;
  assert.deepEqual(
    bars.map((bar) => [bar.name, bar.from, bar.to]),
    [["train", 0, 60]],
  );
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
  for (const each of timelineOf(many(1, 5000), WHOLE_RUN, NOW).lanes) assert.ok(each.bars.length <= 900);
});

test("the trace has a lane for each device and for waiting, in microseconds", () => {
  const events = traceOf(busy(), NOW);
  const gpu = events.find((event) => event.name === "train" && event.tid === "GPU 0");
  assert.deepEqual([gpu.ph, gpu.pid, gpu.ts, gpu.dur], ["X", "devices", (NOW - 192) * 1e6, 192 * 1e6]);
  assert.ok(events.some((event) => event.name === "infer" && event.tid === "waiting"));
  assert.ok(JSON.stringify(events).length > 0);
});

test("the trace has the devices of an actor that holds them and runs nothing", () => {
  const actors = [{ actor_id: "m", class_name: "Model", state: "ALIVE", since: NOW - 5, device_ids: { GPU: ["7"] } }];
  const event = traceOf({ ...busy(), tasks: [], actors }, NOW).find((each) => each.tid === "GPU 7");
  assert.deepEqual([event.name, event.pid, event.ts, event.dur], ["Model", "devices", (NOW - 5) * 1e6, 5e6]);
});

test("the kernel's clock is ahead or ours, never behind because a snapshot is old", () => {
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
  assert.ok(bars.some((bar) => bar.facts.includes("cell b.ipynb [7] line 3")));
  assert.ok(bars.some((bar) => bar.facts.includes("cell [9]")));
});
