// From a snapshot to everything that a view draws: a pure function, and the only place that knows what a snapshot means.

import { hueOf, subjectOf } from "./colours";
import { deviceCounts, deviceKey, devicesOf, type TilesInSight } from "./devices";
import type { Past } from "./history";
import type { State } from "./state";
import {
  actorViews,
  alike,
  cellsOf,
  functionsOf,
  pagesOf,
  taskCounts,
  tasksOf,
  waitingViews,
  type Sort,
} from "./tasks";
import type { Alert, DrawRuns, Filter, Found, NodeRow, RunsView, Snapshot } from "./types";
import { ENDED, age, amount, clock, count, demandWords, duration, nodeNames, ownerOf, plain, shortId } from "./words";
import type { Range } from "../past/timeline";

export interface TabView {
  id: string;
  label: string;
  badge: number;
  urgent: boolean;
  failed?: boolean;
}

/** moves: it comes or goes */
interface NodeView {
  key: string;
  name: string;
  title: string;
  sign: string;
  state: string;
  role: string;
  resources: string;
  why: string;
  moves: boolean;
}

/** what the person has chosen */
export interface Asked {
  filter: Filter;
  window: number;
  tab: string;
  range?: Range | null;
  sort?: Sort;
  held?: string[] | null;
  found?: Found | null;
  pages?: State["pages"];
  past?: Record<string, Past>;
  device?: string;
  tiles?: TilesInSight;
}

const ACCELERATORS = ["GPU", "TPU", "NPU", "HPU", "neuron_cores", "RBLN", "FURIOSA", "MBLT", "TTNPU"];
const HIDDEN_RESOURCES = /^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;

/** @param now seconds by the kernel's clock */
export function sceneOf(given: Snapshot, asked: Asked, now: number) {
  const ended = given.lost
    ? "the kernel has gone"
    : !given.ended
      ? ""
      : given.died
        ? "its head has gone"
        : given.runtime.shared
          ? "left"
          : "shut down";
  const snapshot = ended ? afterEnd(given) : given;
  const counts = taskCounts(snapshot);
  const runs = snapshot.runs?.(now, ended !== "", snapshot);
  const tabs = tabsOf(snapshot, counts, runs);
  const tab = tabs.some(({ id }) => id === asked.tab) ? asked.tab : "devices"; // a tab goes with what it shows
  const tasks = tab === "tasks" ? tasksOf(snapshot, asked, now) : [];
  return {
    title: titleOf(snapshot),
    ended,
    endedAt:
      ended &&
      `${given.lost || given.died ? "This was known" : given.runtime.shared ? "Left" : "Shut down"} at ${clock(given.time ?? now, now)}.`,
    counts,
    busy: ended ? [] : busyOf(snapshot),
    resources: ended ? resourcesOf(snapshot, true) : besideOf(snapshot),
    tab,
    tabs,
    ...devicesOf(snapshot, now, tab === "devices" ? asked : null),
    noDevice: ["No accelerator.", ...(snapshot.found ?? []).map(plain), toCome(snapshot)].filter(Boolean).join(" "),
    advice: toCome(snapshot) ? "" : "nbaccel.init(num_gpus=2)",
    waiting: ended ? [] : alike(waitingViews(snapshot, now), snapshot.functions),
    tasks,
    functions: tab === "tasks" ? functionsOf(snapshot, asked) : [],
    pages: ended ? null : pagesOf(snapshot, asked, now),
    tasksFound: asked.found?.total ?? tasks.length,
    foundInAll: Boolean(asked.found),
    taskRows: (snapshot.tasks ?? []).length,
    taskTotal: Object.values(counts).reduce((sum, number) => sum + number, 0),
    cells: tab === "tasks" ? cellsOf(snapshot) : [],
    actors: tab === "actors" ? actorViews(snapshot, now) : [],
    actorsMore: actorsMore(snapshot),
    runs,
    pastViews: snapshot.past,
    timeline:
      tab === "timeline" && snapshot.past
        ? snapshot.past.timelineOf(snapshot, asked.window, now, asked.range, asked.past?.runs?.data)
        : null,
    accounts:
      tab === "accounting" && snapshot.past
        ? snapshot.past.accountsView(asked.past?.accounting?.data, snapshot, now)
        : null,
    alerts: alertsOf(snapshot, now),
    nodes: nodesOf(snapshot, now),
    nodesMore: (snapshot.node_counts?.alive ?? 0) - living(snapshot),
  };
}

