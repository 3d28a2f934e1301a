// The views that are tables of text: Waiting, Actors, Alerts, Nodes.

import { cancelMany } from "./cancel_many.js";
import { h } from "./dom.js";
import { button, cell, empty, endButton, nameOf, stateCell, table } from "./draw_parts.js";
import { alike } from "./task_rows.js";

/** @typedef {import("./picture.js").Picture} Picture */
/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {import("./state.js").State} State */

/** @param {Picture} picture @param {State} state */
export function drawWaiting(picture, state) {
  if (!picture.waiting.length) return [empty("Nothing waits. A task that finds no free device waits here, with the reason:", "train.options(num_gpus=1).remote()")];
  const groups = alike(picture.waiting);
  const rows = groups.map(({ task, number }) =>
    h("tr", { key: task.id, "data-task": task.id }, nameCell(task, number), cell(task.asks, "nowrap"), cell(task.cell, "nowrap"), cell(task.age, "nowrap"),
      cell(task.why || h("span", { class: "quiet" }, "asked for, not looked at yet"), "why"),
      cell(number > 1 ? showAll(task, number) : cancel(task, picture, state), "acts")),
  );
  const more = picture.counts.waiting - picture.waiting.length;
  return [
    table("Waiting tasks", ["Task", "Asks for", "Cell", "For", "Why it waits", ""], rows),
    more > 0 && moreLine(`and ${more} more that wait`, state),
    picture.counts.waiting > 1 && !picture.ended && h("p", { key: "all" }, cancelMany("Cancel all that wait", "waiting", { state: "waiting", cell: "", text: "" }, "", state)),
  ];
}

/** Leads to the rows of those that are alike. @param {TaskView} task @param {number} number */
function showAll(task, number) {
  return button(`Show all ${number}`, { "data-act": "count", "data-state": "waiting", "data-text": task.name, "aria-label": `Show all ${number} ${task.name} that wait` });
}

/** @param {TaskView} task @param {number} number of those that are alike */
function nameCell(task, number) {
  return h("th", { scope: "row" }, nameOf(task.name), h("span", { class: "quiet small below" }, number > 1 ? `× ${number}` : `#${task.short}`));
}

/** @param {TaskView} task @param {Picture} picture @param {State} state */
export function cancel(task, picture, state) {
  if (!task.cancellable || picture.ended) return null;
  return endButton("cancel", task, `#${task.short}`, state);
}

/** @param {string} text @param {State} state */
export function moreLine(text, state) {
  return h("p", { class: "more", key: "unsent" }, h("span", { class: "quiet" }, `${text} `),
    !state.wide && button("Ask for more rows", { "data-act": "ask-more" }));
}

/** @param {Picture} picture @param {State} state */
export function drawActors(picture, state) {
  if (!picture.actors.length) return [empty("No actor. A remote class that is called makes one:", "Counter.remote()")];
  const rows = picture.actors.map((actor) =>
    h("tr", { key: actor.id, "data-actor": actor.id }, h("th", { scope: "row" }, nameOf(actor.name), h("span", { class: "quiet small below" }, [`#${actor.id.slice(0, 8)}`, actor.pid && `pid ${actor.pid}`].filter(Boolean).join(" · "))),
      stateCell(actor.sign, actor.state, actor.colour), cell(actor.devices, "nowrap"), cell(actor.cell, "nowrap"), cell(actor.age, "nowrap"),
      cell(actor.calls), cell(actor.why, "why"),
      cell(actor.alive && !picture.ended && endButton("kill", actor, `#${actor.id.slice(0, 8)}`, state), "acts")),
  );
  return [
    table("Actors", ["Actor", "State", "Devices", "Cell", "Age", "Calls waiting", "Why", ""], rows),
    picture.actorsMore > 0 && h("p", { class: "quiet more", key: "more" }, `and ${picture.actorsMore} more actors`),
  ];
}

/** @param {Picture} picture */
export function drawAlerts(picture) {
  if (!picture.alerts.length) return [empty("No alert. What a person should look at is told here: failures, leaks, lost devices.")];
  return [h("ul", { class: "alerts", key: "alerts" }, picture.alerts.map((alert) =>
    h("li", { key: alert.key }, h("strong", {}, h("span", { "aria-hidden": "true" }, "⚠ "), alert.kind), ` ${alert.message}`, h("span", { class: "quiet" }, ` ${alert.age} ago`))))];
}

/** @param {Picture} picture */
export function drawNodes(picture) {
  const rows = picture.nodes.map((node) =>
    h("tr", { key: node.key }, h("th", { scope: "row" }, h("span", { class: "name" }, node.name)), stateCell(node.sign, node.state), cell(node.role),
      cell(node.resources), cell(node.why, "why")),
  );
  return [table("Nodes", ["Node", "State", "Role", "Resources", "Why"], rows)];
}
