// The Timeline view: lanes of bars as SVG, below them a strip of how many waited.

import { h } from "./dom.js";
import { button, empty } from "./draw_parts.js";
import { LAST_MINUTE, WHOLE_RUN } from "./timeline.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./timeline.js").Timeline} Timeline */
/** @typedef {import("./timeline.js").Bar} Bar */
/** @typedef {import("./state.js").State} State */

export const WIDTH = 1000;
export const LABELS = 110; // where the lanes begin
export const LANES = WIDTH - LABELS - 10; // how wide they are
const TRACK = 20;
const GAP = 8;
const DEPTH = 28; // height of the strip

/** @param {Scene} scene @param {State} state */
export function drawTimeline(scene, state) {
  const timeline = scene.timeline;
  if (!timeline) return [];
  const choice = (/** @type {number} */ window, /** @type {string} */ label) =>
    button(label, { "data-act": "window", "data-window": window, "aria-pressed": String(!state.range && state.window === window) });
  const zoom = (/** @type {string} */ sign, /** @type {number} */ by, /** @type {string} */ label) =>
    button(sign, { "data-act": "zoom", "data-by": by, "aria-label": label, title: label });
  const tools = h("div", { class: "filters", key: "tools", role: "group", "aria-label": "Timeline" },
    choice(LAST_MINUTE, "Last minute"), choice(WHOLE_RUN, "Whole run"), zoom("+", 0.5, "Zoom in"), zoom("−", 2, "Zoom out"),
    state.range && button("Follow", { "data-act": "follow", title: "Show what happens now" }),
    button("Save as Chrome trace", { "data-act": "trace" }));
  const ran = timeline.lanes.some((lane) => lane.bars.length) || timeline.depth.most > 0;
  const hint = h("p", { class: "quiet small", key: "hint" }, "Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all.");
  return ran || state.range ? [tools, lanes(timeline), hint] : [empty("No task has run yet. A remote function that is called makes one:", "f.remote()")];
}

/** @param {Timeline} timeline */
function lanes(timeline) {
  const scale = LANES / timeline.seconds;
  const x = (/** @type {number} */ seconds) => round(LABELS + seconds * scale);
  let top = 4;
  const drawn = timeline.lanes.map((lane) => {
    const y = top;
    const height = lane.tracks * TRACK;
    top += height + GAP;
    return h("g", { key: lane.key },
      laneLabel(lane.label, y + height / 2),
      h("line", { x1: LABELS, x2: WIDTH - 10, y1: y + height + GAP / 2, y2: y + height + GAP / 2, class: "rule" }),
      lane.bars.map((bar) => barShape(bar, x, y)));
  });
  if (timeline.depth.most > 0) {
    drawn.push(strip(timeline, x, top));
    top += DEPTH + GAP;
  }
  const ticks = timeline.ticks.map((tick) => h("g", { key: tick.label },
    h("line", { x1: x(tick.at), x2: x(tick.at), y1: 0, y2: top, class: "tick" }),
    h("text", { x: x(tick.at), y: top + 12, class: "tick-label", "text-anchor": tick.label === "now" ? "end" : "middle" }, tick.label)));
  return h("div", { class: "scroll", key: "lanes", tabindex: "0", role: "region", "aria-label": "Timeline" },
    h("svg", { viewBox: `0 0 ${WIDTH} ${top + 18}`, role: "img", "aria-label": timeline.words, class: "timeline" }, ticks, drawn));
}

/** A lane's name, whose end is cut where it does not fit. @param {string} label @param {number} y */
function laneLabel(label, y) {
  const short = label.length > 16 ? `${label.slice(0, 15)}…` : label;
  return h("text", { x: LABELS - 10, y, class: "lane", "text-anchor": "end", "dominant-baseline": "central" }, short, short !== label && h("title", {}, label));
}

/** How many waited, as steps. @param {Timeline} timeline @param {(seconds: number) => number} x @param {number} top */
function strip({ depth, seconds }, x, top) {
  const y = (/** @type {number} */ waiting) => round(top + DEPTH - (waiting / depth.most) * (DEPTH - 4));
  const steps = depth.steps.map(({ at, waiting }) => `H${x(at)}V${y(waiting)}`).join("");
  const words = `at most ${depth.most} waited`;
  return h("g", { key: "depth" },
    laneLabel("waiting", top + DEPTH / 2),
    h("path", { class: "depth", d: `M${x(0)} ${y(0)}${steps}H${x(seconds)}V${y(0)}Z` }, h("title", {}, words)),
    h("text", { x: LABELS + 4, y: top + 11, class: "tick-label" }, words));
}

/** @param {Bar} bar @param {(seconds: number) => number} x @param {number} y */
function barShape(bar, x, y) {
  const left = x(bar.from);
  const width = Math.max(1.5, round(x(bar.to) - left));
  const top = y + bar.track * TRACK;
  const rect = h("rect", { x: left, y: top + 1, width, height: TRACK - 2, rx: 2, class: `run c${bar.colour} ${bar.state}` }, h("title", {}, bar.words));
  const name = bar.state === "failed" ? `✕ ${bar.name}` : bar.name;
  const fits = width > 8 * name.length + 8;
  return h("g", { key: bar.key }, rect, fits && h("text", { x: left + 6, y: top + TRACK / 2, class: "bar-name", "dominant-baseline": "central" }, name));
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
