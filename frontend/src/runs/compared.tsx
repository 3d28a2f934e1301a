// Chosen runs beside each other: a drawing for each metric with a line for each run, and the parameters that differ.

import { button, table } from "../components/parts";
import { PALETTE } from "../model/colours";
import type { StoredRun } from "../model/sent";
import { age, count, plain } from "../model/words";
import { axes, reading, scaleOf, ticks } from "./curves";
import { flat, paramWords } from "./trials";

/** log: undefined as suits the values; at: where the pointer is, a report or seconds */
export interface Choices {
  by: "report" | "time";
  log: boolean | undefined;
  smooth: boolean;
  at: number | null;
}

type Points = [number, number][];

interface Line {
  name: string;
  colour: number;
  points: Points;
}

const TALL = 180;
const LEFT = 52;
const RIGHT = 10;
const FLOOR = TALL - 22;
const WIDEST = 720; // of a drawing
const NARROWEST = 380; // of two beside each other
const GAP = 16;
const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200]; // seconds between the labels of times
const SMOOTH = 0.8; // the weight of what was before

export function drawCompared(
  runs: StoredRun[],
  choices: Choices,
  wide: number,
  change: (choices: Partial<Choices>) => void,
) {
  const metrics = [...new Set(runs.flatMap(({ curves = [] }) => curves.map(({ name }) => name)))];
  const columns = Math.max(1, Math.min(metrics.length, Math.floor(wide / NARROWEST)));
  const room = Math.max(240, Math.min(WIDEST, (wide - 30 - GAP * (columns - 1)) / columns));
  const noun = runs[0].kind === "trial" ? "trial" : "run";
  const toggle = (label: string, pressed: boolean, to: Partial<Choices>) =>
    button(label, { "aria-pressed": pressed, onClick: () => change(to) });
  return (
    <section key="compare" class="compare" aria-label="Comparison">
      <div class="filters" role="group" aria-label="Curves">
        {toggle("By report", choices.by === "report", { by: "report", at: null })}
        {toggle("By time", choices.by === "time", { by: "time", at: null })}
        {toggle("Log scale", choices.log === true, { log: choices.log ? undefined : true })}
        {toggle("Smooth", choices.smooth, { smooth: !choices.smooth })}
      </div>
      {metrics.length ? (
        <div class="curves" style={`grid-template-columns:repeat(${columns},minmax(0,${WIDEST}px))`}>
          {metrics.map((metric) => drawMetric(metric, linesOf(runs, metric, choices), choices, room, noun, change))}
        </div>
      ) : (
        <p class="quiet">None of them has reported a number twice.</p>
      )}
      {differing(runs)}
    </section>
  );
}

/** The line of each run that has this metric. */
export function linesOf(runs: StoredRun[], metric: string, { by, smooth }: Choices): Line[] {
  return runs.flatMap(({ name, curves = [] }, at) => {
    const curve = curves.find((each) => each.name === metric);
    const points: Points = (curve?.points ?? []).map(([report, seconds, value]) => [
      by === "time" ? seconds : report,
      value,
    ]);
    if (!points.length) return [];
    return [{ name: plain(name), colour: at * PALETTE.hues[0].length, points: smooth ? smoothed(points) : points }];
  });
}

/** A moving mean, which begins at the first value. */
export function smoothed(points: Points): Points {
  let mean = points[0]?.[1] ?? 0;
  return points.map(([x, value]) => [x, (mean = SMOOTH * mean + (1 - SMOOTH) * value)]);
}

