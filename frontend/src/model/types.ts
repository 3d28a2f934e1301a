import type { Given } from "../components/tree";
import type { TabView } from "./scene";
import type { State } from "./state";
import type { accountsView, drawAccounts } from "../past/accounts";
import type { drawLog } from "../past/log";
import type { rangeOf, saveTrace, timelineOf, zoomed } from "../past/timeline";
import type { drawTimeline } from "../past/timeline_view";
/** What a snapshot looks like when it arrives, and what a view gets to draw. Fields at their default may be missing:
 * they are not sent. */
export interface Holder {
  name: string;
  amount?: number; // missing for a whole device
  task_id?: string | null;
  actor_id?: string | null;
  pid?: number | null;
  cell?: string;
  since?: number | null;
  job?: number; // missing for the reader's own
  function?: string; // or class, where it is not the name
}

export interface Metrics {
  utilisation_percent?: number | null;
  memory_used_bytes?: number | null;
  memory_total_bytes?: number | null;
  temperature_celsius?: number | null;
  power_watts?: number | null;
  reasons?: Record<string, string>;
}

export interface DeviceRow {
  resource: string;
  id: string;
  kind?: string; // missing for real ones
  node_id?: string; // missing where there is one node
  family?: string;
  type?: string | null;
  name?: string;
  parent?: string | null;
  profile?: string | null;
  offered?: boolean;
  memory_bytes?: number | null;
  free?: number;
  free_reason?: string;
  holders?: Holder[];
  metrics?: Metrics | null;
  over?: boolean; // its cluster has ended
  gone?: boolean; // its node has; only the page says it
}

/** Of all devices of a resource, whatever part of them has rows. */
export interface DeviceCount {
  resource: string;
  total?: number;
  held?: number;
  taken?: number;
  shared?: number;
  most_free?: number;
  least_free?: number;
  logical?: number;
  simulated?: number;
}

export interface NodeRow {
  node_id: string;
  name: string;
  alive?: boolean;
  is_head?: boolean;
  totals?: Record<string, number>;
  available?: Record<string, number>;
  why?: string;
  idle_since?: number | null; // of a node that was asked for
  leaves_at?: number | null;
  kept_by?: string;
}

/** a node that was asked for */
export interface ArrivalRow {
  id: string;
  node_type: string;
  state?: string;
  since?: number;
  usually_s?: number | null;
}

export interface TaskRow {
  task_id: string;
  name: string;
  state: string;
  job?: number; // missing for the reader's own
  kind?: string;
  function?: string; // where it is not the name
  demand?: Record<string, number>;
  device_ids?: Record<string, string[]>;
  node_id?: string | null;
  pid?: number | null;
  actor_id?: string | null;
  cell?: string;
  submitted_at?: number | null;
  started_at?: number | null;
  finished_at?: number | null;
  why?: string;
  choice?: string;
  attempt?: number;
  peak_memory_bytes?: number | null;
  progress?: [number, number] | null;
  retryable?: boolean;
  retry_of?: string; // id of the failed task whose call it runs again
}

/** How many tasks a function has had, or how many constructors and calls a class. */
export interface FunctionRow {
  name: string;
  running?: number;
  waiting?: number;
  failed?: number;
  cancelled?: number;
  finished?: number;
}

export interface ActorRow {
  actor_id: string;
  class_name: string;
  state: string;
  job?: number; // missing for the reader's own
  name?: string;
  device_ids?: Record<string, string[]>;
  pid?: number | null;
  cell?: string;
  since?: number | null;
  restarts?: number;
  pending_calls?: number;
  why?: string;
}

export interface Alert {
  kind: string;
  message: string;
  since: number;
  task_id?: string | null;
  device?: string | null; // its id
  node_id?: string | null;
}

export interface Runtime {
  engine: string;
  version: string;
  python?: string;
  pid?: number | null;
  shared?: boolean;
  job?: number; // of the reader
}

export interface JobRow {
  number: number;
  name: string;
}

export interface Snapshot {
  runtime: Runtime;
  seq?: number;
  time?: number;
  nodes?: NodeRow[];
  arrivals?: ArrivalRow[];
  devices?: DeviceRow[];
  tasks?: TaskRow[];
  node_types?: { name: string; resources?: Record<string, number>; given_up?: boolean }[];
  functions?: FunctionRow[]; // at least those with many tasks
  published?: { kind: string; id: string; record: Record<string, any>; job?: number }[]; // runs, experiments, applications
  hues?: Record<string, number>; // of functions and classes whose hue is not the usual one
  actors?: ActorRow[];
  alerts?: Alert[];
  counts?: Record<string, number>;
  actor_counts?: Record<string, number>;
  jobs?: JobRow[]; // of a shared head
  found?: string[];
  node_counts?: Record<string, number>; // of all nodes; this and the next two where some have no row, or always
  device_counts?: DeviceCount[];
  resources?: Record<string, [number, number]>; // what is free on all living nodes, and all of it
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

/** `open` names the experiments whose trials a view shows. The views of the past, as the third module has them; `told` adds an answer to what was known. */
export type DrawRuns = {
  (now: number, ended: boolean, snapshot?: Snapshot): RunsView;
  open: (state: State) => string[];
};

export interface PastViews {
  timelineOf: typeof timelineOf;
  accountsView: typeof accountsView;
  drawTimeline: typeof drawTimeline;
  drawAccounts: typeof drawAccounts;
  drawLog: typeof drawLog;
  saveTrace: typeof saveTrace;
  zoomed: typeof zoomed;
  rangeOf: typeof rangeOf;
  told: Record<string, (before: any, answer: any) => any>; // Where snapshots come from and messages go to: a widget's model, or the server's stream.
}

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
  tasks: TaskRow[];
  total: number;
  functions?: FunctionRow[];
}
