// Lanes for each device: who ran on it when; the cells that made them run; and how many tasks waited.

import { colourOf, subjectOf } from "../cockpit/colours.js";
import { deviceLabels } from "../cockpit/device_labels.js";
import { laneName } from "../cockpit/lanes.js";
import { nodeNames } from "../cockpit/node_names.js";
import { cellWords } from "../cockpit/owners.js";
import { age, clock, count, duration, plain, stateWord } from "../cockpit/words.js";
import { WHOLE_RUN } from "../cockpit/state.js";
import { pastRows } from "./past_runs.js";
import { depthOf, depthOfMeans } from "./queue_depth.js";

/** @typedef {import("../cockpit/types.js").Snapshot} Snapshot */
/** @typedef {import("../cockpit/types.js").TaskRow} TaskRow */

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {number} from seconds since the lane's left edge
 * @property {number} to
 * @property {number} track the line within its lane, for those that ran side by side
 * @property {number} number of runs that it stands for, where they are too short to be told apart
 * @property {number} colour
 * @property {string} state
 * @property {string} name with the number of runs
 * @property {string} of whose runs
 * @property {string[]} facts what else the hover card says
 *
 * A run of a task as its row has it, or a bar of the history, which knows its lane and the number of runs.
 * @typedef {TaskRow & {colour: number, band: string, lane?: string, number?: number}} Row
 * @typedef {{key: string, label: string, node?: string, nodeTitle?: string, tracks: number, bars: Bar[]}} Lane node: where there are several
 * @typedef {{from: number, to: number}} Range in Unix seconds
 * @typedef {{start: number, seconds: number, lanes: Lane[], ticks: {at: number, label: string}[], bands: Band[], depth: import("./queue_depth.js").Depth, words: string}} Timeline
 * @typedef {{label: string, from: number, to: number, track: number}} Band the time in which the tasks of a cell ran
 */

const PIXELS = 900; // of a lane's width: what is narrower than one is merged
const MOST_TRACKS = 6;
const MOST_BANDS = 3; // cells side by side

/** @param {Snapshot} snapshot @param {number} window seconds to show, or WHOLE_RUN @param {number} now
 * @param {Range | null} [range] what the person has zoomed to @param {import("./past_runs.js").PastRuns | null} [past] what the history
 * has told; until then, the tasks of the snapshot are shown @returns {Timeline} */
export function timelineOf(snapshot, window, now, range = null, past = null) {
  const rows = past ? pastRows(past, snapshot, now) : [...(snapshot.tasks ?? []), ...holdingActors(snapshot)].map((row) => rowOf(row, snapshot));
  const first = rows.reduce((least, row) => Math.min(least, row.submitted_at ?? row.started_at ?? now), now - 1);
  const start = range?.from ?? (window === WHOLE_RUN ? first : now - window);
  const end = range?.to ?? (window === WHOLE_RUN ? endOf(rows, now) : now);
  const lanes = lanesOf(snapshot, rows).map(({ key, label, node, nodeTitle, rows }) => ({ ...lane(key, label, rows, { from: start, to: end }, now), node, nodeTitle }));
  const shown = lanes.reduce((sum, each) => sum + each.bars.reduce((all, bar) => all + bar.number, 0), 0);
  const words = `${count(shown, "task run")} on ${count(lanes.length, "lane")} in ${age(end - start)}`;
  const depth = past ? depthOfMeans(past, start, end) : depthOf(rows, start, end, now);
  return { start, seconds: end - start, lanes, ticks: ticksOf(start, end, now), bands: bandsOf(rows, { from: start, to: end }, now), depth, words };
}

/** When the last run ended; now, while one is under way or waits. @param {Row[]} rows @param {number} now */
function endOf(rows, now) {
  const goesOn = !rows.length || rows.some((row) => row.finished_at == null);
  return goesOn ? now : Math.min(now, 1 + rows.reduce((last, row) => Math.max(last, row.finished_at ?? 0), 0));
}

/** @param {TaskRow} row @param {Snapshot} snapshot @returns {Row} */
function rowOf(row, snapshot) {
  const colour = colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id);
  return { ...row, name: plain(row.name), cell: cellWords(snapshot, row), colour, band: row.job ? "" : plain(row.cell).split(" ", 1)[0] };
}

/** Actors that hold devices, as rows: what they hold is theirs from their start on, whatever they run.
 * @param {Snapshot} snapshot @returns {TaskRow[]} */
export function holdingActors(snapshot) {
  return (snapshot.actors ?? [])
    .filter((row) => row.state === "ALIVE" && row.since != null && Object.keys(row.device_ids ?? {}).length)
    .map((row) => ({
      task_id: row.actor_id, actor_id: row.actor_id, name: row.class_name, state: "ALIVE", started_at: row.since, device_ids: row.device_ids, cell: row.cell, job: row.job,
    }));
}

/** Which rows belong to which device; those without a device share the last lane.
 * @param {Snapshot} snapshot @param {Row[]} rows */