export type Scene = ReturnType<typeof sceneOf>;

/** Which types of nodes bring devices. */
function toCome(snapshot: Snapshot) {
  const devices = (all: Record<string, number>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => ACCELERATORS.includes(name)));
  const types = (snapshot.node_types ?? []).filter(
    (kind) => !kind.given_up && Object.keys(devices(kind.resources ?? {})).length,
  );
  const named = types.map(({ name, resources }) => `${plain(name)} (${demandWords(devices(resources ?? {}))})`);
  return named.length ? `A node of the type ${named.join(" or ")} comes when work asks for it.` : "";
}

function titleOf(snapshot: Snapshot) {
  const { engine, version, pid, shared } = snapshot.runtime;
  const alive = snapshot.node_counts?.alive ?? living(snapshot);
  return [
    "nbaccel " + plain(version),
    `${plain(engine)} engine`,
    alive > 1 ? count(alive, "node") : "",
    pid ? `head pid ${pid}` : "",
    shared ? "shared by several notebooks" : "",
  ].filter(Boolean);
}

function living({ nodes }: Snapshot) {
  return (nodes ?? []).filter((node) => node.alive !== false).length;
}

/** How many devices of each kind are held, or the CPUs where there is none: ["2 of 2 GPUs busy"]. */
function busyOf(snapshot: Snapshot) {
  const kinds = deviceCounts(snapshot);
  if (kinds.length)
    return kinds.map(({ resource, held, taken, total }) => `${held + taken} of ${count(total, plain(resource))} busy`);
  const [free, all] = sumsOf(snapshot).get("CPU") ?? [0, 0];
  return all ? [`${amount(all - free)} of ${amount(all)} CPUs busy`] : [];
}

/** What the first line does not say: "1 of 2 CPUs busy", "1 shared GPU has 0.5 free". */
function besideOf(snapshot: Snapshot): string[] {
  const counts = deviceCounts(snapshot);
  const kinds = counts.length ? counts.map(({ resource }) => resource) : ["CPU"];
  const others = [...sumsOf(snapshot)]
    .filter(([name]) => !kinds.includes(name))
    .map(([name, [free, all]]) => `${amount(all - free)} of ${count(+amount(all), plain(name))} busy`);
  const left = counts
    .filter(({ shared }) => shared)
    .map(({ resource, shared, most_free: most, least_free: least }) => {
      const devices = count(shared, `shared ${plain(resource)}`);
      if (shared < 2) return `${devices} has ${amount(most)} free`;
      return `${devices} have ${least === most ? "" : "up to "}${amount(most)} free each`; // what is left of several is no device
    });
  return [...others, ...left];
}

/** "CPU 1 of 2 free", summed over living nodes; "CPU 2" of a cluster that has ended. */
function resourcesOf(snapshot: Snapshot, ended?: boolean): string[] {
  return [...sumsOf(snapshot)].map(
    ([name, [free, all]]) => `${plain(name)} ${ended ? amount(all) : `${amount(free)} of ${amount(all)} free`}`,
  );
}

/** What is free of each resource, and all of it. */
function sumsOf(snapshot: Snapshot): Map<string, [number, number]> {
  const sums: Map<string, [number, number]> = new Map(
    Object.entries(snapshot.resources ?? {}).filter(([name]) => !HIDDEN_RESOURCES.test(name)),
  );
  for (const node of sums.size ? [] : (snapshot.nodes ?? [])) {
    for (const [name, total] of node.alive === false ? [] : Object.entries(node.totals ?? {})) {
      if (HIDDEN_RESOURCES.test(name)) continue;
      const [free, all] = sums.get(name) ?? [0, 0];
      sums.set(name, [free + (node.available?.[name] ?? 0), all + total]);
    }
  }
  return sums;
}

