// Lanes for each device: who ran on it when; the cells that made them run; and how many tasks waited.

import { colourOf, subjectOf } from "../model/colours";
import { deviceLabels, laneName } from "../model/devices";
import { WHOLE_RUN, type State } from "../model/state";
import type { RunKind, RunsAnswer, Snapshot, TaskRow } from "../model/types";
import { age, cellWords, clock, count, duration, nodeNames, plain, stateWord } from "../model/words";

export interface Bar {
  key: string;
  from: number; // seconds since the lane's left edge
  to: number;
  track: number; // the line within its lane, for those that ran side by side
  number: number; // of runs that it stands for, where they are too short to be told apart
  colour: number;
  state: string;
  name: string; // with the number of runs
  of: string; // whose runs
  facts: string[]; // what else the hover card says
}

type Ran = Omit<TaskRow, "kind"> & { kind?: string }; // without it of what is no task

/** A run of a task as its row has it, or a bar of the history, which knows its lane and the number of runs. */
export type Row = Ran & { colour: number; band: string; lane?: string; number?: number };

/** node: where there are several */
interface Lane {
  key: string;
  label: string;
  node?: string;
  nodeTitle?: string;
  tracks: number;
  bars: Bar[];
}

/** in Unix seconds */
export interface Range {
  from: number;
  to: number;
}

export interface Timeline {
  start: number;
  seconds: number;
  lanes: Lane[];
  ticks: { at: number; label: string }[];
  bands: Band[];
  depth: Depth;
  words: string;
}

/** the time in which the tasks of a cell ran */
interface Band {
  label: string;
  from: number;
  to: number;
  track: number;
}

const PIXELS = 900; // of a lane's width: what is narrower than one is merged
const MOST_TRACKS = 6;
const MOST_BANDS = 3; // cells side by side

/** @param window seconds to show, or WHOLE_RUN
 * @param range what the person has zoomed to
 * @param past what the history has told; until then, the tasks of the snapshot are shown */
export function timelineOf(
  snapshot: Snapshot,
  window: number,
  now: number,
  range: Range | null = null,
  past: PastRuns | null = null,
): Timeline {
  const rows = past
    ? pastRows(past, snapshot, now)
    : [...(snapshot.tasks ?? []), ...holdingActors(snapshot)].map((row) => rowOf(row, snapshot));
  const first = rows.reduce((least, row) => Math.min(least, row.submitted_at ?? row.started_at ?? now), now - 1);
  const start = range?.from ?? (window === WHOLE_RUN ? first : now - window);
  const end = range?.to ?? (window === WHOLE_RUN ? endOf(rows, now) : now);
  const lanes = lanesOf(snapshot, rows).map(({ key, label, node, nodeTitle, rows }) => ({
    ...lane(key, label, rows, { from: start, to: end }, now),
    node,
    nodeTitle,
  }));
  const shown = lanes.reduce((sum, each) => sum + each.bars.reduce((all, bar) => all + bar.number, 0), 0);
  const words = `${count(shown, "task run")} on ${count(lanes.length, "lane")} in ${age(end - start)}`;
  const depth = past ? depthOfMeans(past, start, end) : depthOf(rows, start, end, now);
  return {
    start,
    seconds: end - start,
    lanes,
    ticks: ticksOf(start, end, now),
    bands: bandsOf(rows, { from: start, to: end }, now),
    depth,
    words,
  };
}

/** When the last run ended; now, while one is under way or waits. */
function endOf(rows: Row[], now: number) {
  const goesOn = !rows.length || rows.some((row) => row.finished_at == null);
  return goesOn ? now : Math.min(now, 1 + rows.reduce((last, row) => Math.max(last, row.finished_at ?? 0), 0));
}

function rowOf(row: Ran, snapshot: Snapshot): Row {
  const colour = colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id);
  return {
    ...row,
    name: plain(row.name),
    cell: cellWords(snapshot, row),
    colour,
    band: row.job ? "" : plain(row.cell).split(" ", 1)[0],
  };
}

