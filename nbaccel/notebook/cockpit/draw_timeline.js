// The Timeline view: lanes of bars as SVG; a hatched bar is a wait.

import { h } from "./dom.js";
import { button, empty } from "./draw_parts.js";
import { LAST_MINUTE, WHOLE_RUN } from "./timeline.js";

/** @typedef {import("./picture.js").Picture} Picture */
/** @typedef {import("./timeline.js").Timeline} Timeline */
/** @typedef {import("./timeline.js").Bar} Bar */
/** @typedef {import("./state.js").State} State */

const WIDTH = 1000;
const LABELS = 110; // where the lanes begin
const TRACK = 20;
const GAP = 8;

/** @param {Picture} picture @param {State} state */
export function drawTimeline(picture, state) {
  const timeline = picture.timeline;
  if (!timeline) return [];
  const choice = (/** @type {number} */ window, /** @type {string} */ label) =>
    button(label, { "data-act": "window", "data-window": window, "aria-pressed": String(state.window === window) });
  const tools = h("div", { class: "filters", key: "tools", role: "group", "aria-label": "Timeline" },
    choice(LAST_MINUTE, "Last minute"), choice(WHOLE_RUN, "Whole run"),
    button("Save as Chrome trace", { "data-act": "trace" }),
    picture.taskTotal > picture.taskRows && h("span", { class: "quiet" }, `the newest ${picture.taskRows} of ${picture.taskTotal} tasks `),
    picture.taskTotal > picture.taskRows && !state.wide && button("Ask for more rows", { "data-act": "ask-more" }));
  const legend = h("p", { class: "quiet small legend", key: "legend" }, h("span", { class: "hatch", "aria-hidden": "true" }), " hatched: waiting");
  return [tools, timeline.lanes.length ? lanes(timeline) : empty("No task has run yet."), timeline.lanes.length > 0 && legend];
}

/** @param {Timeline} timeline */
function lanes(timeline) {
  const scale = (WIDTH - LABELS - 10) / timeline.seconds;
  const x = (/** @type {number} */ seconds) => round(LABELS + seconds * scale);
  let top = 4;
  const drawn = timeline.lanes.map((lane) => {
    const y = top;
    const height = lane.tracks * TRACK;
    top += height + GAP;
    return h("g", { key: lane.key },
      h("text", { x: LABELS - 10, y: y + height / 2, class: "lane", "text-anchor": "end", "dominant-baseline": "central" }, lane.label),
      h("line", { x1: LABELS, x2: WIDTH - 10, y1: y + height + GAP / 2, y2: y + height + GAP / 2, class: "rule" }),
      lane.bars.map((bar) => barShape(bar, x, y)));
  });
  const ticks = timeline.ticks.map((tick) => h("g", { key: tick.label },
    h("line", { x1: x(tick.at), x2: x(tick.at), y1: 0, y2: top, class: "tick" }),
    h("text", { x: x(tick.at), y: top + 12, class: "tick-label", "text-anchor": tick.label === "now" ? "end" : "middle" }, tick.label)));
  return h("div", { class: "scroll", key: "lanes", tabindex: "0", role: "region", "aria-label": "Timeline" },
    h("svg", { viewBox: `0 0 ${WIDTH} ${top + 18}`, role: "img", "aria-label": timeline.words, class: "timeline" }, hatching(), ticks, drawn));
}

function hatching() {
  return h("defs", { key: "defs" }, h("pattern", { id: "nbaccel-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    h("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch-line" })));
}

/** @param {Bar} bar @param {(seconds: number) => number} x @param {number} y */
function barShape(bar, x, y) {
  const left = x(bar.from);
  const width = Math.max(1.5, round(x(bar.to) - left));
  const top = y + bar.track * TRACK;
  const rect = h("rect", { x: left, y: top + 1, width, height: TRACK - 2, rx: 2, class: bar.wait ? "wait" : `run c${bar.colour} ${bar.state}` },
    h("title", {}, bar.words));
  const fits = !bar.wait && width > 8 * bar.name.length + 8;
  return h("g", { key: bar.key }, rect, fits && h("text", { x: left + 6, y: top + TRACK / 2, class: "bar-name", "dominant-baseline": "central" }, bar.name));
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