function tabsOf(snapshot: Snapshot, counts: Record<string, number>, runs?: RunsView): TabView[] {
  const alerts = (snapshot.alerts ?? []).length;
  const actors = (snapshot.actors ?? []).filter((row) => row.state !== "DEAD").length + actorsMore(snapshot);
  const tabs = [
    { id: "devices", label: "Devices", badge: 0, urgent: false },
    { id: "waiting", label: "Waiting", badge: counts.waiting, urgent: false },
    { id: "tasks", label: "Tasks", badge: counts.failed, urgent: false, failed: true },
    { id: "actors", label: "Actors", badge: actors, urgent: false },
    { id: "timeline", label: "Timeline", badge: 0, urgent: false },
    { id: "accounting", label: "Accounting", badge: 0, urgent: false },
    { id: "alerts", label: "Alerts", badge: alerts, urgent: alerts > 0 },
  ];
  if (runs) tabs.push(...runs.tabs);
  if ((snapshot.nodes ?? []).length > 1 || snapshot.arrivals?.length)
    tabs.push({ id: "nodes", label: "Nodes", badge: 0, urgent: false });
  return tabs;
}

/** Living actors whose rows are not here. */
function actorsMore(snapshot: Snapshot) {
  const shown = (snapshot.actors ?? []).filter((row) => row.state !== "DEAD").length;
  return Math.max(0, livingActors(snapshot) - shown);
}

function livingActors({ actor_counts = {} }: Snapshot) {
  return Object.entries(actor_counts).reduce((sum, [state, number]) => sum + (state === "DEAD" ? 0 : number), 0);
}

/** What ends with the cluster, before somebody shuts it down. */
export function whatEnds(snapshot: Snapshot): string {
  const { running, waiting } = taskCounts(snapshot);
  const parts = [
    running && count(running, "running task"),
    waiting && count(waiting, "waiting task"),
    livingActors(snapshot) && count(livingActors(snapshot), "actor"),
  ].filter(Boolean);
  const last = parts.pop();
  const work = last
    ? `This ends ${[parts.join(", "), last].filter(Boolean).join(" and ")}.`
    : "No task and no actor runs.";
  const members = (snapshot.jobs ?? []).filter(({ left }) => !left).map(({ name }) => plain(name));
  const others = snapshot.runtime.shared && members.length ? ` It is shared by ${members.join(", ")}.` : "";
  return `${work}${others} Its devices become free, and values that were not fetched are lost.`;
}

function nodesOf(snapshot: Snapshot, now: number): NodeView[] {
  const names = nodeNames(snapshot);
  const here = (snapshot.nodes ?? []).map((node) => ({
    key: node.node_id,
    name: names.get(node.node_id)?.words ?? "",
    title: plain(node.name),
    sign: node.alive === false ? "✕" : "●",
    state: node.alive === false ? "gone" : "alive",
    role: node.is_head ? "head" : "",
    resources: resourcesOf({ ...snapshot, nodes: [node], resources: {} }, Boolean(snapshot.ended)).join(" · "),
    why: plain(node.why) || whyOfNode(node, now),
    moves: (node.leaves_at ?? 0) > now,
  }));
  const coming = (snapshot.arrivals ?? []).map((each) => ({
    key: each.id,
    name: plain(each.node_type),
    title: plain(each.node_type),
    sign: "◌",
    state: "arriving",
    role: "",
    resources: "",
    moves: true,
    why: `for ${duration(now - (each.since ?? now))}${each.usually_s ? ` (usually ${duration(each.usually_s)})` : ""}${["", "arriving"].includes(each.state ?? "") ? "" : `: ${plain(each.state)}`}`,
  }));
  return [...here, ...coming];
}

/** Why a node that was asked for stays, or when it leaves. */
function whyOfNode(node: NodeRow, now: number) {
  if (node.kept_by) return `stays: ${plain(node.kept_by)}`;
  if (!node.leaves_at || !node.idle_since) return "";
  const left = node.leaves_at - now;
  return `idle for ${duration(now - node.idle_since)}, ${left > 0 ? `leaves in ${duration(left)}` : "kept for a request or its type's min"}`;
}

// ---- Alerts as a person reads them: what has happened, since when, and where to look.

/** of: its task, shows: the words for where it leads */
export interface AlertView {
  key: string;
  kind: string;
  title: string;
  message: string;
  age: string;
  of: string | null | undefined;
  shows?: string;
  leads?: Record<string, string>;
}

const ALERTS: Record<string, string> = { infeasible: "Can never start", leak: "Memory leak" };

