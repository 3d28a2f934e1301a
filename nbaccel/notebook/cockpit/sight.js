// What of the tasks is in sight, and whether the pointer is over them: where their order stands still.

import { listening } from "./rows_in_sight.js";

/** @typedef {import("./state.js").State} State */

const TASKS = '.scroll[aria-label="Tasks"]';

/** @param {HTMLElement} root @param {State} state @param {() => void} redraw @returns {() => void} what ends it */
export function watchSight(root, state, redraw) {
  const scrolled = (/** @type {Event} */ event) => {
    const region = /** @type {HTMLElement} */ (event.target);
    if (state.log && region.matches?.(".printed")) state.log.follow = region.scrollTop + region.clientHeight > region.scrollHeight - 4;
    if (!region.matches?.(TASKS)) return;
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

/** The height of a row as it was drawn, for the room that rows out of sight take, and where the region stands.
 * @param {HTMLElement} root @param {State} state @returns {boolean} whether it has to be drawn again */
export function measure(root, state) {
  const region = root.querySelector(TASKS);
  const rows = region?.querySelectorAll("tr[data-task]");
  if (!region || !rows?.length) return false;
  const before = state.scrolled;
  const first = /** @type {HTMLElement} */ (rows[0]).getBoundingClientRect();
  const last = /** @type {HTMLElement} */ (rows[rows.length - 1]).getBoundingClientRect();
  const log = region.querySelector(".logrow")?.getBoundingClientRect().height ?? 0;
  const row = (last.bottom - first.top - (region.querySelector(".logrow ~ tr[data-task]") ? log : 0)) / rows.length;
  const same = row < 8 || Math.abs(row - before.row) < 4;
  state.scrolled = { top: region.scrollTop, height: Math.max(region.clientHeight, 100), row: same ? before.row : row };
  return !same || Math.abs(state.scrolled.top - before.top) > 1;
}
