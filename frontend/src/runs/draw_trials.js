// The trials of one experiment: a table of which only the rows in sight are drawn, their failures, and their drawings.

import { h } from "../cockpit/dom.js";
import { button, cell, empty, table } from "../cockpit/draw_parts.js";
import { inSight } from "../cockpit/task_rows.js";
import { age, count, deviceWords, duration, plain } from "../cockpit/words.js";
import { drawOverlaid, drawParallel, drawScatter } from "./draw_trial_shapes.js";
import { reading } from "./scales.js";
import { STEPS, STOPS, stopButton } from "./stop_button.js";
import { overlaidShape, parallelShape, scatterShapes, sparkPath, WIDE } from "./trial_shapes.js";
import { paramWords, pythonOf, trialsOf } from "./trials.js";

/** @typedef {import("./types.js").Experiment} Experiment */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./trials.js").Trial} Trial */
/** @typedef {import("./trials.js").Trials} Trials */
/** @typedef {import("./experiment_views.js").ExperimentView} View */
/** @typedef {{view: View, experiment: Experiment, state: State, now: number, whys: Map<string, string>}} About */

/** @type {Record<string, string>} */
const TRIAL_SIGNS = { pending: "◌", running: "●", done: "✓", stopped: "⊘", error: "✕", interrupted: "⊘" };
const MOST_COLUMNS = 5; // of parameters
const MOST_NAMED = 3; // trials of one error
/** @type {Map<string, Trial[]>} */
const orders = new Map(); // of an experiment's trials as they were drawn last: they stand still under the pointer

/** @param {About} about @param {import("./types.js").TrialRows | null} rows */
export function drawTrials(about, rows) {
  if (!rows?.rows.size) return [about.view.underWay && empty("Asking for the trials …")];
  const found = trialsOf(about.experiment, rows);
  const metric = about.experiment.shown || about.experiment.metric || "";
  const wide = Math.min(WIDE, about.state.room - 24); // the run's own padding
  const overlaid = metric ? overlaidShape(found.trials, metric, wide) : null;
  return [
    ...drawFailures(found),
    tableOf(found, metric, about),
    overlaid && drawOverlaid(overlaid, plain(metric), about.view.colour),
    ...(about.view.underWay ? [] : drawEnd(found, metric, about.view.colour, wide)),
  ];
}

/** What is worth a look when all is over. @param {Trials} found @param {string} metric @param {number} colour @param {number} wide */
function drawEnd({ trials, names }, metric, colour, wide) {
  const parallel = parallelShape(trials, names, metric, wide);
  const scatters = scatterShapes(trials, names, metric);
  return [
    parallel && drawParallel(parallel, colour),
    scatters.length > 0 && h("div", { key: "scatters", class: "curves", role: "group", "aria-label": `${plain(metric)} against each parameter` }, scatters.map((shape) => drawScatter(shape, colour))),
  ];
}

/** @param {Trials} found */
function drawFailures({ failures }) {
  if (!failures.length) return [];
  const line = (/** @type {import("./trials.js").Failure} */ { error, trials }) => {
    const which = trials.slice(0, MOST_NAMED).map(({ short }) => short).join(", ") + (trials.length > MOST_NAMED ? ", …" : "");
    return h("li", { key: error }, h("span", { class: "state failed" }, h("span", { class: "sign", "aria-hidden": "true" }, "✕"), ` ${count(trials.length, "trial")} failed: `), error, " ", h("span", { class: "quiet" }, which));
  };
  return [h("ul", { key: "failures", class: "lines", "aria-label": "Failures" }, failures.map(line))];
}

/** @param {Trials} found @param {string} metric @param {About} about */
function tableOf(found, metric, about) {
  const { id, name } = about.view;
  const names = found.names.slice(0, MOST_COLUMNS);
  const trials = inOrder(found.trials, about);
  const filled = { device: trials.some((trial) => deviceOf(trial, about)), why: trials.some(({ row }) => row.waits) };
  const columns = ["Trial", "State", ...names.map(plain), ...(metric ? [plain(metric), "Curve"] : []), ...(filled.device ? ["Device"] : []), "Took", ...(filled.why ? ["Why"] : []), ""];
  const sight = about.state.sights.get(id) ?? { top: 0, height: 460, row: 33 };
  const { first, last } = inSight(trials.length, sight);
  const rows = trials.slice(first, last).map((trial) => drawRow(trial, names, metric, filled, about));
  const gap = (/** @type {string} */ where, /** @type {number} */ rowsLeft) => rowsLeft > 0 && h("tr", { key: where, class: "gap", "aria-hidden": "true", style: `height:${Math.round(rowsLeft * sight.row)}px` });
  const shown = /** @type {import("../cockpit/dom.js").Shape[]} */ ([gap("above", first), ...rows, gap("below", trials.length - last)].filter(Boolean));
  return table(`Trials of ${name}`, columns, shown, { rows: trials.length, sight: id });
}

