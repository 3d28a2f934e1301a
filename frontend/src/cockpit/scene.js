// From a snapshot to everything that a view draws: a pure function, and the only place that knows what a snapshot means.

import { alertsOf } from "./alerts.js";
import { devicesOf } from "./devices.js";
import { nodeNames } from "./node_names.js";
import { afterEnd } from "./ended.js";
import { actorViews, cellsOf, taskCounts, waitingViews } from "./tasks.js";
import { functionsOf, pagesOf, tasksOf } from "./functions.js";
import { alike } from "./task_rows.js";
import { deviceCounts } from "./totals.js";
import { amount, clock, count, demandWords, duration, plain } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Filter} Filter */
/** @typedef {{id: string, label: string, badge: number, urgent: boolean, failed?: boolean}} TabView */
/** @typedef {{key: string, name: string, title: string, sign: string, state: string, role: string, resources: string, why: string, moves: boolean}} NodeView moves: it comes or goes */
/** @typedef {import("./types.js").Found} Found */
/** @typedef {{filter: Filter, window: number, tab: string, range?: import("../past/timeline.js").Range | null, sort?: import("./task_rows.js").Sort, held?: string[] | null, found?: Found | null, pages?: import("./state.js").State["pages"], past?: Record<string, import("./history.js").Past>, device?: string, tiles?: import("./devices.js").TilesInSight}} Asked what the person has chosen */

const ACCELERATORS = ["GPU", "TPU", "NPU", "HPU", "neuron_cores", "RBLN", "FURIOSA", "MBLT", "TTNPU"];
const HIDDEN_RESOURCES = /^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;

/** @param {Snapshot} given @param {Asked} asked @param {number} now seconds by the kernel's clock */
export function sceneOf(given, asked, now) {
  const ended = given.lost ? "the kernel has gone" : !given.ended ? "" : given.died ? "its head has gone" : given.runtime.shared ? "left" : "shut down";
  const snapshot = ended ? afterEnd(given) : given;
  const counts = taskCounts(snapshot);
  const runs = snapshot.runs?.(now, ended !== "", snapshot);
  const tabs = tabsOf(snapshot, counts, runs);
  const tab = tabs.some(({ id }) => id === asked.tab) ? asked.tab : "devices"; // a tab goes with what it shows
  const tasks = tab === "tasks" ? tasksOf(snapshot, asked, now) : [];
  return {
    title: titleOf(snapshot),
    ended,
    endedAt: ended && `${given.lost || given.died ? "This was known" : given.runtime.shared ? "Left" : "Shut down"} at ${clock(given.time ?? now, now)}.`,
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
    timeline: tab === "timeline" && snapshot.past ? snapshot.past.timelineOf(snapshot, asked.window, now, asked.range, asked.past?.runs?.data) : null,
    accounts: tab === "accounting" && snapshot.past ? snapshot.past.accountsView(asked.past?.accounting?.data, snapshot, now) : null,
    alerts: alertsOf(snapshot, now),
    nodes: nodesOf(snapshot, now),
    nodesMore: (snapshot.node_counts?.alive ?? 0) - living(snapshot),
  };
}

/** @typedef {ReturnType<typeof sceneOf>} Scene */

/** Which types of nodes bring devices. @param {Snapshot} snapshot */
function toCome(snapshot) {
  const devices = (/** @type {Record<string, number>} */ all) => Object.fromEntries(Object.entries(all).filter(([name]) => ACCELERATORS.includes(name)));
  const types = (snapshot.node_types ?? []).filter((kind) => !kind.given_up && Object.keys(devices(kind.resources ?? {})).length);
  const named = types.map(({ name, resources }) => `${plain(name)} (${demandWords(devices(resources ?? {}))})`);
  return named.length ? `A node of the type ${named.join(" or ")} comes when work asks for it.` : "";
}

