// From the rows of an experiment's trials to what is drawn of them: the best first, the parameters that vary, failures by
// error. Pure functions.

import { plain } from "../cockpit/words.js";
import { reading } from "./scales.js";

/** @typedef {import("./types.js").Experiment} Experiment */
/** @typedef {import("./types.js").TrialRow} TrialRow */
/** @typedef {import("./types.js").TrialRows} TrialRows */
/** @typedef {[number, number][]} Points */

/**
 * @typedef {object} Trial
 * @property {string} id
 * @property {string} short
 * @property {TrialRow} row
 * @property {string} state
 * @property {Record<string, any>} params with nested names joined: "net/size"
 * @property {number | null} value the last one of the metric, where it is a number
 * @property {Points} points of its curve
 *
 * @typedef {{error: string, trials: Trial[]}} Failure
 * @typedef {{trials: Trial[], names: string[], failures: Failure[]}} Trials
 */

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** @type {Record<string, number>} */
const WITHOUT_VALUE = { running: 0, pending: 1, done: 2, stopped: 3, error: 4 };

/** @type {WeakMap<TrialRows, Trials>} */
const known = new WeakMap(); // many drawings are made of the same rows

/** @param {Experiment} experiment @param {TrialRows} given @returns {Trials} */
export function trialsOf(experiment, given) {
  const before = known.get(given);
  if (before) return before;
  const trials = [...given.rows].map(([id, row]) => trialOf(id, row));
  const made = { trials: bestFirst(trials, experiment.mode ?? ""), names: varying(trials), failures: failuresOf(trials) };
  known.set(given, made);
  return made;
}

/** A trial's id as people read it: those of one experiment share what stands before the number. @param {string} id */
export function shortTrial(id) {
  return plain(id.split("_").at(-1));
}

/** @param {string} id @param {TrialRow} row @returns {Trial} */
function trialOf(id, row) {
  return {
    id,
    short: shortTrial(id),
    row,
    state: row.state ?? "pending",
    params: flat(row.config ?? {}),
    value: typeof row.value === "number" ? row.value : null,
    points: pointsOf(row),
  };
}

/** Those with the best values, then those without one: running, waiting, ended, failed. Without a mode, as they were made.
 * @param {Trial[]} trials @param {string} mode */
function bestFirst(trials, mode) {
  const sign = mode === "max" ? -1 : 1;
  const place = (/** @type {Trial} */ trial) => (trial.value != null && mode ? -1 : (WITHOUT_VALUE[trial.state] ?? 5));
  return [...trials].sort((a, b) => {
    if (!mode) return a.row.number - b.row.number;
    const first = place(a) - place(b);
    if (first || a.value == null || b.value == null) return first || a.row.number - b.row.number;
    return sign * (a.value - b.value) || a.row.number - b.row.number;
  });
}

/** @param {Record<string, any>} config @param {string} [prefix] @returns {Record<string, any>} */
function flat(config, prefix = "") {
  /** @type {Record<string, any>} */
  const found = {};
  for (const [name, value] of Object.entries(config)) {
    const nested = value && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length;
    if (nested) Object.assign(found, flat(value, `${prefix}${name}/`));
    else found[prefix + name] = value;
  }
  return found;
}

/** The names of the parameters that differ; of a single trial, all. @param {Trial[]} trials @returns {string[]} */
function varying(trials) {
  /** @type {Map<string, Set<string>>} */
  const values = new Map();
  for (const { params } of trials) for (const name of Object.keys(params)) values.set(name, new Set());
  for (const { params } of trials) for (const [name, seen] of values) if (seen.size < 2) seen.add(JSON.stringify(params[name]) ?? "");
  return [...values].filter(([, seen]) => trials.length < 2 || seen.size > 1).map(([name]) => name);
}

/** @param {Trial[]} trials @returns {Failure[]} */
function failuresOf(trials) {
  /** @type {Map<string, Failure>} */
  const groups = new Map();
  for (const trial of trials) {
    const error = plain(trial.row.error);
    if (!error) continue;
    const group = groups.get(error) ?? { error, trials: [] };
    group.trials.push(trial);
    groups.set(error, group);
  }
  return [...groups.values()].sort((a, b) => b.trials.length - a.trials.length);
}

/** The readings that the letters of a row's curve stand for; see nbaccel/views/experiment_snapshot.py. @param {TrialRow} row @returns {Points} */
export function pointsOf({ curve }) {
  if (!curve) return [];
  const [low, high] = curve.log ? [Math.log10(curve.low), Math.log10(curve.high)] : [curve.low, curve.high];
  const places = Math.max(1, curve.letters.length - 1);
  /** @type {Points} */
  const points = [];
  [...curve.letters].forEach((letter, place) => {
    const part = LETTERS.indexOf(letter);
    const height = low + ((high - low) * part) / 63;
    const value = curve.log ? 10 ** height : height;
    if (part >= 0) points.push([Math.round(curve.first + ((curve.last - curve.first) * place) / places), value]);
  });
  return points;
}

/** A parameter as short text. @param {any} value */
export function paramWords(value) {
  if (value === undefined) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return reading(value);
  return plain(typeof value === "string" ? value : pythonOf(value));
}

/** A config as Python writes it, to be pasted into a cell. @param {any} value @returns {string} */
export function pythonOf(value) {
  if (value === null || value === undefined) return "None";
  if (value === true || value === false) return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonOf(each)}`).join(", ")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
