// The second module: what draws the training runs and experiments that the kernel sends. The cockpit calls it when there
// are some.

import { button, empty, nameOf } from "../components/parts";
import type { Child, Shape } from "../components/tree";
import { PALETTE } from "../model/colours";
import type { State } from "../model/state";
import type { DrawRuns } from "../model/types";
import { age, amount, count, demandWords, deviceWords, plain, stateSign } from "../model/words";
import { curveShape, drawCurves, reading } from "./curves";
import { drawExperiment, drawExperiments, experimentView, goesOn, openExperiments } from "./experiments";
import { RUNS_STYLE } from "./look";
import { drawOneServed, drawServed, isServed, servedView } from "./served";
import type { Given, RankDot, Run } from "./types";

/** @param sent the published records, by their kinds */
export function viewOfRuns(sent: any): DrawRuns {
  const given: Given = {
    runs: inOrder(sent.runs, isUnderWay),
    experiments: inOrder(sent.experiments, goesOn),
    served: inOrder(sent.served, isServed),
  };
  const style = <style key="look of runs">{RUNS_STYLE}</style>;
  const view: DrawRuns = (now, ended, snapshot) => ({
    tabs: tabsOf(given, ended),
    views: {
      runs: (state) => [
        style,
        ...drawExperiments(given, now, ended, state, snapshot),
        ...drawRuns(given, now, ended, state),
      ],
      serving: (state) => [style, ...drawServed(given, now, ended, state)],
    },
    brief(state) {
      const lines = drawBrief(given, now, ended, state);
      return lines.length ? [style, ...lines] : [];
    },
    only(state) {
      const [run, experiment] = [
        given.runs.find(({ id }) => id === state.only),
        given.experiments?.find(({ id }) => id === state.only),
      ];
      const served = given.served?.find(({ id }) => id === state.only);
      if (run) return [style, ...drawOneRun(run, now, ended, state)];
      if (served) return [style, ...drawOneServed(served, now, ended, state)];
      return experiment ? [style, ...drawExperiment(experiment, now, ended, state, snapshot)] : [];
    },
  });
  view.open = (state) =>
    state.only
      ? (given.experiments ?? []).map(({ id }) => id).filter((id) => id === state.only)
      : openExperiments(given, state);
  return view;
}

/** Those under way first, then the latest. */
function inOrder(records: any[] | undefined = [], isActive: (record: any) => boolean) {
  return [...records].sort(
    (a, b) => Number(isActive(b)) - Number(isActive(a)) || (b.started_at ?? 0) - (a.started_at ?? 0),
  );
}

/** The tabs of what there is. */
function tabsOf({ runs, experiments = [], served = [] }: Given, ended: boolean) {
  const tab = (id: string, label: string, active: number) => ({ id, label, badge: ended ? 0 : active, urgent: false });
  return [
    ...(runs.length || experiments.length
      ? [tab("runs", "Runs", runs.filter(isUnderWay).length + experiments.filter(goesOn).length)]
      : []),
    ...(served.length ? [tab("serving", "Serving", served.filter(isServed).length)] : []),
  ];
}

// ---- The Runs view: a line for each run, opened with its workers, curves, checkpoints, and how to stop or resume it.

const OPEN_AT_FIRST = 2; // runs under way; if there is none, the latest one is open

function drawRuns(given: Given, now: number, ended: boolean, state: State) {
  const underWay = given.runs.filter(isUnderWay).slice(0, OPEN_AT_FIRST);
  const first = new Set((underWay.length ? underWay : given.runs.slice(0, 1)).map((run) => run.id));
  const rows = given.runs.map((run) => {
    const view = runView(run, now, ended);
    return drawRun(view, state, first.has(run.id) !== state.open.has(view.id));
  });
  return [
    rows.length > 0 && (
      <ul class="runs" key="runs" aria-label="Training runs">
        {rows}
      </ul>
    ),
  ];
}

/** One run with all that is known of it, for its own card. */
function drawOneRun(given: Run, now: number, ended: boolean, state: State) {
  const run = runView(given, now, ended);
  return [
    head(run, state, nameOf(run.name), false),
    <div class="run" key="run">
      {details(run)}
    </div>,
  ];
}

/** The runs, experiments and applications under way, each in a line. */
function drawBrief(given: Given, now: number, ended: boolean, state: State) {
  if (ended) return [];
  const experiments = (given.experiments ?? [])
    .filter(goesOn)
    .map((experiment) => experimentView(experiment, now, false));
  const served = (given.served ?? []).filter(isServed).map((each) => servedView(each, now, false));
  const runs = [...experiments, ...given.runs.filter(isUnderWay).map((run) => runView(run, now, false)), ...served];
  if (!runs.length) return [];
  return [
    <ul class="runs" key="runs" aria-label={served.length ? "Runs and applications under way" : "Runs under way"}>
      {runs.map((run) => (
        <li key={run.id}>{head(run, state, nameOf(run.name), true)}</li>
      ))}
    </ul>,
  ];
}

