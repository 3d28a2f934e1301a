// Tasks, waiting tasks and actors as rows of text, filtered as the person asks.

import { cellWords, ownerOf } from "./owners.js";
import { colourOf, subjectOf } from "./colours.js";
import { ENDED, age, clock, demandWords, deviceWords, duration, plain, shortId, size, stateSign, stateWord, taskName } from "./words.js";

/** @typedef {import("./types.js").TaskRow} TaskRow */
/** @typedef {import("./types.js").ActorRow} ActorRow */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").Filter} Filter */

/**
 * @typedef {object} TaskView
 * @property {string} id
 * @property {string} short
 * @property {string} name
 * @property {string} sign
 * @property {string} state
 * @property {string} devices
 * @property {string} pid
 * @property {string} cell
 * @property {string} owner "" for the reader's own
 * @property {string} age
 * @property {string} started
 * @property {string} took with its progress and the time that is left
 * @property {string} peak
 * @property {string} why
 * @property {string} asks
 * @property {string} subject its function, or its actor's class
 * @property {number} colour
 * @property {{submitted: number, started: number, took: number}} keys what it is sorted by
 * @property {boolean} cancellable
 * @property {boolean} retryable
 *
 * @typedef {object} ActorView
 * @property {string} id
 * @property {string} name
 * @property {string} sign
 * @property {string} state
 * @property {string} devices
 * @property {string} pid
 * @property {string} cell
 * @property {string} owner "" for the reader's own
 * @property {string} age
 * @property {number} colour
 * @property {string} calls
 * @property {string} why
 * @property {boolean} alive
 */

export const STATES = ["running", "waiting", "failed", "cancelled", "finished"];

/** How many tasks there are of each state, of all, not only of those whose rows are here.
 * @param {Snapshot} snapshot @returns {Record<string, number>} */
export function taskCounts(snapshot) {
  /** @type {Record<string, number>} */
  const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
  for (const [state, number] of Object.entries(snapshot.counts ?? {})) {
    const word = stateWord(state);
    counts[word] = (counts[word] ?? 0) + number;
  }
  return counts;
}

/** The tasks that wait, longest first. @param {Snapshot} snapshot @param {number} now @returns {TaskView[]} */
export function waitingViews(snapshot, now) {
  return (snapshot.tasks ?? [])
    .filter((row) => stateWord(row.state) === "waiting")
    .sort((a, b) => (a.submitted_at ?? 0) - (b.submitted_at ?? 0))
    .map((row) => taskView(row, snapshot, now));
}

/** The tasks that pass the filter. @param {Snapshot} snapshot @param {Filter} filter @param {number} now @returns {TaskView[]} */
export function taskViews(snapshot, filter, now) {
  const text = filter.text.trim().toLowerCase();
  const rows = (snapshot.tasks ?? []).filter((row) => passes(row, snapshot, filter, text));
  return rows.map((row) => taskView(row, snapshot, now));
}

/** @param {TaskRow} row @param {Snapshot} snapshot @param {Filter} filter @param {string} text */
function passes(row, snapshot, filter, text) {
  if (filter.state && stateWord(row.state) !== filter.state) return false;
  if (filter.cell && cellOf(row, snapshot) !== filter.cell) return false;
  if (!text) return true;
  return [row.name, taskName(row.name), row.task_id, shortId(row.task_id), row.cell, row.why, deviceWords(row.device_ids)].some((each) =>
    (each ?? "").toLowerCase().includes(text),
  );
}

/** "[7]" of "[7] line 3", "b.ipynb [7]" of another notebook's. @param {TaskRow} row @param {Snapshot} snapshot */
function cellOf(row, snapshot) {
  return row.cell ? cellWords(snapshot, { job: row.job, cell: row.cell.split(" ")[0] }) : "";
}

/** The cells that the rows come from, in order. @param {Snapshot} snapshot @returns {string[]} */
export function cellsOf(snapshot) {
  const number = (/** @type {string} */ cell) => Number(/\[(\d+)\]$/.exec(cell)?.[1] ?? 0);
  const own = (/** @type {string} */ cell) => (cell.startsWith("[") ? 0 : 1);
  const cells = new Set((snapshot.tasks ?? []).map((row) => cellOf(row, snapshot)).filter(Boolean));
  return [...cells].sort((a, b) => own(a) - own(b) || number(a) - number(b));
}

