// From the rows of an experiment's trials to what is drawn of them: the best first, the parameters that vary, failures by
// error. Pure functions.

import { button, cell, empty, table } from "../components/parts";
import type { Shape } from "../components/tree";
import type { State } from "../model/state";
import { inSight } from "../model/tasks";
import { age, count, deviceWords, duration, plain, stateSign } from "../model/words";
import { reading } from "./curves";
import type { ExperimentView } from "./experiments";
import { STEPS, STOPS, stopButton, type Stoppable } from "./runs";
import {
  WIDE,
  drawOverlaid,
  drawParallel,
  drawScatter,
  overlaidShape,
  parallelShape,
  scatterShapes,
  sparkPath,
} from "./trial_shapes";
import type { Experiment, TrialRow, TrialRows } from "./types";

export type Points = [number, number][];

export interface Trial {
  id: string;
  short: string;
  row: TrialRow;
  state: string;
  params: Record<string, any>; // with nested names joined: "net/size"
  value: number | null; // the last one of the metric, where it is a number
  points: Points; // of its curve
}

interface Failure {
  error: string;
  trials: Trial[];
}

interface Trials {
  trials: Trial[];
  names: string[];
  failures: Failure[];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WITHOUT_VALUE: Record<string, number> = { running: 0, pending: 1, done: 2, stopped: 3, error: 4 };

const known: WeakMap<TrialRows, Trials> = new WeakMap(); // many drawings are made of the same rows

export function trialsOf(experiment: Experiment, given: TrialRows): Trials {
  const before = known.get(given);
  if (before) return before;
  const trials = [...given.rows].map(([id, row]) => trialOf(id, row));
  const made = {
    trials: bestFirst(trials, experiment.mode ?? ""),
    names: varying(trials),
    failures: failuresOf(trials),
  };
  known.set(given, made);
  return made;
}

/** A trial's id as people read it: those of one experiment share what stands before the number. */
export function shortTrial(id: string) {
  return plain(id.split("_").at(-1));
}

function trialOf(id: string, row: TrialRow): Trial {
  return {
    id,
    short: shortTrial(id),
    row,
    state: row.state ?? "pending",
    params: flat(row.config ?? {}),
    value: typeof row.value === "number" ? row.value : null,
    points: pointsOf(row),
  };
}

/** Those with the best values, then those without one: running, waiting, ended, failed. Without a mode, as they were made. */
function bestFirst(trials: Trial[], mode: string) {
  const sign = mode === "max" ? -1 : 1;
  const place = (trial: Trial) => (trial.value != null && mode ? -1 : (WITHOUT_VALUE[trial.state] ?? 5));
  return [...trials].sort((a, b) => {
    if (!mode) return a.row.number - b.row.number;
    const first = place(a) - place(b);
    if (first || a.value == null || b.value == null) return first || a.row.number - b.row.number;
    return sign * (a.value - b.value) || a.row.number - b.row.number;
  });
}

/** With nested names joined: "net/size". */
export function flat(config: Record<string, any>, prefix: string = ""): Record<string, any> {
  const found: Record<string, any> = {};
  for (const [name, value] of Object.entries(config)) {
    const nested = value && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length;
    if (nested) Object.assign(found, flat(value, `${prefix}${name}/`));
    else found[prefix + name] = value;
  }
  return found;
}

/** The names of the parameters that differ; of a single trial, all. */
function varying(trials: Trial[]): string[] {
  const values: Map<string, Set<string>> = new Map();
  for (const { params } of trials) for (const name of Object.keys(params)) values.set(name, new Set());
  for (const { params } of trials)
    for (const [name, seen] of values) if (seen.size < 2) seen.add(JSON.stringify(params[name]) ?? "");
  return [...values].filter(([, seen]) => trials.length < 2 || seen.size > 1).map(([name]) => name);
}

function failuresOf(trials: Trial[]): Failure[] {
  const groups: Map<string, Failure> = new Map();
  for (const trial of trials) {
    const error = plain(trial.row.error);
    if (!error) continue;
    const group = groups.get(error) ?? { error, trials: [] };
    group.trials.push(trial);
    groups.set(error, group);
  }
  return [...groups.values()].sort((a, b) => b.trials.length - a.trials.length);
}

/** The readings that the letters of a row's curve stand for; see nbaccel/views/experiment_snapshot.py. */
export function pointsOf({ curve }: TrialRow): Points {
  if (!curve) return [];
  const [low, high] = curve.log ? [Math.log10(curve.low), Math.log10(curve.high)] : [curve.low, curve.high];
  const places = Math.max(1, curve.letters.length - 1);
  const points: Points = [];
  [...curve.letters].forEach((letter, place) => {
    const part = LETTERS.indexOf(letter);
    const height = low + ((high - low) * part) / 63;
    const value = curve.log ? 10 ** height : height;
    if (part >= 0) points.push([Math.round(curve.first + ((curve.last - curve.first) * place) / places), value]);
  });
  return points;
}

/** A parameter as short text. */
export function paramWords(value: any) {
  if (value === undefined) return "";
  if (typeof value === "number" && !Number.isInteger(value)) return reading(value);
  return plain(typeof value === "string" ? value : pythonOf(value));
}

/** A config as Python writes it, to be pasted into a cell. */
export function pythonOf(value: any): string {
  if (value === null || value === undefined) return "None";
  if (value === true || value === false) return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, each]) => `${JSON.stringify(name)}: ${pythonOf(each)}`)
      .join(", ")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