function drawRun(run: RunView, state: State, open: boolean) {
  return opened(run, state, open, !open, () => details(run));
}

function details(run: RunView) {
  return [
    whyLine(run),
    run.workers && <p key="workers">{run.workers}</p>,
    run.ranks.length > 0 && (
      <ul key="ranks" class="ranks" aria-label={`Ranks: ${run.rankCounts}`}>
        {run.ranks.map(drawRank)}
      </ul>
    ),
    drawCurves(run.curves, run.colour),
    run.checkpoints && <p key="checkpoints">{run.marked ? `${run.checkpoints}, marked ★` : run.checkpoints}</p>,
    run.load && empty(run.loads, run.load),
    <p key="path" class="quiet path">
      {run.path}
    </p>,
    run.resume && (
      <p key="resume" class="quiet">
        {run.resume}
      </p>
    ),
  ];
}

function drawRank(rank: RankView) {
  const own = rank.state === "running" ? ` ink c${rank.colour}` : "";
  return (
    <li key={String(rank.rank)} title={rank.title} class={`state ${rank.state}`}>
      <span class="unseen">{"rank "}</span>
      {String(rank.rank)}{" "}
      <span class={`sign${own}`} aria-hidden="true">
        {rank.sign}
      </span>
      <span class="unseen">{` ${rank.state}`}</span>
    </li>
  );
}

// ---- From a run's record to everything that is drawn of it: a pure function. Its words are those of
// nbaccel/views/run_snapshot.py and nbaccel/notebook/run_card.py; a test compares them.

const UNDER_WAY = ["waiting", "running", "stopping", "restarting"];
const METRICS = 4; // of a run that is shown in one line

function isUnderWay(run: Run) {
  return UNDER_WAY.includes(run.state ?? "waiting");
}

