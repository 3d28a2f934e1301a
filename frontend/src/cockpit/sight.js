// What of the tasks is in sight, and whether the pointer is over them: where their order stands still.

import { listening } from "./rows_in_sight.js";

/** @typedef {import("./state.js").State} State */

const TASKS = '.scroll[aria-label="Tasks"]';

/** @param {HTMLElement} root @param {State} state @param {() => void} redraw @returns {() => void} what ends it */
export function watchSight(root, state, redraw) {
  const scrolled = (/** @type {Event} */ event) => {
    const region = /** @type {HTMLElement} */ (event.target);
    if (state.log && region.matches?.(".printed")) state.log.follow = isAtEnd(region);
    if (!region.matches?.(TASKS)) return;
    state.endOf = region.scrollTop > 0 && isAtEnd(region) ? rowCount(region) : "";
    state.scrolled = { ...state.scrolled, top: region.scrollTop, height: region.clientHeight };
    redraw();
  };
  const moved = (/** @type {Event} */ event) => {
    const over = event.type === "pointerover" && Boolean(/** @type {Element} */ (event.target).closest?.(`${TASKS} tbody`));
    if (over === Boolean(state.held)) return;
    state.held = over ? state.order : null;
    redraw();
  };
  return listening(root, scrolled, moved);
}

/** @param {Element} region */
const isAtEnd = (region) => region.scrollTop + region.clientHeight > region.scrollHeight - 4;

/** @param {Element} region */
const rowCount = (region) => region.querySelector("table")?.getAttribute("aria-rowcount") ?? "";

/** Show the newest line of a log, unless the person has scrolled up, and the last row to a person who has gone to the end:
 * the rows that come may be taller than was thought. Where tasks come or go, the table is left where it stands.
 * @param {HTMLElement} root @param {State} state */
export function stayAtEnd(root, state) {
  const log = state.log?.follow && root.querySelector(".printed");
  if (log) log.scrollTop = log.scrollHeight;
  const region = state.endOf && root.querySelector(TASKS);
  if (region && rowCount(region) === state.endOf) region.scrollTop = region.scrollHeight;
}

/** The heights of rows and of reasons as they were drawn, for the room that rows out of sight take, and where the region stands.
 * @param {HTMLElement} root @param {State} state @returns {boolean} whether it has to be drawn again */
export function measure(root, state) {
  const region = root.querySelector(TASKS);
  if (!region?.querySelector("tr[data-task]")) return false;
  const before = state.scrolled;
  const heights = (/** @type {string} */ which) => [...region.querySelectorAll(which)].map((each) => each.getBoundingClientRect().height);
  const mean = (/** @type {number[]} */ all, /** @type {number} */ known) => {
    const now = all.reduce((sum, each) => sum + each, 0) / all.length;
    return now > 8 && Math.abs(now - known) >= 4 ? now : known; // none, and a pixel or two, change nothing
  };
  const [row, reason] = [mean(heights("tr[data-task]"), before.row), mean(heights("tr.reason"), before.reason)];
  const same = row === before.row && reason === before.reason;
  state.scrolled = { top: region.scrollTop, height: Math.max(region.clientHeight, 100), row, reason };
  return !same || Math.abs(state.scrolled.top - before.top) > 1;
}