/** Actors that hold devices, as rows: what they hold is theirs from their start on, whatever they run. */
function holdingActors(snapshot: Snapshot): Ran[] {
  return (snapshot.actors ?? [])
    .filter((row) => row.state === "ALIVE" && row.since != null && Object.keys(row.device_ids ?? {}).length)
    .map((row) => ({
      task_id: row.actor_id,
      actor_id: row.actor_id,
      name: row.class_name,
      state: "ALIVE",
      started_at: row.since,
      device_ids: row.device_ids,
      cell: row.cell,
      job: row.job,
    }));
}

/** Which rows belong to which device; those without a device share the last lane. */
function lanesOf(snapshot: Snapshot, rows: Row[]) {
  const devices = (snapshot.devices ?? []).filter((row) => row.offered !== false);
  const labels = deviceLabels(snapshot.devices ?? []);
  const several = new Set(devices.map((row) => row.node_id)).size > 1;
  const names = nodeNames(snapshot);
  const lanes: Map<string, { key: string; label: string; node: string; nodeTitle?: string; rows: Row[] }> = new Map(
    devices.map((device) => {
      const node = several ? names.get(device.node_id) : null;
      return [
        laneName(device),
        {
          key: laneName(device),
          label: labels.get(device) ?? "",
          node: node?.words ?? "",
          nodeTitle: node?.whole,
          rows: [],
        },
      ];
    }),
  );
  const rest = { key: "cpu", label: "CPU", node: "", nodeTitle: "", rows: [] as Row[] };
  for (const row of rows) {
    if (row.started_at == null || row.kind === "actor creation") continue; // its actor's own row says it
    for (const name of lanesFor(row, lanes)) {
      const known = lanes.get(name);
      if (name === rest.key) rest.rows.push(row);
      else if (known) known.rows.push(row);
      else lanes.set(name, { key: name, label: plain(name.split("/").slice(1).join(" ")), node: "", rows: [row] }); // its device has gone
    }
  }
  return [...lanes.values(), ...(rest.rows.length ? [rest] : [])];
}

/** The names of a row's lanes.
 * @param lanes that there are */
function lanesFor(row: Row, lanes: Map<string, any>): string[] {
  if (row.lane) return [row.lane];
  const names = Object.entries(row.device_ids ?? {}).flatMap(([resource, ids]) =>
    ids.map((id) => laneName({ node_id: row.node_id, resource, id })),
  );
  const known = (name: string) =>
    row.node_id || lanes.has(name) ? name : ([...lanes.keys()].find((key) => key.endsWith(name)) ?? name);
  return names.length ? names.map(known) : ["cpu"];
}

/** When the tasks of each of the notebook's own cells ran. */
function bandsOf(rows: Row[], range: Range, now: number): Band[] {
  const cells: Map<string, Range> = new Map();
  for (const { band, started_at: from, finished_at: to } of rows) {
    if (!band || from == null) continue;
    const known = cells.get(band) ?? { from, to: from };
    cells.set(band, { from: Math.min(known.from, from), to: Math.max(known.to, to ?? now) });
  }
  const ends: number[] = [];
  const seen = [...cells]
    .filter(([, { from, to }]) => from < range.to && to >= range.from)
    .sort((a, b) => a[1].from - b[1].from);
  return seen.map(([label, { from, to }]) => {
    const track = freeTrack(ends, from, to, MOST_BANDS);
    return { label, track, from: Math.max(from, range.from) - range.from, to: Math.min(to, range.to) - range.from };
  });
}

/** The first track that is free when something begins; what does not fit lies on the last.
 * @param ends of each track */
function freeTrack(ends: number[], from: number, to: number, most: number) {
  let track = ends.findIndex((end) => end <= from + 1e-6);
  if (track < 0) track = Math.min(ends.length, most - 1);
  ends[track] = Math.max(ends[track] ?? 0, to);
  return track;
}

function lane(key: string, label: string, rows: Row[], range: Range, now: number): Lane {
  const ordered = rows
    .filter((row) => row.started_at != null && row.started_at < range.to && (row.finished_at ?? now) >= range.from)
    .sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
  const ends: number[] = []; // of each track
  const bars = merged(
    ordered.map((row) =>
      barOf(row, freeTrack(ends, row.started_at ?? now, row.finished_at ?? now, MOST_TRACKS), range, now),
    ),
    (range.to - range.from) / PIXELS,
  );
  return { key, label, tracks: Math.max(1, Math.min(ends.length, MOST_TRACKS)), bars };
}

