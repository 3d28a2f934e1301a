// Which rows of tasks are drawn, and what devices are called.

import assert from "node:assert/strict";
import { test } from "node:test";

import { deviceLabels } from "../src/model/devices.ts";
import { takeFound } from "../src/model/finding.ts";
import { sceneOf } from "../src/model/scene.ts";
import { newState } from "../src/model/state.ts";
import { alike, grouped, inSight, ordered, othersThan, tasksInSight } from "../src/model/tasks.ts";
import { drawDevices } from "../src/views/devices.tsx";
import { drawActors, drawNodes, drawWaiting } from "../src/views/tables.tsx";
import { drawTasks } from "../src/views/tasks.tsx";
import { shapes, words } from "./page.js";
import { ASKED, NOW, busy, many } from "./snapshots.js";

const USUAL = { column: "", down: false };
const task = (id, state, more = {}) => ({
  id,
  short: id,
  name: id,
  subject: "f",
  state,
  devices: "",
  keys: { submitted: 0, started: 0, took: 0, ...more.keys },
  ...more,
});
const ids = (tasks) => tasks.map((each) => each.id).join(" ");

test("those that run come first, then failed, waiting, cancelled and finished ones, the newest first", () => {
  const tasks = ["finished", "cancelled", "waiting", "failed", "running"].map((state) => task(state, state));
  const newer = task("newer", "running", { keys: { submitted: 5 } });
  assert.equal(ids(ordered([...tasks, newer], USUAL, null)), "newer running failed waiting cancelled finished");
});

test("a column sorts both ways, and what is alike stays in the usual order", () => {
  const tasks = [
    task("a", "finished", { keys: { took: 3 } }),
    task("b", "running", { keys: { took: 1 } }),
    task("c", "failed", { keys: { took: 3 } }),
  ];
  assert.equal(ids(ordered(tasks, { column: "took", down: false }, null)), "b c a");
  assert.equal(ids(ordered(tasks, { column: "took", down: true }, null)), "c a b");
});

test("the order stands still under the pointer, and what is new comes last", () => {
  const tasks = [task("a", "finished"), task("b", "running"), task("new", "running")];
  assert.equal(ids(ordered(tasks, USUAL, ["a", "b"])), "a b new");
});

test("more than eight tasks of one function are one row, which opens", () => {
  const tasks = Array.from({ length: 12 }, (_, index) =>
    task(`t${index}`, index < 3 ? "running" : index < 5 ? "failed" : "finished"),
  );
  const [only, ...none] = grouped(tasks, new Set());
  assert.deepEqual(
    [only.group.done, only.group.failed, only.group.others, none.length],
    [7, 2, ["3 running", "2 failed"], 0],
  );
  assert.equal(grouped(tasks, new Set(["f"])).length, 13);
  assert.equal(grouped(tasks.slice(0, 8), new Set()).length, 8);
});

test("a function's row says how far it is only where no row of it is left out, and else of how many rows it tells", () => {
  const rows = Array.from({ length: 12 }, (_, index) => ({
    ...busy().tasks[3],
    task_id: `e${index}`,
    state: index < 9 ? "FAILED" : "FINISHED",
  }));
  const row = (counts, asked = {}) =>
    shapes(drawTasks(sceneOf({ ...busy(), tasks: rows, counts }, { ...ASKED, ...asked }, NOW), newState(true))).find(
      (each) => each.props.class === "group",
    );
  const [whole, partly] = [row({ FAILED: 9, FINISHED: 3 }), row({ FAILED: 9, FINISHED: 100 })];
  assert.match(words(whole), /3 of 12 · 9 failed/);
  assert.ok(shapes([whole]).some((each) => each.props.class === "part failed" && each.props.style === "width:75%"));
  assert.equal(words(partly), "▸ brokenof the newest 12: 9 failed · 3 finished");
  assert.ok(!shapes([partly]).some((each) => each.props.class === "bar"));
  const found = { key: "", tasks: rows, total: 12 };
  assert.match(
    words(row({ FAILED: 9, FINISHED: 100 }, { found })),
    /3 of 12 · 9 failed/,
    "all that pass the filter are here",
  );
  assert.match(
    words(row({ FAILED: 9, FINISHED: 100 }, { found: { ...found, total: 80 } })),
    /of the newest 12: 9 failed/,
  );
});

