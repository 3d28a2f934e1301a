// Further modules, which get their parts from here: one draws training runs, and the kernel sends it with the first run;
// another draws the past, and the kernel sends it when such a view is opened.

import { colourOf, subjectOf } from "./colours.js";
import { deviceLabels } from "./device_labels.js";
import { h } from "./dom.js";
import { button, cell, empty, nameOf, table } from "./draw_parts.js";
import { laneName } from "./lanes.js";
import { nodeNames } from "./node_names.js";
import { cellWords } from "./owners.js";
import { PALETTE } from "./palette.js";
import { LAST_MINUTE, WHOLE_RUN } from "./state.js";
import { inSight } from "./task_rows.js";
import { age, amount, clock, count, demandWords, deviceWords, duration, plain, stateWord } from "./words.js";

/** @typedef {import("./widget.js").Model} Model */
/** @typedef {import("./types.js").DrawRuns} DrawRuns */

/** All that the other modules use of this one; build.js refuses an import of anything else. */
export const PARTS = {
  h, button, cell, empty, nameOf, table, PALETTE, age, amount, clock, count, demandWords, deviceWords, duration, plain, stateWord,
  colourOf, subjectOf, deviceLabels, laneName, nodeNames, cellWords, LAST_MINUTE, WHOLE_RUN, inSight,
};

/** What a module in a trait of the model makes of the parts; null until it is loaded, of which `changed` is told.
 * @param {Model} model @param {string} trait @param {() => void} changed @returns {() => any} */
function loadedFrom(model, trait, changed) {
  let asked = false;
  /** @type {any} */
  let loaded = null;
  return () => {
    const code = model.get(trait);
    if (code && !asked) {
      asked = true;
      import(URL.createObjectURL(new Blob([code], { type: "text/javascript" }))).then((module) => {
        loaded = module.default(PARTS);
        changed();
      });
    }
    return loaded;
  };
}

/** What draws the past, null until it has been asked for. @param {Model} model @param {() => void} changed
 * @returns {() => import("./types.js").PastViews | null} */
export function pastOf(model, changed) {
  return loadedFrom(model, "past_code", changed);
}

/** What draws the model's runs, null until there is one. @param {Model} model @param {() => void} changed
 * @returns {() => ((sent: any) => DrawRuns) | null} */
export function runsOf(model, changed) {
  return loadedFrom(model, "runs_code", changed);
}
