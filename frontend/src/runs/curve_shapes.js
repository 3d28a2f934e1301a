// A metric over the numbers of reports, as the shapes of a small drawing.

import { count, plain } from "../cockpit/words.js";
import { isLogarithmic, logTicks, reading, ticks } from "./scales.js";

/** @typedef {import("./types.js").Curve} Curve */
/** @typedef {import("./types.js").CheckpointTick} CheckpointTick */

export const WIDTH = 280;
export const HEIGHT = 136;
export const LEFT = 46; // where the drawing begins, beside the numbers
export const FLOOR = HEIGHT - 20; // above the numbers of reports
const TOP = 16; // a row for the star of the best checkpoint
const RIGHT = 10;

/** @param {Curve} curve @param {CheckpointTick[]} checkpoints */
export function curveShape(curve, checkpoints) {
  const points = curve.points;
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [first, last] = [xs[0], xs[xs.length - 1]];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const isLog = isLogarithmic(low, high, curve.name);
  const height = isLog ? Math.log10 : (/** @type {number} */ value) => value;
  const [bottom, top] = [height(low), height(high)];
  const x = (/** @type {number} */ report) => round(LEFT + ((report - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT));
  const y = (/** @type {number} */ value) => round(TOP + (1 - (top > bottom ? (height(value) - bottom) / (top - bottom) : 0.5)) * (FLOOR - TOP - 6));
  const marks = checkpoints.filter(({ report }) => report >= first && report <= last);
  const best = marks.find((mark) => mark.best);
  const name = plain(curve.name);
  return {
    name, isLog,
    last: reading(ys[ys.length - 1]),
    line: points.map(([report, value], index) => `${index ? "L" : "M"}${x(report)} ${y(value)}`).join(""),
    end: { x: x(last), y: y(ys[ys.length - 1]) },
    levels: (isLog ? logTicks(low, high) : ticks(low, high)).map((value) => ({ y: y(value), label: reading(value) })),
    reports: ticks(first, last).filter(Number.isInteger).map((value) => ({ x: x(value), label: String(value) })),
    marks: marks.map(({ report }) => x(report)),
    best: best ? x(best.report) : null,
    words: [
      `${name} over ${count(last - first + 1, "report")}: from ${reading(ys[0])} to ${reading(ys[ys.length - 1])}`,
      `between ${reading(low)} and ${reading(high)}${isLog ? " on a logarithmic axis" : ""}`,
      marks.length ? count(marks.length, "checkpoint") : "",
      best ? `the best one at report ${best.report}` : "",
    ].filter(Boolean).join(", "),
  };
}

/** @typedef {ReturnType<typeof curveShape>} CurveShape */

/** @param {number} number */
function round(number) {
  return Math.round(number * 10) / 10;
}
