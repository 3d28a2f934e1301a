// Lanes for each device: who ran on it when; and how many tasks waited.

import { colourOf, subjectOf } from "./colours.js";
import { deviceLabels } from "./device_labels.js";
import { ownerOf } from "./owners.js";
import { depthOf } from "./queue_depth.js";
import { age, count, duration, plain, stateWord } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").TaskRow} TaskRow */

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {number} from seconds since the lane's left edge
 * @property {number} to
 * @property {number} track the line within its lane, for those that ran side by side
 * @property {number} number of runs that it stands for, where they are too short to be told apart
 * @property {number} colour
 * @property {string} state
 * @property {string} name
 * @property {string} words what a pointer resting on it says
 *
 * @typedef {TaskRow & {colour: number}} Coloured
 * @typedef {{key: string, label: string, tracks: number, bars: Bar[]}} Lane
 * @typedef {{from: number, to: number}} Range in Unix seconds
 * @typedef {{start: number, seconds: number, lanes: Lane[], ticks: {at: number, label: string}[], depth: import("./queue_depth.js").Depth, words: string}} Timeline
 */

export const LAST_MINUTE = 60;
export const WHOLE_RUN = 0; // as long as what is known of
const PIXELS = 900; // of a lane's width: what is narrower than one is merged
const MOST_TRACKS = 6;

/** @param {Snapshot} snapshot @param {number} window seconds to show, or WHOLE_RUN @param {number} now
 * @param {Range | null} [range] what the person has zoomed to @returns {Timeline} */
export function timelineOf(snapshot, window, now, range = null) {
  const tasks = (snapshot.tasks ?? []).filter((row) => row.submitted_at != null || row.started_at != null);
  const rows = [...tasks, ...holdingActors(snapshot)].map((row) => ({ ...row, cell: [plain(row.cell), ownerOf(snapshot, row)].filter(Boolean).join(" of ") }));
  const first = rows.reduce((least, row) => Math.min(least, row.submitted_at ?? row.started_at ?? now), now - 1);
  const start = range?.from ?? (window === WHOLE_RUN ? first : now - window);
  const end = range?.to ?? now;
  const lanes = lanesOf(snapshot, rows).map(({ key, label, rows }) => {
    const coloured = rows.map((row) => ({ ...row, colour: colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id) }));
    return lane(key, label, coloured, { from: start, to: end }, now);
  });
  const shown = lanes.reduce((sum, each) => sum + each.bars.reduce((all, bar) => all + bar.number, 0), 0);
  const words = `${count(shown, "task run")} on ${count(lanes.length, "lane")} in ${age(end - start)}`;
  return { start, seconds: end - start, lanes, ticks: ticksOf(start, end, now), depth: depthOf(tasks, start, end, now), words };
}

/** Actors that hold devices, as rows: what they hold is theirs from their start on, whatever they run.
 * @param {Snapshot} snapshot @returns {TaskRow[]} */
function holdingActors(snapshot) {
  return (snapshot.actors ?? [])
    .filter((row) => row.state === "ALIVE" && row.since != null && Object.keys(row.device_ids ?? {}).length)
    .map((row) => ({
      task_id: row.actor_id, actor_id: row.actor_id, name: row.class_name, state: "ALIVE", started_at: row.since, device_ids: row.device_ids, cell: row.cell, job: row.job,
    }));
}

/** Which rows belong to which device; those without a device share the last lane.
 * @param {Snapshot} snapshot @param {TaskRow[]} rows */
function lanesOf(snapshot, rows) {
  const devices = (snapshot.devices ?? []).filter((row) => row.offered !== false);
  const labels = deviceLabels(snapshot.devices ?? []);
  const several = new Set(devices.map((row) => row.node_id)).size > 1;
  const names = new Map((snapshot.nodes ?? []).map((node) => [node.node_id, plain(node.name)]));
  const lanes = devices.map((device) => ({
    key: `${device.node_id ?? ""}/${device.resource}/${device.id}`,
    label: (several ? `${names.get(device.node_id ?? "") ?? ""} ` : "") + labels.get(device),
    rows: rows.filter(
      (row) =>
        row.kind !== "actor creation" && // its actor's own row says it
        (row.device_ids?.[device.resource] ?? []).includes(device.id) &&
        (!several || !row.node_id || row.node_id === device.node_id),
    ),
  }));
  const rest = rows.filter((row) => !Object.values(row.device_ids ?? {}).some((ids) => ids.length));
  const ran = rest.filter((row) => row.started_at != null);
  if (ran.length) lanes.push({ key: "cpu", label: "CPU", rows: ran });
  return lanes;
}

/** @param {string} key @param {string} label @param {Coloured[]} rows @param {Range} range @param {number} now @returns {Lane} */
function lane(key, label, rows, range, now) {
  const ordered = rows
    .filter((row) => row.started_at != null && row.started_at < range.to && (row.finished_at ?? now) >= range.from)
    .sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0));
  /** @type {number[]} */
  const ends = []; // of each track
  const bars = merged(ordered.map((row) => barOf(row, trackFor(row, ends, now), range, now)), (range.to - range.from) / PIXELS);
  return { key, label, tracks: Math.max(1, Math.min(ends.length, MOST_TRACKS)), bars };
}

/** The first track that is free when the row begins; what does not fit lies on the last.
 * @param {TaskRow} row @param {number[]} ends @param {number} now */
function trackFor(row, ends, now) {
  const from = row.started_at ?? now;
  let track = ends.findIndex((end) => end <= from + 1e-6);
  if (track < 0) track = ends.length < MOST_TRACKS ? ends.length : MOST_TRACKS - 1;
  ends[track] = Math.max(ends[track] ?? 0, row.finished_at ?? now);
  return track;
}

/** @param {Coloured} row @param {number} track @param {Range} range @param {number} now @returns {Bar} */
function barOf(row, track, range, now) {
  const state = stateWord(row.state);
  const [from, until] = [row.started_at ?? now, row.finished_at ?? now];
  const waited = from - (row.submitted_at ?? from);
  const took = row.finished_at == null ? age(until - from) : duration(until - from);
  const words = [plain(row.name), state, took, row.cell && `cell ${row.cell}`, waited >= 1 && `waited ${age(waited)} before`].filter(Boolean).join(", ");
  return {
    key: row.task_id, track, number: 1, colour: row.colour, state, name: plain(row.name), words,
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
    const alike = before?.name === bar.name && before.state === bar.state && bar.to - bar.from < pixel && before.narrow && bar.from - before.to < pixel;
    const crowded = before && bar.track === MOST_TRACKS - 1 && bar.from < before.to - 1e-6; // more at once than there are tracks
    if (alike || crowded) {
      before.number += 1;
      before.to = Math.max(before.to, bar.to);
      before.words = crowded ? `${before.number} runs side by side, the first of ${before.name}` : `${before.number} × ${bar.name}, ${bar.state}`;
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