function lanesOf(snapshot, rows) {
  const devices = (snapshot.devices ?? []).filter((row) => row.offered !== false);
  const labels = deviceLabels(snapshot.devices ?? []);
  const several = new Set(devices.map((row) => row.node_id)).size > 1;
  const names = nodeNames(snapshot);
  /** @type {Map<string, {key: string, label: string, node: string, nodeTitle?: string, rows: Row[]}>} */
  const lanes = new Map(devices.map((device) => {
    const node = several ? names.get(device.node_id) : null;
    return [laneName(device), { key: laneName(device), label: labels.get(device) ?? "", node: node?.words ?? "", nodeTitle: node?.whole, rows: [] }];
  }));
  const rest = { key: "cpu", label: "CPU", node: "", nodeTitle: "", rows: /** @type {Row[]} */ ([]) };
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

/** The names of a row's lanes. @param {Row} row @param {Map<string, any>} lanes that there are @returns {string[]} */
function lanesFor(row, lanes) {
  if (row.lane) return [row.lane];
  const names = Object.entries(row.device_ids ?? {}).flatMap(([resource, ids]) => ids.map((id) => laneName({ node_id: row.node_id, resource, id })));
  const known = (/** @type {string} */ name) => (row.node_id || lanes.has(name) ? name : ([...lanes.keys()].find((key) => key.endsWith(name)) ?? name));
  return names.length ? names.map(known) : ["cpu"];
}

/** When the tasks of each of the notebook's own cells ran. @param {Row[]} rows @param {Range} range @param {number} now @returns {Band[]} */
function bandsOf(rows, range, now) {
  /** @type {Map<string, Range>} */
  const cells = new Map();
  for (const { band, started_at: from, finished_at: to } of rows) {
    if (!band || from == null) continue;
    const known = cells.get(band) ?? { from, to: from };
    cells.set(band, { from: Math.min(known.from, from), to: Math.max(known.to, to ?? now) });
  }
  /** @type {number[]} */
  const ends = [];
  const seen = [...cells].filter(([, { from, to }]) => from < range.to && to >= range.from).sort((a, b) => a[1].from - b[1].from);
  return seen.map(([label, { from, to }]) => {
    const track = freeTrack(ends, from, to, MOST_BANDS);
    return { label, track, from: Math.max(from, range.from) - range.from, to: Math.min(to, range.to) - range.from };
  });
}

/** The first track that is free when something begins; what does not fit lies on the last.
 * @param {number[]} ends of each track @param {number} from @param {number} to @param {number} most */
function freeTrack(ends, from, to, most) {
  let track = ends.findIndex((end) => end <= from + 1e-6);
  if (track < 0) track = Math.min(ends.length, most - 1);
  ends[track] = Math.max(ends[track] ?? 0, to);
  return track;
}

/** @param {string} key @param {string} label @param {Row[]} rows @param {Range} range @param {number} now @returns {Lane} */
function lane(key, label, rows, range, now) {
  const ordered = rows
    .filter((row) => row.started_at != null && row.started_at < range.to && (row.finished_at ?? now) >= range.from)
    .sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
  /** @type {number[]} */
  const ends = []; // of each track
  const bars = merged(ordered.map((row) => barOf(row, freeTrack(ends, row.started_at ?? now, row.finished_at ?? now, MOST_TRACKS), range, now)), (range.to - range.from) / PIXELS);
  return { key, label, tracks: Math.max(1, Math.min(ends.length, MOST_TRACKS)), bars };
}

/** @param {Row} row @param {number} track @param {Range} range @param {number} now @returns {Bar} */
function barOf(row, track, range, now) {
  const state = stateWord(row.state);
  const [from, until, number] = [row.started_at ?? now, row.finished_at ?? now, row.number ?? 1];
  const waited = from - (row.submitted_at ?? from);
  const took = row.finished_at == null ? age(until - from) : duration(until - from);
  const facts = [number > 1 ? `${number} runs ${state && `${state} `}within ${took}` : `${state} ${took}`.trim(), row.cell ? `cell ${row.cell}` : "",
    waited >= 1 ? `waited ${age(waited)} before` : "", `started ${clock(from, now)}`];
  return {
    key: row.task_id, track, number, colour: row.colour, state, name: number > 1 ? `${number} × ${row.name}` : row.name, of: row.name, facts: facts.filter(Boolean),
    from: Math.max(0, from - range.from), to: Math.min(range.to, until) - range.from,
  };
}

/** Neighbours of one function that are narrower than a pixel become one bar, which says how many they are.
 * @param {Bar[]} bars in the order of their beginnings @param {number} pixel in seconds @returns {Bar[]} */
function merged(bars, pixel) {
  /** @type {Bar[]} */
  const kept = [];
  const last = new Map(); // of each track
  for (const bar of bars) {
    const before = last.get(bar.track);
    const alike = before?.of === bar.of && before.state === bar.state && bar.to - bar.from < pixel && before.narrow && bar.from - before.to < pixel;
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

/** Round moments, five or so: how long ago. @param {number} start @param {number} end @param {number} now */
function ticksOf(start, end, now) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((each) => (end - start) / each <= 6) ?? 86400;
  const ticks = [];
  for (let ago = Math.ceil((now - end) / step - 1e-6) * step; ago <= now - start + 1e-6; ago += step) {
    const label = ago < step / 2 ? "now" : `−${step < 1 ? duration(ago) : age(ago + 1e-6).replace(/ 00 (s|min)$/, "")}`;
    ticks.push({ at: now - ago - start, label });
  }
  return ticks;
}
