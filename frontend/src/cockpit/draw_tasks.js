// The Tasks view: one row for each task, or for many of one function; only rows in sight are drawn.

import { cancelMany } from "./cancel_many.js";
import { h } from "./dom.js";
import { button, cell, empty, endButton, nameOf, reason, stateCell, table, whereCell } from "./draw_parts.js";
import { cancel, moreLine } from "./draw_tables.js";
import { grouped, tasksInSight } from "./task_rows.js";
import { STATES } from "./tasks.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {import("./task_rows.js").Row} Row */
/** @typedef {import("./task_rows.js").Group} Group */
/** @typedef {import("./state.js").State} State */

/** @param {Scene} scene @param {State} state */
export function drawTasks(scene, state) {
  state.order = [scene.tasks, ...[...(scene.pages?.values() ?? [])].map((page) => page.shown)].flat().map((task) => task.id);
  const inRows = state.sort.column !== "";
  /** @type {Row[]} */
  const rows = inRows ? scene.tasks.map((task) => ({ task, inGroup: false })) : grouped(scene.tasks, state.open, scene.functions, scene.pages);
  const counted = new Map(inRows ? [] : scene.functions.map((each) => [each.subject, each.total]));
  const here = scene.tasks.filter((task) => !counted.has(task.subject)).length + [...counted.values()].reduce((sum, each) => sum + each, 0);
  const all = scene.foundInAll ? scene.tasksFound : scene.taskTotal;
  const unsent = scene.foundInAll || inRows || scene.taskTotal > scene.taskRows ? all - here : 0;
  return [
    filters(scene, state),
    rows.length ? tableOf(rows, scene, state) : nothingFound(scene),
    unsent > 0 && moreLine(`${here} of ${all} tasks are here`, state),
  ];
}

/** @param {Row[]} rows @param {Scene} scene @param {State} state */
function tableOf(rows, scene, state) {
  const peak = scene.tasks.some((task) => task.peak);
  const columns = [
    { name: "Task", sort: "task" }, { name: "State", sort: "state" }, { name: "Devices", sort: "devices" }, "Cell",
    { name: "Started", sort: "started" }, { name: "Took", sort: "took" },
    ...(peak ? ["Peak"] : []), "",
  ];
  const { first, last, above, below, asks } = tasksInSight(rows, state.scrolled);
  for (const [subject, skip] of asks) state.asks.set(subject, skip);
  const drawn = rows.slice(first, last).flatMap((row, at) => {
    if ("group" in row) return [groupRow(row.group, columns.length, scene, state)];
    if ("gap" in row) return [gapRow(`gap/${row.subject}/${row.from}`, row.gap * state.scrolled.row)];
    const before = rows[first + at - 1];
    const shapes = knownRow(row.task, row.inGroup, before && "task" in before ? before.task.why : "", peak, columns.length, scene, state);
    return state.log?.id === row.task.id ? [...shapes, logRow(columns.length, scene, state)] : shapes;
  });
  return table("Tasks", columns, [gapRow("above", above), ...drawn, gapRow("below", below)].filter(Boolean), { rows: rows.reduce((sum, row) => sum + ("gap" in row ? row.gap : 1), 0), sort: state.sort });
}

/** The place of rows that are not drawn. @param {string} where @param {number} height @returns {any} */
function gapRow(where, height) {
  return height > 0 && h("tr", { key: where, class: "gap", "aria-hidden": "true", style: `height:${Math.round(height)}px` });
}

/** @param {Scene} scene */
function nothingFound(scene) {
  if (!scene.taskTotal) return empty("No task yet. A remote function that is called makes one:", "f.remote()");
  return empty(scene.foundInAll ? "No task passes the filter." : "No task of these rows passes the filter.");
}

/** @param {Group} group @param {number} columns @param {Scene} scene @param {State} state */
function groupRow(group, columns, scene, state) {
  const { subject, total, open, done, failed, others, listed } = group;
  const partly = !group.counted && (scene.foundInAll ? scene.tasksFound > scene.tasks.length : scene.taskTotal > scene.taskRows); // others of it may be left out
  const part = (/** @type {string} */ kind, /** @type {number} */ number) => number > 0 && h("span", { key: kind, class: `part ${kind}`, style: `width:${(100 * number) / total}%` });
  const words = [...(partly ? [] : [`${done} of ${total}`]), ...others, ...(partly && done ? [`${done} finished`] : []), ...(listed < total ? [`${listed} of them are still listed`] : [])];
  return h("tr", { key: `group/${subject}`, class: "group", "data-function": subject },
    h("th", { scope: "row", colspan: columns },
      h("button", { type: "button", class: "opens", "data-act": "group", "data-function": subject, "aria-expanded": String(open) },
        h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), nameOf(subject)),
      !partly && h("span", { class: "bar", "aria-hidden": "true" }, part(`c${group.colour}`, done), part("failed", failed)),
      h("span", { class: "quiet" }, partly && `of the newest ${total}: `, words.map((each, at) => [at > 0 && " · ", each.endsWith(" failed") ? h("span", { key: each, class: "state failed" }, each) : each]).flat()),
      !scene.ended && group.live && cancelMany("Cancel all", `group/${subject}`, state.filter, subject, state)));
}

