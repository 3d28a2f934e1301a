// Looking closer at the timeline: by a drag, by Ctrl and the wheel, by keys and buttons.

/** @typedef {import("../cockpit/state.js").State} State */
/** @typedef {import("./timeline.js").Range} Range */

const LEAST_S = 0.05; // there is nothing to be seen below it
const LEAST_DRAG_PX = 6; // less is a click
/** @type {WeakMap<HTMLElement, {x: number, place: number}>} */
const drags = new WeakMap(); // a view's root -> where a drag has begun

/** The range around a place of it, `by` times as long. @param {Range} range @param {number} by @param {number} [place] from 0 to 1 @returns {Range} */
export function zoomed({ from, to }, by, place = 0.5) {
  const length = Math.max(LEAST_S, (to - from) * by);
  const at = from + (to - from) * place;
  return { from: at - length * place, to: at + length * (1 - place) };
}

/** The same length further on, by a share of it. @param {Range} range @param {number} share @returns {Range} */
export function movedBy({ from, to }, share) {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** What a key does; null for any other. @param {string} key @param {Range} range @returns {{range: Range | null} | null} */
export function keyed(key, range) {
  if (key === "+" || key === "=") return { range: zoomed(range, 0.5) };
  if (key === "-") return { range: zoomed(range, 2) };
  if (key === "ArrowLeft") return { range: movedBy(range, -0.2) };
  if (key === "ArrowRight") return { range: movedBy(range, 0.2) };
  return key === "0" || key === "Home" ? { range: null } : null;
}

/** The range that an event chooses, null for all of it; undefined if the event chooses none. Pointers choose where they are let go.
 * @param {Event} event @param {HTMLElement} root @param {State} state @param {Range} shown @returns {Range | null | undefined} */
export function rangeOf(event, root, state, shown) {
  if (event.type === "keydown") return rangeOfKey(/** @type {KeyboardEvent} */ (event), shown);
  const { clientX: x, button } = /** @type {PointerEvent} */ (event);
  const svg = /** @type {Element} */ (event.target).closest?.("svg.timeline");
  if (event.type === "wheel") return svg ? rangeOfWheel(/** @type {WheelEvent} */ (event), placeOf(svg, x, state), shown) : undefined;
  const began = drags.get(root);
  drags.delete(root);
  if (event.type === "pointerdown") return void (svg && button === 0 && drags.set(root, { x, place: placeOf(svg, x, state) }));
  const lanes = root.querySelector("svg.timeline"); // a drag may end beside it
  return began && lanes && Math.abs(x - began.x) >= LEAST_DRAG_PX ? rangeOfDrag(began.place, placeOf(lanes, x, state), shown) : undefined;
}

/** @param {KeyboardEvent} event @param {Range} shown */
function rangeOfKey(event, shown) {
  const onLanes = /** @type {Element} */ (event.target).matches?.('.scroll[aria-label="Timeline"]');
  const done = onLanes && !event.ctrlKey && !event.metaKey ? keyed(event.key, shown) : null;
  if (done) event.preventDefault();
  return done?.range;
}

/** @param {WheelEvent} event @param {number} place @param {Range} shown */
function rangeOfWheel(event, place, shown) {
  if (!event.ctrlKey && !event.metaKey) return undefined; // alone it scrolls the notebook
  event.preventDefault();
  return zoomed(shown, event.deltaY > 0 ? 1.25 : 0.8, place);
}

/** @param {number} began @param {number} ended @param {Range} shown */
function rangeOfDrag(began, ended, { from, to }) {
  const [left, right] = [began, ended].sort((a, b) => a - b);
  const range = { from: from + (to - from) * left, to: from + (to - from) * right };
  return range.to - range.from >= LEAST_S ? range : undefined;
}

/** Where on the lanes a pointer is, from 0 to 1. @param {Element} svg @param {number} x @param {State} state */
function placeOf(svg, x, { lanes: { width, left, right } }) {
  const box = svg.getBoundingClientRect();
  return Math.min(1, Math.max(0, (((x - box.left) / box.width) * width - left) / (right - left)));
}
