// The card of the bar or tile under the pointer, or with the focus.

import { listenTo } from "./listen_to.js";

const CARD_PX = 246; // the widest hover card and its margins

/** Where the hover card of a bar is: below it, or above where there is more room. @param {HTMLElement} root @param {Element} bar */
function placeOfCard(root, bar) {
  const [around, box] = [root.getBoundingClientRect(), bar.getBoundingClientRect()];
  const left = Math.max(8, Math.min(box.left, around.right - CARD_PX) - around.left);
  const below = box.top - around.top < around.height / 2 ? `top:${box.bottom - around.top + 4}px` : `bottom:${around.bottom - box.top + 4}px`;
  return `left:${Math.round(left)}px;max-width:${CARD_PX - 16}px;${below}`;
}

/** @param {HTMLElement} root @param {import("./state.js").State} state @param {() => void} redraw @returns {() => void} what ends it */
export function watchHover(root, state, redraw) {
  const hovered = (/** @type {Event} */ event) => {
    const over = /** @type {SVGElement | null} */ (/pointerover|focusin/.test(event.type) ? /** @type {Element} */ (event.target).closest?.("[data-bar]") : null);
    const bar = over?.dataset.bar ?? "";
    if (bar === state.hover.bar) return;
    state.hover = { bar, style: over ? placeOfCard(root, over) : "" };
    redraw();
  };
  return listenTo(root, { pointerover: hovered, pointerleave: hovered, focusin: hovered, focusout: hovered });
}