/** The best first; under the pointer, as they were. @param {Trial[]} trials @param {About} about */
function inOrder(trials, { view, state }) {
  const before = state.heldSight === view.id ? orders.get(view.id) : null;
  if (!before) {
    orders.set(view.id, trials);
    return trials;
  }
  const now = new Map(trials.map((trial) => [trial.id, trial]));
  const stayed = before.map(({ id }) => now.get(id)).filter((trial) => trial !== undefined);
  const known = new Set(before.map(({ id }) => id));
  return [...stayed, ...trials.filter(({ id }) => !known.has(id))];
}

/** @param {Trial} trial @param {string[]} names @param {string} metric @param {{device: boolean, why: boolean}} filled @param {About} about */
function drawRow(trial, names, metric, filled, about) {
  const { row } = trial;
  const state = trialState(trial, about);
  const own = state === "running" ? ` ink c${about.view.colour}` : "";
  const said = trial.value != null ? reading(trial.value) : plain(row.value == null ? "" : String(row.value));
  const line = sparkPath(trial);
  const device = deviceOf(trial, about);
  return h("tr", { key: trial.id, "data-trial": trial.id },
    h("th", { scope: "row", title: plain(trial.id) }, h("span", { class: "name" }, trial.short)),
    h("td", { class: `nowrap state ${state === "error" ? "failed" : state === "pending" ? "waiting" : state}` }, h("span", { class: `sign${own}`, "aria-hidden": "true" }, TRIAL_SIGNS[state] ?? "◌"), ` ${row.waits && about.view.underWay ? "waiting" : state}`),
    names.map((name) => h("td", { key: name, class: "nowrap", "data-head": plain(name) }, h("span", { class: "cut", title: paramWords(trial.params[name]) }, paramWords(trial.params[name])))),
    metric && h("td", { class: "nowrap", "data-head": plain(metric) }, said),
    metric && h("td", { class: "trend" }, line && h("svg", { class: "spark", viewBox: "0 0 64 16", preserveAspectRatio: "none", role: "img", "aria-label": `${count(row.reports ?? 0, "report")}` }, h("path", { d: line }))),
    filled.device && cell(device, "nowrap"),
    cell(tookWords(trial, about), "nowrap"),
    filled.why && cell(whyOf(trial, about), "why"),
    cell([stopButton(stoppable(trial, about), about.state), copyButton(trial)], "acts"));
}

/** Of a search that is over, a trial that had begun and not ended was interrupted. @param {Trial} trial @param {About} about */
function trialState({ row, state }, { view }) {
  return !view.underWay && row.started_at && ["running", "pending"].includes(state) ? "interrupted" : state;
}

/** @param {Trial} trial @param {About} about */
function deviceOf(trial, about) {
  return trialState(trial, about) === "interrupted" ? "" : deviceWords(trial.row.devices);
}

/** @param {Trial} trial @param {About} about */
function tookWords({ row, state }, { view, experiment, now }) {
  if (!row.started_at) return "";
  const began = row.started_at + (row.idle_s ?? 0);
  const end = row.ended_at ?? (view.underWay ? null : experiment.ended_at);
  if (end) return duration(end - began);
  return state === "running" && view.underWay ? age(now - began) : "";
}

/** Why its task waits, as the task's own row says. @param {Trial} trial @param {About} about */
function whyOf({ id, row }, { view, whys }) {
  if (!row.waits || !view.underWay) return "";
  return whys.get(`${view.name} ${plain(id)}`) ?? "its process is being started";
}

/** @param {Trial} trial @param {About} about @returns {import("./stop_button.js").Stoppable} */
function stoppable({ id, short, row, state }, { view }) {
  const step = Math.min(row.stops ?? 0, STOPS.length - 1);
  const ends = view.underWay && (state === "running" || state === "pending");
  const about = state === "pending" ? "before it begins" : STEPS[step];
  return { name: `trial ${short}`, owner: view.owner, stop: ends ? { label: STOPS[step], about, order: `${view.id}/${row.stops ?? 0}/${id}` } : null };
}

/** @param {Trial} trial */
function copyButton({ short, row }) {
  const text = pythonOf(row.config ?? {});
  return button("Config", { "data-act": "copy", "data-text": text, "data-name": `the config of trial ${short}`, "aria-label": `Copy the config of trial ${short}`, title: `Copy ${plain(text)}` });
}
