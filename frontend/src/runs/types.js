/**
 * A training run as the kernel sends it (nbaccel/views/run_snapshot.py); fields at their default may be missing.
 *
 * @typedef {{rank: number, state?: string, pid?: number, devices?: Record<string, string[]>, node?: string, report?: number}} RankDot
 * @typedef {{name: string, points: [number, number][]}} Curve
 * @typedef {{name: string, report: number, best?: boolean}} CheckpointTick
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {string} name
 * @property {string} path
 * @property {number} hue
 * @property {string} [owner] missing for the reader's own
 * @property {string} [state]
 * @property {string} [why]
 * @property {number} [started_at]
 * @property {number} [ended_at]
 * @property {string} [backend]
 * @property {Record<string, number>} [each]
 * @property {RankDot[]} [ranks]
 * @property {number} [reports]
 * @property {Curve[]} [curves]
 * @property {CheckpointTick[]} [checkpoints]
 * @property {string} [load]
 * @property {number} [epoch]
 * @property {number} [epochs]
 * @property {number} [epochs_done]
 * @property {number} [left_s]
 * @property {number} [stops] how often it was asked to stop
 * @property {number} [workers] more than there are ranks, of a large gang
 * @property {number} [kept] checkpoints, more than are named
 *
 * An experiment of nbaccel.tune (nbaccel/views/experiment_snapshot.py).
 * @typedef {object} Experiment
 * @property {string} id
 * @property {string} name
 * @property {string} path
 * @property {number} hue
 * @property {string} [owner] missing for the reader's own
 * @property {string} [state]
 * @property {string} [why]
 * @property {number} [started_at]
 * @property {number} [ended_at]
 * @property {Record<string, number>} [counts] of trials, by their states
 * @property {number} [total]
 * @property {string} [metric]
 * @property {{id: string, value: number, config: Record<string, string>}} [best]
 * @property {number} [stops] how often it was asked to stop
 * @property {string} [shown] the metric of its trials' rows
 * @property {string} [mode]
 *
 * A trial, as it is asked for (nbaccel/views/experiment_snapshot.py).
 * @typedef {object} TrialRow
 * @property {number} number
 * @property {string} [state]
 * @property {Record<string, any>} [config]
 * @property {number | string | null} [value]
 * @property {number} [reports]
 * @property {{first: number, last: number, low: number, high: number, letters: string, log?: boolean} | null} [curve]
 * @property {Record<string, string[]>} [devices]
 * @property {number | null} [pid]
 * @property {number | null} [started_at]
 * @property {number | null} [ended_at]
 * @property {number} [idle_s] between its attempts
 * @property {string} [error]
 * @property {number} [attempts]
 * @property {number} [stops]
 * @property {boolean} [waits]
 *
 * An application of nbaccel.serve (nbaccel/views/served_snapshot.py).
 * @typedef {{id: string, state: string, pid?: number, devices?: Record<string, string[]>, since?: number, under_way?: number, fallback?: string, blocked?: string}} ServedReplica
 * @typedef {{name: string, wanted: number, replicas?: ServedReplica[], more?: number, most_each?: number, share?: string, batch?: number, batch_limit?: number, message?: string,
 *   error?: {time: number, type: string, message: string, traceback?: string}}} ServedDeployment
 * @typedef {object} Served
 * @property {string} id
 * @property {string} name
 * @property {number} [hue]
 * @property {string} [owner] missing for the reader's own
 * @property {string} [state]
 * @property {string} [url]
 * @property {string} [route] under the login of a JupyterHub
 * @property {boolean} [asks_token]
 * @property {string} [why]
 * @property {number} [started_at]
 * @property {ServedDeployment[]} [deployments]
 * @property {number} [requests]
 * @property {number} [per_s]
 * @property {number} [p50_s]
 * @property {number} [p95_s]
 * @property {number} [queued]
 * @property {number} [failed]
 * @property {number} [stops] how often it was asked to stop
 *
 * @typedef {{rows: Map<string, TrialRow>}} TrialRows
 * @typedef {{runs: Run[], experiments?: Experiment[], served?: Served[]}} Given those under way first, then the latest
 * @typedef {import("../cockpit/state.js").State} State
 * @typedef {import("../cockpit/dom.js").Shape} Shape
 */
export {};
