// The Runs view: a line for each run, opened with its gang, curves, checkpoints, and how to stop or resume it.

import { h } from "../cockpit/dom.js";
import { empty, nameOf } from "../cockpit/draw_parts.js";
import { drawCurves } from "./draw_curves.js";
import { experimentView, goesOn } from "./experiment_views.js";
import { head } from "./run_head.js";
import { isUnderWay, runView } from "./run_views.js";
import { isServed, servedView } from "./served_views.js";

/** @typedef {import("./types.js").Given} Given */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./run_views.js").RunView} RunView */
/** @typedef {import("./run_views.js").RankView} RankView */

const OPEN_AT_FIRST = 2; // runs under way; if there is none, the latest one is open

/** @param {Given} given @param {number} now @param {boolean} ended @param {State} state */
export function drawRuns(given, now, ended, state) {
  const underWay = given.runs.filter(isUnderWay).slice(0, OPEN_AT_FIRST);
  const first = new Set((underWay.length ? underWay : given.runs.slice(0, 1)).map((run) => run.id));
  const rows = given.runs.map((run) => {
    const view = runView(run, now, ended);
    return drawRun(view, state, first.has(run.id) !== state.open.has(view.id));
  });
  return [
    rows.length > 0 && h("ul", { class: "runs", key: "runs", "aria-label": "Training runs" }, rows),
  ];
}

/** One run with all that is known of it, for its own card. @param {import("./types.js").Run} given @param {number} now @param {boolean} ended @param {State} state */
export function drawOneRun(given, now, ended, state) {
  const run = runView(given, now, ended);
  return [head(run, state, nameOf(run.name), false), h("div", { class: "run", key: "run" }, details(run))];
}

/** The runs, experiments and applications under way, each in a line. @param {Given} given @param {number} now @param {boolean} ended @param {State} state */
export function drawBrief(given, now, ended, state) {
  if (ended) return [];
  const experiments = (given.experiments ?? []).filter(goesOn).map((experiment) => experimentView(experiment, now, false));
  const served = (given.served ?? []).filter(isServed).map((each) => servedView(each, now, false));
  const runs = [...experiments, ...given.runs.filter(isUnderWay).map((run) => runView(run, now, false)), ...served];
  if (!runs.length) return [];
  return [h("ul", { class: "runs", key: "runs", "aria-label": served.length ? "Runs and applications under way" : "Runs under way" }, runs.map((run) => h("li", { key: run.id }, head(run, state, nameOf(run.name), true))))];
}

/** @param {RunView} run @param {State} state @param {boolean} open */
function drawRun(run, state, open) {
  const name = h("button", { type: "button", class: "opens", "data-act": "group", "data-function": run.id, "aria-expanded": String(open) },
    h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), nameOf(run.name));
  return h("li", { key: run.id }, head(run, state, name, !open), open && h("div", { class: "run" }, details(run)));
}

/** @param {RunView} run */
function details(run) {
  return [
    run.why && h("p", { key: "why", class: run.state === "failed" ? "attention" : "" },
      run.state === "failed" && h("strong", {}, h("span", { "aria-hidden": "true" }, "⚠ "), "Attention: "), run.why),
    run.gang && h("p", { key: "gang" }, run.gang),
    run.ranks.length > 0 && h("ul", { key: "ranks", class: "ranks", "aria-label": `Ranks: ${run.rankCounts}` }, run.ranks.map(drawRank)),
    drawCurves(run.curves, run.colour),
    run.checkpoints && h("p", { key: "checkpoints" }, run.marked ? `${run.checkpoints}, marked ★` : run.checkpoints),
    run.load && empty(run.loads, run.load),
    h("p", { key: "path", class: "quiet path" }, run.path),
    run.resume && h("p", { key: "resume", class: "quiet" }, run.resume),
  ];
}

/** @param {RankView} rank */
function drawRank(rank) {
  const own = rank.state === "running" ? ` ink c${rank.colour}` : "";
  return h("li", { key: String(rank.rank), title: rank.title, class: `state ${rank.state}` },
    h("span", { class: "unseen" }, "rank "), String(rank.rank), " ", h("span", { class: `sign${own}`, "aria-hidden": "true" }, rank.sign),
    h("span", { class: "unseen" }, ` ${rank.state}`));
}
