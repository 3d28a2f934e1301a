// Which rows of tasks are drawn: in which order, many of one function as one row, and only those that are in sight.

import { STATES } from "./tasks.js";
import { plain } from "./words.js";

/** @typedef {import("./tasks.js").TaskView} TaskView */
/** @typedef {{column: string, down: boolean}} Sort */
/** @typedef {{subject: string, counts: Record<string, number>, total: number, colour: number}} FunctionView how many tasks a function has, also of those that are not here */
/** @typedef {{skip: number, shown: TaskView[], all: number}} Page some of the tasks of a function that the kernel knows: after how many, of how many */
/** @typedef {{subject: string, open: boolean, total: number, counted: boolean, colour: number, done: number, failed: number, live: boolean, others: string[], listed: number}} Group the others in words; listed: of how many the kernel still knows more */
/** @typedef {{task: TaskView, inGroup: boolean} | {group: Group} | {gap: number, subject: string, from: number}} Row gap: so many rows that are not here */

export const MOST_OF_ONE = 8; // rows of one function; more are one row that opens
const ORDER = ["running", "failed", "waiting", "cancelled", "finished"];
export const PAGE = 200; // rows of a function that are asked for at once
const OVERSCAN = 12; // rows that are drawn beyond what is in sight

/** @type {Record<string, (task: TaskView) => string | number>} */
const KEYS = {
  task: (task) => `${task.name}\n${task.short}`,
  state: (task) => rankOf(task.state),
  devices: (task) => task.devices || "~",
  started: (task) => task.keys.started,
  took: (task) => task.keys.took,
};

/** @param {string} state */
function rankOf(state) {
  const at = ORDER.indexOf(state);
  return at < 0 ? ORDER.length : at;
}

/** The tasks as they are read: those that run, failed, wait, were cancelled, finished, each the newest first, or by a
 * column. Those in `held` stay where they were: the order stands still under the pointer.
 * @param {TaskView[]} tasks @param {Sort} sort @param {string[] | null} held @returns {TaskView[]} */
