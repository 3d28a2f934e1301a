// What a snapshot means: the view model.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sceneOf, whatEnds } from "../src/model/scene.ts";
import { newState } from "../src/model/state.ts";
import { age, amount, demandWords, plain, shortId, size, stateWord } from "../src/model/words.ts";
import { viewOfPast } from "../src/past/past.ts";
import { drawDevices } from "../src/views/devices.tsx";
import { ASKED, NOW, busy, many } from "./snapshots.js";

const summary = (shown) =>
  [
    ...shown.busy,
    ...Object.entries(shown.counts)
      .filter(([, number]) => number)
      .map(([word, number]) => `${number} ${word}`),
  ].join(" · ");
const scene = (changes = {}, asked = {}) => {
  const shown = (tab) => sceneOf({ ...busy(), ...changes }, { ...ASKED, ...asked, ...tab }, NOW);
  return { ...shown(), devices: shown({ tab: "devices" }).devices }; // each view takes what it shows
};

test("a device says which, how full, whose task and which cell", () => {
  const [first, second] = scene().devices;
  assert.equal(first.label, "GPU 0");
  assert.equal(first.model, "NVIDIA GPU (logical)", "said once");
  assert.deepEqual([first.sign, first.state], ["●", "held"]);
  const [holder] = first.holders;
  assert.deepEqual(
    [holder.name, holder.cell, holder.age, holder.pid, holder.part],
    ["train", "[7] line 3", "3 min 12 s", "pid 52", ""],
  );
  assert.deepEqual([second.sign, second.state], ["◐", "shared"]);
  assert.deepEqual(second.utilisation, { percent: 83.4, text: "83 %" });
  assert.deepEqual(second.memory, { percent: 15, text: "12 GiB of 80 GiB" });
  assert.equal(second.use, "half 0.25, Keeper 0.25");
});

test("an actor that holds a device is killed, a task is cancelled", () => {
  const [task, actor] = scene().devices[1].holders;
  assert.deepEqual([task.taskId, task.actorId], ["b1", ""]);
  assert.deepEqual([actor.taskId, actor.actorId], ["", "c1"]);
});

test("tasks of one function have one hue in several shades, on the device and in the timeline", () => {
  const holders = Array.from({ length: 8 }, (_, index) => ({
    name: `task ${index}`,
    function: "x",
    amount: 0.1,
    task_id: `same${index}`,
  }));
  const device = { ...busy().devices[0], holders };
  const tasks = holders.map(({ name, task_id }) => ({ ...busy().tasks[0], name, function: "x", task_id }));
  const shown = scene({ devices: [device], tasks, hues: { x: 3 }, past: viewOfPast }, { tab: "timeline" });
  const byName = (rows) => Object.fromEntries(rows.map((row) => [row.name, row.colour]));
  const colours = Object.values(byName(shown.devices[0].holders));
  assert.deepEqual(
    [...new Set(colours)].sort((a, b) => a - b),
    [9, 10, 11],
  );
  const lane = shown.timeline.lanes.find((each) => each.label === "GPU 0");
  const held = byName(shown.devices[0].holders);
  assert.ok(lane.bars.length >= 5);
  for (const bar of lane.bars) assert.equal(bar.colour, held[bar.of]);
});

test("what is unknown is not shown as nothing", () => {
  const [first] = scene().devices;
  assert.equal(first.utilisation, null);
  assert.equal(first.memory, null);
});

test("a device that another head holds is taken, and says by whom", () => {
  const device = { ...busy().devices[0], holders: [], free: 0, free_reason: "held by notebook b.ipynb, pid 4711" };
  const [shown] = scene({ devices: [device] }).devices;
  assert.deepEqual([shown.state, shown.reason], ["taken", "held by notebook b.ipynb, pid 4711"]);
});

test("devices that are not offered are left out", () => {
  assert.equal(scene({ devices: [{ ...busy().devices[0], offered: false }] }).devices.length, 0);
});

