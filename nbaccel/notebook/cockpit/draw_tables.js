// The views that are tables of text: Waiting, Tasks, Actors, Alerts, Nodes.

import { h } from "./dom.js";
import { button, cell, empty, endButton, stateCell, table } from "./draw_parts.js";
import { STATES } from "./tasks.js";

/** @typedef {import("./picture.js").Picture} Picture */
/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {import("./state.js").State} State */

/** @param {Picture} picture @param {State} state */
export function drawWaiting(picture, state) {
  if (!picture.waiting.length) return [empty("Nothing waits.")];
  const rows = picture.waiting.map((task) =>
    h("tr", { key: task.id, "data-task": task.id }, nameCell(task), cell(task.asks, "nowrap"), cell(task.cell, "nowrap"), cell(task.age, "nowrap"),
      cell(whyCell(task, picture.waiting), "why"), cell(cancel(task, picture, state), "acts")),
  );
  const more = picture.counts.waiting - rows.length;
  return [
    table("Waiting tasks", ["Task", "Asks for", "Cell", "For", "Why it waits", ""], rows),
    more > 0 && moreLine(`and ${more} more that wait`, state),
  ];
}

/** The reason, in full for the first of those that share it. @param {TaskView} task @param {TaskView[]} all */
function whyCell(task, all) {
  const before = all[all.indexOf(task) - 1];
  if (!task.why) return h("span", { class: "quiet" }, "asked for, not looked at yet");
  return before?.why === task.why ? h("span", { class: "quiet" }, "the same") : task.why;
}

/** @param {Picture} picture @param {State} state */
export function drawTasks(picture, state) {
  const measured = picture.tasks.some((task) => task.peak);
  const rows = picture.tasks.map((task) => knownRow(task, measured, picture, state));
  const columns = ["Task", "State", "Devices", "Pid", "Cell", "Age", ...(measured ? ["Peak memory"] : []), "Why", ""];
  const hidden = picture.tasksFound - rows.length;
  const unsent = picture.taskTotal - picture.taskRows;
  return [
    filters(picture, state),
    rows.length ? table("Tasks", columns, rows) : empty(nothingFound(picture)),
    hidden > 0 && h("p", { class: "more", key: "hidden" }, button(`Show ${Math.min(hidden, 100)} more`, { "data-act": "show-more" }),
      h("span", { class: "quiet" }, ` ${rows.length} of ${picture.tasksFound} rows`)),
    hidden <= 0 && unsent > 0 && !picture.foundInAll && moreLine(`${picture.taskRows} of ${picture.taskTotal} tasks are here`, state),
  ];
}

/** @param {Picture} picture */
function nothingFound(picture) {
  if (!picture.taskTotal) return "No task yet.";
  return picture.foundInAll ? "No task passes the filter." : "No task of these rows passes the filter.";
}

/** The row as it was drawn last, if nothing in it has changed: of hundreds, few change between two pictures.
 * @param {TaskView} task @param {boolean} measured @param {Picture} picture @param {State} state */
function knownRow(task, measured, picture, state) {
  const content = [...Object.values(task), measured, picture.ended, state.asked.has(task.id), state.doubted === task.id].join("\n");
  const known = state.rows.get(task.id);
  if (known?.content === content) return known.shape;
  const shape = taskRow(task, measured, picture, state);
  state.rows.set(task.id, { content, shape });
  return shape;
}

/** @param {TaskView} task @param {boolean} measured @param {Picture} picture @param {State} state */
function taskRow(task, measured, picture, state) {
  return h("tr", { key: task.id, "data-task": task.id }, nameCell(task), stateCell(task.sign, task.state),
    cell(task.devices || task.asks, task.devices ? "nowrap" : "quiet"), cell(task.pid), cell(task.cell, "nowrap"),
    cell([task.age, task.progress != null && ` · ${task.progress} %`], "nowrap"), measured && cell(task.peak, "nowrap"),
    cell(task.why && h("span", { class: "two-lines", title: task.why }, task.why), task.why ? "why" : ""),
    cell([cancel(task, picture, state), logs(task, picture)], "acts"));
}

/** @param {TaskView} task */
function nameCell(task) {
  return h("th", { scope: "row", title: task.id }, h("span", { class: "name" }, task.name), h("span", { class: "quiet small" }, `#${task.short}`));
}

/** @param {TaskView} task @param {Picture} picture @param {State} state */
function cancel(task, picture, state) {
  if (!task.cancellable || picture.ended) return null;
  return endButton("cancel", task, `#${task.short}`, state);
}

/** @param {TaskView} task @param {Picture} picture */
function logs(task, picture) {
  if (task.state === "waiting" || picture.ended) return null;
  return button("Log", { "data-act": "logs", "data-id": task.id, "data-name": task.name, "aria-label": `Log of ${task.name} #${task.short}` });
}

/** @param {Picture} picture @param {State} state */
function filters(picture, state) {
  const { filter } = state;
  const option = (/** @type {string} */ value, /** @type {string} */ label, /** @type {string} */ chosen) =>
    h("option", { key: value || "all", value, selected: value === chosen }, label);
  return h("div", { class: "filters", role: "group", "aria-label": "Filter tasks", key: "filters" },
    h("label", {}, "State ", h("select", { "data-filter": "state", value: filter.state },
      option("", "all", filter.state), STATES.map((word) => option(word, `${word} (${picture.counts[word] ?? 0})`, filter.state)))),
    h("label", {}, "Cell ", h("select", { "data-filter": "cell", value: filter.cell },
      option("", "all", filter.cell), picture.cells.map((name) => option(name, name, filter.cell)))),
    h("label", {}, "Text ", h("input", { type: "search", "data-filter": "text", value: filter.text, placeholder: "name, id, reason" })));
}

/** @param {string} text @param {State} state */
function moreLine(text, state) {
  return h("p", { class: "more", key: "unsent" }, h("span", { class: "quiet" }, `${text} `),
    !state.wide && button("Ask for more rows", { "data-act": "ask-more" }));
}

/** @param {Picture} picture @param {State} state */
export function drawActors(picture, state) {
  if (!picture.actors.length) return [empty("No actor.")];
  const rows = picture.actors.map((actor) =>
    h("tr", { key: actor.id, "data-actor": actor.id }, h("th", { scope: "row" }, h("span", { class: "name" }, actor.name)),
      stateCell(actor.sign, actor.state), cell(actor.devices, "nowrap"), cell(actor.pid), cell(actor.cell, "nowrap"), cell(actor.age, "nowrap"),
      cell(actor.calls), cell(actor.why, "why"),
      cell(actor.alive && !picture.ended && endButton("kill", actor, `#${actor.id.slice(0, 8)}`, state), "acts")),
  );
  return [
    table("Actors", ["Actor", "State", "Devices", "Pid", "Cell", "Age", "Calls waiting", "Why", ""], rows),
    picture.actorsMore > 0 && h("p", { class: "quiet more", key: "more" }, `and ${picture.actorsMore} more actors`),
  ];
}

/** @param {Picture} picture */
export function drawAlerts(picture) {
  if (!picture.alerts.length) return [empty("No alert.")];
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
