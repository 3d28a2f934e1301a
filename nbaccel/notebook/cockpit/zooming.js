// Looking closer at the timeline: by a drag, by Ctrl and the wheel, by keys and buttons.

import { LABELS, LANES, WIDTH } from "./draw_timeline.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./timeline.js").Range} Range */
/** @typedef {() => Range} Shown what is shown now */

const LEAST_S = 0.05; // there is nothing to be seen below it
const LEAST_DRAG_PX = 6; // less is a click

/** The range around a place of it, `by` times as long. @param {Range} range @param {number} by @param {number} [place] from 0 to 1 @returns {Range} */
export function zoomed({ from, to }, by, place = 0.5) {
  const length = Math.max(LEAST_S, (to - from) * by);
  const at = from + (to - from) * place;
  return { from: at - length * place, to: at + length * (1 - place) };
}

/** The same length further on, by a share of it. @param {Range} range @param {number} share @returns {Range} */
export function moved({ from, to }, share) {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** What a key does; null for any other. @param {string} key @param {Range} range @returns {{range: Range | null} | null} */
export function keyed(key, range) {
  if (key === "+" || key === "=") return { range: zoomed(range, 0.5) };
  if (key === "-") return { range: zoomed(range, 2) };
  if (key === "ArrowLeft") return { range: moved(range, -0.2) };
  if (key === "ArrowRight") return { range: moved(range, 0.2) };
  return key === "0" || key === "Home" ? { range: null } : null;
}

/** @param {HTMLElement} root @param {State} state @param {Shown} shown @param {() => void} redraw
 * @returns {{key: (event: KeyboardEvent) => void, end: () => void}} what keys do, and what ends it */
export function watchZoom(root, state, shown, redraw) {
  /** @type {{x: number, place: number} | null} */
  let began = null;
  const svgOf = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).closest?.("svg.timeline");
  const placeOf = (/** @type {Element} */ svg, /** @type {number} */ x) => {
    const box = svg.getBoundingClientRect();
    return Math.min(1, Math.max(0, (((x - box.left) / box.width) * WIDTH - LABELS) / LANES));
  };
  const wheel = (/** @type {WheelEvent} */ event) => {
    const svg = svgOf(event);
    if (!svg || !(event.ctrlKey || event.metaKey)) return; // alone it scrolls the notebook
    event.preventDefault();
    state.range = zoomed(shown(), event.deltaY > 0 ? 1.25 : 0.8, placeOf(svg, event.clientX));
    redraw();
  };
  const pressed = (/** @type {PointerEvent} */ event) => {
    const svg = svgOf(event);
    began = svg && event.button === 0 ? { x: event.clientX, place: placeOf(svg, event.clientX) } : null;
  };
  const released = (/** @type {PointerEvent} */ event) => {
    const svg = root.querySelector("svg.timeline");
    if (!began || !svg || Math.abs(event.clientX - began.x) < LEAST_DRAG_PX) return void (began = null);
    const [left, right] = [began.place, placeOf(svg, event.clientX)].sort((a, b) => a - b);
    const { from, to } = shown();
    const range = { from: from + (to - from) * left, to: from + (to - from) * right };
    if (range.to - range.from >= LEAST_S) state.range = range;
    began = null;
    redraw();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const onLanes = /** @type {Element} */ (event.target).matches?.('.scroll[aria-label="Timeline"]');
    const done = onLanes && !event.ctrlKey && !event.metaKey ? keyed(event.key, shown()) : null;
    if (!done) return;
    state.range = done.range;
    event.preventDefault();
    redraw();
  };
  root.addEventListener("wheel", wheel, { passive: false });
  root.addEventListener("pointerdown", pressed);
  root.addEventListener("pointerup", released);
  const end = () => {
    root.removeEventListener("wheel", wheel);
    root.removeEventListener("pointerdown", pressed);
    root.removeEventListener("pointerup", released);
  };
  return { key, end };
}