test("tiles stand by their nodes, and of very many nodes those in sight are drawn", () => {
  const nodesOf = (number, total) => ({
    nodes: Array.from({ length: number }, (_, at) => ({ node_id: `n${at}`, name: `node-${at}` })),
    devices: Array.from({ length: total }, (_, at) => ({
      ...busy().devices[1],
      id: String(at),
      node_id: `n${at % number}`,
    })),
  });
  const few = scene(nodesOf(2, 5), { tab: "devices" });
  assert.deepEqual(
    few.devices.map(({ nodeKey, label }) => [nodeKey, label]),
    [
      ["n0", "GPU 0"],
      ["n0", "GPU 2"],
      ["n0", "GPU 4"],
      ["n1", "GPU 1"],
      ["n1", "GPU 3"],
    ],
  );
  assert.deepEqual(few.tileGroups, { many: false, first: 0, last: 2, all: 2, most: 3 });
  const many = scene(nodesOf(125, 1000), { tab: "devices", tiles: { top: 660, height: 300, row: 66, columns: 2 } });
  assert.deepEqual([many.tileGroups.first, many.tileGroups.last, many.tileGroups.most], [18, 32, 8]);
  assert.deepEqual([many.devices.length, many.devicesBefore], [14 * 8, 18 * 8]);
  assert.equal(
    scene({ devices: nodesOf(1, 9).devices }, { tab: "devices" }).tileGroups.most,
    0,
    "one node has no name",
  );
});

test("several nodes are named, one is not", () => {
  assert.equal(scene().devices[0].node, "");
  assert.ok(!scene().tabs.some((tab) => tab.id === "nodes"));
  const nodes = [
    { node_id: "n1", name: "one" },
    { node_id: "n2", name: "two", alive: false, why: "it was removed" },
  ];
  const devices = busy().devices.map((device, index) => ({ ...device, node_id: `n${index + 1}` }));
  const shown = scene({ nodes, devices });
  assert.deepEqual(
    shown.devices.map((device) => device.node),
    ["one", "two"],
  );
  assert.ok(shown.tabs.some((tab) => tab.id === "nodes"));
  assert.deepEqual([shown.nodes[1].state, shown.nodes[1].why], ["gone", "it was removed"]);
});

test("counts are of all tasks, not of those whose rows are here", () => {
  const shown = scene();
  assert.equal(summary(shown), "2 of 2 GPUs busy · 2 running · 3 waiting · 1 failed · 40 finished");
  assert.equal(shown.taskTotal, 46);
  assert.equal(shown.tabs.find((tab) => tab.id === "waiting")?.badge, 3);
  assert.equal(shown.actorsMore, 2);
});

test("cancelled tasks are counted, shown and filtered apart from failed ones", () => {
  const tasks = [{ ...busy().tasks[3], state: "CANCELLED", task_id: "f1", name: "stopped" }, busy().tasks[3]];
  const shown = scene(
    { tasks, counts: { FAILED: 1, CANCELLED: 2 } },
    { filter: { state: "cancelled", cell: "", text: "" } },
  );
  assert.equal(summary(shown), "2 of 2 GPUs busy · 1 failed · 2 cancelled");
  assert.deepEqual(
    shown.tasks.map((task) => [task.name, task.sign, task.cancellable]),
    [["stopped", "⊘", false]],
  );
});

test("of a cluster that has ended nothing runs, waits or is held", () => {
  const shown = scene({ ended: true });
  assert.equal(shown.ended, "shut down");
  assert.equal(summary(shown), "1 failed · 40 finished · 5 ended with it");
  assert.deepEqual(shown.resources, ["CPU 4", "GPU 2"]);
  assert.deepEqual(
    shown.devices.map((device) => [device.state, device.holders.length, device.memory]),
    [
      ["given back", 0, null],
      ["given back", 0, null],
    ],
  );
  assert.deepEqual(shown.waiting, []);
  assert.deepEqual(
    shown.tasks.map((task) => [task.state, task.cancellable]),
    [
      ["failed", false],
      ["ended with it", false],
      ["ended with it", false],
      ["ended with it", false],
    ],
  );
  assert.equal(shown.tabs.find((tab) => tab.id === "actors")?.badge, 0);
});