export function ordered(tasks, sort, held) {
  const key = KEYS[sort.column];
  const usual = (/** @type {TaskView} */ a, /** @type {TaskView} */ b) => rankOf(a.state) - rankOf(b.state) || b.keys.submitted - a.keys.submitted;
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

/** More than eight tasks of one function become one row, where its first task would be. An open one has the tasks that are
 * here, or, where these are not all, what was answered of them (`pages`; null: nobody can be asked) and gaps for the rest.
 * @param {TaskView[]} tasks @param {Set<string>} open @param {FunctionView[]} [functions] @param {Map<string, Page> | null} [pages] @returns {Row[]} */
export function grouped(tasks, open, functions = [], pages = null) {
  /** @type {Map<string, TaskView[]>} */
  const bySubject = new Map();
  for (const task of tasks) {
    if (!bySubject.has(task.subject)) bySubject.set(task.subject, []);
    bySubject.get(task.subject)?.push(task);
  }
  const counted = new Map(functions.map((each) => [each.subject, each]));
  const group = (/** @type {string} */ subject, /** @type {TaskView[]} */ same) => groupRows(subject, same, open.has(subject), counted.get(subject), pages);
  /** @type {Row[]} */
  const rows = [];
  for (const task of tasks) {
    const same = bySubject.get(task.subject) ?? [];
    if (same.length <= MOST_OF_ONE && !counted.has(task.subject)) rows.push({ task, inGroup: false });
    else if (same[0] === task) rows.push(...group(task.subject, same));
  }
  for (const { subject } of functions) if (!bySubject.has(subject)) rows.push(...group(subject, []));
  return rows;
}

/** @param {string} subject @param {TaskView[]} tasks @param {boolean} open @param {FunctionView | undefined} counted @param {Map<string, Page> | null} pages @returns {Row[]} */
function groupRows(subject, tasks, open, counted, pages) {
  const numbers = STATES.map((state) => counted ? counted.counts[state] ?? 0 : tasks.filter((task) => task.state === state).length);
  const [running, waiting, failed, , done] = numbers;
  const total = counted?.total ?? tasks.length;
  const page = total > tasks.length && pages?.get(subject);
  const { skip, shown, all } = page || { skip: 0, shown: tasks, all: pages && counted ? total : tasks.length };
  const group = {
    subject, open, total, counted: Boolean(counted), colour: counted?.colour ?? tasks[0].colour, done, failed, live: running + waiting > 0,
    others: STATES.slice(0, 4).map((state, at) => numbers[at] > 0 && `${numbers[at]} ${state}`).filter((each) => each !== false),
    listed: open && all < total ? all : total,
  };
  const gap = (/** @type {number} */ from, /** @type {number} */ number) => (number > 0 ? [{ gap: number, subject, from }] : []);
  return [{ group }, ...(open ? [...gap(0, Math.min(skip, all)), ...shown.map((task) => ({ task, inGroup: true })), ...gap(skip + shown.length, all - skip - shown.length)] : [])];
}

/** @typedef {{task: TaskView, number: number, total: number, many: string, ids: string[]}} Waiting number: of those that are alike, 0 where only all of the function are counted */

/** Tasks of one name that wait for one reason are said once, with their number, which is never that of the rows that are
 * here; functions whose tasks have no row too. What most wait for comes first. (nbaccel/views/task_lines.py)
 * @param {TaskView[]} waiting @param {import("./types.js").Snapshot["functions"]} [functions] @returns {Waiting[]} */
export function alike(waiting, functions = []) {
  /** @type {Map<string, TaskView[]>} */
  const groups = new Map();
  /** @type {Map<string, {rows: number, lines: number}>} */
  const subjects = new Map();
  /** @type {Map<string, string>} */
  const told = new Map(); // only the first rows of many have a reason: the others wait for the same
  for (const task of waiting) {
    const about = `${task.subject}\n${task.name}\n${task.asks}`;
    const why = task.why || (told.get(about) ?? "");
    if (!told.has(about)) told.set(about, why);
    const key = `${about}\n${why}`;
    const of = subjects.get(task.subject) ?? { rows: 0, lines: 0 };
    subjects.set(task.subject, { rows: of.rows + 1, lines: of.lines + (groups.has(key) ? 0 : 1) });
    groups.set(key, [...(groups.get(key) ?? []), task]);
  }
  const totals = new Map(functions.map(({ name, waiting: number = 0 }) => [plain(name), number]));
  const lines = [...groups.values()].map((tasks) => {
    const { rows, lines: several } = subjects.get(tasks[0].subject) ?? { rows: 0, lines: 0 };
    const total = Math.max(totals.get(tasks[0].subject) ?? 0, rows);
    return lineOf(tasks, total === rows ? tasks.length : several > 1 ? 0 : total, total);
  });
  const unseen = [...totals].filter(([subject, number]) => number && !subjects.has(subject)).map(([subject, number]) => lineOf([behind(subject)], number, number));
  return [...lines, ...unseen].sort((a, b) => (b.number || b.total) - (a.number || a.total));
}

/** @param {TaskView[]} tasks @param {number} number @param {number} total @returns {Waiting} */
function lineOf([task, ...more], number, total) {
  return { task, number, total, many: !number ? `some of ${total} ` : number > 1 ? `× ${number} ` : "", ids: [task, ...more].map(({ id }) => id) };
}

/** Of a function none of whose waiting tasks is here. @param {string} subject @returns {any} */
function behind(subject) {
  return { id: `function ${subject}`, name: subject, subject, why: "they are behind others in their line", asks: "", cell: "", age: "", short: "" };
}

/** How many tasks wait of which these lines say nothing. @param {number} all @param {Waiting[]} told */
export function othersThan(all, told) {
  const some = new Map(told.filter(({ number }) => !number).map(({ task, total }) => [task.subject, total]));
  const known = told.reduce((sum, { task, number }) => sum + (some.has(task.subject) ? 0 : number), 0);
  return Math.max(0, all - [...some.values()].reduce((sum, total) => sum + total, known));
}

/** Which rows of tasks are drawn, and the height of the others; a reason takes a line more.
 * @param {Row[]} rows @param {import("./state.js").Scrolled} scrolled */
export function tasksInSight(rows, { top, height, row, reason }) {
  let all = 0;
  const ends = rows.map((each) => (all += "gap" in each ? each.gap * row : "task" in each && each.task.why ? row + reason : row));
  const at = (/** @type {number} */ y) => (all > y ? ends.findIndex((end) => end > y) : rows.length);
  const start = at(Math.min(top, all - height));
  const first = Math.max(0, start - OVERSCAN);
  const last = Math.min(rows.length, at(top + height) + 2 * OVERSCAN - (start - first));
  return { first, last, above: ends[first - 1] ?? 0, below: all - (ends[last - 1] ?? 0), asks: asksOf(rows, ends, start, at(top + height), top, row) };
}

/** Which tasks of open functions have to be asked for: those in sight that are not all here.
 * @param {Row[]} rows @param {number[]} ends @param {number} start @param {number} end @param {number} top @param {number} height of a row */
function asksOf(rows, ends, start, end, top, height) {
  /** @type {Map<string, number>} */
  const asks = new Map();
  rows.slice(start, end + 1).forEach((row, index) => {
    if (!("gap" in row)) return;
    const within = Math.max(0, (top - (ends[start + index - 1] ?? 0)) / height);
    asks.set(row.subject, Math.max(0, row.from + Math.floor(within) - PAGE / 4));
  });
  return asks;
}

/** Which of so many rows are drawn, from where the person has scrolled to; heights are measured on the page.
 * @param {number} number @param {{top: number, height: number, row: number}} scrolled @returns {{first: number, last: number}} */
export function inSight(number, scrolled) {
  const seen = Math.ceil(scrolled.height / scrolled.row) + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(Math.floor(scrolled.top / scrolled.row) - OVERSCAN, number - seen));
  return { first, last: Math.min(number, first + seen) };
}
