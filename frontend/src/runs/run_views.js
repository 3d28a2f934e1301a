// From a run's record to everything that is drawn of it: a pure function. Its words are those of
// nbaccel/views/run_snapshot.py and nbaccel/notebook/run_card.py; a test compares them.

import { PALETTE } from "../cockpit/palette.js";
import { age, amount, count, demandWords, deviceWords, plain } from "../cockpit/words.js";
import { curveShape } from "./curve_shapes.js";
import { reading } from "./scales.js";
import { STEPS, STOPS } from "./stop_button.js";

/** @typedef {import("./types.js").Run} Run */
/** @typedef {import("./types.js").RankDot} RankDot */

const UNDER_WAY = ["waiting", "running", "stopping", "restarting"];
/** @type {Record<string, string>} */
const SIGNS = { waiting: "◌", restarting: "◌", running: "●", stopping: "●", finished: "✓", returned: "✓", stopped: "⊘", failed: "✕" };
const METRICS = 4; // of a run that is shown in one line

/** @param {Run} run */
export function isUnderWay(run) {
  return UNDER_WAY.includes(run.state ?? "waiting");
}

/** @param {Run} run @param {number} now @param {boolean} ended whether the cluster has */
export function runView(run, now, ended) {
  const underWay = isUnderWay(run);
  const state = underWay && ended ? "ended with it" : (run.state ?? "waiting");
  const ranks = run.ranks ?? [];
  const curves = run.curves ?? [];
  const checkpoints = run.checkpoints ?? [];
  const best = checkpoints.some((each) => each.best);
  const step = Math.min(run.stops ?? 0, STOPS.length - 1);
  return {
    id: run.id,
    name: plain(run.name),
    owner: plain(run.owner),
    state,
    sign: state === "ended with it" ? "–" : signOf(state),
    colour: run.hue * PALETTE.hues[0].length,
    underWay: underWay && !ended,
    time: timeWords(run, now),
    progress: progressWords(run),
    gang: ranks.length ? gangWords(run) : "",
    metrics: metricWords(run),
    ranks: ranks.map((rank) => rankView(rank, run)),
    rankCounts: rankCounts(run),
    curves: curves.filter((curve) => curve.points.length > 1).map((curve) => curveShape(curve, checkpoints)),
    checkpoints: checkpointWords(run),
    marked: best && curves.length > 0,
    load: run.load ?? "",
    loads: best ? "Load the best one:" : "Load the newest one:",
    path: plain(run.path),
    why: plain(run.why),
    resume: underWay && !ended ? "" : resumeWords(run, state),
    stop: underWay && !ended ? { label: STOPS[step], about: STEPS[step], order: `${run.id}/${run.stops ?? 0}` } : null,
  };
}

/** @typedef {ReturnType<typeof runView>} RunView */
/** @typedef {RunView["ranks"][number]} RankView */

/** @param {string} state */
function signOf(state) {
  return SIGNS[state] ?? "◌";
}

/** @param {RankDot} rank @param {Run} run */
function rankView(rank, run) {
  const state = rank.state ?? "waiting";
  const report = rank.report == null ? "" : `report ${rank.report}`;
  const facts = [state, report, deviceWords(rank.devices), rank.pid ? `pid ${rank.pid}` : "", plain(rank.node)];
  return {
    rank: rank.rank,
    state,
    sign: signOf(state),
    colour: run.hue * PALETTE.hues[0].length + (rank.rank % PALETTE.hues[0].length),
    report,
    title: `rank ${rank.rank}: ${facts.filter(Boolean).join(", ")}`,
  };
}

/** "2 workers on GPU 0, 1 · nccl"; without devices, the resources of each worker. @param {Run} run */
export function gangWords(run) {
  /** @type {Record<string, string[]>} */
  const held = {};
  for (const rank of run.ranks ?? []) {
    for (const [resource, ids] of Object.entries(rank.devices ?? {})) held[resource] = [...new Set([...(held[resource] ?? []), ...ids])];
  }
  const workers = count(Math.max(run.workers ?? 0, (run.ranks ?? []).length), "worker");
  const devices = deviceWords(held);
  const each = Object.keys(run.each ?? {}).length ? `${workers} with ${demandWords(run.each)} each` : workers;
  return [devices ? `${workers} on ${devices}` : each, run.backend].filter(Boolean).join(" · ");
}

/** "3 of 10 epochs · about 2 min 05 s left · 7 reports". @param {Run} run */
export function progressWords(run) {
  const known = run.epochs != null && run.epochs_done != null;
  const epoch = known ? `${amount(run.epochs_done ?? 0)} of ${count(run.epochs ?? 0, "epoch")}` : run.epoch == null ? "" : `epoch ${amount(run.epoch)}`;
  const left = run.left_s != null && isUnderWay(run) ? `about ${age(run.left_s)} left` : "";
  return [epoch, left, run.reports ? count(run.reports, "report") : "no report yet"].filter(Boolean).join(" · ");
}

/** @param {Run} run @param {number} now */
export function timeWords(run, now) {
  return run.started_at ? age((run.ended_at ?? now) - run.started_at) : "";
}

/** "loss 0.3173, accuracy 0.94". @param {Run} run */
export function metricWords(run) {
  return (run.curves ?? []).slice(0, METRICS).map(({ name, points }) => `${plain(name)} ${reading(points[points.length - 1][1])}`).join(", ");
}

/** "3 checkpoints, best checkpoint_000004"; the newest one, if no score says which is best. @param {Run} run */
function checkpointWords({ checkpoints = [], kept = 0 }) {
  const best = checkpoints.find((each) => each.best);
  const named = best ? `best ${plain(best.name)}` : `newest ${plain(checkpoints.at(-1)?.name)}`;
  return checkpoints.length ? `${count(Math.max(kept, checkpoints.length), "checkpoint")}, ${named}` : "";
}

/** "63 running, 1 failed", in the order in which they appear. @param {Run} run */
export function rankCounts({ ranks = [], workers = 0 }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { state = "waiting" } of ranks) counts.set(state, (counts.get(state) ?? 0) + 1);
  const more = workers > ranks.length ? [`and ${workers - ranks.length} more`] : [];
  return [...[...counts].map(([state, number]) => `${number} ${state}`), ...more].join(", ");
}

/** @param {Run} run @param {string} state */
function resumeWords(run, state) {
  if (state === "finished") return "";
  const latest = (run.checkpoints ?? []).at(-1)?.name;
  return `Resume: run the cell again; a run of the same name goes on from ${latest ? plain(latest) : "its beginning, since it has no checkpoint"}`;
}