/** @param {Snapshot} snapshot */
function titleOf(snapshot) {
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

/** @param {Snapshot} snapshot */
function living({ nodes }) {
  return (nodes ?? []).filter((node) => node.alive !== false).length;
}

/** How many devices of each kind are held, or the CPUs where there is none: ["2 of 2 GPUs busy"]. @param {Snapshot} snapshot */
function busyOf(snapshot) {
  const kinds = deviceCounts(snapshot);
  if (kinds.length) return kinds.map(({ resource, held, taken, total }) => `${held + taken} of ${count(total, plain(resource))} busy`);
  const [free, all] = sumsOf(snapshot).get("CPU") ?? [0, 0];
  return all ? [`${amount(all - free)} of ${amount(all)} CPUs busy`] : [];
}

/** What the first line does not say: "1 of 2 CPUs busy", "1 shared GPU has 0.5 free". @param {Snapshot} snapshot @returns {string[]} */
function besideOf(snapshot) {
  const counts = deviceCounts(snapshot);
  const kinds = counts.length ? counts.map(({ resource }) => resource) : ["CPU"];
  const others = [...sumsOf(snapshot)].filter(([name]) => !kinds.includes(name)).map(([name, [free, all]]) => `${amount(all - free)} of ${count(+amount(all), plain(name))} busy`);
  const left = counts.filter(({ shared }) => shared).map(({ resource, shared, most_free: most, least_free: least }) => {
    const devices = count(shared, `shared ${plain(resource)}`);
    if (shared < 2) return `${devices} has ${amount(most)} free`;
    return `${devices} have ${least === most ? "" : "up to "}${amount(most)} free each`; // what is left of several is no device
  });
  return [...others, ...left];
}

/** "CPU 1 of 2 free", summed over living nodes; "CPU 2" of a cluster that has ended.
 * @param {Snapshot} snapshot @param {boolean} [ended] @returns {string[]} */
function resourcesOf(snapshot, ended) {
  return [...sumsOf(snapshot)].map(([name, [free, all]]) => `${plain(name)} ${ended ? amount(all) : `${amount(free)} of ${amount(all)} free`}`);
}

/** What is free of each resource, and all of it. @param {Snapshot} snapshot @returns {Map<string, [number, number]>} */
function sumsOf(snapshot) {
  /** @type {Map<string, [number, number]>} */
  const sums = new Map(Object.entries(snapshot.resources ?? {}).filter(([name]) => !HIDDEN_RESOURCES.test(name)));
  for (const node of sums.size ? [] : snapshot.nodes ?? []) {
    for (const [name, total] of node.alive === false ? [] : Object.entries(node.totals ?? {})) {
      if (HIDDEN_RESOURCES.test(name)) continue;
      const [free, all] = sums.get(name) ?? [0, 0];
      sums.set(name, [free + (node.available?.[name] ?? 0), all + total]);
    }
  }
  return sums;
}

/** @param {Snapshot} snapshot @param {Record<string, number>} counts @param {import("./types.js").RunsView} [runs] @returns {TabView[]} */
function tabsOf(snapshot, counts, runs) {
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
  if ((snapshot.nodes ?? []).length > 1 || snapshot.arrivals?.length) tabs.push({ id: "nodes", label: "Nodes", badge: 0, urgent: false });
  return tabs;
}

/** Living actors whose rows are not here. @param {Snapshot} snapshot */
function actorsMore(snapshot) {
  const shown = (snapshot.actors ?? []).filter((row) => row.state !== "DEAD").length;
  const all = Object.entries(snapshot.actor_counts ?? {}).filter(([state]) => state !== "DEAD");
  return Math.max(0, all.reduce((sum, [, number]) => sum + number, 0) - shown);
}

/** @param {Snapshot} snapshot @param {number} now @returns {NodeView[]} */
function nodesOf(snapshot, now) {
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
    key: each.id, name: plain(each.node_type), title: plain(each.node_type), sign: "◌", state: "arriving", role: "", resources: "", moves: true,
    why: `for ${duration(now - (each.since ?? now))}${each.usually_s ? ` (usually ${duration(each.usually_s)})` : ""}${["", "arriving"].includes(each.state ?? "") ? "" : `: ${plain(each.state)}`}`,
  }));
  return [...here, ...coming];
}

/** Why a node that was asked for stays, or when it leaves. @param {import("./types.js").NodeRow} node @param {number} now */
function whyOfNode(node, now) {
  if (node.kept_by) return `stays: ${plain(node.kept_by)}`;
  if (!node.leaves_at || !node.idle_since) return "";
  const left = node.leaves_at - now;
  return `idle for ${duration(now - node.idle_since)}, ${left > 0 ? `leaves in ${duration(left)}` : "kept for a request or its type's min"}`;
}
