// The cockpit as an anywidget: one model for each kernel, shown in as many places as the person likes.

import { mount } from "./cockpit.js";
import { cover, stateOf, takePlaces } from "./places.js";
import { pastOf, runsOf } from "./second.js";
import { shownOf } from "./shown.js";
import { newState } from "./state.js";
import { watchExperiments } from "./trial_pictures.js";

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./types.js").Snapshot} Snapshot */

/** What anywidget gives. @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, callback: (...given: any[]) => void) => void} on
 * @property {(name: string, callback: (...given: any[]) => void) => void} off
 * @property {(message: any) => void} send
 */

/** @param {Model} model @returns {Source} */
export function sourceOf(model) {
  /** @type {any[]} */
  let from = [];
  /** @type {Snapshot | null} */
  let drawn = null;
  let lost = false; // the kernel has ended or restarted: its widgets do not come back
  let tell = () => {};
  const runs = runsOf(model, () => tell());
  const past = pastOf(model, () => tell());
  return {
    snapshot() {
      const now = [model.get("snapshot"), model.get("published"), runs()];
      if (now.some((each, at) => each !== from[at])) {
        from = now;
        drawn = now[0] ? shownOf({ ...JSON.parse(now[0]), published: JSON.parse(now[1]) }, now[2]) : null;
      }
      const shown = drawn && { ...drawn, past: past() };
      return lost && shown ? { ...shown, ended: true, lost } : shown;
    },
    subscribe(changed) {
      const unplugged = () => {
        lost = true;
        changed();
      };
      tell = changed;
      model.on("change:snapshot", changed);
      model.on("change:published", changed);
      model.on("change:past_code", changed);
      model.on("comm_live_update", unplugged);
      return () => {
        model.off("change:snapshot", changed);
        model.off("change:published", changed);
        model.off("change:past_code", changed);
        model.off("comm_live_update", unplugged);
      };
    },
    listen(heard) {
      model.on("msg:custom", heard);
      return () => model.off("msg:custom", heard);
    },
    send: (message) => lost || model.send(message),
    retries: true,
  };
}

/** @param {{model: Model, el: HTMLElement}} place */
function render({ model, el }) {
  return mount(el, sourceOf(model), { state: newState(Boolean(model.get("details"))) });
}

/** A page that makes the model without showing it has places for views. @param {{model: Model}} given */
function initialize({ model }) {
  /** @type {WeakMap<HTMLElement, import("./state.js").State>} */
  const states = new WeakMap(); // an output that scrolls far away leaves the page and comes back
  const ends = [watchExperiments(model, () => sourceOf(model)), takePlaces(document, model.get("place"), (place) => {
    const state = states.get(place) ?? stateOf(place);
    states.set(place, state);
    return cover(place, (live) => mount(live, sourceOf(model), { state }));
  })];
  return () => ends.forEach((end) => end());
}

export default { initialize, render };
