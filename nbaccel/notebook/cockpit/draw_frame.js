// The frame around the views: title, counts, tabs; and the compact form, which is the cluster's card.

import { h } from "./dom.js";
import { drawDevices } from "./draw_devices.js";
import { button, empty, nameOf } from "./draw_parts.js";
import { drawActors, drawAlerts, drawNodes, drawWaiting } from "./draw_tables.js";
import { drawTasks } from "./draw_tasks.js";
import { alike } from "./task_rows.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./dom.js").Given} Given */

/** @type {Record<string, (scene: Scene, state: State) => Given[]>} */
const VIEWS = {
  devices: drawDevices,
  waiting: drawWaiting,
  tasks: drawTasks,
  actors: drawActors,
  timeline: (scene, state) => scene.pastViews?.drawTimeline(scene, state) ?? loading(scene),
  accounting: (scene) => scene.pastViews?.drawAccounts(scene) ?? loading(scene),
  alerts: drawAlerts,
  nodes: drawNodes,
  runs: (scene, state) => scene.runs?.draw(state) ?? [],
};
const WAITING_SHOWN = 3; // lines of the compact form
const ALERTS_SHOWN = 2;

/** Everything inside the root. @param {Scene} scene @param {State} state */
export function drawFrame(scene, state) {
  const body = state.details ? [tabs(scene, state), panel(scene, state)] : compact(scene, state);
  return [header(scene, state), ...body, h("p", { class: "said", key: "said", role: "status", "aria-live": "polite" }, state.said)];
}

/** The card of one run or experiment. @param {Scene} scene @param {State} state */
export function drawOnly(scene, state) {
  const shown = scene.runs?.only(state).flat() ?? [];
  return [...(shown.length ? shown : drawEmpty("Waiting for news of it …")), h("p", { class: "said", key: "said", role: "status", "aria-live": "polite" }, state.said)];
}

/** What is shown before the first snapshot. @param {string} words */
export function drawEmpty(words) {
  return [h("p", { class: "quiet", key: "none" }, words)];
}

/** While the module that draws the past is on its way. @param {Scene} scene */
function loading(scene) {
  return [empty(scene.ended ? "This view was not opened before the end." : "Asking the kernel …")];
}

/** @param {Scene} scene @param {State} state */
function header(scene, state) {
  return h("header", { key: "header" },
    h("div", { class: "line" },
      firstLine(scene),
      scene.ended && h("span", { class: "chip" }, scene.ended),
      scene.alerts.length > 0 && h("span", { class: "chip urgent" }, h("span", { "aria-hidden": "true" }, "⚠ "), scene.alerts.length === 1 ? "1 alert" : `${scene.alerts.length} alerts`),
      button(state.details ? "Less" : "Details", { "data-act": "details", "aria-expanded": String(state.details), class: "aside" })),
    scene.resources.length > 0 && h("div", { class: "line quiet" }, scene.resources.join(" · ")));
}

/** "2 of 2 GPUs busy · 3 running · 1 failed": what one wants to know. A count shows its tasks. @param {Scene} scene */
function firstLine(scene) {
  const counts = Object.entries(scene.counts).filter(([, number]) => number);
  const parts = [
    ...scene.busy.map((words) => h("strong", { key: words }, words)),
    ...counts.map(([word, number]) => button(`${number} ${word}`, { key: word, class: `count ${word}`, "data-act": "count", "data-state": word, title: `Show the ${word} tasks` })),
  ];
  const said = parts.flatMap((part, index) => (index ? [h("span", { key: `dot${index}`, class: "quiet" }, " · "), part] : [part]));
  return h("span", { class: "first", title: scene.title.join(" · ") }, said,
    !counts.length && h("span", { class: "quiet" }, said.length ? " · no task yet" : "no task yet"));
}

/** @param {Scene} scene @param {State} state */
function compact(scene, state) {
  const told = new Set(scene.alerts.slice(0, ALERTS_SHOWN).map((alert) => alert.never));
  const all = alike(scene.waiting);
  const untold = all.filter(({ ids }) => !ids.some((id) => told.has(id)));
  const groups = untold.slice(0, WAITING_SHOWN);
  const waiting = groups.map(({ task, number }) =>
    h("li", { key: task.id }, h("span", { class: "sign", "aria-hidden": "true" }, "◌ "), number > 1 && `× ${number} `, nameOf(task.name),
      ` waits ${task.age}: `, h("span", { class: "quiet" }, task.why || task.asks)));
  const said = all.filter((group) => !untold.includes(group) || groups.includes(group));
  const more = scene.counts.waiting - said.reduce((sum, group) => sum + group.number, 0);
  if (more > 0) waiting.push(h("li", { key: "more", class: "quiet" }, `and ${more} more that wait`));
  const moving = scene.nodes.filter((node) => node.moves).map((node) =>
    h("li", { key: node.key }, h("span", { class: "sign", "aria-hidden": "true" }, `${node.sign} `), nameOf(node.name), ` ${node.state} `, h("span", { class: "quiet" }, node.why)));
  const alerts = scene.alerts.slice(0, ALERTS_SHOWN).map((alert) => h("li", { key: alert.key }, h("strong", {}, "⚠ Attention:"), ` ${alert.message}`));
  return [
    ...drawDevices(scene, state),
    ...(scene.runs?.brief(state) ?? []),
    moving.length > 0 && h("ul", { class: "lines", key: "nodes", "aria-label": "Nodes that come and go" }, moving),
    waiting.length > 0 && h("ul", { class: "lines", key: "waiting", "aria-label": "Waiting tasks" }, waiting),
    alerts.length > 0 && h("ul", { class: "alerts", key: "alerts", "aria-label": "Alerts" }, alerts),
  ];
}

/** @param {Scene} scene @param {State} state */
function tabs(scene, state) {
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Views", key: "tabs" }, scene.tabs.map((tab) => {
    const chosen = tab.id === state.tab;
    return h("button", { type: "button", key: tab.id, role: "tab", id: `${state.id}-${tab.id}`, "aria-selected": String(chosen),
      "aria-controls": `${state.id}-panel`, tabindex: chosen ? "0" : "-1", "data-act": "tab", "data-tab": tab.id },
      tab.urgent && h("span", { "aria-hidden": "true" }, "⚠ "), tab.label, tab.badge > 0 && h("span", { class: tab.failed ? "badge failed" : "badge", title: tab.failed ? "failed" : null }, String(tab.badge)));
  }));
}

/** @param {Scene} scene @param {State} state */
function panel(scene, state) {
  const view = VIEWS[state.tab] ?? drawDevices;
  return h("div", { role: "tabpanel", id: `${state.id}-panel`, "aria-labelledby": `${state.id}-${state.tab}`, tabindex: "-1", key: `panel-${state.tab}`, class: "panel" },
    ...view(scene, state).flat());
}