/** The row, and the line below it, as drawn last if nothing in them has changed: of hundreds, few change between two snapshots.
 * @param {TaskView} task @param {boolean} inGroup @param {string} above the reason of the row above @param {boolean} peak whether there is such a column @param {number} columns
 * @param {Scene} scene @param {State} state @returns {any[]} */
function knownRow(task, inGroup, above, peak, columns, scene, state) {
  const content = [...Object.values(task), inGroup, above === task.why, columns, scene.ended, state.asked.has(task.id), state.doubted === task.id, state.log?.id === task.id].join("\n");
  const known = state.rows.get(task.id);
  if (known?.content === content) return known.shape;
  const row = taskRow(task, inGroup, peak, scene, state);
  const shape = task.why ? [row, reasonRow(task, above, columns)] : [row];
  state.rows.set(task.id, { content, shape });
  return shape;
}

/** Below the row whose log is open. @param {number} columns @param {Scene} scene @param {State} state */
function logRow(columns, scene, state) {
  return h("tr", { key: `log/${state.log?.id}`, class: "logrow" }, h("td", { colspan: columns }, scene.pastViews?.drawLog(state) ?? "Asking the kernel …"));
}

/** Why it waits or failed, on a line of its own. @param {TaskView} task @param {string} above @param {number} columns */
function reasonRow(task, above, columns) {
  return h("tr", { key: `why/${task.id}`, class: "reason" }, h("td", { colspan: columns }, h("span", { class: "quiet", title: task.why }, reason(task.why, above))));
}

/** @param {TaskView} task @param {boolean} inGroup @param {boolean} peak @param {Scene} scene @param {State} state */
function taskRow(task, inGroup, peak, scene, state) {
  const below = [`#${task.short}`, task.pid && `pid ${task.pid}`].filter(Boolean).join(" · ");
  return h("tr", { key: task.id, "data-task": task.id, class: inGroup ? "inner" : null },
    h("th", { scope: "row" }, nameOf(task.name), h("span", { class: "quiet small below" }, below)),
    stateCell(task.sign, task.state, task.colour),
    cell(task.devices || task.asks, task.devices ? "nowrap" : "quiet nowrap"), whereCell(task.cell, state),
    cell(task.started, "nowrap"), tookCell(task.took), peak && h("td", { class: "nowrap", "data-head": "peak" }, task.peak),
    cell([cancel(task, scene, state), task.retryable && state.retries && !scene.ended && endButton("retry", task, `#${task.short}`, state), logs(task, scene, state)], "acts"));
}

/** How long it takes, and below it how far it is. @param {string} took */
function tookCell(took) {
  const [time, ...far] = took.split(" · ");
  return cell([time, far.length > 0 && [" ", h("span", { class: "quiet small below" }, far.join(" · "))]].flat(), "short");
}

/** @param {TaskView} task @param {Scene} scene @param {State} state */
function logs(task, scene, state) {
  if (task.state === "waiting" || scene.ended) return null;
  return button("Log", { key: "log", "data-act": "logs", "data-id": task.id, "data-name": task.name, "aria-expanded": String(state.log?.id === task.id), "aria-label": `Log of ${task.name} #${task.short}` });
}

/** @param {Scene} scene @param {State} state */
function filters(scene, state) {
  const { filter } = state;
  const option = (/** @type {string} */ value, /** @type {string} */ label, /** @type {string} */ chosen) =>
    h("option", { key: value || "all", value, selected: value === chosen }, label);
  return h("div", { class: "filters", role: "group", "aria-label": "Filter tasks", key: "filters" },
    h("label", {}, "State ", h("select", { "data-filter": "state", value: filter.state },
      option("", "all", filter.state), STATES.map((word) => option(word, `${word} (${scene.counts[word] ?? 0})`, filter.state)))),
    h("label", {}, "Cell ", h("select", { "data-filter": "cell", value: filter.cell },
      option("", "all", filter.cell), scene.cells.map((name) => option(name, name, filter.cell)))),
    h("label", {}, "Text ", h("input", { type: "search", "data-filter": "text", value: filter.text, placeholder: "name, id, reason" })),
    (filter.state || filter.cell || filter.text) && !scene.ended && scene.tasks.some((task) => task.cancellable) && cancelMany("Cancel all of these", "these", filter, "", state),
    !scene.ended && button("Notify me", { "data-act": "notices", class: "aside", "aria-pressed": String(state.notices), title: "A notice of the browser when a task of more than a minute ends or fails" }),
    state.sort.column && button("In the usual order", { "data-act": "sort", "data-column": "" }));
}
