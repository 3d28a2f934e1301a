// Tasks, waiting tasks and actors as rows of text, filtered as the person asks.

import { colourOf, subjectOf } from "./colours";
import type { Asked } from "./scene";
import type { Scrolled } from "./state";
import type { ActorRow, Filter, Snapshot, TaskRow } from "./types";
import {
  ENDED,
  age,
  cellWords,
  clock,
  demandWords,
  deviceWords,
  duration,
  ownerOf,
  plain,
  shortId,
  size,
  stateSign,
  stateWord,
  taskName,
} from "./words";

export interface TaskView {
  id: string;
  short: string;
  name: string;
  sign: string;
  state: string;
  devices: string;
  pid: string;
  node: string; // its id; "" where there is only one
  cell: string;
  owner: string; // "" for the reader's own
  age: string;
  started: string;
  took: string; // with its progress and the time that is left
  facts: string[]; // the text of each of FACTS
  why: string;
  asks: string;
  subject: string; // its function, or its actor's class
  colour: number;
  keys: { submitted: number; started: number; took: number }; // what it is sorted by
  cancellable: boolean;
  retryable: boolean;
}

interface ActorView {
  id: string;
  name: string;
  sign: string;
  state: string;
  devices: string;
  pid: string;
  node: string; // its id
  cell: string;
  owner: string; // "" for the reader's own
  age: string;
  colour: number;
  calls: string;
  why: string;
  alive: boolean;
}

export const STATES = ["running", "waiting", "failed", "cancelled", "finished"];

/** How many tasks there are of each state, of all, not only of those whose rows are here. */
export function taskCounts(snapshot: Snapshot): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(STATES.map((state) => [state, 0]));
  for (const [state, number] of Object.entries(snapshot.counts ?? {})) {
    const word = stateWord(state);
    counts[word] = (counts[word] ?? 0) + number;
  }
  return counts;
}

/** The tasks that wait, longest first. */
export function waitingViews(snapshot: Snapshot, now: number): TaskView[] {
  return (snapshot.tasks ?? [])
    .filter((row) => stateWord(row.state) === "waiting")
    .sort((a, b) => (a.submitted_at ?? 0) - (b.submitted_at ?? 0))
    .map((row) => taskView(row, snapshot, now));
}

/** The tasks that pass the filter. */
function taskViews(snapshot: Snapshot, filter: Filter, now: number): TaskView[] {
  const text = filter.text.trim().toLowerCase();
  const rows = (snapshot.tasks ?? []).filter((row) => passes(row, snapshot, filter, text));
  return rows.map((row) => taskView(row, snapshot, now));
}

function passes(row: TaskRow, snapshot: Snapshot, filter: Filter, text: string) {
  if (filter.state && stateWord(row.state) !== filter.state) return false;
  if (filter.cell && cellOf(row, snapshot) !== filter.cell) return false;
  if (!text) return true;
  return [
    row.name,
    taskName(row.name),
    row.task_id,
    shortId(row.task_id),
    row.cell,
    row.why,
    deviceWords(row.device_ids),
  ].some((each) => (each ?? "").toLowerCase().includes(text));
}

/** "[7]" of "[7] line 3", "b.ipynb [7]" of another notebook's. */
function cellOf(row: TaskRow, snapshot: Snapshot) {
  return row.cell ? cellWords(snapshot, { job: row.job, cell: row.cell.split(" ")[0] }) : "";
}

/** The cells that the rows come from, in order. */
export function cellsOf(snapshot: Snapshot): string[] {
  const number = (cell: string) => Number(/\[(\d+)\]$/.exec(cell)?.[1] ?? 0);
  const own = (cell: string) => (cell.startsWith("[") ? 0 : 1);
  const cells = new Set((snapshot.tasks ?? []).map((row) => cellOf(row, snapshot)).filter(Boolean));
  return [...cells].sort((a, b) => own(a) - own(b) || number(a) - number(b));
}

/** "Both GPUs are busy: …" of "train (cell [7] of b.ipynb) waits for 1 GPU. Both GPUs are busy: …": the row says the rest. */
function withoutSubject(why: string, row: TaskRow) {
  const name = plain(row.name).replace(/\.__init__$/, "");
  const cell = plain(row.cell);
  if (!why.startsWith(name)) return why;
  let rest = why.slice(name.length + 1);
  if (cell && rest.startsWith(`(cell ${cell}`)) rest = rest.slice(rest.indexOf(") ") + 2);
  if (rest.startsWith("waits for ")) return rest.includes(". ") ? rest.slice(rest.indexOf(". ") + 2) : rest;
  return rest.startsWith("asks ") ? rest : why;
}

