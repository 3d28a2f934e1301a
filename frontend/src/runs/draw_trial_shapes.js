// Draws what trial_shapes.js has measured.

import { h } from "../cockpit/dom.js";
import { LETTER, SMALL, TALL } from "./trial_shapes.js";

/** @param {{best: string, front: string[], others: string}} layers @param {number} colour */
function drawLayers({ best, front, others }, colour) {
  return [
    others && h("path", { key: "others", class: "other", d: others }),
    ...front.map((d, place) => h("path", { key: `front ${place}`, class: `front c${colour}`, d })).reverse(),
    h("path", { key: "best", class: `curve-line c${colour}`, d: best }),
  ];
}

/** @param {import("./trial_shapes.js").OverlaidShape} shape @param {string} metric @param {number} colour */
export function drawOverlaid(shape, metric, colour) {
  return h("figure", { key: "overlaid", class: "curve wide" }, h("figcaption", { class: "line" }, h("span", { class: "name cut" }, metric), h("span", { class: "quiet" }, `over reports, the best in front${shape.log ? ", log scale" : ""}`)),
    h("svg", { viewBox: `0 0 ${shape.wide} ${TALL}`, role: "img", "aria-label": shape.words },
      shape.levels.map(({ y, label }) => h("g", { key: label }, h("path", { d: `M52 ${y}H${shape.wide}`, class: "level" }), h("text", { x: 47, y: y + 4, "text-anchor": "end" }, label))),
      shape.reports.map(({ x, label }) => h("text", { key: `at ${label}`, x, y: TALL - 5, "text-anchor": "middle" }, label)),
      drawLayers(shape, colour)));
}

/** Over its axis; where there is no room to both sides, from the left edge, or up to the right one.
 * @param {import("./trial_shapes.js").ParallelShape} shape @param {number} place */
function placeOfName({ axes, wide }, place) {
  const { x, name } = axes[place];
  if (place === 0) return { x: x - 40, "text-anchor": "start" };
  return x + (name.length * LETTER) / 2 > wide ? { x: wide, "text-anchor": "end" } : { x, "text-anchor": "middle" };
}

/** @param {import("./trial_shapes.js").ParallelShape} shape @param {number} colour */
export function drawParallel(shape, colour) {
  return h("figure", { key: "parallel", class: "curve wide" }, h("figcaption", { class: "line" }, h("span", { class: "name" }, "Parameters"), h("span", { class: "quiet" }, "and what came of them, the best in front")),
    h("svg", { viewBox: `0 0 ${shape.wide} ${TALL}`, role: "img", "aria-label": shape.words },
      drawLayers(shape, colour),
      shape.axes.map(({ name, x, levels }, place) => h("g", { key: name },
        h("path", { class: "axis-line", d: `M${x} ${shape.top}V${shape.bottom}` }),
        h("text", { class: "axis-name", y: 14, ...placeOfName(shape, place) }, name),
        levels.map(({ y, label }) => h("text", { key: label, y: y + 4, ...(place === shape.axes.length - 1 ? { x: x + 5 } : { x: x - 5, "text-anchor": "end" }) }, label))))));
}

/** @param {import("./trial_shapes.js").ScatterShape} shape @param {number} colour */
export function drawScatter(shape, colour) {
  const { width, height } = SMALL;
  return h("figure", { key: `against ${shape.name}`, class: "curve" }, h("figcaption", { class: "line" }, h("span", { class: "name cut", title: shape.name }, shape.name)),
    h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": shape.words },
      shape.levels.map(({ y, label }) => h("g", { key: label }, h("path", { d: `M52 ${y}H${width}`, class: "level" }), h("text", { x: 47, y: y + 4, "text-anchor": "end" }, label))),
      shape.below.map(({ x, label }) => h("text", { key: `at ${label}`, x, y: height - 5, "text-anchor": "middle" }, label)),
      h("path", { class: `dots c${colour}`, d: shape.others }),
      h("circle", { class: `curve-end c${colour}`, cx: shape.best.x, cy: shape.best.y, r: 3.5 }),
      h("text", { class: "star", x: shape.best.x, y: shape.best.y - 6, "text-anchor": "middle" }, "★")));
}
