// The drawings of an experiment's trials, as shapes: curves over each other, parallel coordinates, and each parameter
// against the metric. The best trial is in front; all that are not among the best are one path, however many they are.

import { count, plain } from "../model/words";
import { axes, reading, rounded, scaleOf, ticks } from "./curves";
import { paramWords, type Trial } from "./trials";

/** at: the height of a value */
interface Axis {
  name: string;
  at: (value: any) => number | null;
  levels: { y: number; label: string }[];
}

export const WIDE = 560; // the most; on a narrow page the drawings are as wide as there is room
export const TALL = 200;
const SMALL = { width: 220, height: 150 };
const MARGIN = 52;
const BELOW = 22; // below the drawing, for the labels of x
const CEILING = 10;
const IN_FRONT = 8; // after the best one
const MOST_LINES = 300;
const MOST_AXES = 6; // of parameters
const AXIS_ROOM = 66; // for an axis and its numbers
const MOST_WORDS = 10; // values of a parameter that is no number
const MOST_LABELLED = 5; // numbers of a parameter that have a label each, instead of round numbers between them
const BESIDE_LAST = 46; // to the right of the last of several axes, for its labels
const LINE = 12; // the height of a label
export const LETTER = 6.5; // its width, about

/** The paths of lines, the best first: one for the best, some in front, and one for all others. */
function layers(lines: string[]) {
  return { best: lines[0] ?? "", front: lines.slice(1, 1 + IN_FRONT), others: lines.slice(1 + IN_FRONT).join("") };
}

/** @param trials the best first */
export function overlaidShape(trials: Trial[], metric: string, wide: number = WIDE) {
  const drawn = trials.filter(({ points }) => points.length > 1).slice(0, MOST_LINES);
  if (!drawn.length) return null;
  const every = drawn.flatMap(({ points }) => points);
  const across = scaleOf([0, 1], MARGIN, wide - 10);
  const last = every.reduce((most, [x]) => Math.max(most, x), 1);
  const x = (report: number) => across.at(report / last);
  const { at, log, levels } = scaleOf(
    every.map(([, value]) => value),
    TALL - BELOW,
    CEILING,
    metric,
  );
  const lines = drawn.map(({ points }) =>
    points.map(([report, value], index) => `${index ? "L" : "M"}${x(report)} ${at(value)}`).join(""),
  );
  const left = trials.length - drawn.length;
  return {
    ...layers(lines),
    wide,
    levels,
    log,
    reports: ticks(0, last)
      .filter(Number.isInteger)
      .map((report) => ({ x: x(report), label: String(report) })),
    words: `${plain(metric)} over ${count(last + 1, "report")} of ${count(drawn.length, "trial")}, the best in front: ${drawn[0].short}, ${lastWords(drawn[0])}`,
    left,
  };
}

type OverlaidShape = NonNullable<ReturnType<typeof overlaidShape>>;

function lastWords({ value, points }: Trial) {
  return `now ${reading(value ?? points[points.length - 1][1])}`;
}

/** An axis for a parameter's values: numbers, or a few words one above the other. */
function axisOf(name: string, values: any[], bottom: number, top: number): Axis | null {
  const there = values.filter((value) => value !== undefined && value !== null);
  if (there.length && there.every((value) => typeof value === "number" && Number.isFinite(value))) {
    const { at, levels } = scaleOf(there, bottom, top, name);
    const few = [...new Set(there)].sort((one, other) => one - other);
    const labels = few.length > MOST_LABELLED ? levels : few.map((value) => ({ y: at(value), label: reading(value) }));
    return { name: plain(name), at: (value) => (typeof value === "number" ? at(value) : null), levels: labels };
  }
  const distinct = [...new Set(values.map(paramWords))].sort();
  if (distinct.length > MOST_WORDS) return null;
  const { at } = scaleOf([0, Math.max(1, distinct.length - 1)], bottom, top);
  const levels = distinct.map((label, place) => ({
    y: at(place),
    label: label.length > 10 ? `${label.slice(0, 9)}…` : label,
  }));
  return { name: plain(name), at: (value) => at(distinct.indexOf(paramWords(value))), levels };
}