/** The columns that only show a text, where some task has any. */
export const FACTS: { name: string; of: (row: TaskRow) => string }[] = [
  { name: "Peak", of: (row) => (row.peak_memory_bytes == null ? "" : size(row.peak_memory_bytes)) },
];

function taskView(row: TaskRow, snapshot: Snapshot, now: number): TaskView {
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
    node: row.node_id ?? "",
    cell: cellWords(snapshot, row),
    owner: ownerOf(snapshot, row),
    age: start == null ? "" : age((row.finished_at ?? now) - start),
    started: row.started_at == null ? "" : clock(row.started_at, now),
    took: tookWords(row, state, now),
    subject: plain(subjectOf(row)),
    colour: colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id),
    keys: {
      submitted: row.submitted_at ?? 0,
      started: row.started_at ?? Infinity,
      took: row.started_at == null ? -1 : (row.finished_at ?? now) - row.started_at,
    },
    facts: FACTS.map(({ of }) => of(row)),
    why: [
      row.retry_of && `retry of #${shortId(row.retry_of)}`,
      row.choice ? `runs as ${plain(row.choice)}` : "",
      withoutSubject(plain(row.why), row),
    ]
      .filter(Boolean)
      .join(": "),
    retryable: Boolean(row.retryable),
    asks: Object.keys(row.demand ?? {}).length ? demandWords(row.demand) : "",
    cancellable: !over && row.state !== "ENDED_WITH_IT",
  };
}

/** How long it runs or ran, how far it is, and how long the rest takes at that pace; of one that waits, how long it has. */
function tookWords(row: TaskRow, state: string, now: number) {
  if (state === "waiting") return row.submitted_at == null ? "" : `waits ${age(now - row.submitted_at)}`;
  if (row.started_at == null) return "";
  const seconds = (row.finished_at ?? now) - row.started_at;
  if (row.finished_at != null) return duration(seconds);
  const [done, total] = row.progress ?? [0, 0];
  if (!total) return age(seconds);
  const left = done > 0 && done < total ? `${age((seconds * (total - done)) / done)} left` : "";
  return [age(seconds), `${Math.round((100 * done) / total)} %`, left].filter(Boolean).join(" · ");
}

export function actorViews(snapshot: Snapshot, now: number): ActorView[] {
  return (snapshot.actors ?? []).map((row) => actorView(row, snapshot, now));
}

function actorView(row: ActorRow, snapshot: Snapshot, now: number): ActorView {
  const state = row.state === "PENDING_CREATION" ? "waiting" : stateWord(row.state);
  return {
    id: row.actor_id,
    name: plain(row.class_name) + (row.name ? ` “${plain(row.name)}”` : ""),
    sign: stateSign(state),
    state,
    devices: deviceWords(row.device_ids),
    pid: row.pid ? String(row.pid) : "",
    node: row.node_id ?? "",
    cell: cellWords(snapshot, row),
    owner: ownerOf(snapshot, row),
    age: row.since == null ? "" : age(now - row.since),
    colour: colourOf(snapshot, row.class_name, row.actor_id),
    calls: row.pending_calls ? String(row.pending_calls) : "",
    why: [row.restarts ? `restarted ${row.restarts} ×` : "", plain(row.why)].filter(Boolean).join(" · "),
    alive: row.state !== "DEAD",
  };
}

// ---- Which rows of tasks are drawn: in which order, many of one function as one row, and only those that are in sight.

export interface Sort {
  column: string;
  down: boolean;
}

/** how many tasks a function has, also of those that are not here */
interface FunctionView {
  subject: string;
  counts: Record<string, number>;
  total: number;
  colour: number;
}

/** some of the tasks of a function that the kernel knows: after how many, of how many */
export interface Page {
  skip: number;
  shown: TaskView[];
  all: number;
}

/** the others in words; listed: of how many the kernel still knows more */
export interface Group {
  subject: string;
  open: boolean;
  total: number;
  counted: boolean;
  colour: number;
  done: number;
  failed: number;
  live: boolean;
  others: string[];
  listed: number;
}

/** gap: so many rows that are not here */
export type Row =
  { task: TaskView; inGroup: boolean } | { group: Group } | { gap: number; subject: string; from: number };

const MOST_OF_ONE = 8; // rows of one function; more are one row that opens
const ORDER = ["running", "failed", "waiting", "cancelled", "finished"];
export const PAGE = 200; // rows of a function that are asked for at once
const OVERSCAN = 12; // rows that are drawn beyond what is in sight

