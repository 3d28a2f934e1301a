// The second module: what draws the training runs and experiments that the kernel sends. The cockpit calls it when there
// are some.

import { h } from "../cockpit/dom.js";
import { rowsOf } from "../cockpit/packing.js";
import { drawExperiment, drawExperiments, openExperiments } from "./draw_experiments.js";
import { drawBrief, drawOneRun, drawRuns } from "./draw_runs.js";
import { goesOn } from "./experiment_views.js";
import { RUNS_STYLE } from "./look.js";
import { isUnderWay } from "./run_views.js";

/** @typedef {import("./types.js").Given} Given */

/** @param {any} sent the message; see nbaccel/notebook/drawn_runs.py @returns {import("../cockpit/types.js").DrawRuns} */
export function viewOfRuns(sent) {
  const rows = (/** @type {any} */ run) => ({ ...run, ranks: rowsOf(run.ranks), checkpoints: rowsOf(run.checkpoints) });
  /** @type {Given} */
  const given = { ...sent, runs: (sent.runs ?? []).map(rows), experiments: sent.experiments ?? [] };
  const style = h("style", { key: "look of runs" }, RUNS_STYLE);
  /** @type {import("../cockpit/types.js").DrawRuns} */
  const view = (now, ended, snapshot) => ({
    active: ended ? 0 : given.runs.filter(isUnderWay).length + (given.experiments ?? []).filter(goesOn).length,
    draw: (state) => [style, ...drawExperiments(given, now, ended, state, snapshot), ...drawRuns(given, now, ended, state)],
    brief(state) {
      const lines = drawBrief(given, now, ended, state);
      return lines.length ? [style, ...lines] : [];
    },
    only(state) {
      const [run, experiment] = [given.runs.find(({ id }) => id === state.only), given.experiments?.find(({ id }) => id === state.only)];
      if (run) return [style, ...drawOneRun(run, now, ended, state)];
      return experiment ? [style, ...drawExperiment(experiment, now, ended, state, snapshot)] : [];
    },
  });
  view.open = (state) => (state.only ? (given.experiments ?? []).map(({ id }) => id).filter((id) => id === state.only) : openExperiments(given, state));
  return view;
}