/** @param ended whether the cluster has */
export function runView(run: Run, now: number, ended: boolean) {
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
    sign: stateSign(state),
    colour: run.hue * PALETTE.hues[0].length,
    underWay: underWay && !ended,
    time: timeWords(run, now),
    progress: progressWords(run),
    workers: ranks.length ? workerWords(run) : "",
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

type RunView = ReturnType<typeof runView>;

type RankView = RunView["ranks"][number];

function rankView(rank: RankDot, run: Run) {
  const state = rank.state ?? "waiting";
  const report = rank.report == null ? "" : `report ${rank.report}`;
  const facts = [state, report, deviceWords(rank.devices), rank.pid ? `pid ${rank.pid}` : "", plain(rank.node)];
  return {
    rank: rank.rank,
    state,
    sign: stateSign(state),
    colour: run.hue * PALETTE.hues[0].length + (rank.rank % PALETTE.hues[0].length),
    report,
    title: `rank ${rank.rank}: ${facts.filter(Boolean).join(", ")}`,
  };
}

/** "2 workers on GPU 0, 1 · nccl"; without devices, the resources of each worker. */
export function workerWords(run: Run) {
  const held: Record<string, string[]> = {};
  for (const rank of run.ranks ?? []) {
    for (const [resource, ids] of Object.entries(rank.devices ?? {}))
      held[resource] = [...new Set([...(held[resource] ?? []), ...ids])];
  }
  const workers = count(Math.max(run.workers ?? 0, (run.ranks ?? []).length), "worker");
  const devices = deviceWords(held);
  const each = Object.keys(run.each ?? {}).length ? `${workers} with ${demandWords(run.each)} each` : workers;
  return [devices ? `${workers} on ${devices}` : each, run.backend].filter(Boolean).join(" · ");
}

/** "3 of 10 epochs · about 2 min 05 s left · 7 reports". */
function progressWords(run: Run) {
  const known = run.epochs != null && run.epochs_done != null;
  const epoch = known
    ? `${amount(run.epochs_done ?? 0)} of ${count(run.epochs ?? 0, "epoch")}`
    : run.epoch == null
      ? ""
      : `epoch ${amount(run.epoch)}`;
  const left = run.left_s != null && isUnderWay(run) ? `about ${age(run.left_s)} left` : "";
  const phase = (isUnderWay(run) && run.phase) || "no report yet";
  return [epoch, left, run.reports ? count(run.reports, "report") : phase].filter(Boolean).join(" · ");
}

function timeWords(run: Run, now: number) {
  return run.started_at ? age((run.ended_at ?? now) - run.started_at) : "";
}

/** "loss 0.3173, accuracy 0.94". */
export function metricWords(run: Run) {
  return (run.curves ?? [])
    .slice(0, METRICS)
    .map(({ name, points }) => `${plain(name)} ${reading(points[points.length - 1][1])}`)
    .join(", ");
}

/** "3 checkpoints, best checkpoint_000004"; the newest one, if no score says which is best. */
function checkpointWords({ checkpoints = [], kept = 0 }: Run) {
  const best = checkpoints.find((each) => each.best);
  const named = best ? `best ${plain(best.name)}` : `newest ${plain(checkpoints.at(-1)?.name)}`;
  return checkpoints.length ? `${count(Math.max(kept, checkpoints.length), "checkpoint")}, ${named}` : "";
}

/** "63 running, 1 failed", in the order in which they appear. */
export function rankCounts({ ranks = [], workers = 0 }: Run) {
  const counts: Map<string, number> = new Map();
  for (const { state = "waiting" } of ranks) counts.set(state, (counts.get(state) ?? 0) + 1);
  const more = workers > ranks.length ? [`and ${workers - ranks.length} more`] : [];
  return [...[...counts].map(([state, number]) => `${number} ${state}`), ...more].join(", ");
}

function resumeWords(run: Run, state: string) {
  if (state === "finished") return "";
  const latest = (run.checkpoints ?? []).at(-1)?.name;
  return `Resume: run the cell again; a run of the same name goes on from ${latest ? plain(latest) : "its beginning, since it has no checkpoint"}`;
}

/** The line of a run, an experiment or an application, and what is below it while it is open. */
export function opened(
  view: Headed & { id: string },
  state: State,
  open: boolean,
  brief: boolean,
  details: () => Child[],
) {
  const name = (
    <button type="button" class="opens" data-act="group" data-function={view.id} aria-expanded={open}>
      <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
      {nameOf(view.name)}
    </button>
  );
  return (
    <li key={view.id}>
      {head(view, state, name, brief)}
      {open && <div class="run">{details()}</div>}
    </li>
  );
}

/** Why it waits, stops or has failed. */
export function whyLine({ state, why }: { state: string; why: string }) {
  if (!why) return null;
  const failed = state === "failed";
  return (
    <p key="why" class={failed ? "attention" : ""}>
      {failed && (
        <strong>
          <span aria-hidden="true">{"⚠ "}</span>
          {"Attention: "}
        </strong>
      )}
      {why}
    </p>
  );
}

// ---- The line of a run or of an experiment: its name, state and facts, and what stops it.

type Headed = Stoppable & {
  state: string;
  sign: string;
  colour: number;
  time: string;
  progress: string;
  metrics: string;
};

export function head(run: Headed, state: State, name: Shape, brief: boolean) {
  const facts = [run.owner, run.time, run.progress, brief && run.metrics].filter(Boolean).join(" · ");
  return (
    <div class="line head" key="head">
      {name}
      {stateOf(run)}
      <span class="facts quiet">{facts}</span>
      {stopButton(run, state)}
    </div>
  );
}

function stateOf({ state, sign, colour }: { state: string; sign: string; colour: number }) {
  const own = ["running", "serving"].includes(state) ? ` ink c${colour}` : "";
  return (
    <span class={`nowrap state ${state}`}>
      <span class={`sign${own}`} aria-hidden="true">
        {sign}
      </span>
      {` ${state}`}
    </span>
  );
}

// ---- What takes one step down the ladder: of a run, an experiment or a trial.

export interface Stoppable {
  name: string;
  owner: string;
  stop: { label: string; about: string; order: string } | null;
}

export const STOPS = ["Stop", "Interrupt", "Kill"]; // the steps of the ladder
export const STEPS = ["after its next report", "now, with KeyboardInterrupt", "at once, by ending its processes"];

/** What belongs to another notebook is stopped only after a question. */
export function stopButton(run: Stoppable, state: State) {
  if (!run.stop) return null;
  const { label, about, order } = run.stop;
  const data = { "data-id": order, "data-name": run.name };
  if (state.asked.has(order))
    return button("asked…", { ...data, class: "aside", "aria-label": `${label} ${run.name}`, disabled: true });
  const title = `${label} ${run.name} ${about}`;
  if (!run.owner)
    return button(label, {
      ...data,
      class: "aside",
      "data-act": "cancel-run",
      "aria-label": `${label} ${run.name}`,
      title,
    });
  if (state.doubted !== order) {
    return button(`${label}…`, {
      ...data,
      class: "aside",
      "data-act": "doubt",
      "data-owner": run.owner,
      "aria-label": `${label} ${run.name} of ${run.owner}`,
      title,
    });
  }
  return (
    <span class="ask nowrap aside">
      {button("Keep", { ...data, "data-act": "keep", "aria-label": `Keep ${run.name} of ${run.owner}` })}{" "}
      {button(`${label} it`, {
        ...data,
        "data-act": "cancel-run",
        class: "urgent",
        "aria-label": `${label} it: ${run.name} of ${run.owner}`,
      })}
    </span>
  );
}
