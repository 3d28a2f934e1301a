// A small drawing for each metric: the line, a few round numbers, ticks for checkpoints, a star over the best one.

import { h } from "../cockpit/dom.js";
import { FLOOR, HEIGHT, LEFT, WIDTH } from "./curve_shapes.js";

/** @typedef {import("./curve_shapes.js").CurveShape} CurveShape */

/** @param {CurveShape[]} curves @param {number} colour */
export function drawCurves(curves, colour) {
  if (!curves.length) return null;
  return h("div", { class: "curves", key: "curves" }, curves.map((curve) => drawCurve(curve, colour)));
}

/** @param {CurveShape} curve @param {number} colour */
function drawCurve(curve, colour) {
  return h("figure", { key: curve.name, class: "curve" },
    h("figcaption", { class: "line" }, h("span", { class: "name cut", title: curve.name }, curve.name), curve.isLog && h("span", { class: "quiet small" }, "log scale"), h("span", { class: "last" }, curve.last)),
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": curve.words },
      curve.levels.map(({ y, label }) => h("g", { key: label },
        h("path", { d: `M${LEFT} ${y}H${WIDTH}`, class: "level" }), h("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, label))),
      curve.reports.map(({ x, label }) => h("text", { key: `at ${label}`, x, y: HEIGHT - 5, "text-anchor": "middle" }, label)),
      curve.marks.length > 0 && h("path", { class: "marks", d: curve.marks.map((x) => `M${x} ${FLOOR}v-6`).join("") }),
      curve.best != null && h("path", { class: "best", d: `M${curve.best} ${FLOOR}V14` }),
      curve.best != null && h("text", { class: "star", x: curve.best, y: 11, "text-anchor": "middle" }, "★"),
      h("path", { class: `curve-line c${colour}`, d: curve.line }),
      h("circle", { class: `curve-end c${colour}`, cx: curve.end.x, cy: curve.end.y, r: 2.5 })));
}
