// The second module: what draws the training runs and experiments that the kernel sends. The cockpit calls it when there
// are some.

import { h } from "../cockpit/dom.js";
import { drawExperiment, drawExperiments, openExperiments } from "./draw_experiments.js";
import { drawOneServed, drawServed } from "./draw_served.js";
import { drawBrief, drawOneRun, drawRuns } from "./draw_runs.js";
import { goesOn } from "./experiment_views.js";
import { RUNS_STYLE } from "./look.js";
import { isUnderWay } from "./run_views.js";
import { isServed } from "./served_views.js";

/** @typedef {import("./types.js").Given} Given */

/** @param {any} sent the published records, by their kinds @returns {import("../cockpit/types.js").DrawRuns} */
export function viewOfRuns(sent) {
  /** @type {Given} */
  const given = { runs: inOrder(sent.runs, isUnderWay), experiments: inOrder(sent.experiments, goesOn), served: inOrder(sent.served, isServed) };
  const style = h("style", { key: "look of runs" }, RUNS_STYLE);
  /** @type {import("../cockpit/types.js").DrawRuns} */
  const view = (now, ended, snapshot) => ({
    tabs: tabsOf(given, ended),
    views: {
      runs: (state) => [style, ...drawExperiments(given, now, ended, state, snapshot), ...drawRuns(given, now, ended, state)],
      serving: (state) => [style, ...drawServed(given, now, ended, state)],
    },
    brief(state) {
      const lines = drawBrief(given, now, ended, state);
      return lines.length ? [style, ...lines] : [];
    },
    only(state) {
      const [run, experiment] = [given.runs.find(({ id }) => id === state.only), given.experiments?.find(({ id }) => id === state.only)];
      const served = given.served?.find(({ id }) => id === state.only);
      if (run) return [style, ...drawOneRun(run, now, ended, state)];
      if (served) return [style, ...drawOneServed(served, now, ended, state)];
      return experiment ? [style, ...drawExperiment(experiment, now, ended, state, snapshot)] : [];
    },
  });
  view.open = (state) => (state.only ? (given.experiments ?? []).map(({ id }) => id).filter((id) => id === state.only) : openExperiments(given, state));
  return view;
}

/** Those under way first, then the latest. @param {any[] | undefined} records @param {(record: any) => boolean} isActive */
function inOrder(records = [], isActive) {
  return [...records].sort((a, b) => Number(isActive(b)) - Number(isActive(a)) || (b.started_at ?? 0) - (a.started_at ?? 0));
}

/** The tabs of what there is. @param {Given} given @param {boolean} ended */
function tabsOf({ runs, experiments = [], served = [] }, ended) {
  const tab = (/** @type {string} */ id, /** @type {string} */ label, /** @type {number} */ active) => ({ id, label, badge: ended ? 0 : active, urgent: false });
  return [
    ...(runs.length || experiments.length ? [tab("runs", "Runs", runs.filter(isUnderWay).length + experiments.filter(goesOn).length)] : []),
    ...(served.length ? [tab("serving", "Serving", served.filter(isServed).length)] : []),
  ];
}
