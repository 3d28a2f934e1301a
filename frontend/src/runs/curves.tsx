// A metric over the numbers of reports, as the shapes of a small drawing.

import { count, plain } from "../model/words";
import type { CheckpointTick, Curve } from "./types";

export const WIDTH = 280;
export const HEIGHT = 136;
export const LEFT = 46; // where the drawing begins, beside the numbers
export const FLOOR = HEIGHT - 20; // above the numbers of reports
const TOP = 16; // a row for the star of the best checkpoint
const RIGHT = 10;

export function curveShape(curve: Curve, checkpoints: CheckpointTick[]) {
  const points = curve.points;
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [first, last] = [xs[0], xs[xs.length - 1]];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const isLog = isLogarithmic(low, high, curve.name);
  const height = isLog ? Math.log10 : (value: number) => value;
  const [bottom, top] = [height(low), height(high)];
  const x = (report: number) => rounded(LEFT + ((report - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT));
  const y = (value: number) =>
    rounded(TOP + (1 - (top > bottom ? (height(value) - bottom) / (top - bottom) : 0.5)) * (FLOOR - TOP - 6));
  const marks = checkpoints.filter(({ report }) => report >= first && report <= last);
  const best = marks.find((mark) => mark.best);
  const name = plain(curve.name);
  return {
    name,
    isLog,
    last: reading(ys[ys.length - 1]),
    line: points.map(([report, value], index) => `${index ? "L" : "M"}${x(report)} ${y(value)}`).join(""),
    end: { x: x(last), y: y(ys[ys.length - 1]) },
    levels: (isLog ? logTicks(low, high) : ticks(low, high)).map((value) => ({ y: y(value), label: reading(value) })),
    reports: ticks(first, last)
      .filter(Number.isInteger)
      .map((value) => ({ x: x(value), label: String(value) })),
    marks: marks.map(({ report }) => x(report)),
    best: best ? x(best.report) : null,
    words: [
      `${name} over ${count(last - first + 1, "report")}: from ${reading(ys[0])} to ${reading(ys[ys.length - 1])}`,
      `between ${reading(low)} and ${reading(high)}${isLog ? " on a logarithmic axis" : ""}`,
      marks.length ? count(marks.length, "checkpoint") : "",
      best ? `the best one at report ${best.report}` : "",
    ]
      .filter(Boolean)
      .join(", "),
  };
}

type CurveShape = ReturnType<typeof curveShape>;

export function rounded(number: number) {
  return Math.round(number * 10) / 10;
}

// ---- A small drawing for each metric: the line, a few round numbers, ticks for checkpoints, a star over the best one.

export function drawCurves(curves: CurveShape[], colour: number) {
  if (!curves.length) return null;
  return (
    <div class="curves" key="curves">
      {curves.map((curve) => drawCurve(curve, colour))}
    </div>
  );
}

function drawCurve(curve: CurveShape, colour: number) {
  return (
    <figure key={curve.name} class="curve">
      <figcaption class="line">
        <span class="name cut" title={curve.name}>
          {curve.name}
        </span>
        {curve.isLog && <span class="quiet small">log scale</span>}
        <span class="last">{curve.last}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={curve.words}>
        {axes(curve.levels, curve.reports, LEFT, WIDTH, HEIGHT)}
        {curve.marks.length > 0 && <path class="marks" d={curve.marks.map((x) => `M${x} ${FLOOR}v-6`).join("")} />}
        {curve.best != null && <path class="best" d={`M${curve.best} ${FLOOR}V14`} />}
        {curve.best != null && (
          <text class="star" x={curve.best} y={11} text-anchor="middle">
            ★
          </text>
        )}
        <path class={`curve-line c${colour}`} d={curve.line} />
        <circle class={`curve-end c${colour}`} cx={curve.end.x} cy={curve.end.y} r={2.5} />
      </svg>
    </figure>
  );
}

/** Lines at round numbers with their labels, and the labels below the drawing. */
export function axes(
  levels: { y: number; label: string }[],
  below: { x: number; label: string }[],
  left: number,
  width: number,
  height: number,
) {
  return [
    ...levels.map(({ y, label }) => (
      <g key={label}>
        <path d={`M${left} ${y}H${width}`} class="level" />
        <text x={left - 5} y={y + 4} text-anchor="end">
          {label}
        </text>
      </g>
    )),
    ...below.map(({ x, label }) => (
      <text key={`at ${label}`} x={x} y={height - 5} text-anchor="middle">
        {label}
      </text>
    )),
  ];
}

// ---- Axes: round numbers within bounds, and how a reading is written. The same as nbaccel/notebook/curves.py.

const LOSS_LOG_FROM = 10;
const LOG_FROM = 100; // values that are all positive and span more than this factor have a logarithmic axis

/** About `count` round numbers within these bounds. */
export function ticks(low: number, high: number, count: number = 4) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => power * each >= rough * 0.999) ?? 10);
  const places = [];
  for (let place = Math.ceil(low / step - 1e-9); place <= Math.floor(high / step + 1e-9); place++)
    places.push(Number((place * step).toPrecision(12)));
  return places;
}

/** Powers of ten within these bounds, about five at most; of few also their threefold. */
export function logTicks(low: number, high: number) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first) / 4));
  const powers = [];
  for (let power = first; power <= last; power += step) powers.push(10 ** power);
  if (powers.length > 2) return powers;
  const near = powers.length ? [powers[0] / 10, ...powers] : [10 ** last];
  return near
    .flatMap((power) => [power, 3 * power])
    .filter((each) => each >= low * (1 - 1e-9) && each <= high * (1 + 1e-9));
}

/** A loss falls fast and then slowly, so its axis is logarithmic sooner. */
export function isLogarithmic(low: number, high: number, name: string = "") {
  return low > 0 && high / low > (/loss/i.test(name) ? LOSS_LOG_FROM : LOG_FROM);
}

/** Where values are drawn, from `bottom` up to `top`.
 * @param name of a metric
 * @param wanted whether the axis is logarithmic, where it can be; by default as suits the values */
export function scaleOf(values: number[], bottom: number, top: number, name?: string, wanted?: boolean) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const log = low > 0 && (wanted ?? isLogarithmic(low, high, name));
  const height = log ? Math.log10 : (value: number) => value;
  const [first, last] = [height(low), height(high)];
  const at = (value: number) =>
    rounded(bottom + (last > first ? (height(value) - first) / (last - first) : 0.5) * (top - bottom));
  const whole = values.every(Number.isInteger);
  const places = log ? logTicks(low, high) : ticks(low, high).filter((each) => !whole || Number.isInteger(each));
  return { at, log, levels: places.map((value) => ({ y: at(value), label: reading(value) })) };
}

/** A reading with four significant digits: "0.03217", "12500", "1e-05". */
export function reading(value: number) {
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e9) return value.toFixed(0);
  const [digits, power] = value.toExponential(3).split("e");
  const exponent = Number(power);
  if (!value || (exponent >= -4 && exponent < 4)) return String(Number(value.toPrecision(4)));
  return `${Number(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