const SHARDS = { name: "shard", running: 12, failed: 2, finished: 346, waiting: 140 };
const shards = (functions = [SHARDS]) => {
  const tasks = Array.from({ length: 12 }, (_, index) => ({
    task_id: `s${index}`,
    name: "shard",
    state: "RUNNING",
    submitted_at: NOW - index,
    started_at: NOW - index,
  }));
  return {
    ...busy(),
    tasks,
    counts: { RUNNING: 12, FAILED: 2, FINISHED: 346, PENDING_NODE_ASSIGNMENT: 140 },
    functions,
  };
};
const drawnTasks = (snapshot, state, asked = {}) =>
  shapes(
    drawTasks(
      sceneOf(snapshot, { ...ASKED, filter: state.filter, found: state.found, pages: state.pages, ...asked }, NOW),
      state,
    ),
  );
const groupOf = (drawn) => drawn.find((each) => each.props.class === "group");

test("a function's row says how far all of its tasks are, also those whose rows are not here", () => {
  const drawn = drawnTasks(shards(), newState(true));
  assert.match(words(groupOf(drawn)), /shard346 of 500 · 12 running · 140 waiting · 2 failedCancel all…/);
  assert.ok(
    shapes([groupOf(drawn)]).some((each) => each.props.class === "part failed" && each.props.style === "width:0.4%"),
  );
  assert.ok(!drawn.some((each) => each.props.class === "more"), "each task is in a row that is here");
});

test("a function of which no row is here has its row too, and few tasks of one have none", () => {
  const drawn = drawnTasks(
    shards([SHARDS, { name: "load", finished: 90 }, { name: "lone", finished: 8 }]),
    newState(true),
  );
  const groups = drawn.filter((each) => each.props.class === "group").map(words);
  assert.equal(groups.length, 2);
  assert.match(groups[1], /load90 of 90$/);
});

test("with a filter a function's row counts what passes it, and after the end what was known", () => {
  const state = newState(true);
  state.filter = { state: "failed", cell: "", text: "" };
  state.found = {
    key: JSON.stringify([state.filter, false]),
    tasks: [],
    total: 30,
    functions: [{ name: "shard", failed: 30 }],
  };
  assert.match(words(groupOf(drawnTasks(shards(), state))), /0 of 30 · 30 failed/);
  const over = drawnTasks({ ...shards(), ended: true }, newState(true));
  assert.match(words(groupOf(over)), /346 of 500 · 2 failed$/);
});

test("the tasks of an open function that come into view are asked for, and what is not here keeps its place", () => {
  const state = newState(true);
  state.open.add("shard");
  drawnTasks(shards(), state);
  assert.deepEqual([...state.asks], [], "what is in sight is here");
  state.scrolled.top = 5 * 46;
  const first = drawnTasks(shards(), state);
  assert.deepEqual([...state.asks], [["shard", 0]], "those after the twelve that are here, which are in sight");
  assert.equal(first.find((each) => each.type === "table").props["aria-rowcount"], 502);
  assert.equal(first.find((each) => each.key === "gap/shard/12").props.style, `height:${488 * 46}px`);
  state.scrolled.top = 300 * 46;
  drawnTasks(shards(), state);
  assert.deepEqual([...state.asks], [["shard", 249]]);
  const tasks = Array.from({ length: 200 }, (_, index) => ({
    task_id: `p${index}`,
    name: "shard",
    state: "FINISHED",
    submitted_at: NOW - index,
  }));
  takeFound({ key: JSON.stringify([state.filter, "shard", 249]), tasks, total: 460 }, state);
  const then = drawnTasks(shards(), state);
  assert.ok(then.some((each) => each.props["data-task"] === "p50"));
  assert.deepEqual(
    then.filter((each) => String(each.key).startsWith("gap/")).map((each) => each.props.style),
    [],
  );
  assert.equal(then.find((each) => each.type === "table").props["aria-rowcount"], 462);
  state.scrolled.top = 0;
  assert.match(words(groupOf(drawnTasks(shards(), state))), /460 of them are still listed/);
  assert.deepEqual([...state.asks], [["shard", 0]], "the first ones again");
  state.filter = { state: "failed", cell: "", text: "" };
  assert.ok(
    !drawnTasks(shards(), state).some((each) => each.props["data-task"] === "p50"),
    "an answer under another filter",
  );
});