test("a head that was killed was neither shut down nor left", () => {
  const shown = scene({ runtime: { ...busy().runtime, shared: true }, ended: true, died: true });
  assert.equal(shown.ended, "its head has gone");
  assert.match(shown.endedAt, /^This was known at/);
  assert.equal(summary(shown), "1 failed · 40 finished · 5 ended with it");
});

test("of a shared cluster that was left, what others run is not known", () => {
  const runtime = { ...busy().runtime, shared: true };
  const shown = scene({ runtime, ended: true });
  assert.equal(shown.ended, "left");
  assert.equal(summary(shown), "1 failed · 40 finished");
  assert.deepEqual(
    shown.tasks.map((task) => task.state),
    ["failed"],
  );
  assert.equal(scene({ lost: true }).ended, "the kernel has gone");
});

test("a waiting task says what it asks for, since when, and why", () => {
  const [{ task }] = scene().waiting;
  assert.deepEqual(
    [task.name, task.asks, task.age, task.why],
    ["infer", "1 GPU", "5 s", "waits for 1 GPU; both are held"],
  );
});

test("a whole snapshot, with every field, is read alike", () => {
  const tasks = [{ ...busy().tasks[2], why: "no GPU is free" }];
  assert.equal(scene({ tasks }).waiting[0].task.why, "no GPU is free");
});

test("tasks are filtered by state, cell and text; those that run come first, then failed ones", () => {
  const names = (filter) => scene({}, { filter: { ...ASKED.filter, ...filter } }).tasks.map((task) => task.name);
  assert.deepEqual(names({}), ["half", "train", "broken", "infer"]);
  assert.deepEqual(names({ state: "running" }), ["half", "train"]);
  assert.deepEqual(names({ cell: "[7]" }), ["train"]);
  assert.deepEqual(names({ text: "sigkill" }), ["broken"]);
  assert.deepEqual(names({ text: "gpu 1" }), ["half"]);
  assert.deepEqual(scene().cells, ["[7]", "[9]"]);
});

test("only what has not ended can be cancelled, and peak memory is told", () => {
  const byName = new Map(scene().tasks.map((task) => [task.name, task]));
  assert.equal(byName.get("train")?.cancellable, true);
  assert.equal(byName.get("broken")?.cancellable, false);
  assert.deepEqual(byName.get("broken")?.facts, ["3 MiB"]);
});

test("the second line says what the first does not, without memory and internal resources", () => {
  assert.deepEqual(scene().resources, ["1 of 4 CPUs busy", "1 shared GPU has 0.5 free"]);
  assert.deepEqual(scene({ devices: [busy().devices[0]] }).resources, ["1 of 4 CPUs busy"]);
  assert.deepEqual(
    scene({ devices: [] }).resources.filter((words) => words.includes("CPU")),
    [],
    "the first line says it",
  );
  assert.deepEqual(scene({ ended: true }).resources, ["CPU 4", "GPU 2"]);
});

test("a device that two tasks of one name share is named once", () => {
  const [here, there] = busy().devices;
  const halves = ["t8", "t9"].map((task_id) => ({ name: "half", amount: 0.5, task_id }));
  const [first] = scene(
    {
      devices: [
        { ...here, holders: halves },
        { ...there, holders: [] },
      ],
    },
    { tab: "devices" },
  ).heldBy;
  assert.deepEqual([first.name, first.number, first.where], ["half", 2, ["GPU 0"]]);
});

