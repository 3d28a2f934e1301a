// The past is asked for by the view that is open, and only after something has changed: what ran, who used the devices,
// how the devices were.

import { laneName } from "./devices";
import { LAST_MINUTE, WHOLE_RUN, type State } from "./state";
import type { DeviceRow, Snapshot, Source } from "./types";

/** its key names the cluster and the window */
export interface Question {
  ask: string;
  key: string;
  start?: number;
  end?: number;
  task_id?: string;
  out_since?: number;
  err_since?: number;
  record?: string;
  pid?: number;
  node_id?: string;
  since?: number;
}

/** due: when it may be asked for again; moves: how often something had happened when it was asked */
export interface Past {
  key: string;
  due: number;
  start?: number;
  moves?: number;
  data: any;
}

const LEAST_PAUSE_MS = 250; // between two questions, also while a wheel zooms
const LATE_MS = 10_000; // an answer that has not come by then is asked for again

const IDLE_MS = 600_000; // for so long an open view asks how devices are that nobody here holds, while nothing else happens
const MINUTES_TOLD = 3; // as long as a window of one minute grows before it begins anew

/** What the open view asks; null for a view that shows nothing of the past. */
export function questionOf(state: State, snapshot: Snapshot, now: number): Question | null {
  const { engine, pid } = snapshot.runtime;
  const cluster = `${engine} ${pid ?? ""} ${snapshot.nodes?.[0]?.node_id ?? ""}`;
  if (state.only) return rowsQuestion(state, snapshot);
  const view = state.details ? state.tab : "devices";
  if (view === "runs") return rowsQuestion(state, snapshot);
  if (view === "devices" && hasLines(snapshot)) return { ask: "readings", key: cluster };
  if (["tasks", "actors"].includes(view) && state.log?.process) return stackQuestion(state, cluster);
  if (view === "tasks" && state.log) {
    const [key, known] = [`${cluster} ${state.log.id}`, state.past.task_log];
    const text = known?.key === key ? known.data : null;
    return text?.done
      ? null
      : { ask: "task_log", key, task_id: state.log.id, out_since: text?.out ?? 0, err_since: text?.err ?? 0 };
  }
  if (view === "accounting") return { ask: "accounting", key: cluster };
  if (view !== "timeline") return null;
  if (state.range)
    return {
      ask: "runs",
      key: `${cluster} ${state.range.from} ${state.range.to}`,
      start: state.range.from,
      end: state.range.to,
    };
  if (state.window === WHOLE_RUN) return { ask: "runs", key: `${cluster} all` };
  const known = state.past.runs;
  const recent = known?.start && known.key === `${cluster} last` && now - known.start < MINUTES_TOLD * LAST_MINUTE;
  return { ask: "runs", key: `${cluster} last`, start: recent ? known.start : now - state.window };
}

/** Where the code of a process is: asked once, and then until it has written it. */
function stackQuestion({ log, past }: State, cluster: string): Question | null {
  const { pid, node } = log!.process!;
  const key = `${cluster} stack ${log!.id} ${pid}`;
  const known = past.stack?.key === key ? past.stack.data : null;
  return known?.done ? null : { ask: "stack", key, pid, node_id: node, since: known?.since ?? -1 };
}

