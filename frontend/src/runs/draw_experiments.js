// The experiments of nbaccel.tune in the Runs view: a line for each, opened with its trials.

import { h } from "../cockpit/dom.js";
import { empty, nameOf } from "../cockpit/draw_parts.js";
import { plain } from "../cockpit/words.js";
import { drawTrials } from "./draw_trials.js";
import { experimentView, goesOn } from "./experiment_views.js";
import { head } from "./run_head.js";
import { shortTrial } from "./trials.js";

/** @typedef {import("./types.js").Given} Given */
/** @typedef {import("./types.js").Experiment} Experiment */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("../cockpit/types.js").Snapshot} Snapshot */

/** The experiments that are open: those under way at first, or the latest one. @param {Given} given @param {State} state @returns {string[]} */
export function openExperiments({ experiments = [] }, state) {
  const underWay = experiments.filter(goesOn).slice(0, 1);
  const first = new Set((underWay.length ? underWay : experiments.slice(0, 1)).map(({ id }) => id));
  return experiments.map(({ id }) => id).filter((id) => first.has(id) !== state.open.has(id));
}

/** @param {Given} given @param {number} now @param {boolean} ended @param {State} state @param {Snapshot | undefined} snapshot */
export function drawExperiments(given, now, ended, state, snapshot) {
  const experiments = given.experiments ?? [];
  if (!experiments.length) return [];
  const open = new Set(openExperiments(given, state));
  const whys = waitsOf(snapshot);
  const rows = experiments.map((experiment) => {
    const view = experimentView(experiment, now, ended);
    const isOpen = open.has(view.id);
    const name = h("button", { type: "button", class: "opens", "data-act": "group", "data-function": view.id, "aria-expanded": String(isOpen) },
      h("span", { "aria-hidden": "true" }, isOpen ? "▾ " : "▸ "), nameOf(view.name));
    return h("li", { key: view.id }, head(view, state, name, !isOpen), isOpen && h("div", { class: "run" }, trialDetails({ view, experiment, state, now, whys })));
  });
  return [h("ul", { class: "runs", key: "experiments", "aria-label": "Experiments" }, rows)];
}

/** One experiment with all that is known of it, for its own card. @param {Experiment} experiment @param {number} now
 * @param {boolean} ended @param {State} state @param {Snapshot | undefined} snapshot */
export function drawExperiment(experiment, now, ended, state, snapshot) {
  const view = experimentView(experiment, now, ended);
  return [head(view, state, nameOf(view.name), false), h("div", { class: "run", key: "run" }, trialDetails({ view, experiment, state, now, whys: waitsOf(snapshot) }))];
}

/** @param {import("./draw_trials.js").About} about */
function trialDetails(about) {
  const { view, state } = about;
  const failed = view.state === "failed";
  return [
    view.why && h("p", { key: "why", class: failed ? "attention" : "" }, failed && h("strong", {}, h("span", { "aria-hidden": "true" }, "⚠ "), "Attention: "), view.why),
    view.best && h("p", { key: "best" }, `best: ${view.best} (trial ${shortTrial(about.experiment.best?.id ?? "")})`),
    ...drawTrials(about, state.past[`rows/${view.id}`]?.data ?? null),
    h("p", { key: "path", class: "quiet path" }, view.path),
    view.goOn && empty("Go on:", view.goOn),
  ];
}

/** Why tasks wait, by their names. @param {Snapshot | undefined} snapshot @returns {Map<string, string>} */
function waitsOf(snapshot) {
  const rows = (snapshot?.tasks ?? []).filter((row) => row.state.startsWith("PENDING"));
  return new Map(rows.map((row) => [plain(row.name), plain(row.why)]));
}
