// The past is asked for by the view that is open, and only after something has changed: what ran, who used the devices,
// how the devices were.

import { hasLines, lacksLines, withReadings } from "./readings.js";
import { placeOf, rowsQuestion, withRows } from "./record_rows.js";
import { LAST_MINUTE, WHOLE_RUN } from "./state.js";

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./state.js").State} State */
/** @typedef {{ask: string, key: string, start?: number, end?: number, task_id?: string, out_since?: number, err_since?: number, record?: string}} Question its key names the cluster and the window */
/** @typedef {{key: string, due: number, start?: number, moves?: number, data: any}} Past due: when it may be asked for again; moves: how often something had happened when it was asked */

const LEAST_PAUSE_MS = 250; // between two questions, also while a wheel zooms
const LATE_MS = 10_000; // an answer that has not come by then is asked for again

const IDLE_MS = 600_000; // for so long an open view asks how devices are that nobody here holds, while nothing else happens
const MINUTES_TOLD = 3; // as long as a window of one minute grows before it begins anew

/** What the open view asks; null for a view that shows nothing of the past.
 * @param {State} state @param {Snapshot} snapshot @param {number} now @returns {Question | null} */
export function questionOf(state, snapshot, now) {
  const { engine, pid } = snapshot.runtime;
  const cluster = `${engine} ${pid ?? ""} ${snapshot.nodes?.[0]?.node_id ?? ""}`;
  if (state.only) return rowsQuestion(state, snapshot);
  const view = state.details ? state.tab : "devices";
  if (view === "runs") return rowsQuestion(state, snapshot);
  if (view === "devices" && hasLines(snapshot)) return { ask: "readings", key: cluster };
  if (view === "tasks" && state.log) {
    const [key, known] = [`${cluster} ${state.log.id}`, state.past.task_log];
    const text = known?.key === key ? known.data : null;
    return text?.done ? null : { ask: "task_log", key, task_id: state.log.id, out_since: text?.out ?? 0, err_since: text?.err ?? 0 };
  }
  if (view === "accounting") return { ask: "accounting", key: cluster };
  if (view !== "timeline") return null;
  if (state.range) return { ask: "runs", key: `${cluster} ${state.range.from} ${state.range.to}`, start: state.range.from, end: state.range.to };
  if (state.window === WHOLE_RUN) return { ask: "runs", key: `${cluster} all` };
  const known = state.past.runs;
  const recent = known?.start && known.key === `${cluster} last` && now - known.start < MINUTES_TOLD * LAST_MINUTE;
  return { ask: "runs", key: `${cluster} last`, start: recent ? known.start : now - state.window };
}

/** @param {Source} source @param {State} state @param {() => number} now
 * @returns {{look: () => void, heard: (message: any) => void, end: () => void}} `look` asks what the open view needs */
export function historian(source, state, now) {
  let last = 0;
  /** @type {any} */
  let later;
  let asked = -LATE_MS;
  const load = () => {
    if (Date.now() - asked < LATE_MS) return;
    asked = Date.now();
    source.send({ say: "past" }); // the module that draws it; once it is here, the view is drawn again and asks
  };
  let looks = true; // somebody does: an answer that comes after that asks for nothing
  let moved = 0; // when something happened last
  let moves = 0; // how often
  const look = () => {
    looks = true;
    moved = Date.now();
    moves++;
    ask();
  };
  const wanted = (/** @type {Snapshot | null} */ snapshot) => (snapshot && !snapshot.ended ? questionOf(state, snapshot, now()) : null);
  const ask = () => {
    clearTimeout(later);
    const snapshot = source.snapshot();
    const question = wanted(snapshot);
    if (!question) return;
    if (!["readings", "rows"].includes(question.ask) && !snapshot?.past) return void load();
    const place = placeOf(question);
    const known = state.past[place];
    const same = known?.key === question.key && known.start === question.start;
    const wait = Math.max(same ? known.due : 0, last + LEAST_PAUSE_MS) - Date.now();
    if (wait > 0) return void (later = setTimeout(ask, wait));
    last = Date.now();
    const data = same || question.ask === "runs" ? known?.data : null; // runs of another window stay until its own are here
    state.past[place] = { key: question.key, start: question.start, due: last + LATE_MS, moves, data };
    source.send({ say: "history", id: state.id, ...question, since: (same && data?.since) || 0 });
    later = setTimeout(ask, LATE_MS);
  };
  const heard = (/** @type {any} */ message) => {
    const past = state.past[placeOf(message)];
    if (past?.key !== message.key) return; // the person looks elsewhere by now
    const answer = JSON.parse(message.answer);
    const snapshot = source.snapshot();
    const told = { readings: withReadings, rows: withRows }[/** @type {string} */ (message.ask)] ?? snapshot?.past?.told[message.ask];
    if (told) past.data = told(past.data, answer);
    past.due = Date.now() + 1000 * answer.pause_s;
    // A task prints and a device works also while nothing else changes, and a line needs two points.
    const isOpen = !state.only && (state.details ? state.tab === "devices" : state.listed);
    const works = isOpen && (Date.now() - moved < IDLE_MS || snapshot?.devices?.some((row) => row.holders?.length));
    const goesOn = !answer.pause_s || message.ask === "task_log" || (message.ask === "readings" && (works || lacksLines(past.data, snapshot)));
    const next = wanted(snapshot);
    clearTimeout(later);
    // Something has happened since it was asked, or there is a further record to ask for.
    if (looks && (goesOn || (next && state.past[placeOf(next)]?.moves !== moves))) ask();
  };
  const end = () => {
    looks = false;
    clearTimeout(later);
  };
  return { look, heard, end };
}
