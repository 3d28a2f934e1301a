// Lanes for each device: who ran on it when, and how long it had waited before.

import { colourOf, subjectOf } from "./colours.js";
import { deviceLabels } from "./device_labels.js";
import { ownerOf } from "./owners.js";
import { age, plain, stateWord } from "./words.js";

/** @typedef {import("./types.js").Snapshot} Snapshot */
/** @typedef {import("./types.js").TaskRow} TaskRow */

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {number} from seconds since the lane's left edge
 * @property {number} to
 * @property {number} track the line within its lane, for those that ran side by side
 * @property {boolean} wait hatched: it had been submitted and had not started
 * @property {number} colour
 * @property {string} state
 * @property {string} name
 * @property {string} words what a pointer resting on it says
 *
 * @typedef {TaskRow & {colour: number}} Coloured
 * @typedef {{key: string, label: string, tracks: number, bars: Bar[], leftOut: number}} Lane
 * @typedef {{start: number, seconds: number, lanes: Lane[], ticks: {at: number, label: string}[], words: string}} Timeline
 */

export const LAST_MINUTE = 60;
export const WHOLE_RUN = 0;
const MOST_BARS = 200; // of one lane: more cannot be told apart at a screen's width
const MOST_TRACKS = 6;

/** @param {Snapshot} snapshot @param {number} window seconds to show, or WHOLE_RUN @param {number} now @returns {Timeline} */
export function timelineOf(snapshot, window, now) {
  const tasks = (snapshot.tasks ?? []).filter((row) => row.submitted_at != null || row.started_at != null);
  const rows = [...tasks, ...holdingActors(snapshot)].map((row) => ({ ...row, cell: [plain(row.cell), ownerOf(snapshot, row)].filter(Boolean).join(" of ") }));
  const first = Math.min(now - 1, ...rows.map((row) => row.submitted_at ?? row.started_at ?? now));
  const start = window === WHOLE_RUN ? first : now - window;
  const lanes = lanesOf(snapshot, rows).map(({ key, label, rows }) => lane(key, label, rows.map((row) => ({ ...row, colour: colourOf(snapshot, subjectOf(row), row.actor_id || row.task_id) })), start, now));
  const shown = lanes.reduce((sum, each) => sum + each.bars.filter((bar) => !bar.wait).length, 0);
  const words = `${shown} task runs on ${lanes.length} lanes in the last ${age(now - start)}`;
  return { start, seconds: now - start, lanes, ticks: ticksOf(now - start), words };
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
  const waits = rest.filter((row) => row.started_at == null && stateWord(row.state) === "waiting");
  if (ran.length) lanes.push({ key: "cpu", label: "CPU", rows: ran });
  if (waits.length) lanes.push({ key: "waiting", label: "waiting", rows: waits });
  return lanes;
}

/** @param {string} key @param {string} label @param {Coloured[]} rows @param {number} start @param {number} now @returns {Lane} */
function lane(key, label, rows, start, now) {
  const ordered = rows
    .filter((row) => (row.finished_at ?? now) >= start)
    .sort((a, b) => begin(b, now) - begin(a, now)); // the newest matter most
  const kept = ordered.slice(0, MOST_BARS / 2).reverse();
  /** @type {number[]} */
  const ends = []; // of each track
  const bars = kept.flatMap((row) => barsOf(row, trackFor(row, ends, now), start, now));
  return { key, label, tracks: Math.max(1, Math.min(ends.length, MOST_TRACKS)), bars, leftOut: ordered.length - kept.length };
}

/** @param {TaskRow} row @param {number} now */
function begin(row, now) {
  return row.started_at ?? row.submitted_at ?? now;
}

/** The first track that is free when the row begins; what does not fit lies on the last.
 * @param {TaskRow} row @param {number[]} ends @param {number} now */
function trackFor(row, ends, now) {
  const from = begin(row, now);
  let track = ends.findIndex((end) => end <= from + 1e-6);
  if (track < 0) track = ends.length < MOST_TRACKS ? ends.length : MOST_TRACKS - 1;
  ends[track] = Math.max(ends[track] ?? 0, row.finished_at ?? now);
  return track;
}

/** @param {Coloured} row @param {number} track @param {number} start @param {number} now @returns {Bar[]} */
function barsOf(row, track, start, now) {
  const state = stateWord(row.state);
  const shared = { track, colour: row.colour, state, name: plain(row.name) };
  const from = row.started_at;
  const until = row.finished_at ?? now;
  const bars = [];
  const waited = (from ?? until) - (row.submitted_at ?? from ?? until);
  const cell = row.cell ? `, cell ${row.cell}` : "";
  if (waited > 0.01 && (from ?? until) > start) {
    const edge = Math.max(0, (row.submitted_at ?? start) - start);
    const words = `${shared.name} waited ${age(waited)}${cell}`;
    bars.push({ ...shared, key: `${row.task_id}/wait`, from: edge, to: (from ?? until) - start, wait: true, words });
  }
  if (from != null) {
    const words = `${shared.name}, ${state}, ${age(until - from)}${cell}`;
    bars.push({ ...shared, key: row.task_id, from: Math.max(0, from - start), to: until - start, wait: false, words });
  }
  return bars;
}

/** Round moments, five or so. @param {number} seconds */
function ticksOf(seconds) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
  const step = steps.find((each) => seconds / each <= 6) ?? 86400;
  const ticks = [];
  for (let ago = 0; ago <= seconds + 1e-6; ago += step) {
    ticks.push({ at: seconds - ago, label: ago ? `−${age(ago).replace(/ 00 (s|min)$/, "")}` : "now" });
  }
  return ticks;
}
