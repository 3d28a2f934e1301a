// The tasks of a view, and those of functions that have many: how many there are, and what the kernel told of them.

import { colourOf } from "./colours.js";
import { MOST_OF_ONE, ordered } from "./task_rows.js";
import { taskViews } from "./tasks.js";
import { plain } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./scene.js").Asked} Asked */

const BY_STATE = { column: "", down: false };
const NO_FILTER = { state: "", cell: "", text: "" };

/** What passes the filter: of all tasks, once the kernel has answered; until then, of the rows that are here.
 * @param {Snapshot} snapshot @param {Asked} asked @param {number} now */
export function tasksOf(snapshot, asked, now) {
  const { found, filter, sort = BY_STATE, held = null } = asked;
  const rows = found ? { ...snapshot, tasks: found.tasks } : snapshot;
  return ordered(taskViews(rows, found ? NO_FILTER : filter, now), sort, held);
}

/** How many tasks the functions have of which there are many: of all, or of what passes the filter.
 * @param {Snapshot} snapshot @param {Asked} asked @returns {import("./task_rows.js").FunctionView[]} */
export function functionsOf(snapshot, { filter, found }) {
  const rows = found ? found.functions : filter.state || filter.cell || filter.text.trim() ? [] : snapshot.functions;
  return (rows ?? []).map(({ name, ...counts }) => (
    { subject: plain(name), counts, total: Object.values(counts).reduce((sum, number) => sum + number, 0), colour: colourOf(snapshot, name) }
  )).filter(({ total }) => total > MOST_OF_ONE);
}

/** What was answered of open functions, under this filter.
 * @param {Snapshot} snapshot @param {Asked} asked @param {number} now @returns {Map<string, import("./task_rows.js").Page>} */
export function pagesOf(snapshot, asked, now) {
  const pages = [...(asked.pages ?? [])].filter(([, { filter }]) => filter === JSON.stringify(asked.filter));
  return new Map(pages.map(([subject, { skip, found }]) => [subject, { skip, shown: tasksOf(snapshot, { ...asked, found, sort: BY_STATE }, now), all: found.total }]));
}