test("of ten thousand rows only those in sight are drawn, at the start, within and at the end", () => {
  const scrolled = { height: 460, row: 46 };
  assert.deepEqual(inSight(10_000, { ...scrolled, top: 0 }), { first: 0, last: 34 });
  assert.deepEqual(inSight(10_000, { ...scrolled, top: 46_000 }), { first: 988, last: 1022 });
  assert.deepEqual(inSight(10_000, { ...scrolled, top: 1e9 }), { first: 9966, last: 10_000 });
  assert.deepEqual(inSight(5, { ...scrolled, top: 0 }), { first: 0, last: 5 });
});

test("a table of ten thousand tasks has few rows on the page and says how many there are", () => {
  const snapshot = many(8, 10_000);
  snapshot.tasks.forEach((row, index) => (row.name = `f${index % 2000}`));
  const state = newState(true);
  const drawn = shapes(drawTasks(sceneOf(snapshot, ASKED, NOW), state));
  assert.ok(drawn.filter((each) => each.type === "tr").length < 60);
  assert.equal(drawn.find((each) => each.type === "table").props["aria-rowcount"], 10_001);
});

test("a reason takes a line more, which is counted in what is in sight", () => {
  const rows = Array.from({ length: 1000 }, (_, index) => ({
    task: task(`t${index}`, "failed", { why: index % 2 ? "bad" : "" }),
    inGroup: false,
  }));
  const scrolled = { height: 520, row: 40, reason: 24 };
  const [start, within, end] = [0, 26_000, 1e9].map((top) => tasksInSight(rows, { ...scrolled, top }));
  assert.deepEqual([start.first, start.above, end.last, end.below], [0, 0, 1000, 0]);
  assert.deepEqual([within.first, within.last, within.above], [488, 522, 488 * 52]);
  for (const { first, last, above, below } of [start, within, end]) {
    const drawn = rows.slice(first, last).reduce((sum, row) => sum + (row.task.why ? 64 : 40), 0);
    assert.equal(above + drawn + below, 52_000);
    assert.ok(last - first < 40);
  }
  assert.deepEqual(tasksInSight(rows.slice(0, 5), { ...scrolled, top: 0 }), {
    first: 0,
    last: 5,
    above: 0,
    below: 0,
    asks: new Map(),
  });
});

test("a header says how it sorts, and a reason stands below its row", () => {
  const state = newState(true);
  state.sort = { column: "took", down: true };
  const columns = (snapshot) =>
    shapes(drawTasks(sceneOf(snapshot, ASKED, NOW), state)).filter((each) => each.props.scope === "col");
  const sorted = columns(busy()).find((each) => each.props["aria-sort"] === "descending");
  assert.equal(words(sorted), "Took ↓");
  const drawn = shapes(drawTasks(sceneOf(busy(), ASKED, NOW), state));
  const at = drawn.findIndex((each) => each.props["data-task"] === "d1");
  const [below] = drawn.slice(at).filter((each) => each.type === "tr" && !each.props["data-task"]);
  assert.equal(words(below), "waits for 1 GPU; both are held");
  assert.equal(shapes(below).find((each) => each.type === "td").props.colspan, columns(busy()).length);
  const plain = { ...busy(), tasks: busy().tasks.slice(0, 2) };
  assert.ok(
    !shapes(drawTasks(sceneOf(plain, ASKED, NOW), newState(true))).some((each) => each.props.class === "reason"),
  );
});