function drawMetric(
  metric: string,
  lines: Line[],
  { by, log, at }: Choices,
  wide: number,
  noun: string,
  change: (choices: Partial<Choices>) => void,
) {
  const all = lines.flatMap(({ points }) => points);
  const first = by === "time" ? 0 : Math.min(...all.map(([x]) => x));
  const last = Math.max(...all.map(([x]) => x));
  const across = scaleOf([first, last], LEFT, wide - RIGHT, "", false);
  const up = scaleOf(
    all.map(([, value]) => value),
    FLOOR,
    10,
    metric,
    log,
  );
  const places = by === "time" ? timeTicks(last) : ticks(first, last).filter(Number.isInteger);
  const below = places.map((place) => ({ x: across.at(place), label: by === "time" ? age(place) : String(place) }));
  const moved = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * wide - LEFT) / (wide - RIGHT - LEFT);
    change({ at: first + Math.min(1, Math.max(0, share)) * (last - first) });
  };
  const now = at == null ? "" : by === "time" ? ` after ${age(at)}` : ` at report ${Math.round(at)}`;
  return (
    <figure key={metric} class="curve wide">
      <figcaption class="line">
        <span class="name cut" title={plain(metric)}>
          {plain(metric)}
        </span>
        <span class="quiet small">{[up.log && "log scale", now].filter(Boolean).join(" · ")}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${wide} ${TALL}`}
        role="img"
        aria-label={`${plain(metric)} of ${count(lines.length, noun)}`}
        onPointerMove={moved}
        onPointerLeave={() => change({ at: null })}
      >
        {axes(up.levels, below, LEFT, wide, TALL)}
        {at != null && at >= first && at <= last && <path class="at" d={`M${across.at(at)} 10V${FLOOR}`} />}
        {lines.map(({ name, colour, points }) => (
          <path
            key={`${name} ${colour}`}
            class={`curve-line c${colour}`}
            d={points.map(([x, value], place) => `${place ? "L" : "M"}${across.at(x)} ${up.at(value)}`).join("")}
          />
        ))}
      </svg>
      <ul class="values" aria-label={`${plain(metric)}${now || " at the end"}`}>
        {lines.map(({ name, colour, points }) => (
          <li key={`${name} ${colour}`}>
            <span class={`swatch c${colour}`} aria-hidden="true" /> {name}{" "}
            <strong>{reading(valueAt(points, at))}</strong>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Round times up to this one, in seconds. */
function timeTicks(last: number) {
  const step = STEPS.find((each) => each * 5 > last) ?? 86_400 * Math.ceil(last / 432_000);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, at) => at * step);
}

/** The value of the nearest point; without a place, the last one. */
export function valueAt(points: Points, at: number | null) {
  if (at == null) return points[points.length - 1][1];
  return points.reduce((near, point) => (Math.abs(point[0] - at) < Math.abs(near[0] - at) ? point : near))[1];
}

/** A config with nested names joined, and without the marks of what its journal could not hold. */
export function paramsOf({ config = {} }: StoredRun): Record<string, any> {
  const params = Object.entries(flat(config));
  return Object.fromEntries(params.map(([name, value]) => [name.replace(/\/__(repr|tuple)__$/, ""), value]));
}

/** The parameters that do not have the same value in all runs, and how many others there are. */
export function parametersOf(runs: StoredRun[]) {
  const configs = runs.map(paramsOf);
  const names = [...new Set(configs.flatMap((config) => Object.keys(config)))];
  const rows = names.map((name) => ({ name, values: configs.map((config) => config[name]) }));
  const differs = rows.filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
  return { differs, same: rows.length - differs.length };
}

function differing(runs: StoredRun[]) {
  const { differs, same } = parametersOf(runs);
  const alike = same > 0 && `${count(same, "parameter")} the same in all of them`;
  if (!differs.length) return <p class="quiet">{alike || "None of them has a config."}</p>;
  const rows = differs.map(({ name, values }) => (
    <tr key={name}>
      <th scope="row">{plain(name)}</th>
      {values.map((value, at) => (
        <td key={String(at)} data-head={plain(runs[at].name)}>
          {paramWords(value)}
        </td>
      ))}
    </tr>
  ));
  return [
    table("What differs in their configs", ["Parameter", ...runs.map(({ name }) => plain(name))], rows),
    alike && (
      <p class="quiet small" key="alike">
        {alike}
      </p>
    ),
  ];
}
