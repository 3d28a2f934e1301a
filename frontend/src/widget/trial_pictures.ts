// When an experiment ends, its trials are drawn once out of sight, and the kernel gets the pictures for the saved notebook.

import { newState } from "../model/state";
import type { Source } from "../model/types";
import { mount } from "./cockpit";
import { sendPictures, trialsIn, type Picture } from "./picture";
import type { Model } from "./widget";

const WITHIN_MS = 5000; // an experiment's trials are asked for and drawn
const PLACE =
  "position:fixed;inset:0 auto auto 0;width:640px;height:100px;overflow:hidden;opacity:0;pointer-events:none";

/** Send what the page draws of an experiment's trials, when it ends.
 * @returns what ends it */
export function watchExperiments(model: Model, newSource: () => Source): () => void {
  const underWay = new Set<string>();
  const look = () => {
    for (const { kind, id, record } of JSON.parse(model.get("published") || "[]")) {
      if (kind !== "experiment") continue;
      if (["running", "stopping"].includes(record.state ?? "running")) underWay.add(id);
      else if (underWay.delete(id)) void sendTrials(newSource(), id);
    }
  };
  look();
  model.on("change:published", look);
  return () => model.off("change:published", look);
}

/** Draw the trials of an experiment that has ended out of sight, and send what was drawn. */
async function sendTrials(source: Source, id: string) {
  while (document.visibilityState === "hidden")
    await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
  const place = document.createElement("div");
  place.style.cssText = PLACE;
  place.inert = true;
  document.body.append(place);
  const end = mount(place, source, { state: { ...newState(false), only: id } });
  let pictures: Picture[] = [];
  for (let waited = 0; !pictures.length && waited < WITHIN_MS; waited += 100) {
    await new Promise((later) => setTimeout(later, 100));
    pictures = trialsIn(place);
  }
  sendPictures(source, pictures, id);
  end();
  place.remove();
}