test("a reason that the row above has said is in the title, in every view", () => {
  const why = "ValueError: no";
  const row = (id, more) => ({ ...busy().tasks[3], task_id: id, why, submitted_at: NOW - Number(id), ...more });
  const tasks = [row("1"), row("2"), row("3", { why: "KeyError" }), row("4"), row("5", { retry_of: "x" })];
  const reasons = (drawn) => shapes(drawn).filter((each) => each.props.class === "reason");
  const drawn = reasons(drawTasks(sceneOf({ ...busy(), tasks, counts: { FAILED: 5 } }, ASKED, NOW), newState(true)));
  assert.deepEqual(drawn.map(words), [why, "same reason", "KeyError", why, `retry of #x: ${why}`]);
  assert.ok(shapes(drawn[1]).some((each) => each.props.title === why));

  const waits = ["1", "2"].map((id) =>
    row(id, { name: `f${id}`, state: "PENDING_NODE_ASSIGNMENT", why: "no GPU is free" }),
  );
  const waiting = shapes(drawWaiting(sceneOf({ ...busy(), tasks: waits }, ASKED, NOW), newState(true)).filter(Boolean));
  assert.deepEqual(waiting.filter((each) => each.props.class === "why").map(words), ["no GPU is free", "same reason"]);

  const actors = ["c1", "c2"].map((id) => ({ ...busy().actors[0], actor_id: id, why: "its process ended" }));
  const shown = shapes(
    drawActors(sceneOf({ ...busy(), actors }, { ...ASKED, tab: "actors" }, NOW), newState(true)).filter(Boolean),
  );
  assert.deepEqual(shown.filter((each) => each.props.class === "why").map(words), ["its process ended", "same reason"]);
});

test("a row that is drawn again says its reason once the row above has another", () => {
  const state = newState(true);
  const row = (id, why) => ({ ...busy().tasks[3], task_id: id, why, submitted_at: NOW - Number(id) });
  const said = (...tasks) =>
    shapes(drawTasks(sceneOf({ ...busy(), tasks, counts: { FAILED: 2 } }, ASKED, NOW), state))
      .filter((each) => each.props.class === "reason")
      .map(words);
  assert.deepEqual(said(row("1", "no"), row("2", "no")), ["no", "same reason"]);
  assert.deepEqual(said(row("1", "other"), row("2", "no")), ["other", "no"]);
});

test("equal waits are said once, with their number", () => {
  const waits = (id, name) => ({ ...task(id, "waiting"), name, why: "no GPU is free", asks: "1 GPU" });
  assert.deepEqual(
    alike([waits("a", "x"), waits("b", "f"), waits("c", "f")]).map((group) => [group.task.id, group.number]),
    [
      ["b", 2],
      ["a", 1],
    ],
  );
  const functions = [
    { name: "g", waiting: 38 },
    { name: "z", waiting: 40 },
  ];
  const [z, ...one] = alike(
    [waits("a", "x"), waits("b", "x")].map((each) => ({ ...each, subject: "g" })),
    functions,
  );
  assert.deepEqual(
    [z.many, z.task.name, one.map(({ many }) => many)],
    ["× 40 ", "z", ["× 38 "]],
    "the rows are no count",
  );
  const some = alike(
    [
      { ...waits("a", "x"), subject: "g" },
      { ...waits("b", "x"), subject: "g", asks: "2 GPU" },
    ],
    functions,
  );
  assert.deepEqual(
    some.map(({ many }) => many),
    ["× 40 ", "some of 38 ", "some of 38 "],
  );
  assert.deepEqual([othersThan(78, [some[0]]), othersThan(78, some.slice(1)), othersThan(78, some)], [38, 40, 0]);
  const snapshot = busy();
  snapshot.tasks = [1, 2, 3].map((number) => ({ ...snapshot.tasks[2], task_id: `w${number}` }));
  const drawn = drawWaiting(sceneOf(snapshot, ASKED, NOW), newState(true)).filter(Boolean);
  assert.match(words(drawn[0]), /infer× 31 GPU.*Show all 3/);
});

test("what can never start is told in Alerts, and its row says so", () => {
  const snapshot = busy();
  const [id, why] = ["w1", "asks for 128 GPUs, and there are 2"];
  snapshot.tasks = [
    { ...snapshot.tasks[2], task_id: id, why },
    { ...snapshot.tasks[2], task_id: "w2", name: "other" },
  ];
  const drawn = () => drawWaiting(sceneOf(snapshot, ASKED, NOW), newState(true)).filter(Boolean)[0];
  assert.match(words(drawn()), /asks for 128 GPUs/, "no alert tells it");
  snapshot.alerts = [{ kind: "infeasible", message: why, since: NOW, task_id: id }];
  assert.doesNotMatch(words(drawn()), /128/);
  assert.equal(words(drawn()).split("never: see Alerts").length, 2, "of that task alone");
  snapshot.tasks[1].why = why;
  assert.match(words(drawn()), /never: see Alerts.*asks for 128 GPUs/, "the row above has not said it");
  const link = shapes(drawn()).find((each) => words(each) === "never: see Alerts" && each.type === "button");
  assert.deepEqual([link.props["data-act"], link.props["data-tab"], link.props["data-aim"]], ["lead", "alerts", id]);
});