test("nobody holds or measures a device whose node has gone", () => {
  const nodes = [
    { node_id: "n1", name: "one", totals: {}, available: {} },
    { node_id: "n2", name: "two", alive: false },
  ];
  const [here, there] = busy().devices;
  const shown = scene(
    {
      nodes,
      devices: [
        { ...here, node_id: "n1" },
        { ...there, node_id: "n2", metrics: { utilisation_percent: 83 } },
      ],
    },
    { tab: "devices" },
  );
  assert.deepEqual(
    shown.devices.map((each) => [each.state, each.holders.length, each.reason]),
    [
      ["held", 1, ""],
      ["gone", 0, "its node has gone"],
    ],
  );
  assert.equal(shown.devices[1].utilisation, null, "its last load is not that of now");
  assert.deepEqual([shown.busy, shown.devicesFree, shown.devicesTaken], [["1 of 1 GPU busy"], 0, 0]);
  const drawn = JSON.stringify(drawDevices(shown, newState(true)));
  assert.ok(!drawn.includes("part taken"));
});

test("a name cannot hide control characters or turn the text around", () => {
  assert.equal(plain("a\u001b[31m\u202eb"), "a\\u001b[31m\\u202eb");
});

test("words are those of the terminal", () => {
  assert.deepEqual([amount(1), amount(0.25), amount(0.1 + 0.2)], ["1", "0.25", "0.3"]);
  assert.deepEqual(
    [size(42949672960), size(1.5 * 2 ** 20), size(12), size(null)],
    ["40 GiB", "1.5 MiB", "12 B", "unknown"],
  );
  assert.deepEqual([age(8.9), age(192), age(7500)], ["8 s", "3 min 12 s", "2 h 05 min"]);
  assert.deepEqual(
    [stateWord("RUNNING_IN_RAY_GET"), stateWord("PENDING_ARGS_AVAIL"), stateWord("FINISHED")],
    ["running", "waiting", "finished"],
  );
  assert.equal(demandWords({ CPU: 1, GPU: 0.5, x: 0 }), "1 CPU, 0.5 GPU");
  assert.equal(shortId("1177f5541e615d2539bdef08000000000000001400000001"), "1177-20");
  assert.equal(shortId("8849b62d89cb30a3ffffffffffffffffffffffff01000000"), "8849b62d89cb");
  assert.equal(shortId("ffffffffffffffffdf2a57569aeec8517e2d0c3101000000"), "df2a57569aee");
});

test("an empty cluster is drawn too", () => {
  const shown = sceneOf({ runtime: { engine: "debug", version: "1" } }, ASKED, NOW);
  assert.equal(summary(shown), "");
  assert.deepEqual(shown.devices, []);
});

test("sixty-four devices and five hundred tasks are understood within a frame", () => {
  const snapshot = many(64, 500);
  sceneOf(snapshot, ASKED, NOW);
  assert.equal(sceneOf(snapshot, ASKED, NOW).tasks.length, 500);
  assert.equal(sceneOf(snapshot, { ...ASKED, tab: "devices" }, NOW).devices.length, 64);
});

const SHARED = { runtime: { engine: "local", version: "1", shared: true }, jobs: [{ number: 2, name: "b.ipynb" }] };

test("on a shared head a row of another notebook says whose it is, one's own does not", () => {
  const [own, other] = busy().tasks;
  const [device] = busy().devices;
  const shown = scene({
    ...SHARED,
    tasks: [own, { ...other, job: 2, cell: "[7] line 3" }],
    actors: [{ ...busy().actors[0], job: 2, cell: "[1]" }],
    devices: [{ ...device, holders: [{ ...device.holders[0], job: 2 }] }],
  });
  const cells = Object.fromEntries(shown.tasks.map((task) => [task.name, [task.cell, task.owner]]));
  assert.deepEqual(cells, { train: ["[7] line 3", ""], half: ["b.ipynb [7] line 3", "b.ipynb"] });
  assert.equal(shown.devices[0].holders[0].owner, "b.ipynb");
  assert.deepEqual(shown.cells, ["[7]", "b.ipynb [7]"]);
  const actors = scene({ ...SHARED, actors: [{ ...busy().actors[0], job: 2, cell: "[1]" }] }, { tab: "actors" }).actors;
  assert.deepEqual([actors[0].owner, actors[0].cell], ["b.ipynb", "b.ipynb [1]"]);
});

