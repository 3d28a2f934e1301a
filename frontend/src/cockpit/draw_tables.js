// The views that are tables of text: Waiting, Actors, Alerts, Nodes.

import { cancelMany } from "./cancel_many.js";
import { h } from "./dom.js";
import { WARNING, button, cell, empty, endButton, leftOut, nameOf, reason, stateCell, table, whereCell } from "./draw_parts.js";
import { othersThan } from "./task_rows.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {import("./state.js").State} State */

/** @param {Scene} scene @param {State} state */
export function drawWaiting(scene, state) {
  if (!scene.counts.waiting) return [empty("Nothing waits. A task that finds no free device waits here, with the reason:", "train.options(num_gpus=1).remote()")];
  let above = ""; // the reason that was said last
  const rows = scene.waiting.map(({ task, number, many, ids }) => {
    const never = told(scene.alerts, ids);
    const why = reason(task.why, above);
    above = never ? "" : task.why;
    return h("tr", { key: task.id, "data-task": task.id }, nameCell(task, many), cell(task.asks, "nowrap"), whereCell(task.cell, state), cell(task.age, "short"),
      cell(never ? button("never: see Alerts", { "data-act": "lead", "data-tab": "alerts", "data-aim": never.of }) : why || h("span", { class: "quiet" }, "asked for, not looked at yet"), "why"),
      cell(many ? showAll(task, number) : cancel(task, scene, state), "acts"));
  });
  const more = othersThan(scene.counts.waiting, scene.waiting);
  return [
    rows.length > 0 && table("Waiting tasks", ["Task", "Asks for", "Cell", "For", "Why it waits", ""], rows),
    more > 0 && moreLine(`and ${more} more that wait`, state),
    scene.counts.waiting > 1 && !scene.ended && h("p", { key: "all" }, cancelMany("Cancel all that wait", "waiting", { state: "waiting", cell: "", text: "" }, "", state)),
  ];
}

/** The alert that says of one of these tasks that it can never start.
 * @param {import("./alerts.js").AlertView[]} alerts @param {any[]} ids */
export function told(alerts, ids) {
  return alerts.find((alert) => alert.kind === "infeasible" && ids.includes(alert.of));
}

/** Leads to the rows of those that are alike. @param {TaskView} task @param {number} number */
function showAll(task, number) {
  return button(`Show all ${number || ""}`.trim(), { "data-act": "lead", "data-state": "waiting", "data-text": task.name, "aria-label": `Show all ${number || ""} ${task.name} that wait` });
}

/** @param {TaskView} task @param {string} many how many are alike */
function nameCell(task, many) {
  return h("th", { scope: "row" }, nameOf(task.name), h("span", { class: "quiet small below" }, many.trim() || `#${task.short}`));
}

/** @param {TaskView} task @param {Scene} scene @param {State} state */
export function cancel(task, scene, state) {
  if (!task.cancellable || scene.ended) return null;
  return endButton("cancel", task, `#${task.short}`, state);
}

/** @param {string} text @param {State} state */
export function moreLine(text, state) {
  return h("p", { class: "more", key: "unsent" }, h("span", { class: "quiet" }, `${text} `),
    !state.wide && button("Show more", { "data-act": "ask-more" }));
}

/** @param {Scene} scene @param {State} state */
export function drawActors(scene, state) {
  if (!scene.actors.length) return [empty("No actor. A remote class that is called makes one:", "Counter.remote()")];
  const rows = scene.actors.map((actor, at) =>
    h("tr", { key: actor.id, "data-actor": actor.id }, h("th", { scope: "row" }, nameOf(actor.name), h("span", { class: "quiet small below" }, [`#${actor.id.slice(0, 8)}`, actor.pid && `pid ${actor.pid}`].filter(Boolean).join(" · "))),
      stateCell(actor.sign, actor.state, actor.colour), cell(actor.devices, "nowrap"), whereCell(actor.cell, state), cell(actor.age, "short"),
      h("td", { "data-head": "calls waiting" }, actor.calls), cell(reason(actor.why, scene.actors[at - 1]?.why), "why"),
      cell(actor.alive && !scene.ended && endButton("kill", actor, `#${actor.id.slice(0, 8)}`, state), "acts")),
  );
  return [
    table("Actors", ["Actor", "State", "Devices", "Cell", "Age", "Calls waiting", "Why", ""], rows),
    scene.actorsMore > 0 && h("p", { class: "quiet more", key: "more" }, `and ${scene.actorsMore} more actors`),
  ];
}

/** @param {Scene} scene */
export function drawAlerts(scene) {
  if (!scene.alerts.length) return [empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:", "f.options(num_gpus=1000).remote()")];
  return [h("ul", { class: "alerts", key: "alerts" }, scene.alerts.map((alert) => alertItem(alert, alert.title, h("span", { class: "quiet nowrap" }, `· ${alert.age} ago`))))];
}

/** An alert, which leads to what it is about. @param {import("./alerts.js").AlertView} alert @param {string} title @param {import("./dom.js").Given} [more] */
export function alertItem({ key, message, shows, leads }, title, more) {
  return h("li", { key, ...leads }, h("div", {}, h("strong", {}, WARNING, title), ` ${message} `, more), leads && button(shows ?? "", leads));
}

/** @param {Scene} scene */
export function drawNodes(scene) {
  const said = scene.nodes.some((node) => node.why);
  const rows = scene.nodes.map((node) =>
    h("tr", { key: node.key, "data-at": node.key }, h("th", { scope: "row" }, nameOf(node.name, node.title)), stateCell(node.sign, node.state), cell(node.role),
      cell(node.resources), said && cell(node.why, "why")),
  );
  return [table("Nodes", ["Node", "State", "Role", "Resources", ...(said ? ["Why"] : [])], rows), leftOut(scene.nodesMore, "node")];
}