test("more than eight devices are tiles, and a tile shows its row", () => {
  const state = newState(true);
  const scene = sceneOf(many(64, 4), { ...ASKED, tab: "devices" }, NOW);
  const tiles = () => shapes(drawDevices(scene, state).filter(Boolean)).filter((each) => each.props.class === "tile");
  assert.equal(tiles().length, 64);
  assert.equal(tiles()[3].props["aria-label"], "GPU 3, shared: half 0.25; Keeper 0.25, 83 %, 12 GiB of 80 GiB");
  assert.ok(!shapes(drawDevices(scene, state).filter(Boolean)).some((each) => each.props["data-device"] === "GPU 3"));
  state.device = scene.devices[3].key;
  const shown = sceneOf(many(64, 4), { ...ASKED, tab: "devices", device: state.device }, NOW);
  assert.ok(shapes(drawDevices(shown, state).filter(Boolean)).some((each) => each.props["data-device"] === "GPU 3"));
});

test("of a large cluster some devices and nodes are here, all are counted, and it is said how many are not shown", () => {
  const large = {
    ...many(16, 4),
    nodes: many(16, 4).nodes,
    node_counts: { alive: 10000, gone: 0 },
    resources: { CPU: [60, 640000] },
  };
  large.device_counts = [
    { resource: "GPU", total: 80000, held: 70000, taken: 5, shared: 9, most_free: 0.5, least_free: 0.25 },
  ];
  const state = newState(true);
  const scene = sceneOf(large, { ...ASKED, tab: "devices" }, NOW);
  assert.deepEqual(scene.busy, ["70005 of 80000 GPUs busy"]);
  assert.deepEqual(scene.resources, ["639940 of 640000 CPUs busy", "9 shared GPUs have up to 0.5 free each"]);
  assert.ok(scene.title.includes("10000 nodes"));
  const drawn = drawDevices(scene, state).filter(Boolean).map(words).join(" ");
  assert.match(drawn, /and 79984 more devices: those that are held or in trouble are shown/);
  assert.match(drawn, /of 16 shown · 9995 free · 5 taken by others/);
  assert.match(
    drawNodes(scene).map(words).join(" "),
    /and 9999 more nodes: those that are held or in trouble are shown/,
  );
  assert.ok(!/16 × /.test(drawn), "what all devices are is not known");
});

test("of a thousand devices the tiles in sight are drawn, in whole lines, and all are counted", () => {
  const state = newState(true);
  state.tiles = { top: 400, height: 200, row: 40, columns: 16 };
  const scene = sceneOf(many(1000, 4), { ...ASKED, tab: "devices", tiles: state.tiles, device: "/GPU/999" }, NOW);
  const drawn = shapes(drawDevices(scene, state).filter(Boolean));
  const tiles = drawn.filter((each) => each.props["aria-posinset"]);
  assert.equal(tiles.length % 16, 0);
  assert.ok(tiles.length < 200, `${tiles.length} tiles`);
  assert.ok(tiles[0].props["aria-posinset"] <= 10 * 16 + 1 && tiles.at(-1).props["aria-posinset"] >= 15 * 16);
  assert.equal(tiles[0].props["aria-setsize"], 1000);
  const heights = drawn
    .filter((each) => each.props.class === "gap")
    .map((each) => parseInt(each.props.style.slice(7)) + 4);
  assert.equal(heights.reduce((sum, each) => sum + each, 0) + (40 * tiles.length) / 16, 40 * Math.ceil(1000 / 16));
  assert.match(
    words(drawn.find((each) => each.key === "holders")),
    /Held by \u00a0train × 500, \u00a0half × 500, \u00a0Keeper × 500/,
  );
  assert.ok(drawn.some((each) => each.type === "tr" && each.props["data-device"] === "GPU 999"));
});

test("the tile under the pointer has a card with its holders", () => {
  const state = newState(true);
  const scene = sceneOf(many(64, 4), { ...ASKED, tab: "devices" }, NOW);
  const card = () => shapes(drawDevices(scene, state).filter(Boolean)).find((each) => each.props.class === "hover");
  assert.equal(card(), undefined);
  state.hover = { bar: scene.devices[0].key, style: "" };
  assert.match(words(card()), /GPU 0 held.*train.*cell \[7\] line 3/);
});

