// From an experiment's record to its words: those of nbaccel/views/experiment_snapshot.py; a test compares them.

import { PALETTE } from "../cockpit/palette.js";
import { age, count, plain } from "../cockpit/words.js";
import { reading } from "./scales.js";
import { STEPS, STOPS } from "./stop_button.js";

/** @typedef {import("./types.js").Experiment} Experiment */

/** @type {Record<string, string>} */
const EXPERIMENT_SIGNS = { running: "●", stopping: "●", finished: "✓", stopped: "⊘", failed: "✕" };
const MOST_PARAMETERS = 4; // of the best trial, in one line

/** @param {Experiment} experiment */
export function goesOn(experiment) {
  return ["running", "stopping"].includes(experiment.state ?? "running");
}

/** @param {Experiment} experiment @param {number} now @param {boolean} ended whether the cluster has */
export function experimentView(experiment, now, ended) {
  const underWay = goesOn(experiment) && !ended;
  const state = goesOn(experiment) && ended ? "ended with it" : (experiment.state ?? "running");
  const step = Math.min(experiment.stops ?? 0, STOPS.length - 1);
  return {
    id: experiment.id,
    name: plain(experiment.name),
    owner: plain(experiment.owner),
    state,
    sign: state === "ended with it" ? "–" : (EXPERIMENT_SIGNS[state] ?? "◌"),
    colour: experiment.hue * PALETTE.hues[0].length,
    underWay,
    time: experiment.started_at ? age((experiment.ended_at ?? now) - experiment.started_at) : "",
    progress: trialWords(experiment),
    metrics: bestWords(experiment),
    best: bestWords(experiment, Infinity),
    why: plain(experiment.why),
    path: plain(experiment.path),
    goOn: underWay || state === "finished" ? "" : `tune.Tuner.restore(${JSON.stringify(experiment.path)}, trainable)`,
    stop: underWay ? { label: STOPS[step], about: STEPS[step], order: `${experiment.id}/${experiment.stops ?? 0}` } : null,
  };
}

/** @typedef {ReturnType<typeof experimentView>} ExperimentView */

/** "4 of 50 trials ended · 2 running · 1 failed". @param {Experiment} experiment */
export function trialWords(experiment) {
  const { counts = {}, total } = experiment;
  const runs = goesOn(experiment) ? "running" : "interrupted";
  const ended = ["done", "stopped", "error"].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const said = total == null ? `${count(ended, "trial")} ended` : `${ended} of ${count(total, "trial")} ended`;
  return [said, counts.running ? `${counts.running} ${runs}` : "", counts.error ? `${counts.error} failed` : ""].filter(Boolean).join(" · ");
}

/** "loss 0.0312 with lr 0.01, layers 2". @param {Experiment} experiment @param {number} [most] */
export function bestWords({ best, metric }, most = MOST_PARAMETERS) {
  if (!best) return "";
  const params = Object.entries(best.config).map(([name, value]) => `${plain(name)} ${plain(value)}`);
  const said = params.slice(0, most).join(", ") + (params.length > most ? ", …" : "");
  return `${plain(metric)} ${reading(best.value)}${said && ` with ${said}`}`;
}