// ---- The trials of one experiment: a table of which only the rows in sight are drawn, their failures, and their drawings.

export type View = ExperimentView;

export interface About {
  view: View;
  experiment: Experiment;
  state: State;
  now: number;
  whys: Map<string, string>;
}

const MOST_COLUMNS = 5; // of parameters
const MOST_NAMED = 3; // trials of one error
const orders: Map<string, Trial[]> = new Map(); // of an experiment's trials as they were drawn last: they stand still under the pointer

export function drawTrials(about: About, rows: TrialRows | null) {
  if (!rows?.rows.size) return [about.view.underWay && empty("Asking for the trials …")];
  const found = trialsOf(about.experiment, rows);
  const metric = about.experiment.shown || about.experiment.metric || "";
  const wide = Math.min(WIDE, about.state.room - 24); // the run's own padding
  const overlaid = metric ? overlaidShape(found.trials, metric, wide) : null;
  return [
    ...drawFailures(found),
    tableOf(found, metric, about),
    overlaid && drawOverlaid(overlaid, plain(metric), about.view.colour),
    ...(about.view.underWay ? [] : drawEnd(found, metric, about.view.colour, wide)),
  ];
}

/** What is worth a look when all is over. */
function drawEnd({ trials, names }: Trials, metric: string, colour: number, wide: number) {
  const parallel = parallelShape(trials, names, metric, wide);
  const scatters = scatterShapes(trials, names, metric);
  return [
    parallel && drawParallel(parallel, colour),
    scatters.length > 0 && (
      <div key="scatters" class="curves" role="group" aria-label={`${plain(metric)} against each parameter`}>
        {scatters.map((shape) => drawScatter(shape, colour))}
      </div>
    ),
  ];
}

function drawFailures({ failures }: Trials) {
  if (!failures.length) return [];
  const line = ({ error, trials }: Failure) => {
    const which =
      trials
        .slice(0, MOST_NAMED)
        .map(({ short }) => short)
        .join(", ") + (trials.length > MOST_NAMED ? ", …" : "");
    return (
      <li key={error}>
        <span class="state failed">
          <span class="sign" aria-hidden="true">
            ✕
          </span>
          {` ${count(trials.length, "trial")} failed: `}
        </span>
        {error} <span class="quiet">{which}</span>
      </li>
    );
  };
  return [
    <ul key="failures" class="lines" aria-label="Failures">
      {failures.map(line)}
    </ul>,
  ];
}

function tableOf(found: Trials, metric: string, about: About) {
  const { id, name } = about.view;
  const names = found.names.slice(0, MOST_COLUMNS);
  const trials = inOrder(found.trials, about);
  const filled = { device: trials.some((trial) => deviceOf(trial, about)), why: trials.some(({ row }) => row.waits) };
  const columns = [
    "Trial",
    "State",
    ...names.map(plain),
    ...(metric ? [plain(metric), "Curve"] : []),
    ...(filled.device ? ["Device"] : []),
    "Took",
    ...(filled.why ? ["Why"] : []),
    "",
  ];
  const sight = about.state.sights.get(id) ?? { top: 0, height: 460, row: 33 };
  const { first, last } = inSight(trials.length, sight);
  const rows = trials.slice(first, last).map((trial) => drawRow(trial, names, metric, filled, about));
  const gap = (where: string, rowsLeft: number) =>
    rowsLeft > 0 && (
      <tr key={where} class="gap" aria-hidden="true" style={`height:${Math.round(rowsLeft * sight.row)}px`} />
    );
  const shown = [gap("above", first), ...rows, gap("below", trials.length - last)].filter(Boolean) as Shape[];
  return table(`Trials of ${name}`, columns, shown, { rows: trials.length, sight: id });
}