function barOf(row: Row, track: number, range: Range, now: number): Bar {
  const state = stateWord(row.state);
  const [from, until, number] = [row.started_at ?? now, row.finished_at ?? now, row.number ?? 1];
  const waited = from - (row.submitted_at ?? from);
  const took = row.finished_at == null ? age(until - from) : duration(until - from);
  const facts = [
    number > 1 ? `${number} runs ${state && `${state} `}within ${took}` : `${state} ${took}`.trim(),
    row.cell ? `cell ${row.cell}` : "",
    waited >= 1 ? `waited ${age(waited)} before` : "",
    `started ${clock(from, now)}`,
  ];
  return {
    key: row.task_id,
    track,
    number,
    colour: row.colour,
    state,
    name: number > 1 ? `${number} × ${row.name}` : row.name,
    of: row.name,
    facts: facts.filter(Boolean),
    from: Math.max(0, from - range.from),
    to: Math.min(range.to, until) - range.from,
  };
}

/** Neighbours of one function that are narrower than a pixel become one bar, which says how many they are.
 * @param bars in the order of their beginnings
 * @param pixel in seconds */
function merged(bars: Bar[], pixel: number): Bar[] {
  const kept: Bar[] = [];
  const last = new Map(); // of each track
  for (const bar of bars) {
    const before = last.get(bar.track);
    const alike =
      before?.of === bar.of &&
      before.state === bar.state &&
      bar.to - bar.from < pixel &&
      before.narrow &&
      bar.from - before.to < pixel;
    const crowded = before && bar.track === MOST_TRACKS - 1 && bar.from < before.to - 1e-6; // more at once than there are tracks
    if (alike || crowded) {
      before.number += bar.number;
      before.to = Math.max(before.to, bar.to);
      before.name = crowded ? `${before.number} runs side by side` : `${before.number} × ${bar.of}`;
      before.facts = [crowded ? `the first of ${before.of}` : `${before.number} runs ${bar.state}`];
      continue;
    }
    last.set(bar.track, Object.assign(bar, { narrow: bar.to - bar.from < pixel }));
    kept.push(bar);
  }
  return kept;
}

/** Round moments, five or so: how long ago. */
function ticksOf(start: number, end: number, now: number) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((each) => (end - start) / each <= 6) ?? 86400;
  const ticks = [];
  for (let ago = Math.ceil((now - end) / step - 1e-6) * step; ago <= now - start + 1e-6; ago += step) {
    const label = ago < step / 2 ? "now" : `−${step < 1 ? duration(ago) : age(ago + 1e-6).replace(/ 00 (s|min)$/, "")}`;
    ticks.push({ at: now - ago - start, label });
  }
  return ticks;
}

// ---- What ran, from the answers of the history: bars of one run or of several short ones, none left out.

/** An answer, with the hues of the functions that it names where they are not the usual ones. */
export type Answer = RunsAnswer & { hues: Record<string, number> };

interface PastRuns {
  since: number;
  whole: Answer;
  later: Answer | null;
  hues: Record<string, number>;
}

const COARSE = 8; // times the grain of the whole: then everything is told anew

export function withRuns(before: PastRuns | null, answer: Answer): PastRuns {
  const hues = { ...before?.hues, ...answer.hues };
  if (answer.whole || !before) return { since: answer.seq, whole: answer, later: null, hues };
  const isCoarse = answer.grain_s > COARSE * before.whole.grain_s;
  return { ...before, since: isCoarse ? 0 : before.whole.seq, later: answer, hues };
}

/** The bars as rows of a timeline. */
function pastRows(past: PastRuns, snapshot: Snapshot, now: number): Row[] {
  const { whole, later } = past;
  const latest = later ?? whole;
  const coloured = { ...snapshot, hues: { ...past.hues, ...snapshot.hues } };
  const rows = (answer: Answer, goOn: boolean) => {
    const kinds = new Map(answer.kinds.map((kind) => [kind.index, kind]));
    return (goOn ? answer.running : answer.ended).flatMap(({ lane, bars }) =>
      bars.map((bar) =>
        row(answer, laneIn(answer.lanes[lane], snapshot), bar, kinds.get(bar[0]) as RunKind, coloured, goOn, now),
      ),
    );
  };
  return [...rows(whole, false), ...(later ? rows(later, false) : []), ...rows(latest, true)];
}

