// The second module: what draws the training runs that the kernel sends. The cockpit calls it when there are some.

import { h } from "../cockpit/dom.js";
import { rowsOf } from "../cockpit/packing.js";
import { drawBrief, drawRuns } from "./draw_runs.js";
import { RUNS_STYLE } from "./look.js";
import { isUnderWay } from "./run_views.js";

/** @typedef {import("./types.js").Given} Given */

/** @param {any} sent the message; see nbaccel/notebook/drawn_runs.py @returns {import("../cockpit/types.js").DrawRuns} */
export function viewOfRuns(sent) {
  const rows = (/** @type {any} */ run) => ({ ...run, ranks: rowsOf(run.ranks), checkpoints: rowsOf(run.checkpoints) });
  /** @type {Given} */
  const given = { ...sent, runs: sent.runs.map(rows) };
  const style = h("style", { key: "look of runs" }, RUNS_STYLE);
  return (now, ended) => ({
    active: ended ? 0 : given.runs.filter(isUnderWay).length,
    draw: (state) => [style, ...drawRuns(given, now, ended, state)],
    brief(state) {
      const lines = drawBrief(given, now, ended, state);
      return lines.length ? [style, ...lines] : [];
    },
  });
}