/** The best first; under the pointer, as they were. */
function inOrder(trials: Trial[], { view, state }: About) {
  const before = state.heldSight === view.id ? orders.get(view.id) : null;
  if (!before) {
    orders.set(view.id, trials);
    return trials;
  }
  const now = new Map(trials.map((trial) => [trial.id, trial]));
  const stayed = before.map(({ id }) => now.get(id)).filter((trial) => trial !== undefined);
  const known = new Set(before.map(({ id }) => id));
  return [...stayed, ...trials.filter(({ id }) => !known.has(id))];
}

function drawRow(
  trial: Trial,
  names: string[],
  metric: string,
  filled: { device: boolean; why: boolean },
  about: About,
) {
  const { row } = trial;
  const state = trialState(trial, about);
  const own = state === "running" ? ` ink c${about.view.colour}` : "";
  const said = trial.value != null ? reading(trial.value) : plain(row.value == null ? "" : String(row.value));
  const line = sparkPath(trial);
  const device = deviceOf(trial, about);
  return (
    <tr key={trial.id} data-trial={trial.id}>
      <th scope="row" title={plain(trial.id)}>
        <span class="name">{trial.short}</span>
      </th>
      <td class={`nowrap state ${state === "error" ? "failed" : state === "pending" ? "waiting" : state}`}>
        <span class={`sign${own}`} aria-hidden="true">
          {stateSign(state)}
        </span>
        {` ${row.waits && about.view.underWay ? "waiting" : state}`}
      </td>
      {names.map((name) => (
        <td key={name} class="nowrap" data-head={plain(name)}>
          <span class="cut" title={paramWords(trial.params[name])}>
            {paramWords(trial.params[name])}
          </span>
        </td>
      ))}
      {metric && (
        <td class="nowrap" data-head={plain(metric)}>
          {said}
        </td>
      )}
      {metric && (
        <td class="trend">
          {line && (
            <svg
              class="spark"
              viewBox="0 0 64 16"
              preserveAspectRatio="none"
              role="img"
              aria-label={`${count(row.reports ?? 0, "report")}`}
            >
              <path d={line} />
            </svg>
          )}
        </td>
      )}
      {filled.device && cell(device, "nowrap")}
      {cell(tookWords(trial, about), "nowrap")}
      {filled.why && cell(whyOf(trial, about), "why")}
      {cell([stopButton(stoppable(trial, about), about.state), copyButton(trial)], "acts")}
    </tr>
  );
}

/** Of a search that is over, a trial that had begun and not ended was interrupted. */
function trialState({ row, state }: Trial, { view }: About) {
  return !view.underWay && row.started_at && ["running", "pending"].includes(state) ? "interrupted" : state;
}

function deviceOf(trial: Trial, about: About) {
  return trialState(trial, about) === "interrupted" ? "" : deviceWords(trial.row.devices);
}

function tookWords({ row, state }: Trial, { view, experiment, now }: About) {
  if (!row.started_at) return "";
  const began = row.started_at + (row.idle_s ?? 0);
  const end = row.ended_at ?? (view.underWay ? null : experiment.ended_at);
  if (end) return duration(end - began);
  return state === "running" && view.underWay ? age(now - began) : "";
}

/** Why its task waits, as the task's own row says. */
function whyOf({ id, row }: Trial, { view, whys }: About) {
  if (!row.waits || !view.underWay) return "";
  return whys.get(`${view.name} ${plain(id)}`) ?? "its process is being started";
}

function stoppable({ id, short, row, state }: Trial, { view }: About): Stoppable {
  const step = Math.min(row.stops ?? 0, STOPS.length - 1);
  const ends = view.underWay && (state === "running" || state === "pending");
  const about = state === "pending" ? "before it begins" : STEPS[step];
  return {
    name: `trial ${short}`,
    owner: view.owner,
    stop: ends ? { label: STOPS[step], about, order: `${view.id}/${row.stops ?? 0}/${id}` } : null,
  };
}

function copyButton({ short, row }: Trial) {
  const text = pythonOf(row.config ?? {});
  return button("Config", {
    "data-act": "copy",
    "data-text": text,
    "data-name": `the config of trial ${short}`,
    "aria-label": `Copy the config of trial ${short}`,
    title: `Copy ${plain(text)}`,
  });
}
