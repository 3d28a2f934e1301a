// From a snapshot to everything that a view draws: a pure function, and the only place that knows what a snapshot means.

import { deviceViews } from "./devices.js";
import { afterEnd } from "./ended.js";
import { actorViews, cellsOf, taskCounts, taskViews, waitingViews } from "./tasks.js";
import { timelineOf } from "./timeline.js";
import { age, amount, count, plain } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Filter} Filter */
/** @typedef {{id: string, label: string, badge: number, urgent: boolean}} TabView */
/** @typedef {{key: string, kind: string, message: string, age: string}} AlertView */
/** @typedef {{key: string, name: string, sign: string, state: string, role: string, resources: string, why: string}} NodeView */
/** @typedef {import("./types.js").Found} Found */
/** @typedef {{filter: Filter, window: number, tab: string, most: number, found?: Found | null}} Asked what the person has chosen */

const HIDDEN_RESOURCES = /^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;

const NO_FILTER = { state: "", cell: "", text: "" };

/** @param {Snapshot} given @param {Asked} asked @param {number} now seconds by the kernel's clock */
export function pictureOf(given, asked, now) {
  const ended = given.lost ? "the kernel has gone" : !given.ended ? "" : given.runtime.shared ? "left" : "shut down";
  const snapshot = ended ? afterEnd(given) : given;
  const counts = taskCounts(snapshot);
  const tab = asked.tab;
  const tasks = tab === "tasks" ? tasksOf(snapshot, asked, now) : { views: [], number: 0 };
  return {
    title: titleOf(snapshot),
    ended,
    counts,
    summary: summaryOf(counts),
    resources: resourcesOf(snapshot, ended !== ""),
    tabs: tabsOf(snapshot, counts),
    devices: deviceViews(snapshot, now),
    found: (snapshot.found ?? []).map(plain),
    waiting: waitingViews(snapshot, now),
    tasks: tasks.views,
    tasksFound: tasks.number,
    foundInAll: Boolean(asked.found),
    taskRows: (snapshot.tasks ?? []).length,
    taskTotal: Object.values(counts).reduce((sum, number) => sum + number, 0),
    cells: tab === "tasks" ? cellsOf(snapshot) : [],
    actors: tab === "actors" ? actorViews(snapshot, now) : [],
    actorsMore: actorsMore(snapshot),
    timeline: tab === "timeline" ? timelineOf(snapshot, asked.window, now) : null,
    alerts: alertsOf(snapshot, now),
    nodes: nodesOf(snapshot),
  };
}

/** @typedef {ReturnType<typeof pictureOf>} Picture */

/** What passes the filter: of all tasks, once the kernel has answered; until then, of the rows that are here.
 * @param {Snapshot} snapshot @param {Asked} asked @param {number} now */
function tasksOf(snapshot, asked, now) {
  const found = asked.found;
  if (!found) return taskViews(snapshot, asked.filter, asked.most, now);
  const all = { ...snapshot, tasks: found.tasks, reasons: found.reasons };
  return { views: taskViews(all, NO_FILTER, asked.most, now).views, number: found.total };
}

/** @param {Snapshot} snapshot */
function titleOf(snapshot) {
  const { engine, version, pid, shared } = snapshot.runtime;
  const alive = (snapshot.nodes ?? []).filter((node) => node.alive !== false).length;
  return [
    `${plain(engine)} engine`,
    alive > 1 ? count(alive, "node") : "",
    pid ? `head pid ${pid}` : "",
    shared ? "shared by several notebooks" : "",
    plain(version),
  ].filter(Boolean);
}

/** "2 running · 1 waiting". @param {Record<string, number>} counts */
function summaryOf(counts) {
  const parts = Object.entries(counts).filter(([, number]) => number);
  return parts.map(([word, number]) => `${number} ${word}`).join(" · ") || "no task yet";
}

/** "CPU 1 of 2 free", summed over living nodes; "CPU 2" of a cluster that has ended.
 * @param {Snapshot} snapshot @param {boolean} [ended] @returns {string[]} */
function resourcesOf(snapshot, ended) {
  /** @type {Map<string, [number, number]>} */
  const sums = new Map();
  for (const node of snapshot.nodes ?? []) {
    for (const [name, total] of node.alive === false ? [] : Object.entries(node.totals ?? {})) {
      if (HIDDEN_RESOURCES.test(name)) continue;
      const [free, all] = sums.get(name) ?? [0, 0];
      sums.set(name, [free + (node.available?.[name] ?? 0), all + total]);
    }
  }
  return [...sums].map(([name, [free, all]]) => `${plain(name)} ${ended ? amount(all) : `${amount(free)} of ${amount(all)} free`}`);
}

/** @param {Snapshot} snapshot @param {Record<string, number>} counts @returns {TabView[]} */
function tabsOf(snapshot, counts) {
  const alerts = (snapshot.alerts ?? []).length;
  const actors = (snapshot.actors ?? []).filter((row) => row.state !== "DEAD").length + actorsMore(snapshot);
  const tabs = [
    { id: "devices", label: "Devices", badge: 0, urgent: false },
    { id: "waiting", label: "Waiting", badge: counts.waiting, urgent: false },
    { id: "tasks", label: "Tasks", badge: 0, urgent: false },
    { id: "actors", label: "Actors", badge: actors, urgent: false },
    { id: "timeline", label: "Timeline", badge: 0, urgent: false },
    { id: "alerts", label: "Alerts", badge: alerts, urgent: alerts > 0 },
  ];
  if ((snapshot.nodes ?? []).length > 1) tabs.push({ id: "nodes", label: "Nodes", badge: 0, urgent: false });
  return tabs;
}

/** Living actors whose rows are not here. @param {Snapshot} snapshot */
function actorsMore(snapshot) {
  const shown = (snapshot.actors ?? []).filter((row) => row.state !== "DEAD").length;
  const all = Object.entries(snapshot.actor_counts ?? {}).filter(([state]) => state !== "DEAD");
  return Math.max(0, all.reduce((sum, [, number]) => sum + number, 0) - shown);
}

/** @param {Snapshot} snapshot @param {number} now @returns {AlertView[]} */
function alertsOf(snapshot, now) {
  return (snapshot.alerts ?? [])
    .map((alert, index) => ({
      key: `${alert.since}/${index}`,
      kind: plain(alert.kind),
      message: plain(alert.message),
      age: age(now - alert.since),
    }))
    .reverse();
}

/** @param {Snapshot} snapshot @returns {NodeView[]} */
function nodesOf(snapshot) {
  return (snapshot.nodes ?? []).map((node) => ({
    key: node.node_id,
    name: plain(node.name),
    sign: node.alive === false ? "✕" : "●",
    state: node.alive === false ? "gone" : "alive",
    role: node.is_head ? "head" : "",
    resources: resourcesOf({ ...snapshot, nodes: [node] }, Boolean(snapshot.ended)).join(" · "),
    why: plain(node.why),
  }));
}