function row(
  answer: Answer,
  lane: string,
  [, from, took, number = 1, shade = 0, waited = 0]: number[],
  kind: RunKind,
  snapshot: Snapshot,
  goesOn: boolean,
  now: number,
): Row {
  const start = answer.origin + from / 1000;
  const ends = goesOn ? (snapshot.ended ? now : null) : start + took / 1000;
  const state = goesOn && snapshot.ended ? "ENDED_WITH_IT" : kind.state === "DEAD" ? "ENDED" : kind.state;
  return {
    task_id: `${lane} ${kind.index} ${from} ${number} ${shade}`,
    lane,
    name: plain(kind.function) + (number < 0 ? " and others" : ""),
    state: number < 0 ? "" : state,
    number: Math.abs(number),
    submitted_at: start - waited / 1000,
    started_at: start,
    finished_at: ends,
    cell: cellWords(snapshot, kind),
    band: kind.job ? "" : plain(kind.cell).split(" ", 1)[0],
    colour: colourOf(snapshot, kind.function) + shade,
  };
}

/** A lane as the snapshot's devices name it: of one node, its name is left out. */
function laneIn(lane: string, snapshot: Snapshot) {
  return (snapshot.nodes ?? []).length > 1 || !lane.includes("/") ? lane : lane.slice(lane.indexOf("/"));
}

// ---- How many tasks waited when, as steps.

/** seconds since the left edge */
interface Depth {
  steps: { at: number; waiting: number }[];
  most: number;
  words: string;
}

/** From the rows of tasks. */
function depthOf(rows: Row[], start: number, end: number, now: number): Depth {
  const changes: Map<number, number> = new Map();
  const change = (at: number, by: number) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const row of rows) {
    const from = row.submitted_at;
    const until = row.started_at ?? row.finished_at ?? now;
    if (from == null || until < start || from > end || until - from < 0.01) continue;
    change(Math.max(0, from - start), 1);
    change(Math.min(end, until) - start, -1);
  }
  let waiting = 0;
  const steps = [...changes].sort((a, b) => a[0] - b[0]).map(([at, by]) => ({ at, waiting: (waiting += by) }));
  const most = Math.max(0, ...steps.map((step) => step.waiting));
  return { steps, most, words: `up to ${most}` };
}

/** From the means of the history: a later answer has the newest steps. */
function depthOfMeans({ whole, later }: PastRuns, start: number, end: number): Depth {
  let steps: { at: number; waiting: number }[] = [];
  for (const answer of later ? [whole, later] : [whole]) {
    steps = steps.filter((step) => step.at < answer.waiting_from - start);
    answer.waiting.forEach((waiting, index) =>
      steps.push({ at: answer.waiting_from + index * answer.waiting_step_s - start, waiting }),
    );
  }
  const before = steps.filter((step) => step.at <= 0).pop();
  const shown = steps.filter((step) => step.at > 0 && step.at < end - start);
  if (before) shown.unshift({ at: 0, waiting: before.waiting });
  const most = Math.max(0, ...shown.map((step) => step.waiting));
  return { steps: shown, most, words: `up to about ${Math.max(1, Math.round(most))}` }; // each step is a mean
}

// ---- The rows as a Chrome trace, for chrome://tracing and Perfetto.

/** Offer the trace as a file. */
export function saveTrace(page: Document, snapshot: Snapshot, now: number) {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(traceOf(snapshot, now))], { type: "application/json" }));
  link.download = "nbaccel-trace.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @returns complete ("X") events, times in microseconds */
export function traceOf(snapshot: Snapshot, now: number): object[] {
  return [...(snapshot.tasks ?? []), ...holdingActors(snapshot)].flatMap((row) => eventsOf(row, now));
}