const KEYS: Record<string, (task: TaskView) => string | number> = {
  task: (task) => `${task.name}\n${task.short}`,
  state: (task) => rankOf(task.state),
  devices: (task) => task.devices || "~",
  started: (task) => task.keys.started,
  took: (task) => task.keys.took,
};

function rankOf(state: string) {
  const at = ORDER.indexOf(state);
  return at < 0 ? ORDER.length : at;
}

/** The tasks as they are read: those that run, failed, wait, were cancelled, finished, each the newest first, or by a
 * column. Those in `held` stay where they were: the order stands still under the pointer. */
export function ordered(tasks: TaskView[], sort: Sort, held: string[] | null): TaskView[] {
  const key = KEYS[sort.column];
  const usual = (a: TaskView, b: TaskView) => rankOf(a.state) - rankOf(b.state) || b.keys.submitted - a.keys.submitted;
  const compare = (a: TaskView, b: TaskView) => {
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
 * here, or, where these are not all, what was answered of them (`pages`; null: nobody can be asked) and gaps for the rest. */
export function grouped(
  tasks: TaskView[],
  open: Set<string>,
  functions: FunctionView[] = [],
  pages: Map<string, Page> | null = null,
): Row[] {
  const bySubject: Map<string, TaskView[]> = new Map();
  for (const task of tasks) {
    if (!bySubject.has(task.subject)) bySubject.set(task.subject, []);
    bySubject.get(task.subject)?.push(task);
  }
  const counted = new Map(functions.map((each) => [each.subject, each]));
  const group = (subject: string, same: TaskView[]) =>
    groupRows(subject, same, open.has(subject), counted.get(subject), pages);
  const rows: Row[] = [];
  for (const task of tasks) {
    const same = bySubject.get(task.subject) ?? [];
    if (same.length <= MOST_OF_ONE && !counted.has(task.subject)) rows.push({ task, inGroup: false });
    else if (same[0] === task) rows.push(...group(task.subject, same));
  }
  for (const { subject } of functions) if (!bySubject.has(subject)) rows.push(...group(subject, []));
  return rows;
}

function groupRows(
  subject: string,
  tasks: TaskView[],
  open: boolean,
  counted: FunctionView | undefined,
  pages: Map<string, Page> | null,
): Row[] {
  const numbers = STATES.map((state) =>
    counted ? (counted.counts[state] ?? 0) : tasks.filter((task) => task.state === state).length,
  );
  const [running, waiting, failed, , done] = numbers;
  const total = counted?.total ?? tasks.length;
  const page = total > tasks.length && pages?.get(subject);
  const { skip, shown, all } = page || { skip: 0, shown: tasks, all: pages && counted ? total : tasks.length };
  const group = {
    subject,
    open,
    total,
    counted: Boolean(counted),
    colour: counted?.colour ?? tasks[0].colour,
    done,
    failed,
    live: running + waiting > 0,
    others: STATES.slice(0, 4)
      .map((state, at) => numbers[at] > 0 && `${numbers[at]} ${state}`)
      .filter((each) => each !== false),
    listed: open && all < total ? all : total,
  };
  const gap = (from: number, number: number) => (number > 0 ? [{ gap: number, subject, from }] : []);
  return [
    { group },
    ...(open
      ? [
          ...gap(0, Math.min(skip, all)),
          ...shown.map((task) => ({ task, inGroup: true })),
          ...gap(skip + shown.length, all - skip - shown.length),
        ]
      : []),
  ];
}

/** number: of those that are alike, 0 where only all of the function are counted */
export interface Waiting {
  task: TaskView;
  number: number;
  total: number;
  many: string;
  ids: string[];
}

/** Tasks of one name that wait for one reason are said once, with their number, which is never that of the rows that are
 * here; functions whose tasks have no row too. What most wait for comes first. (nbaccel/views/task_lines.py) */
export function alike(waiting: TaskView[], functions: Snapshot["functions"] = []): Waiting[] {
  const groups: Map<string, TaskView[]> = new Map();
  const subjects: Map<string, { rows: number; lines: number }> = new Map();
  const told: Map<string, string> = new Map(); // only the first rows of many have a reason: the others wait for the same
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
  const unseen = [...totals]
    .filter(([subject, number]) => number && !subjects.has(subject))
    .map(([subject, number]) => lineOf([behind(subject)], number, number));
  return [...lines, ...unseen].sort((a, b) => (b.number || b.total) - (a.number || a.total));
}

function lineOf([task, ...more]: TaskView[], number: number, total: number): Waiting {
  return {
    task,
    number,
    total,
    many: !number ? `some of ${total} ` : number > 1 ? `× ${number} ` : "",
    ids: [task, ...more].map(({ id }) => id),
  };
}

/** Of a function none of whose waiting tasks is here. */
function behind(subject: string): any {
  return {
    id: `function ${subject}`,
    name: subject,
    subject,
    why: "they are behind others in their line",
    asks: "",
    cell: "",
    age: "",
    short: "",
  };
}

/** How many tasks wait of which these lines say nothing. */
export function othersThan(all: number, told: Waiting[]) {
  const some = new Map(told.filter(({ number }) => !number).map(({ task, total }) => [task.subject, total]));
  const known = told.reduce((sum, { task, number }) => sum + (some.has(task.subject) ? 0 : number), 0);
  return Math.max(0, all - [...some.values()].reduce((sum, total) => sum + total, known));
}

/** Which rows of tasks are drawn, and the height of the others; a reason takes a line more. */
export function tasksInSight(rows: Row[], { top, height, row, reason }: Scrolled) {
  let all = 0;
  const ends = rows.map(
    (each) => (all += "gap" in each ? each.gap * row : "task" in each && each.task.why ? row + reason : row),
  );
  const at = (y: number) => (all > y ? ends.findIndex((end) => end > y) : rows.length);
  const start = at(Math.min(top, all - height));
  const first = Math.max(0, start - OVERSCAN);
  const last = Math.min(rows.length, at(top + height) + 2 * OVERSCAN - (start - first));
  return {
    first,
    last,
    above: ends[first - 1] ?? 0,
    below: all - (ends[last - 1] ?? 0),
    asks: asksOf(rows, ends, start, at(top + height), top, row),
  };
}

/** Which tasks of open functions have to be asked for: those in sight that are not all here.
 * @param height of a row */
function asksOf(rows: Row[], ends: number[], start: number, end: number, top: number, height: number) {
  const asks: Map<string, number> = new Map();
  rows.slice(start, end + 1).forEach((row, index) => {
    if (!("gap" in row)) return;
    const within = Math.max(0, (top - (ends[start + index - 1] ?? 0)) / height);
    asks.set(row.subject, Math.max(0, row.from + Math.floor(within) - PAGE / 4));
  });
  return asks;
}

/** Which of so many rows are drawn, from where the person has scrolled to; heights are measured on the page. */
export function inSight(
  number: number,
  scrolled: { top: number; height: number; row: number },
): { first: number; last: number } {
  const seen = Math.ceil(scrolled.height / scrolled.row) + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(Math.floor(scrolled.top / scrolled.row) - OVERSCAN, number - seen));
  return { first, last: Math.min(number, first + seen) };
}

// ---- The tasks of a view, and those of functions that have many: how many there are, and what the kernel told of them.

const BY_STATE = { column: "", down: false };
const NO_FILTER = { state: "", cell: "", text: "" };

/** What passes the filter: of all tasks, once the kernel has answered; until then, of the rows that are here. */
export function tasksOf(snapshot: Snapshot, asked: Asked, now: number) {
  const { found, filter, sort = BY_STATE, held = null } = asked;
  const rows = found ? { ...snapshot, tasks: found.tasks } : snapshot;
  return ordered(taskViews(rows, found ? NO_FILTER : filter, now), sort, held);
}

/** How many tasks the functions have of which there are many: of all, or of what passes the filter. */
export function functionsOf(snapshot: Snapshot, { filter, found }: Asked): FunctionView[] {
  const rows = found ? found.functions : filter.state || filter.cell || filter.text.trim() ? [] : snapshot.functions;
  return (rows ?? [])
    .map(({ name, ...counts }) => ({
      subject: plain(name),
      counts,
      total: Object.values(counts).reduce((sum, number) => sum + number, 0),
      colour: colourOf(snapshot, name),
    }))
    .filter(({ total }) => total > MOST_OF_ONE);
}

/** What was answered of open functions, under this filter. */
export function pagesOf(snapshot: Snapshot, asked: Asked, now: number): Map<string, Page> {
  const pages = [...(asked.pages ?? [])].filter(([, { filter }]) => filter === JSON.stringify(asked.filter));
  return new Map(
    pages.map(([subject, { skip, found }]) => [
      subject,
      { skip, shown: tasksOf(snapshot, { ...asked, found, sort: BY_STATE }, now), all: found.total },
    ]),
  );
}