/** @returns `look` asks what the open view needs */
export function historian(
  source: Source,
  state: State,
  now: () => number,
): { look: () => void; heard: (message: any) => void; end: () => void } {
  let last = 0;
  let later: any;
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
  const wanted = (snapshot: Snapshot | null) =>
    snapshot && !snapshot.ended ? questionOf(state, snapshot, now()) : null;
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
    source.send({ say: "history", id: state.id, since: (same && data?.since) || 0, ...question });
    later = setTimeout(ask, LATE_MS);
  };
  const heard = (message: any) => {
    const past = state.past[placeOf(message)];
    if (past?.key !== message.key) return; // the person looks elsewhere by now
    const answer = JSON.parse(message.answer);
    const snapshot = source.snapshot();
    const told = { readings: withReadings, rows: withRows }[message.ask as string] ?? snapshot?.past?.told[message.ask];
    if (told) past.data = told(past.data, answer);
    past.due = Date.now() + 1000 * answer.pause_s;
    // A task prints and a device works also while nothing else changes, and a line needs two points.
    const isOpen = !state.only && (state.details ? state.tab === "devices" : state.listed);
    const works = isOpen && (Date.now() - moved < IDLE_MS || snapshot?.devices?.some((row) => row.holders?.length));
    const goesOn =
      !answer.pause_s !== (message.ask === "stack") || // a stack is here once there is nothing to wait for
      message.ask === "task_log" ||
      (message.ask === "readings" && (works || lacksLines(past.data, snapshot)));
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

// ---- Load, memory and power of the last two minutes, from the letters of the answers.

/** from 0 to 1, the newest last; null where nothing is known */
export type Levels = (number | null)[];

/** power as a share of the most that any device drew */
export interface Lines {
  utilisation: Levels;
  memory: Levels;
  power: Levels;
}

interface Readings {
  since: number;
  origin: number;
  step: number;
  first: number;
  watts: number;
  lines: Map<string, Lines>;
}

const KEPT_S = 120;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const MOST_DEVICES = 128; // lines of more devices cost more than anybody reads

/** Whether the devices are measured, and few enough for lines. */
function hasLines(snapshot: Snapshot) {
  const devices = snapshot.devices ?? [];
  return devices.length <= MOST_DEVICES && devices.some((row) => row.metrics);
}

/** Whether devices that tell how much they are used have no line yet. */
function lacksLines({ lines }: Readings, snapshot: Snapshot | null) {
  const isLine = (levels: Levels) => levels.filter((level) => level != null).length > 1;
  const tell = (snapshot?.devices ?? []).some(
    ({ metrics }) => (metrics?.utilisation_percent ?? metrics?.memory_used_bytes) != null,
  );
  return (
    tell && ![...lines.values()].some(({ utilisation, memory, power }) => [utilisation, memory, power].some(isLine))
  );
}

/** The readings that were known and those of an answer. */
export function withReadings(before: Readings | null, answer: any): Readings {
  const same = before?.origin === answer.origin && before?.step === answer.step_s ? before : null;
  const end = answer.first + answer.steps;
  const first = Math.max(end - Math.round(KEPT_S / answer.step_s), same ? same.first : answer.first);
  const lines: Map<string, Lines> = new Map();
  answer.devices.forEach((ending: string, index: number) => {
    const name = answer.prefix + ending;
    const known = same?.lines.get(name);
    const line = (part: keyof Lines, scale = 1) =>
      Array.from({ length: end - first }, (_, at) => {
        const step = first + at - answer.first;
        const old = step < 0 ? known?.[part][first + at - (same?.first ?? 0)] : null;
        if (step < 0) return old == null ? null : old * scale;
        const level = LETTERS.indexOf(answer[part][index * answer.steps + step]);
        return level < 0 ? null : level / (LETTERS.length - 1);
      });
    const all = {
      utilisation: line("utilisation"),
      memory: line("memory"),
      power: line("power", same ? same.watts / answer.power_watts : 1),
    };
    lines.set(name, all).set(name.slice(name.indexOf("/")), all); // a snapshot of one node leaves its name out
  });
  return { since: answer.seq, origin: answer.origin, step: answer.step_s, first, watts: answer.power_watts, lines };
}

/** The lines of a device; null while nothing is known. */
export function linesOf(readings: Readings | null | undefined, row: DeviceRow): Lines | null {
  return readings?.lines.get(laneName(row)) ?? null;
}

// ---- The rows of published records, such as the trials of an experiment: the view that shows them asks for what has changed.

interface RecordRows {
  since: number;
  total: number;
  rows: Map<string, any>;
}

/** What is asked for the record whose turn it is, among those that are open. */
function rowsQuestion(state: State, snapshot: Snapshot) {
  const due = (id: string) => state.past[`rows/${id}`]?.due ?? 0;
  const [record] = (snapshot.runs?.open(state) ?? []).sort((a, b) => due(a) - due(b));
  return record ? { ask: "rows", key: `rows/${record}`, record } : null;
}

/** Where an answer is kept: each record has its own place. */
export function placeOf({ ask, key }: { ask: string; key: string }) {
  return ask === "rows" ? key : ask;
}

/** The rows that were known and those of an answer. */
export function withRows(before: RecordRows | null, answer: any): RecordRows {
  const rows = new Map(before?.rows);
  for (const [key, row] of Object.entries(answer.rows)) rows.set(key, row);
  return { since: answer.seq, total: answer.total, rows };
}

// ---- The kernel's clock as this page sees it. A snapshot that arrives late must not make the clock run behind, so only one
// that comes from the future moves it.

export function kernelClock(wall = () => Date.now() / 1000): { heard: (time: number) => void; now: () => number } {
  let ahead = 0; // of the kernel's clock before ours
  return {
    heard(time) {
      ahead = Math.max(ahead, time - wall());
    },
    now: () => wall() + ahead,
  };
}