/** "Both GPUs are busy: …" of "train (cell [7] of b.ipynb) waits for 1 GPU. Both GPUs are busy: …": the row says the rest.
 * @param {string} why @param {TaskRow} row */
function withoutSubject(why, row) {
  const name = plain(row.name).replace(/\.__init__$/, "");
  const cell = plain(row.cell);
  if (!why.startsWith(name)) return why;
  let rest = why.slice(name.length + 1);
  if (cell && rest.startsWith(`(cell ${cell}`)) rest = rest.slice(rest.indexOf(") ") + 2);
  if (rest.startsWith("waits for ")) return rest.includes(". ") ? rest.slice(rest.indexOf(". ") + 2) : rest;
  return rest.startsWith("asks ") ? rest : why;
}

/** @param {TaskRow} row @param {Snapshot} snapshot @param {number} now @returns {TaskView} */
function taskView(row, snapshot, now) {
  const state = stateWord(row.state);
  const start = state === "waiting" ? row.submitted_at : (row.started_at ?? row.submitted_at);
  const over = ENDED.has(row.state);
  return {
    id: row.task_id,
    short: shortId(row.task_id),
    name: taskName(row.name),
    sign: stateSign(state),
    state,
    devices: deviceWords(row.device_ids),
    pid: row.pid ? String(row.pid) : "",
    cell: cellWords(snapshot, row),
    owner: ownerOf(snapshot, row),
    age: start == null ? "" : age((row.finished_at ?? now) - start),
    started: row.started_at == null ? "" : clock(row.started_at, now),
    took: tookWords(row, state, now),
    subject: plain(subjectOf(row)),
    colour: colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id),
    keys: { submitted: row.submitted_at ?? 0, started: row.started_at ?? Infinity, took: row.started_at == null ? -1 : (row.finished_at ?? now) - row.started_at },
    peak: row.peak_memory_bytes == null ? "" : size(row.peak_memory_bytes),
    why: [row.retry_of && `retry of #${shortId(row.retry_of)}`, row.choice ? `runs as ${plain(row.choice)}` : "", withoutSubject(plain(row.why), row)].filter(Boolean).join(": "),
    retryable: Boolean(row.retryable),
    asks: Object.keys(row.demand ?? {}).length ? demandWords(row.demand) : "",
    cancellable: !over && row.state !== "ENDED_WITH_IT",
  };
}

/** How long it runs or ran, how far it is, and how long the rest takes at that pace; of one that waits, how long it has.
 * @param {TaskRow} row @param {string} state @param {number} now */
function tookWords(row, state, now) {
  if (state === "waiting") return row.submitted_at == null ? "" : `waits ${age(now - row.submitted_at)}`;
  if (row.started_at == null) return "";
  const seconds = (row.finished_at ?? now) - row.started_at;
  if (row.finished_at != null) return duration(seconds);
  const [done, total] = row.progress ?? [0, 0];
  if (!total) return age(seconds);
  const left = done > 0 && done < total ? `${age((seconds * (total - done)) / done)} left` : "";
  return [age(seconds), `${Math.round((100 * done) / total)} %`, left].filter(Boolean).join(" · ");
}

/** @param {Snapshot} snapshot @param {number} now @returns {ActorView[]} */
export function actorViews(snapshot, now) {
  return (snapshot.actors ?? []).map((row) => actorView(row, snapshot, now));
}

/** @param {ActorRow} row @param {Snapshot} snapshot @param {number} now @returns {ActorView} */
function actorView(row, snapshot, now) {
  const state = row.state === "PENDING_CREATION" ? "waiting" : stateWord(row.state);
  return {
    id: row.actor_id,
    name: plain(row.class_name) + (row.name ? ` “${plain(row.name)}”` : ""),
    sign: stateSign(state),
    state,
    devices: deviceWords(row.device_ids),
    pid: row.pid ? String(row.pid) : "",
    cell: cellWords(snapshot, row),
    owner: ownerOf(snapshot, row),
    age: row.since == null ? "" : age(now - row.since),
    colour: colourOf(snapshot, row.class_name, row.actor_id),
    calls: row.pending_calls ? String(row.pending_calls) : "",
    why: [row.restarts ? `restarted ${row.restarts} ×` : "", plain(row.why)].filter(Boolean).join(" · "),
    alive: row.state !== "DEAD",
  };
}
