/** A training run as the kernel sends it (nbaccel/views/run_snapshot.py); fields at their default may be missing. */
export interface RankDot {
  rank: number;
  state?: string;
  pid?: number;
  devices?: Record<string, string[]>;
  node?: string;
  report?: number;
}

export interface Curve {
  name: string;
  points: [number, number][];
}

export interface CheckpointTick {
  name: string;
  report: number;
  best?: boolean;
}

export interface Run {
  id: string;
  name: string;
  path: string;
  hue: number;
  owner?: string; // missing for the reader's own
  state?: string;
  why?: string;
  started_at?: number;
  ended_at?: number;
  backend?: string;
  each?: Record<string, number>;
  ranks?: RankDot[];
  reports?: number;
  curves?: Curve[];
  checkpoints?: CheckpointTick[];
  load?: string;
  epoch?: number;
  epochs?: number;
  epochs_done?: number;
  left_s?: number;
  stops?: number; // how often it was asked to stop
  workers?: number; // more than there are ranks, of a large gang
  kept?: number; // checkpoints, more than are named
}

/** An experiment of nbaccel.tune (nbaccel/views/experiment_snapshot.py). */
export interface Experiment {
  id: string;
  name: string;
  path: string;
  hue: number;
  owner?: string; // missing for the reader's own
  state?: string;
  why?: string;
  started_at?: number;
  ended_at?: number;
  counts?: Record<string, number>; // of trials, by their states
  total?: number;
  metric?: string;
  best?: { id: string; value: number; config: Record<string, string> };
  stops?: number; // how often it was asked to stop
  shown?: string; // the metric of its trials' rows
  mode?: string; // A trial, as it is asked for (nbaccel/views/experiment_snapshot.py).
}

export interface TrialRow {
  number: number;
  state?: string;
  config?: Record<string, any>;
  value?: number | string | null;
  reports?: number;
  curve?: { first: number; last: number; low: number; high: number; letters: string; log?: boolean } | null;
  devices?: Record<string, string[]>;
  pid?: number | null;
  started_at?: number | null;
  ended_at?: number | null;
  idle_s?: number; // between its attempts
  error?: string;
  attempts?: number;
  stops?: number;
  waits?: boolean; // An application of nbaccel.serve (nbaccel/views/served_snapshot.py).
}

export interface ServedReplica {
  id: string;
  state: string;
  pid?: number;
  devices?: Record<string, string[]>;
  since?: number;
  under_way?: number;
  fallback?: string;
  blocked?: string;
}

export interface ServedDeployment {
  name: string;
  wanted: number;
  replicas?: ServedReplica[];
  more?: number;
  most_each?: number;
  share?: string;
  batch?: number;
  batch_limit?: number;
  message?: string;
  error?: { time: number; type: string; message: string; traceback?: string };
}

export interface Served {
  id: string;
  name: string;
  hue?: number;
  owner?: string; // missing for the reader's own
  state?: string;
  url?: string;
  route?: string; // under the login of a JupyterHub
  asks_token?: boolean;
  why?: string;
  started_at?: number;
  deployments?: ServedDeployment[];
  requests?: number;
  per_s?: number;
  p50_s?: number;
  p95_s?: number;
  queued?: number;
  failed?: number;
  stops?: number; // how often it was asked to stop
}

export interface TrialRows {
  rows: Map<string, TrialRow>;
}

/** those under way first, then the latest */
export interface Given {
  runs: Run[];
  experiments?: Experiment[];
  served?: Served[];
}