function eventsOf(row: Ran, now: number) {
  const events = [];
  const args = { task_id: row.task_id, cell: row.cell ?? "", state: row.state };
  const event = (group: string, lane: string, from: number, to: number) => ({
    cat: row.kind ?? "task",
    name: plain(row.name),
    ph: "X",
    pid: group,
    tid: lane,
    ts: from * 1e6,
    dur: Math.max(0, to - from) * 1e6,
    args,
  });
  if (row.submitted_at != null && row.finished_at == null && row.started_at == null) {
    events.push(event("waiting", "waiting", row.submitted_at, now));
  } else if (row.submitted_at != null && row.started_at != null) {
    events.push(event("waiting", "waiting", row.submitted_at, row.started_at));
  }
  if (row.started_at == null) return events;
  const end = row.finished_at ?? now;
  if (row.pid) events.push(event("workers", `worker ${row.pid}`, row.started_at, end));
  for (const [resource, ids] of Object.entries(row.device_ids ?? {})) {
    for (const id of ids) events.push(event("devices", `${resource} ${id}`, row.started_at, end));
  }
  return events;
}

// ---- Looking closer at the timeline: by a drag, by Ctrl and the wheel, by keys and buttons.

const LEAST_S = 0.05; // there is nothing to be seen below it
const LEAST_DRAG_PX = 6; // less is a click
const drags: WeakMap<HTMLElement, { x: number; place: number }> = new WeakMap(); // a view's root -> where a drag has begun

/** The range around a place of it, `by` times as long.
 * @param place from 0 to 1 */
export function zoomed({ from, to }: Range, by: number, place: number = 0.5): Range {
  const length = Math.max(LEAST_S, (to - from) * by);
  const at = from + (to - from) * place;
  return { from: at - length * place, to: at + length * (1 - place) };
}

/** The same length further on, by a share of it. */
function movedBy({ from, to }: Range, share: number): Range {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** What a key does; null for any other. */
export function keyed(key: string, range: Range): { range: Range | null } | null {
  if (key === "+" || key === "=") return { range: zoomed(range, 0.5) };
  if (key === "-") return { range: zoomed(range, 2) };
  if (key === "ArrowLeft") return { range: movedBy(range, -0.2) };
  if (key === "ArrowRight") return { range: movedBy(range, 0.2) };
  return key === "0" || key === "Home" ? { range: null } : null;
}

/** The range that an event chooses, null for all of it; undefined if the event chooses none. Pointers choose where they are let go. */
export function rangeOf(event: Event, root: HTMLElement, state: State, shown: Range): Range | null | undefined {
  if (event.type === "keydown") return rangeOfKey(event as KeyboardEvent, shown);
  const { clientX: x, button } = event as PointerEvent;
  const svg = (event.target as Element).closest?.("svg.timeline");
  if (event.type === "wheel") return svg ? rangeOfWheel(event as WheelEvent, placeOf(svg, x, state), shown) : undefined;
  const began = drags.get(root);
  drags.delete(root);
  if (event.type === "pointerdown")
    return void (svg && button === 0 && drags.set(root, { x, place: placeOf(svg, x, state) }));
  const lanes = root.querySelector("svg.timeline"); // a drag may end beside it
  return began && lanes && Math.abs(x - began.x) >= LEAST_DRAG_PX
    ? rangeOfDrag(began.place, placeOf(lanes, x, state), shown)
    : undefined;
}

function rangeOfKey(event: KeyboardEvent, shown: Range) {
  const onLanes = (event.target as Element).matches?.('.scroll[aria-label="Timeline"]');
  const done = onLanes && !event.ctrlKey && !event.metaKey ? keyed(event.key, shown) : null;
  if (done) event.preventDefault();
  return done?.range;
}

function rangeOfWheel(event: WheelEvent, place: number, shown: Range) {
  if (!event.ctrlKey && !event.metaKey) return undefined; // alone it scrolls the notebook
  event.preventDefault();
  return zoomed(shown, event.deltaY > 0 ? 1.25 : 0.8, place);
}

function rangeOfDrag(began: number, ended: number, { from, to }: Range) {
  const [left, right] = [began, ended].sort((a, b) => a - b);
  const range = { from: from + (to - from) * left, to: from + (to - from) * right };
  return range.to - range.from >= LEAST_S ? range : undefined;
}

/** Where on the lanes a pointer is, from 0 to 1. */
function placeOf(svg: Element, x: number, { lanes: { width, left, right } }: State) {
  const box = svg.getBoundingClientRect();
  return Math.min(1, Math.max(0, (((x - box.left) / box.width) * width - left) / (right - left)));
}