function alertsOf(snapshot: Snapshot, now: number): AlertView[] {
  return (snapshot.alerts ?? []).map((alert, index) => ({
    ...leadOf(alert, snapshot),
    key: `${alert.since}/${index}`,
    kind: alert.kind,
    title: ALERTS[alert.kind] ?? plain(alert.kind[0].toUpperCase() + alert.kind.slice(1)),
    message: plain(alert.message),
    age: age(now - alert.since),
    of: alert.task_id,
  }));
}

/** Where an alert leads: to the failed tasks, its device, its task's row or its node. */
function leadOf({ kind, task_id: task, device, node_id: node }: Alert, snapshot: Snapshot) {
  const lead = (what: string, data: Record<string, string>) => ({
    shows: `Show ${what}`,
    leads: { "data-act": "lead", ...data },
  });
  if (kind === "failed") return lead("failed tasks", { "data-state": "failed" });
  if (device) {
    const row = snapshot.devices?.find(
      (each) => each.id === device && (!node || !each.node_id || each.node_id === node),
    );
    return lead("device", { "data-tab": "devices", "data-aim": row ? deviceKey(row) : "" });
  }
  if (task) return lead("task", { "data-text": shortId(task), "data-aim": task });
  return node ? lead("node", { "data-tab": "nodes", "data-aim": node }) : null;
}

// ---- What is left of a cluster that has ended: nothing runs, waits or is held any more.

/** The last snapshot without what ended with the cluster. Of a shared one that goes on without us, what others run is
 * not known. */
function afterEnd(snapshot: Snapshot): Snapshot {
  const shared = snapshot.runtime.shared && !snapshot.died;
  const is = (state: string) => (ENDED.has(state) ? state : "ENDED_WITH_IT");
  const tasks = (snapshot.tasks ?? []).map((row) => ({
    ...row,
    state: is(row.state),
    why: ENDED.has(row.state) ? row.why : "",
  }));
  const counts: Record<string, number> = {};
  for (const [state, number] of Object.entries(snapshot.counts ?? {}))
    counts[is(state)] = (counts[is(state)] ?? 0) + number;
  if (shared) delete counts.ENDED_WITH_IT;
  return {
    ...snapshot,
    devices: (snapshot.devices ?? []).map((row) => ({
      ...row,
      holders: [],
      free_reason: "",
      metrics: null,
      over: true,
    })),
    tasks: shared ? tasks.filter((row) => ENDED.has(row.state)) : tasks,
    counts,
    functions: (snapshot.functions ?? []).map(({ running = 0, waiting = 0, ...row }) =>
      shared ? row : { ...row, ended: running + waiting },
    ),
    actors: (snapshot.actors ?? []).map((row) => ({ ...row, state: "DEAD", pending_calls: 0 })),
    actor_counts: {},
  };
}

// ---- From the snapshot that a kernel or a head sends to what the views draw: the same for the widget and the panel.

/** Rows name a node only where there are several, and holders have their function's colour.
 * @param viewOfRuns draws the records, if there are any */
export function shownOf(given: Snapshot, viewOfRuns?: ((sent: any) => DrawRuns) | null): Snapshot {
  const subjects = new Map((given.tasks ?? []).map((row) => [row.task_id, subjectOf(row)]));
  for (const row of given.actors ?? []) subjects.set(row.actor_id, row.class_name);
  const isOnly = given.nodes?.length === 1;
  const devices = given.devices?.map((row) => ({
    ...row,
    node_id: isOnly ? "" : row.node_id,
    holders: row.holders?.map((each) => ({
      ...each,
      function: subjects.get(each.actor_id || each.task_id || "") ?? "",
    })),
  }));
  const tasks = isOnly ? given.tasks?.map((row) => ({ ...row, node_id: null })) : given.tasks;
  return {
    ...given,
    devices,
    tasks,
    runs: viewOfRuns && given.published?.length ? viewOfRuns(recordsOf(given)) : null,
  };
}

/** The published records by their kinds, with their colours and owners. */
function recordsOf(snapshot: Snapshot) {
  const of = (wanted: string) =>
    (snapshot.published ?? [])
      .filter(({ kind }) => kind === wanted)
      .map(({ record, job }) => ({ ...record, hue: hueOf(snapshot, record.name), owner: ownerOf(snapshot, { job }) }));
  return { runs: of("run"), experiments: of("experiment"), served: of("application") };
}
