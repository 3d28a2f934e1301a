// From an application's record to its words: those of nbaccel/views/served_snapshot.py; a test compares them.

import { button, cell, nameOf, table } from "../components/parts";
import { PALETTE } from "../model/colours";
import type { State } from "../model/state";
import { age, count, plain, stateSign } from "../model/words";
import { head, opened, whyLine } from "./runs";
import type { Given, Served, DeploymentRow, ReplicaRow } from "./types";

const MOST_PLACES = 8; // of replicas, in one line

export function isServed(served: Served) {
  return !["ended", "failed"].includes(served.state ?? "serving");
}

/** @param ended whether the cluster has */
export function servedView(served: Served, now: number, ended: boolean) {
  const underWay = isServed(served) && !ended;
  const state = ended ? "ended" : (served.state ?? "serving");
  const deployments = ended ? [] : (served.deployments ?? []);
  return {
    id: served.id,
    name: plain(served.name),
    owner: plain(served.owner),
    state,
    sign: stateSign(state),
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
    errors: (served.deployments ?? [])
      .filter(({ error }) => error)
      .map(({ name, error }) => ({
        name: plain(name),
        words: `${plain(error?.type)}: ${plain((error?.message ?? "").split("\n")[0]).slice(0, 200)}`,
        ago: age(now - (error?.time ?? now)),
        traceback: error?.traceback ?? "",
      })),
    stop: underWay
      ? { label: "Stop", about: "after what it has under way", order: `${served.id}/${served.stops ?? 0}` }
      : null,
  };
}

type ServedView = ReturnType<typeof servedView>;

function replicaView(row: ReplicaRow, now: number) {
  return {
    id: row.id,
    place: row.state === "STARTING" ? "" : placeOfReplica(row), // it is not known yet
    state: row.blocked ? "blocked" : row.state.toLowerCase(),
    pid: row.pid ?? null,
    age: row.since ? age(now - row.since) : "",
    underWay: row.state === "STARTING" ? "" : `${row.under_way ?? 0} under way`, // a narrow table has no heads
  };
}

/** "3 of 4 replicas". */
export function replicaWords({ state, deployments = [] }: Served) {
  if (state === "ended") return "";
  const serving = deployments.reduce((sum, each) => sum + servingOf(each), 0);
  const wanted = deployments.reduce((sum, each) => sum + each.wanted, 0);
  return serving === wanted ? count(serving, "replica") : `${serving} of ${count(wanted, "replica")}`;
}

function servingOf({ replicas = [], more = 0 }: DeploymentRow) {
  return replicas.filter(({ state }) => state === "RUNNING").length + more;
}

/** "41 requests/s · p50 ≤ 48 ms · p95 ≤ 93 ms · queue 3 · 2 failed". */
export function requestWords({ state, requests = 0, per_s = 0, p50_s, p95_s, queued = 0, failed = 0 }: Served) {
  if (!requests) return "";
  const broken = failed ? `${failed} failed` : "";
  if (state === "ended") return [count(requests, "request"), broken].filter(Boolean).join(" · ");
  const time = (name: string, seconds: number | null | undefined) =>
    seconds == null ? "" : `${name} ≤ ${short(1000 * seconds)} ms`;
  return [`${short(per_s)} requests/s`, time("p50", p50_s), time("p95", p95_s), queued ? `queue ${queued}` : "", broken]
    .filter(Boolean)
    .join(" · ");
}

/** Three digits, as Python's `:.3g` writes numbers of this size. */
function short(value: number) {
  return String(Number(value.toPrecision(3)));
}