test("a cell of the filter is the reader's own unless it names another notebook", () => {
  const [own, other] = busy().tasks;
  const changes = { ...SHARED, tasks: [own, { ...other, job: 2, cell: "[7]" }] };
  const names = (cell) => scene(changes, { filter: { state: "", cell, text: "" } }).tasks.map((task) => task.name);
  assert.deepEqual(names("[7]"), ["train"]);
  assert.deepEqual(names("b.ipynb [7]"), ["half"]);
});

test("a whole snapshot names the jobs by number, and the reader's own is not named", () => {
  const runtime = { ...SHARED.runtime, job: 2 };
  assert.equal(scene({ ...SHARED, runtime, tasks: [{ ...busy().tasks[0], job: 2 }] }).tasks[0].owner, "");
});

test("a task that is tried again waits, whenever it had started, and one that never started took no time", () => {
  const again = { ...busy().tasks[2], started_at: NOW - 60 };
  const never = { ...busy().tasks[0], started_at: null };
  assert.deepEqual(
    scene({ tasks: [again, never] }).tasks.map(({ took }) => took),
    ["", "waits 5 s"],
  );
});

test("an actor's constructor is the actor that starts, and is found by these words", () => {
  const tasks = [{ ...busy().tasks[2], name: "Model.__init__", why: "Model waits for 1 GPU. It is busy." }];
  assert.deepEqual(
    scene({ tasks }, { filter: { text: "model (starting)", state: "", cell: "" } }).tasks.map(({ name, why }) => [
      name,
      why,
    ]),
    [["Model (starting)", "It is busy."]],
  );
});

test("alerts say in words what they are about", () => {
  const alerts = ["failed", "infeasible", "leak", "node lost"].map((kind) => ({ kind, message: "m", since: NOW - 9 }));
  assert.deepEqual(
    scene({ alerts }).alerts.map(({ title }) => title),
    ["Failed", "Can never start", "Memory leak", "Node lost"],
    "in the snapshot's order",
  );
});

test("an alert leads to its tasks, its device, its row or its node", () => {
  const id = `7f3a${"0".repeat(36)}0c00000001`;
  const leads = (alert, changes) => {
    const [{ shows, leads }] = scene({ alerts: [{ message: "m", since: NOW, ...alert }], ...changes }).alerts;
    return (
      leads && [
        shows,
        leads["data-tab"] ?? "tasks",
        leads["data-state"] ?? leads["data-text"] ?? "",
        leads["data-aim"] ?? "",
      ]
    );
  };
  assert.deepEqual(leads({ kind: "failed", task_id: "e1" }), ["Show failed tasks", "tasks", "failed", ""]);
  assert.deepEqual(leads({ kind: "infeasible", task_id: id }), ["Show task", "tasks", shortId(id), id]);
  assert.deepEqual(leads({ kind: "leak", task_id: "e1", device: "1" }), ["Show device", "devices", "", "/GPU/1"]);
  assert.deepEqual(leads({ kind: "leak", device: "9" }), ["Show device", "devices", "", ""], "it has gone");
  assert.deepEqual(leads({ kind: "node lost", node_id: "n2" }), ["Show node", "nodes", "", "n2"]);
  assert.equal(leads({ kind: "leases" }), undefined);
  const devices = ["n1", "n2"].map((node_id) => ({ ...busy().devices[0], node_id }));
  assert.deepEqual(
    leads({ kind: "unused", device: "0", node_id: "n2" }, { devices }).at(-1),
    "n2/GPU/0",
    "of two with this number",
  );
});

