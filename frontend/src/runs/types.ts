// The records of runs as the cockpit gives them: with their colours, and the names of other notebooks.

import type { ExperimentSnapshot, RunSnapshot, ServedSnapshot, TrialRow } from "../model/sent";

export type { CheckpointTick, Curve, DeploymentRow, RankDot, ReplicaRow, TrialRow } from "../model/sent";

interface Owned {
  hue: number;
  owner?: string; // missing for the reader's own
}

export type Run = RunSnapshot & Owned;
export type Experiment = ExperimentSnapshot & Owned;
export type Served = ServedSnapshot & Owned;

export interface TrialRows {
  rows: Map<string, TrialRow>;
}

/** those under way first, then the latest */
export interface Given {
  runs: Run[];
  experiments?: Experiment[];
  served?: Served[];
}
