// Looking closer at the timeline: by a drag, by Ctrl and the wheel, by keys and buttons.

import { listenTo } from "./listen_to.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("../past/timeline.js").Range} Range */
/** @typedef {() => Range} Shown what is shown now, or as soon as it is drawn */

const LEAST_S = 0.05; // there is nothing to be seen below it
const LEAST_DRAG_PX = 6; // less is a click
const CARD_PX = 246; // the widest hover card and its margins

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

/** Where the hover card of a bar is: below it, or above where there is more room. @param {HTMLElement} root @param {Element} bar */
function placeOfCard(root, bar) {
  const [around, box] = [root.getBoundingClientRect(), bar.getBoundingClientRect()];
  const left = Math.max(8, Math.min(box.left, around.right - CARD_PX) - around.left);
  const below = box.top - around.top < around.height / 2 ? `top:${box.bottom - around.top + 4}px` : `bottom:${around.bottom - box.top + 4}px`;
  return `left:${Math.round(left)}px;max-width:${CARD_PX - 16}px;${below}`;
}

/** @param {HTMLElement} root @param {State} state @param {Shown} shown @param {(ranged: boolean) => void} redraw also after another range was chosen
 * @returns {{key: (event: KeyboardEvent) => void, end: () => void}} what keys do, and what ends it */
export function watchZoom(root, state, shown, redraw) {
  /** @type {{x: number, place: number} | null} */
  let began = null;
  const svgOf = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).closest?.("svg.timeline");
  const placeOf = (/** @type {Element} */ svg, /** @type {number} */ x) => {
    const box = svg.getBoundingClientRect();
    const { width, left, right } = state.lanes;
    return Math.min(1, Math.max(0, (((x - box.left) / box.width) * width - left) / (right - left)));
  };
  const wheel = (/** @type {WheelEvent} */ event) => {
    const svg = svgOf(event);
    if (!svg || !(event.ctrlKey || event.metaKey)) return; // alone it scrolls the notebook
    event.preventDefault();
    state.range = zoomed(shown(), event.deltaY > 0 ? 1.25 : 0.8, placeOf(svg, event.clientX));
    redraw(true);
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
    redraw(true);
  };
  const hovered = (/** @type {Event} */ event) => {
    const over = /** @type {SVGElement | null} */ (/pointerover|focusin/.test(event.type) ? /** @type {Element} */ (event.target).closest?.("[data-bar]") : null);
    const bar = over?.dataset.bar ?? "";
    if (bar === state.hover.bar) return;
    state.hover = { bar, style: over ? placeOfCard(root, over) : "" };
    redraw(false);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const onLanes = /** @type {Element} */ (event.target).matches?.('.scroll[aria-label="Timeline"]');
    const done = onLanes && !event.ctrlKey && !event.metaKey ? keyed(event.key, shown()) : null;
    if (!done) return;
    state.range = done.range;
    event.preventDefault();
    redraw(true);
  };
  const hovers = { pointerover: hovered, pointerleave: hovered, focusin: hovered, focusout: hovered };
  const end = listenTo(root, { wheel, pointerdown: pressed, pointerup: released, ...hovers }, { passive: false });
  return { key, end };
}
