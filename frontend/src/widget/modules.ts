// Further modules, which get their parts from here: one draws training runs, and the kernel sends it with the first run;
// another draws the past, and the kernel sends it when such a view is opened.

import { cloneElement } from "preact";
import { Fragment, jsx, jsxs } from "preact/jsx-runtime";

import { button, cell, empty, nameOf, stateCell, table } from "../components/parts";
import { STYLE } from "../components/style";
import { draw } from "../components/tree";
import { PALETTE, colourOf, subjectOf } from "../model/colours";
import { deviceLabels, laneName } from "../model/devices";
import { LAST_MINUTE, WHOLE_RUN } from "../model/state";
import { inSight } from "../model/tasks";
import type { DrawRuns, PastViews } from "../model/types";
import {
  age,
  amount,
  cellWords,
  clock,
  count,
  demandWords,
  deviceWords,
  duration,
  nodeNames,
  plain,
  stateSign,
  stateWord,
} from "../model/words";
import type { Model } from "./widget";

/** All that the other modules use of this one; build.ts refuses an import of anything else. */
export const PARTS = {
  jsx,
  jsxs,
  Fragment,
  cloneElement,
  button,
  cell,
  empty,
  nameOf,
  stateCell,
  table,
  STYLE,
  draw,
  PALETTE,
  age,
  amount,
  clock,
  count,
  demandWords,
  deviceWords,
  duration,
  plain,
  stateSign,
  stateWord,
  colourOf,
  subjectOf,
  deviceLabels,
  laneName,
  nodeNames,
  cellWords,
  LAST_MINUTE,
  WHOLE_RUN,
  inSight,
};

/** What a module in a trait of the model makes of the parts; null until it is loaded, of which `changed` is told. */
function loadedFrom(model: Model, trait: string, changed: () => void): () => any {
  let asked = false;
  let loaded: any = null;
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

/** What draws the past, null until it has been asked for. */
export function pastOf(model: Model, changed: () => void): () => PastViews | null {
  return loadedFrom(model, "past_code", changed);
}

/** What draws the model's runs, null until there is one. */
export function runsOf(model: Model, changed: () => void): () => ((sent: any) => DrawRuns) | null {
  return loadedFrom(model, "runs_code", changed);
}