/** "2 replicas · 0.5 GPU on GPU 0, GPU 0 · max 2 each · batch 3.6 of 8". */
export function deploymentWords(deployment: DeploymentRow) {
  const { wanted, replicas = [], most_each = 0, share = "", batch = 0, batch_limit = 0 } = deployment;
  const serving = servingOf(deployment);
  const places = replicas
    .filter(({ state }) => state === "RUNNING")
    .map(placeOfReplica)
    .slice(0, MOST_PLACES);
  const left = serving - places.length;
  const where = [...places, ...(left > 0 && places.length ? [`and ${left} more`] : [])].join(", ");
  return [
    serving === wanted ? count(serving, "replica") : `${serving} of ${count(wanted, "replica")}`,
    share && places.length ? `${share} on ${where}` : where,
    most_each ? `max ${most_each} each` : "",
    batch ? `batch ${Number(batch.toPrecision(2))} of ${batch_limit}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** "GPU 0", "CPU", "CPU (cpu, blocked)". */
function placeOfReplica({ devices = {}, fallback = "", blocked = "" }: ReplicaRow) {
  const held = Object.entries(devices)
    .filter(([, ids]) => ids.length)
    .map(([name, ids]) => `${plain(name)} ${ids.join(",")}`);
  const marks = [plain(fallback), blocked ? "blocked" : ""].filter(Boolean).join(", ");
  return (held.join(" ") || "CPU") + (marks && ` (${marks})`);
}

export function curlWords({ url, asks_token }: Served) {
  return url ? `curl -s ${plain(url)}${asks_token ? " -H 'Authorization: Bearer …'" : ""}` : "";
}

// ---- The Serving view: a line for each application, opened with its address, its deployments, their replicas and the last error.

const COLUMNS = ["Replica", "State", "Requests", "Process", "Age"];
const OPEN_SERVED = 3;

export function drawServed({ served = [] }: Given, now: number, ended: boolean, state: State) {
  const rows = served.map((each, index) => {
    const view = servedView(each, now, ended);
    const open = index < OPEN_SERVED !== state.open.has(view.id);
    return opened(view, state, open, true, () => servedDetails(view));
  });
  return [
    <ul class="runs" key="served" aria-label="Applications">
      {rows}
    </ul>,
  ];
}

/** One application with all that is known of it, for its own card. */
export function drawOneServed(served: Served, now: number, ended: boolean, state: State) {
  const view = servedView(served, now, ended);
  return [
    head(view, state, nameOf(view.name), true),
    <div class="run" key="run">
      {servedDetails(view)}
    </div>,
  ];
}

function servedDetails(view: ServedView) {
  return [
    whyLine(view),
    view.url && view.curl && (
      <p key="url">
        <a href={view.url} target="_blank" rel="noopener">
          {view.url}
        </a>{" "}
        <code class="quiet">{view.curl}</code> {copyButton(view)}
      </p>
    ),
    ...view.deployments.map((each) => deployment(each)),
    ...view.errors.map(({ name, words, ago, traceback }) => (
      <details key={`error ${name}`}>
        <summary>
          <span class="state failed">{"✕ "}</span>
          {`last error of ${name}, ${ago} ago: ${words}`}
        </summary>
        <pre class="quiet">{traceback}</pre>
      </details>
    )),
  ];
}

/** A token is in no record: the kernel that serves gives the line with it. */
function copyButton({ id, name, owner, curl, asksToken }: ServedView) {
  const label = `Copy curl of ${name}`;
  if (!asksToken)
    return button("Copy curl", { "aria-label": label, "data-act": "copy", "data-text": curl, "data-name": "the line" });
  return !owner && button("Copy curl", { "aria-label": label, "data-act": "curl", "data-id": id, "data-name": name });
}

function deployment({ name, words, why, replicas, blocked }: ServedView["deployments"][number]) {
  return (
    <div key={`of ${name}`}>
      <p>
        <strong>{name}</strong>
        {` ${words}`}
      </p>
      {why && <p class="quiet">{`◌ ${why}`}</p>}
      {replicas.length > 0 &&
        table(
          `Replicas of ${name}`,
          COLUMNS,
          replicas.map(({ id, place, state, underWay, pid, age }) => (
            <tr key={id}>
              {cell(place)}
              {cell(state)}
              {cell(underWay)}
              {cell(pid == null ? "" : `pid ${pid}`)}
              {cell(age)}
            </tr>
          )),
        )}
      {blocked && <pre class="quiet">{blocked}</pre>}
    </div>
  );
}