/** The labels, in their order along the axis, without those that would touch the one before.
 * @param room what a label takes along the axis */
function apart(levels: Axis["levels"], room: (label: string) => number) {
  const kept: Axis["levels"] = [];
  for (const level of levels) {
    const before = kept[kept.length - 1];
    if (!before || Math.abs(level.y - before.y) >= (room(level.label) + room(before.label)) / 2) kept.push(level);
  }
  return kept;
}

/** Parallel coordinates: an axis for each parameter and one for the metric, a line for each trial.
 * @param trials the best first */
export function parallelShape(trials: Trial[], names: string[], metric: string, wide: number = WIDE) {
  const drawn = trials.filter(({ value }) => value != null).slice(0, MOST_LINES);
  const [bottom, top] = [TALL - 8, 26];
  const most = Math.min(MOST_AXES, Math.floor((wide - MARGIN - BESIDE_LAST) / AXIS_ROOM));
  const given = names.slice(0, most).map((name) => ({
    name,
    axis: axisOf(
      name,
      drawn.map(({ params }) => params[name]),
      bottom,
      top,
    ),
  }));
  const usable = given.filter(({ axis }) => axis);
  if (drawn.length < 2 || !usable.length) return null;
  const heights = [
    ...usable.map(
      ({ name, axis }) =>
        (trial: Trial) =>
          axis?.at(trial.params[name]) ?? null,
    ),
  ];
  const last = axisOf(
    metric,
    drawn.map(({ value }) => value),
    bottom,
    top,
  ) as Axis;
  heights.push((trial) => last.at(trial.value));
  const axes = [...usable.map(({ axis }) => axis as Axis), last];
  const step = (wide - MARGIN - BESIDE_LAST) / (axes.length - 1);
  const x = (place: number) => rounded(MARGIN + place * step);
  const lines = drawn.map((trial) => {
    const points = heights.map((height, place) => ({ x: x(place), y: height(trial) })).filter(({ y }) => y != null);
    return points.map((point, index) => `${index ? "L" : "M"}${point.x} ${point.y}`).join("");
  });
  return {
    ...layers(lines),
    wide,
    axes: axes.map(({ name, levels }, place) => ({
      name: cutTo(Math.floor(step / 8), name),
      x: x(place),
      levels: apart(levels, () => LINE),
    })),
    bottom,
    top,
    words: `Parallel coordinates of ${count(drawn.length, "trial")}: ${axes.map(({ name }) => name).join(", ")}; the best in front: ${wordsOfBest(drawn[0], names, metric)}`,
  };
}

type ParallelShape = NonNullable<ReturnType<typeof parallelShape>>;

/** @param most characters */
function cutTo(most: number, text: string) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function wordsOfBest({ params, value }: Trial, names: string[], metric: string) {
  const said = names.slice(0, MOST_AXES).map((name) => `${plain(name)} ${paramWords(params[name])}`);
  return [...said, `${plain(metric)} ${reading(value ?? 0)}`].join(", ");
}

/** A dot for each trial: a parameter against the metric.
 * @param trials the best first */
export function scatterShape(trials: Trial[], name: string, metric: string) {
  const drawn = trials.filter(({ value, params }) => value != null && params[name] !== undefined);
  const { width, height } = SMALL;
  const across =
    drawn.length > 1
      ? axisOf(
          name,
          drawn.map(({ params }) => params[name]),
          MARGIN,
          width - 14,
        )
      : null;
  if (!across) return null;
  const { at, levels } = scaleOf(
    drawn.map(({ value }) => value ?? 0),
    height - BELOW,
    CEILING + 8,
    metric,
  );
  const [best, ...others] = drawn.map(({ params, value }) => ({
    x: across.at(params[name]) ?? MARGIN,
    y: at(value ?? 0),
  }));
  return {
    name: plain(name),
    best,
    others: others.map((dot) => `M${dot.x} ${dot.y}h0`).join(""),
    levels,
    below: apart(across.levels, (label) => (label.length + 1) * LETTER).map(({ y, label }) => ({ x: y, label })),
    words: `${plain(metric)} against ${plain(name)} of ${count(drawn.length, "trial")}, the best at ${paramWords(drawn[0].params[name])}`,
  };
}

