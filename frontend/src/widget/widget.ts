// The cockpit as an anywidget: one model for each kernel, shown in as many places as the person likes.

import { shownOf } from "../model/scene";
import { newState, type State } from "../model/state";
import type { Snapshot, Source } from "../model/types";
import { mount } from "./cockpit";
import { PARTS, pastOf, runsOf } from "./modules";
import { cover, stateOf, takePlaces } from "./places";
import { watchExperiments } from "./trial_pictures";

/** What anywidget gives. */
export interface Model {
  get: (name: string) => any;
  on: (name: string, callback: (...given: any[]) => void) => void;
  off: (name: string, callback: (...given: any[]) => void) => void;
  send: (message: any) => void;
}

export function sourceOf(model: Model): Source {
  let from: any[] = [];
  let drawn: Snapshot | null = null;
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

function render({ model, el }: { model: Model; el: HTMLElement }) {
  return mount(el, sourceOf(model), { state: newState(Boolean(model.get("details"))) });
}

/** A page that makes the model without showing it has places for views. */
function initialize({ model }: { model: Model }) {
  const states: WeakMap<HTMLElement, State> = new WeakMap(); // an output that scrolls far away leaves the page and comes back
  const takes = takePlaces(document, model.get("place"), (place) => {
    const state = states.get(place) ?? stateOf(place);
    states.set(place, state);
    return cover(place, (live) => mount(live, sourceOf(model), { state }));
  });
  const watches = watchExperiments(model, () => sourceOf(model));
  return () => {
    takes();
    watches();
  };
}

export { PARTS };
export default { initialize, render };
