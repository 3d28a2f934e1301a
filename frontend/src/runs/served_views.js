// From an application's record to its words: those of nbaccel/views/served_snapshot.py; a test compares them.

import { PALETTE } from "../cockpit/palette.js";
import { age, count, plain } from "../cockpit/words.js";

/** @typedef {import("./types.js").Served} Served */
/** @typedef {import("./types.js").ServedDeployment} ServedDeployment */
/** @typedef {import("./types.js").ServedReplica} ServedReplica */

/** @type {Record<string, string>} */
const SIGNS_OF_SERVED = { serving: "●", deploying: "◌", unhealthy: "⚠", failed: "✕", ending: "●", ended: "–" };
const MOST_PLACES = 8; // of replicas, in one line

/** @param {Served} served */
export function isServed(served) {
  return !["ended", "failed"].includes(served.state ?? "serving");
}

/** @param {Served} served @param {number} now @param {boolean} ended whether the cluster has */
export function servedView(served, now, ended) {
  const underWay = isServed(served) && !ended;
  const state = ended ? "ended" : (served.state ?? "serving");
  const deployments = ended ? [] : (served.deployments ?? []);
  return {
    id: served.id,
    name: plain(served.name),
    owner: plain(served.owner),
    state,
    sign: SIGNS_OF_SERVED[state] ?? "◌",
    colour: PALETTE.hues[0].length * Math.max(0, served.hue ?? 0),
    underWay,
    time: underWay && served.started_at ? age(now - served.started_at) : "",
    progress: replicaWords({ ...served, state, deployments }),
    metrics: requestWords({ ...served, state }),
    url: [served.route, served.url].map(plain).find((each) => /^(https?:\/\/|\/[^/])/.test(each)) ?? "", // it becomes a link
    curl: underWay ? curlWords(served) : "",
    asksToken: Boolean(served.asks_token),
    why: plain(served.why),
    deployments: deployments.map((each) => ({
      name: plain(each.name),
      words: deploymentWords(each),
      why: plain(each.message),
      replicas: (each.replicas ?? []).map((row) => replicaView(row, now)),
      blocked: plain((each.replicas ?? []).find((row) => row.blocked)?.blocked),
    })),
    errors: (served.deployments ?? []).filter(({ error }) => error).map(({ name, error }) => ({
      name: plain(name), words: `${plain(error?.type)}: ${plain((error?.message ?? "").split("\n")[0]).slice(0, 200)}`, ago: age(now - (error?.time ?? now)), traceback: error?.traceback ?? "",
    })),
    stop: underWay ? { label: "Stop", about: "after what it has under way", order: `${served.id}/${served.stops ?? 0}` } : null,
  };
}

/** @typedef {ReturnType<typeof servedView>} ServedView */

/** @param {ServedReplica} row @param {number} now */
function replicaView(row, now) {
  return {
    id: row.id,
    place: row.state === "STARTING" ? "" : placeOfReplica(row), // it is not known yet
    state: row.blocked ? "blocked" : row.state.toLowerCase(),
    pid: row.pid ?? null,
    age: row.since ? age(now - row.since) : "",
    underWay: row.state === "STARTING" ? "" : `${row.under_way ?? 0} under way`, // a narrow table has no heads
  };
}

/** "3 of 4 replicas". @param {Served} served */
export function replicaWords({ state, deployments = [] }) {
  if (state === "ended") return "";
  const serving = deployments.reduce((sum, each) => sum + servingOf(each), 0);
  const wanted = deployments.reduce((sum, each) => sum + each.wanted, 0);
  return serving === wanted ? count(serving, "replica") : `${serving} of ${count(wanted, "replica")}`;
}

/** @param {ServedDeployment} deployment */
function servingOf({ replicas = [], more = 0 }) {
  return replicas.filter(({ state }) => state === "RUNNING").length + more;
}

/** "41 requests/s · p50 ≤ 48 ms · p95 ≤ 93 ms · queue 3 · 2 failed". @param {Served} served */
export function requestWords({ state, requests = 0, per_s = 0, p50_s, p95_s, queued = 0, failed = 0 }) {
  if (!requests) return "";
  const broken = failed ? `${failed} failed` : "";
  if (state === "ended") return [count(requests, "request"), broken].filter(Boolean).join(" · ");
  const time = (/** @type {string} */ name, /** @type {number | undefined} */ seconds) => (seconds == null ? "" : `${name} ≤ ${short(1000 * seconds)} ms`);
  return [`${short(per_s)} requests/s`, time("p50", p50_s), time("p95", p95_s), queued ? `queue ${queued}` : "", broken].filter(Boolean).join(" · ");
}

/** Three digits, as Python's `:.3g` writes numbers of this size. @param {number} value */
function short(value) {
  return String(Number(value.toPrecision(3)));
}

/** "2 replicas · 0.5 GPU on GPU 0, GPU 0 · max 2 each · batch 3.6 of 8". @param {ServedDeployment} deployment */
export function deploymentWords(deployment) {
  const { wanted, replicas = [], most_each = 0, share = "", batch = 0, batch_limit = 0 } = deployment;
  const serving = servingOf(deployment);
  const places = replicas.filter(({ state }) => state === "RUNNING").map(placeOfReplica).slice(0, MOST_PLACES);
  const left = serving - places.length;
  const where = [...places, ...(left > 0 && places.length ? [`and ${left} more`] : [])].join(", ");
  return [
    serving === wanted ? count(serving, "replica") : `${serving} of ${count(wanted, "replica")}`,
    share && places.length ? `${share} on ${where}` : where,
    most_each ? `max ${most_each} each` : "",
    batch ? `batch ${Number(batch.toPrecision(2))} of ${batch_limit}` : "",
  ].filter(Boolean).join(" · ");
}

/** "GPU 0", "CPU", "CPU (cpu, blocked)". @param {ServedReplica} row */
export function placeOfReplica({ devices = {}, fallback = "", blocked = "" }) {
  const held = Object.entries(devices).filter(([, ids]) => ids.length).map(([name, ids]) => `${plain(name)} ${ids.join(",")}`);
  const marks = [plain(fallback), blocked ? "blocked" : ""].filter(Boolean).join(", ");
  return (held.join(" ") || "CPU") + (marks && ` (${marks})`);
}

/** @param {Served} served */
export function curlWords({ url, asks_token }) {
  return url ? `curl -s ${plain(url)}${asks_token ? " -H 'Authorization: Bearer …'" : ""}` : "";
}
