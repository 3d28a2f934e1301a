// Training runs are drawn by a second module: the kernel sends it with the first run, and it gets its parts from here.

import { h } from "./dom.js";
import { button, empty, nameOf } from "./draw_parts.js";
import { rowsOf } from "./packing.js";
import { PALETTE } from "./palette.js";
import { age, amount, count, demandWords, deviceWords, plain } from "./words.js";

/** @typedef {import("./widget.js").Model} Model */
/** @typedef {import("./types.js").DrawRuns} DrawRuns */

/** All that the second module uses of this one; tools/join_cockpit.py refuses an import of anything else. */
export const PARTS = { h, button, empty, nameOf, rowsOf, PALETTE, age, amount, count, demandWords, deviceWords, plain };

/** What draws the model's runs, null until there is one. `changed` is called when the module has been loaded.
 * @param {Model} model @param {() => void} changed @returns {() => DrawRuns | null} */
export function runsOf(model, changed) {
  let text = "";
  /** @type {any} */
  let drawing;
  /** @type {DrawRuns | null} */
  let view = null;
  return () => {
    const [code, now] = [model.get("runs_code"), model.get("runs")];
    if (code && !drawing) {
      drawing = () => null;
      import(URL.createObjectURL(new Blob([code], { type: "text/javascript" }))).then((module) => {
        drawing = module.default(PARTS);
        text = "";
        changed();
      });
    }
    if (drawing && now !== text) view = drawing(JSON.parse((text = now)));
    return view;
  };
}
