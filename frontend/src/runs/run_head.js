// The line of a run or of an experiment: its name, state and facts, and what stops it.

import { h } from "../cockpit/dom.js";
import { stopButton } from "./stop_button.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./stop_button.js").Stoppable & {state: string, sign: string, colour: number, time: string, progress: string, metrics: string}} Headed */

/** @param {Headed} run @param {State} state @param {import("../cockpit/dom.js").Shape} name @param {boolean} brief */
export function head(run, state, name, brief) {
  const facts = [run.owner, run.time, run.progress, brief && run.metrics].filter(Boolean).join(" · ");
  return h("div", { class: "line head", key: "head" }, name, stateOf(run), h("span", { class: "facts quiet" }, facts), stopButton(run, state));
}

/** @param {{state: string, sign: string, colour: number}} shown */
function stateOf({ state, sign, colour }) {
  const own = ["running", "serving"].includes(state) ? ` ink c${colour}` : "";
  return h("span", { class: `nowrap state ${state}` }, h("span", { class: `sign${own}`, "aria-hidden": "true" }, sign), ` ${state}`);
}
