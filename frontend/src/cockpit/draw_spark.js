// A measured value over the last two minutes as a line, without an axis: the words beside it have the number of now.

import { h } from "./dom.js";

/** @typedef {import("./readings.js").Levels} Levels */

const HEIGHT = 16;

/** @param {Levels} levels @param {boolean} [filled] down to the ground */
function shapeOf(levels, filled = false) {
  const points = levels.map((level, at) => (level == null ? null : `${at} ${Math.round(10 * (HEIGHT - 1 - level * (HEIGHT - 2))) / 10}`));
  let path = "";
  let began = -1;
  points.forEach((point, at) => {
    if (point != null) path += (points[at - 1] == null ? "M" : "L") + point;
    if (point != null && points[at - 1] == null) began = at;
    if (point != null && points[at + 1] == null && filled) path += `L${at} ${HEIGHT}L${began} ${HEIGHT}Z`;
  });
  return path;
}

/** @param {{levels: Levels, kind: string}[]} lines one over the other @param {Record<string, any>} [props] */
export function spark(lines, props = {}) {
  const steps = Math.max(2, ...lines.map(({ levels }) => levels.length));
  return h("svg", { class: "spark", viewBox: `0 0 ${steps - 1} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", ...props },
    lines.map(({ levels, kind }) => [kind === "area" && h("path", { key: "under", class: "under", d: shapeOf(levels, true) }), h("path", { key: kind, class: kind, d: shapeOf(levels) })]).flat());
}

/** "between 20 % and 97 % in the last two minutes"; "" where nothing was measured. @param {Levels | undefined} levels */
export function between(levels) {
  const known = (levels ?? []).filter((level) => level != null);
  const percent = (/** @type {number} */ level) => `${Math.round(100 * level)} %`;
  return known.length > 1 ? `between ${percent(Math.min(...known))} and ${percent(Math.max(...known))} in the last two minutes` : "";
}