type ScatterShape = NonNullable<ReturnType<typeof scatterShape>>;

/** The drawings of parameters, of those that have one. */
export function scatterShapes(trials: Trial[], names: string[], metric: string) {
  return names
    .slice(0, MOST_AXES)
    .map((name) => scatterShape(trials, name, metric))
    .filter((shape) => shape !== null);
}

/** A curve without axes, 64 wide and 16 high. */
export function sparkPath({ points }: Trial) {
  if (points.length < 2) return "";
  const down = scaleOf(
    points.map(([, value]) => value),
    15,
    1,
  );
  const linear = (x: number) => rounded(((x - points[0][0]) / (points[points.length - 1][0] - points[0][0] || 1)) * 64);
  return points.map(([x, value], index) => `${index ? "L" : "M"}${linear(x)} ${down.at(value)}`).join("");
}

// ---- Draws what trial_shapes.js has measured.

function drawLayers({ best, front, others }: { best: string; front: string[]; others: string }, colour: number) {
  return [
    others && <path key="others" class="other" d={others} />,
    ...front.map((d, place) => <path key={`front ${place}`} class={`front c${colour}`} d={d} />).reverse(),
    <path key="best" class={`curve-line c${colour}`} d={best} />,
  ];
}

export function drawOverlaid(shape: OverlaidShape, metric: string, colour: number) {
  return (
    <figure key="overlaid" class="curve wide">
      <figcaption class="line">
        <span class="name cut">{metric}</span>
        <span class="quiet">{`over reports, the best in front${shape.log ? ", log scale" : ""}`}</span>
      </figcaption>
      <svg viewBox={`0 0 ${shape.wide} ${TALL}`} role="img" aria-label={shape.words}>
        {axes(shape.levels, shape.reports, MARGIN, shape.wide, TALL)}
        {drawLayers(shape, colour)}
      </svg>
    </figure>
  );
}

/** Over its axis; where there is no room to both sides, from the left edge, or up to the right one. */
function placeOfName({ axes, wide }: ParallelShape, place: number) {
  const { x, name } = axes[place];
  if (place === 0) return { x: x - 40, "text-anchor": "start" };
  return x + (name.length * LETTER) / 2 > wide ? { x: wide, "text-anchor": "end" } : { x, "text-anchor": "middle" };
}

export function drawParallel(shape: ParallelShape, colour: number) {
  return (
    <figure key="parallel" class="curve wide">
      <figcaption class="line">
        <span class="name">Parameters</span>
        <span class="quiet">and what came of them, the best in front</span>
      </figcaption>
      <svg viewBox={`0 0 ${shape.wide} ${TALL}`} role="img" aria-label={shape.words}>
        {drawLayers(shape, colour)}
        {shape.axes.map(({ name, x, levels }, place) => (
          <g key={name}>
            <path class="axis-line" d={`M${x} ${shape.top}V${shape.bottom}`} />
            <text class="axis-name" y={14} {...placeOfName(shape, place)}>
              {name}
            </text>
            {levels.map(({ y, label }) => (
              <text
                key={label}
                y={y + 4}
                {...(place === shape.axes.length - 1 ? { x: x + 5 } : { x: x - 5, "text-anchor": "end" })}
              >
                {label}
              </text>
            ))}
          </g>
        ))}
      </svg>
    </figure>
  );
}

export function drawScatter(shape: ScatterShape, colour: number) {
  const { width, height } = SMALL;
  return (
    <figure key={`against ${shape.name}`} class="curve">
      <figcaption class="line">
        <span class="name cut" title={shape.name}>
          {shape.name}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={shape.words}>
        {axes(shape.levels, shape.below, MARGIN, width, height)}
        <path class={`dots c${colour}`} d={shape.others} />
        <circle class={`curve-end c${colour}`} cx={shape.best.x} cy={shape.best.y} r={3.5} />
        <text class="star" x={shape.best.x} y={shape.best.y - 6} text-anchor="middle">
          ★
        </text>
      </svg>
    </figure>
  );
}
