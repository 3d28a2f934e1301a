// What a view gets to draw: what Python sends (sent.ts), and what the page adds to it.

import type { Given } from "../components/tree";
import type { TabView } from "./scene";
import type * as sent from "./sent";
import type { State } from "./state";
import type { accountsView, drawAccounts } from "../past/accounts";
import type { drawLog } from "../past/log";
import type { rangeOf, saveTrace, timelineOf, zoomed } from "../past/timeline";
import type { drawTimeline } from "../past/timeline_view";

export type * from "./sent";

export interface Holder extends sent.Holder {
  function?: string; // or class, where it is not the name
}

export interface DeviceRow extends sent.DeviceRow {
  holders?: Holder[];
  over?: boolean; // its cluster has ended
  gone?: boolean; // its node has
}

export interface Snapshot extends sent.Snapshot {
  devices?: DeviceRow[];
  hues?: Record<string, number>; // of functions and classes whose hue is not the usual one
  runs?: DrawRuns | null; // what draws the training runs, once there is one
  past?: PastViews | null; // what draws the past, once a view of it has been opened
  ended?: boolean; // the cluster has shut down; this is the last that was known of it
  died?: boolean; // it ended by itself or was killed
  lost?: boolean; // it ended with the kernel
}

/** The training runs as the second module draws them at a moment: all of them, or those under way in a line each. */
export interface RunsView {
  tabs: TabView[];
  views: Record<string, (state: State) => Given[]>; // by their tabs
  brief: (state: State) => Given[];
  only: (state: State) => Given[]; // the one of whose card the view is a part
}

/** `open` names the experiments whose trials a view shows. */
export type DrawRuns = {
  (now: number, ended: boolean, snapshot?: Snapshot): RunsView;
  open: (state: State) => string[];
};

/** The views of the past, as the third module has them; `told` adds an answer to what was known. */
export interface PastViews {
  timelineOf: typeof timelineOf;
  accountsView: typeof accountsView;
  drawTimeline: typeof drawTimeline;
  drawAccounts: typeof drawAccounts;
  drawLog: typeof drawLog;
  saveTrace: typeof saveTrace;
  zoomed: typeof zoomed;
  rangeOf: typeof rangeOf;
  told: Record<string, (before: any, answer: any) => any>;
}

/** Where snapshots come from and messages go to: a widget's model, or the server's stream. */
export interface Source {
  snapshot: () => Snapshot | null;
  subscribe: (changed: () => void) => () => void; // returns what ends it
  listen: (heard: (message: any) => void) => () => void; // answers to what was sent; returns what ends it
  send: (message: any) => void;
  retries?: boolean; // whether it takes the order to run a failed task again
  go?: (words: string) => void; // shows the cell that these words name; missing where the page cannot
}

/** What passes a filter, of all tasks that the engine knows: some rows, and how many there are, in all and by function. */
export interface Filter {
  state: string;
  cell: string;
  text: string;
}

export interface Found {
  key: string;
  tasks: sent.TaskRow[];
  total: number;
  functions?: sent.FunctionRow[];
}
