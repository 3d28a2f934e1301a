// Where there is room for more than the card's four lines, as in a panel: a row for each device, then the runs, the nodes
// that come and go, what waits, and the alerts.

import { h } from "./dom.js";
import { drawDevices } from "./draw_devices.js";
import { button, nameOf } from "./draw_parts.js";
import { alertItem, told } from "./draw_tables.js";
import { othersThan } from "./task_rows.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */

const WAITING_SHOWN = 3;
const ALERTS_SHOWN = 2;

/** @param {Scene} scene @param {State} state */
export function drawListed(scene, state) {
  const alerts = scene.alerts.slice(0, ALERTS_SHOWN);
  const moving = scene.nodes.filter((node) => node.moves).map((node) =>
    h("li", { key: node.key }, signOf(node.sign), nameOf(node.name, node.title), ` ${node.state} `, h("span", { class: "quiet" }, node.why)));
  const said = alerts.map((alert) => alertItem(alert, "Attention:"));
  return [
    ...drawDevices(scene, state),
    ...(scene.runs?.brief(state) ?? []),
    list("lines", "Nodes that come and go", moving),
    list("lines", "Waiting tasks", waiting(scene, alerts)),
    list("alerts", "Alerts", [...said, ...moreOf(scene.alerts.length - said.length, "alerts")]),
  ];
}

/** The groups that no alert tells of. @param {Scene} scene @param {import("./alerts.js").AlertView[]} alerts */
function waiting(scene, alerts) {
  const all = scene.waiting;
  const untold = all.filter(({ ids }) => !told(alerts, ids));
  const shown = untold.slice(0, WAITING_SHOWN);
  const lines = shown.map(({ task, many }) => h("li", { key: task.id }, signOf("◌"), many, nameOf(task.name),
    ` waits ${task.age}: `, h("span", { class: "quiet" }, task.why || task.asks)));
  const known = all.filter((group) => !untold.includes(group) || shown.includes(group));
  return [...lines, ...moreOf(othersThan(scene.counts.waiting, known), "waiting")];
}

/** @param {string} mark */
function signOf(mark) {
  return h("span", { class: "sign", "aria-hidden": "true" }, `${mark} `);
}

/** @param {number} number @param {string} tab that has them */
function moreOf(number, tab) {
  return number > 0 ? [h("li", { key: "more" }, button(`and ${number} more`, { "data-act": "tab", "data-tab": tab }))] : [];
}

/** @param {string} kind @param {string} label @param {any[]} lines */
function list(kind, label, lines) {
  return lines.length > 0 && h("ul", { class: kind, key: label, "aria-label": label }, lines);
}