test("a reason that starts with the task and its cell says only the rest, also with a notebook", () => {
  const why = "infer (cell [4] line 1 of b.ipynb) asks for 1 GPU: 0 of 1 GPU is free";
  const tasks = [{ ...busy().tasks[2], cell: "[4] line 1", why }];
  assert.equal(scene({ tasks }).waiting[0].task.why, "asks for 1 GPU: 0 of 1 GPU is free");
  const plain = [{ ...busy().tasks[2], why: "infer asks for 1 GPU" }];
  assert.equal(scene({ tasks: plain }).waiting[0].task.why, "asks for 1 GPU");
  const both = [
    { ...tasks[0], why: "infer (cell [4] line 1 of b.ipynb) waits for 0.5 GPU. Both GPUs are busy: train on GPU 0." },
  ];
  assert.equal(scene({ tasks: both }).waiting[0].task.why, "Both GPUs are busy: train on GPU 0.");
  const made = [
    { ...busy().tasks[2], name: "Model.__init__", why: "Model waits for 2 argument(s) that are not ready yet." },
  ];
  assert.equal(scene({ tasks: made }).waiting[0].task.why, "waits for 2 argument(s) that are not ready yet.");
  const other = [{ ...busy().tasks[2], why: "inference is asked for" }];
  assert.equal(scene({ tasks: other }).waiting[0].task.why, "inference is asked for");
});

test("what the kernel has found of all tasks is shown instead of the rows that are here", () => {
  const filter = { state: "failed", cell: "", text: "" };
  assert.deepEqual(
    scene({}, { filter }).tasks.map((task) => task.id),
    ["e1"],
  );
  const old = { task_id: "z9", name: "early", state: "FAILED", why: "bad batch", submitted_at: NOW - 900 };
  const shown = scene({}, { filter, found: { key: "", tasks: [old], total: 11 } });
  assert.deepEqual(
    shown.tasks.map((task) => [task.id, task.why]),
    [["z9", "bad batch"]],
  );
  assert.equal(shown.tasksFound, 11);
});

test("a cluster that can get devices is not advised to count logical ones", () => {
  const bare = scene({ devices: [] });
  assert.equal(bare.advice, "nbaccel.init(num_gpus=2)");
  const grows = scene({
    devices: [],
    node_types: [
      { name: "cpu", resources: { CPU: 8 } },
      { name: "gpu", resources: { GPU: 4 } },
    ],
  });
  assert.deepEqual(
    [grows.noDevice, grows.advice],
    ["No accelerator. A node of the type gpu (4 GPU) comes when work asks for it.", ""],
  );
});

test("who shuts a cluster down reads what ends with it", () => {
  const ends = (changes) => whatEnds({ ...busy(), actor_counts: {}, ...changes });
  const rest = "Its devices become free, and values that were not fetched are lost.";
  assert.equal(ends({ counts: { FINISHED: 7 } }), `No task and no actor runs. ${rest}`);
  assert.equal(ends({ counts: { RUNNING: 1, FAILED: 2 } }), `This ends 1 running task. ${rest}`);
  const counts = { RUNNING: 2, PENDING_NODE_ASSIGNMENT: 38 };
  assert.equal(
    ends({ counts, actor_counts: { ALIVE: 1, RESTARTING: 1, DEAD: 4 } }),
    `This ends 2 running tasks, 38 waiting tasks and 2 actors. ${rest}`,
  );
  const runtime = { engine: "local", version: "", python: "", shared: true };
  const jobs = [
    { number: 1, name: "a.ipynb" },
    { number: 2, name: "b.ipynb", left: true },
    { number: 3, name: "c.ipynb" },
  ];
  assert.equal(
    ends({ counts: {}, runtime, jobs }),
    `No task and no actor runs. It is shared by a.ipynb, c.ipynb. ${rest}`,
  );
});
