// What takes one step down the ladder: of a run, an experiment or a trial.

import { h } from "../cockpit/dom.js";
import { button } from "../cockpit/draw_parts.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {{name: string, owner: string, stop: {label: string, about: string, order: string} | null}} Stoppable */

export const STOPS = ["Stop", "Interrupt", "Kill"]; // the steps of the ladder
export const STEPS = ["after its next report", "now, with KeyboardInterrupt", "at once, by ending its processes"];

/** What belongs to another notebook is stopped only after a question. @param {Stoppable} run @param {State} state */
export function stopButton(run, state) {
  if (!run.stop) return null;
  const { label, about, order } = run.stop;
  const data = { "data-id": order, "data-name": run.name };
  if (state.asked.has(order)) return button("asked…", { ...data, class: "aside", "aria-label": `${label} ${run.name}`, disabled: true });
  const title = `${label} ${run.name} ${about}`;
  if (!run.owner) return button(label, { ...data, class: "aside", "data-act": "cancel-run", "aria-label": `${label} ${run.name}`, title });
  if (state.doubted !== order) {
    return button(`${label}…`, { ...data, class: "aside", "data-act": "doubt", "data-owner": run.owner, "aria-label": `${label} ${run.name} of ${run.owner}`, title });
  }
  return h("span", { class: "ask nowrap aside" },
    button("Keep", { ...data, "data-act": "keep", "aria-label": `Keep ${run.name} of ${run.owner}` }), " ",
    button(`${label} it`, { ...data, "data-act": "cancel-run", class: "urgent", "aria-label": `${label} it: ${run.name} of ${run.owner}` }));
}