test("what is alike of all devices is said once", () => {
  const snapshot = busy();
  snapshot.devices = [0, 1].map((id) => ({ ...snapshot.devices[0], id: String(id) }));
  const said = drawDevices(sceneOf(snapshot, { ...ASKED, tab: "devices" }, NOW), newState(true))
    .filter(Boolean)
    .map(words)
    .join("\n");
  assert.equal(said.match(/\(logical\)/g).length, 1);
  assert.equal(said.match(/NVIDIA GPU/g).length, 1);
});

test("MIG instances are called by their card and their place on it", () => {
  const rows = [
    { resource: "GPU", id: "0" },
    ...[0, 1].map((n) => ({ resource: "GPU", id: `MIG-${n}`, parent: "GPU-a", profile: "1g.5gb" })),
  ];
  assert.deepEqual([...deviceLabels(rows).values()], ["GPU 0", "GPU 1 · MIG 0 (1g.5gb)", "GPU 1 · MIG 1 (1g.5gb)"]);
});

test("a task says how far it is and how long the rest takes", () => {
  const running = { ...busy().tasks[0], started_at: NOW - 60, progress: [25, 100] };
  const [view] = sceneOf({ ...busy(), tasks: [running] }, ASKED, NOW).tasks;
  assert.equal(view.took, "1 min · 25 % · 3 min left");
  const [ended] = sceneOf(
    { ...busy(), tasks: [{ ...running, state: "FINISHED", finished_at: NOW - 59.6 }] },
    ASKED,
    NOW,
  ).tasks;
  assert.equal(ended.took, "0.4 s");
});

test("a failed task that is kept has Retry where the source takes it, and the new one names the old one", () => {
  const state = newState(true);
  const [failed] = busy().tasks.filter((row) => row.state === "FAILED");
  const again = { ...failed, task_id: "f1", retryable: true, retry_of: "e1", why: "bad batch" };
  const snapshot = { ...busy(), tasks: [again] };
  const acts = () => shapes(drawTasks(sceneOf(snapshot, ASKED, NOW), state)).map((each) => each.props["data-act"]);
  assert.ok(!acts().includes("retry"), "the panel's source does not take it");
  state.retries = true;
  state.rows.clear();
  assert.ok(acts().includes("retry"));
  assert.equal(sceneOf(snapshot, ASKED, NOW).tasks[0].why, "retry of #e1: bad batch");
});

test("a node that was asked for has a line while it comes and before it goes", () => {
  const [node] = busy().nodes;
  const nodes = [
    node,
    { ...node, node_id: "n2", name: "lent", idle_since: NOW - 40, leaves_at: NOW + 20 },
    { ...node, node_id: "n3", name: "kept", kept_by: "it has the only copy of an object" },
  ];
  const scene = sceneOf(
    {
      ...busy(),
      nodes,
      arrivals: [{ id: "a1", node_type: "large", since: NOW - 30, usually_s: 120, state: "Slurm: job 12 waits" }],
    },
    { ...ASKED, tab: "nodes" },
    NOW,
  );
  assert.deepEqual(
    scene.nodes.map((each) => [each.name, each.why, each.moves]),
    [
      ["box", "", false],
      ["lent", "idle for 40 s, leaves in 20 s", true],
      ["kept", "stays: it has the only copy of an object", false],
      ["large", "for 30 s (usually 2 min): Slurm: job 12 waits", true],
    ],
  );
  const alone = sceneOf({ ...busy(), arrivals: [{ id: "a1", node_type: "large", since: NOW - 30 }] }, ASKED, NOW);
  assert.ok(
    alone.tabs.some((tab) => tab.id === "nodes"),
    "the first node that comes has a view",
  );
});

test("waiting tasks whose rows are not here are counted, and not said to be none", () => {
  const snapshot = { ...busy(), tasks: [], counts: { PENDING_NODE_ASSIGNMENT: 5 } };
  const said = drawWaiting(sceneOf(snapshot, { ...ASKED, tab: "waiting" }, NOW), newState(true))
    .filter(Boolean)
    .map(words)
    .join("\n");
  assert.match(said, /and 5 more that wait/);
  assert.doesNotMatch(said, /Nothing waits/);
});
