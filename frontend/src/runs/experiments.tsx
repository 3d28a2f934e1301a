// From an experiment's record to its words: those of nbaccel/views/experiment_snapshot.py; a test compares them.

import { empty, nameOf } from "../components/parts";
import { PALETTE } from "../model/colours";
import type { State } from "../model/state";
import type { Snapshot } from "../model/types";
import { age, count, plain, stateSign } from "../model/words";
import { reading } from "./curves";
import { STEPS, STOPS, head, opened, whyLine } from "./runs";
import { drawTrials, shortTrial, type About } from "./trials";
import type { Experiment, Given } from "./types";

const MOST_PARAMETERS = 4; // of the best trial, in one line

export function goesOn(experiment: Experiment) {
  return ["running", "stopping"].includes(experiment.state ?? "running");
}

/** @param ended whether the cluster has */
export function experimentView(experiment: Experiment, now: number, ended: boolean) {
  const underWay = goesOn(experiment) && !ended;
  const state = goesOn(experiment) && ended ? "ended with it" : (experiment.state ?? "running");
  const step = Math.min(experiment.stops ?? 0, STOPS.length - 1);
  return {
    id: experiment.id,
    name: plain(experiment.name),
    owner: plain(experiment.owner),
    state,
    sign: stateSign(state),
    colour: experiment.hue * PALETTE.hues[0].length,
    underWay,
    time: experiment.started_at ? age((experiment.ended_at ?? now) - experiment.started_at) : "",
    progress: trialWords(experiment),
    metrics: bestWords(experiment),
    best: bestWords(experiment, Infinity),
    why: plain(experiment.why),
    path: plain(experiment.path),
    goOn: underWay || state === "finished" ? "" : `tune.Tuner.restore(${JSON.stringify(experiment.path)}, trainable)`,
    stop: underWay
      ? { label: STOPS[step], about: STEPS[step], order: `${experiment.id}/${experiment.stops ?? 0}` }
      : null,
  };
}

export type ExperimentView = ReturnType<typeof experimentView>;

/** "4 of 50 trials ended · 2 running · 1 failed". */
function trialWords(experiment: Experiment) {
  const { counts = {}, total } = experiment;
  const runs = goesOn(experiment) ? "running" : "interrupted";
  const ended = ["done", "stopped", "error"].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const said = total == null ? `${count(ended, "trial")} ended` : `${ended} of ${count(total, "trial")} ended`;
  return [said, counts.running ? `${counts.running} ${runs}` : "", counts.error ? `${counts.error} failed` : ""]
    .filter(Boolean)
    .join(" · ");
}

/** "loss 0.0312 with lr 0.01, layers 2". */
function bestWords({ best, metric }: Experiment, most: number = MOST_PARAMETERS) {
  if (!best) return "";
  const params = Object.entries(best.config).map(([name, value]) => `${plain(name)} ${plain(value)}`);
  const said = params.slice(0, most).join(", ") + (params.length > most ? ", …" : "");
  return `${plain(metric)} ${reading(best.value)}${said && ` with ${said}`}`;
}

// ---- The experiments of nbaccel.tune in the Runs view: a line for each, opened with its trials.

/** The experiments that are open: those under way at first, or the latest one. */
export function openExperiments({ experiments = [] }: Given, state: State): string[] {
  const underWay = experiments.filter(goesOn).slice(0, 1);
  const first = new Set((underWay.length ? underWay : experiments.slice(0, 1)).map(({ id }) => id));
  return experiments.map(({ id }) => id).filter((id) => first.has(id) !== state.open.has(id));
}

export function drawExperiments(
  given: Given,
  now: number,
  ended: boolean,
  state: State,
  snapshot: Snapshot | undefined,
) {
  const experiments = given.experiments ?? [];
  if (!experiments.length) return [];
  const open = new Set(openExperiments(given, state));
  const whys = waitsOf(snapshot);
  const rows = experiments.map((experiment) => {
    const view = experimentView(experiment, now, ended);
    const isOpen = open.has(view.id);
    return opened(view, state, isOpen, !isOpen, () => trialDetails({ view, experiment, state, now, whys }));
  });
  return [
    <ul class="runs" key="experiments" aria-label="Experiments">
      {rows}
    </ul>,
  ];
}

/** One experiment with all that is known of it, for its own card. */
export function drawExperiment(
  experiment: Experiment,
  now: number,
  ended: boolean,
  state: State,
  snapshot: Snapshot | undefined,
) {
  const view = experimentView(experiment, now, ended);
  return [
    head(view, state, nameOf(view.name), false),
    <div class="run" key="run">
      {trialDetails({ view, experiment, state, now, whys: waitsOf(snapshot) })}
    </div>,
  ];
}

function trialDetails(about: About) {
  const { view, state } = about;
  return [
    whyLine(view),
    view.best && <p key="best">{`best: ${view.best} (trial ${shortTrial(about.experiment.best?.id ?? "")})`}</p>,
    ...drawTrials(about, state.past[`rows/${view.id}`]?.data ?? null),
    <p key="path" class="quiet path">
      {view.path}
    </p>,
    view.goOn && empty("Go on:", view.goOn),
  ];
}

/** Why tasks wait, by their names. */
function waitsOf(snapshot: Snapshot | undefined): Map<string, string> {
  const rows = (snapshot?.tasks ?? []).filter((row) => row.state.startsWith("PENDING"));
  return new Map(rows.map((row) => [plain(row.name), plain(row.why)]));
}
