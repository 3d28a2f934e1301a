// Which rows of tasks are drawn: in which order, many of one function as one row, and only those that are in sight.

import { STATES } from "./tasks.js";

/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {{column: string, down: boolean}} Sort */
/** @typedef {{subject: string, tasks: TaskView[], open: boolean, done: number, failed: number, others: string[]}} Group how many are done or failed, and the others in words */
/** @typedef {{task: TaskView, inGroup: boolean} | {group: Group}} Row */

export const MOST_OF_ONE = 8; // rows of one function; more are one row that opens
const ORDER = ["running", "failed", "waiting", "cancelled", "finished"];
const OVERSCAN = 12; // rows that are drawn beyond what is in sight

/** @type {Record<string, (task: TaskView) => string | number>} */
const KEYS = {
  task: (task) => `${task.name}\n${task.short}`,
  state: (task) => place(task.state),
  devices: (task) => task.devices || "~",
  started: (task) => task.keys.started,
  took: (task) => task.keys.took,
};

/** @param {string} state */
function place(state) {
  const at = ORDER.indexOf(state);
  return at < 0 ? ORDER.length : at;
}

/** The tasks as they are read: those that run, failed, wait, were cancelled, finished, each the newest first, or by a
 * column. Those in `held` stay where they were: the order stands still under the pointer.
 * @param {TaskView[]} tasks @param {Sort} sort @param {string[] | null} held @returns {TaskView[]} */
export function ordered(tasks, sort, held) {
  const key = KEYS[sort.column];
  const usual = (/** @type {TaskView} */ a, /** @type {TaskView} */ b) => place(a.state) - place(b.state) || b.keys.submitted - a.keys.submitted;
  const compare = (/** @type {TaskView} */ a, /** @type {TaskView} */ b) => {
    if (!key) return usual(a, b);
    const [one, other] = [key(a), key(b)];
    const way = one < other ? -1 : one > other ? 1 : 0;
    return (sort.down ? -way : way) || usual(a, b);
  };
  const sorted = [...tasks].sort(compare);
  if (!held) return sorted;
  const before = new Map(held.map((id, index) => [id, index]));
  return sorted.sort((a, b) => (before.get(a.id) ?? held.length) - (before.get(b.id) ?? held.length));
}

/** More than eight tasks of one function become one row, where its first task would be.
 * @param {TaskView[]} tasks @param {Set<string>} open @returns {Row[]} */
export function grouped(tasks, open) {
  /** @type {Map<string, TaskView[]>} */
  const bySubject = new Map();
  for (const task of tasks) {
    const same = bySubject.get(task.subject);
    if (same) same.push(task);
    else bySubject.set(task.subject, [task]);
  }
  /** @type {Row[]} */
  const rows = [];
  for (const task of tasks) {
    const same = bySubject.get(task.subject) ?? [];
    if (same.length <= MOST_OF_ONE) rows.push({ task, inGroup: false });
    else if (same[0] === task) rows.push(...groupRows(same, open.has(task.subject)));
  }
  return rows;
}

/** @param {TaskView[]} tasks @param {boolean} open @returns {Row[]} */
function groupRows(tasks, open) {
  const counts = new Map();
  for (const task of tasks) counts.set(task.state, (counts.get(task.state) ?? 0) + 1);
  const done = counts.get("finished") ?? 0;
  const others = STATES.filter((state) => state !== "finished" && counts.get(state)).map((state) => `${counts.get(state)} ${state}`);
  const group = { subject: tasks[0].subject, tasks, open, done, failed: counts.get("failed") ?? 0, others };
  return [{ group }, ...(open ? tasks.map((task) => ({ task, inGroup: true })) : [])];
}

/** Tasks of one name that wait for one reason are said once, with their number; what most wait for comes first.
 * @param {TaskView[]} waiting @returns {{task: TaskView, number: number, ids: string[]}[]} */
export function alike(waiting) {
  /** @type {Map<string, {task: TaskView, number: number, ids: string[]}>} */
  const groups = new Map();
  for (const task of waiting) {
    const key = `${task.name}\n${task.why}\n${task.asks}`;
    const group = groups.get(key) ?? { task, number: 0, ids: [] };
    group.number += 1;
    group.ids.push(task.id);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.number - a.number);
}

/** Which rows of tasks are drawn, and the height of the others; a reason takes a line more.
 * @param {Row[]} rows @param {import("./state.js").Scrolled} scrolled */
export function tasksInSight(rows, { top, height, row, reason }) {
  let all = 0;
  const ends = rows.map((each) => (all += "task" in each && each.task.why ? row + reason : row));
  const at = (/** @type {number} */ y) => (all > y ? ends.findIndex((end) => end > y) : rows.length);
  const start = at(Math.min(top, all - height));
  const first = Math.max(0, start - OVERSCAN);
  const last = Math.min(rows.length, at(top + height) + 2 * OVERSCAN - (start - first));
  return { first, last, above: ends[first - 1] ?? 0, below: all - (ends[last - 1] ?? 0) };
}

/** Which of so many rows are drawn, from where the person has scrolled to; heights are measured on the page.
 * @param {number} number @param {{top: number, height: number, row: number}} scrolled @returns {{first: number, last: number}} */
export function inSight(number, scrolled) {
  const seen = Math.ceil(scrolled.height / scrolled.row) + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(Math.floor(scrolled.top / scrolled.row) - OVERSCAN, number - seen));
  return { first, last: Math.min(number, first + seen) };
}
