// Where the page shows the saved card of this kernel, a live view covers it: outputs are plain HTML that needs no kernel.

import { newState } from "./state.js";

const AT = "nbaccel-at-"; // begins the class that names an output
const OF = "nbaccel-of-"; // begins the class of a place for one run or experiment
const OF_HEAD = "nbaccel-head-"; // begins the class that names the head
const COVERED = "nbaccel-covered"; // the event of a place that another live view covers
const DRAWN_ANEW_MS = 1000; // in which an output that goes may come back with another picture

/** @typedef {{end: () => void, move: (place: HTMLElement) => void}} Cover */

/** Call `show` for every element of this class that the page has or gets. If the element goes and its output is drawn
 * anew, its live view moves there; else it ends.
 * @param {Document} page @param {string} name @param {(place: HTMLElement) => Cover | null} show null: not this one
 * @returns {() => void} what ends it */
export function takePlaces(page, name, show) {
  /** @type {Map<HTMLElement, Cover>} */
  const taken = new Map();
  /** @type {{at: string, cover: Cover}[]} */
  const left = [];
  const take = (/** @type {HTMLElement} */ place) => {
    if (taken.has(place)) return;
    const at = named(place, AT);
    const known = left.findIndex((each) => at && each.at === at);
    const [back] = known < 0 ? [] : left.splice(known, 1);
    back?.cover.move(place);
    const cover = back?.cover ?? show(place);
    if (cover) taken.set(place, cover);
  };
  const leave = (/** @type {HTMLElement} */ place, /** @type {Cover} */ cover) => {
    taken.delete(place);
    const gone = { at: named(place, AT), cover };
    if (!gone.at) return cover.end();
    left.push(gone);
    setTimeout(() => {
      const index = left.indexOf(gone);
      if (index >= 0) left.splice(index, 1)[0].cover.end();
    }, DRAWN_ANEW_MS);
  };
  const takeWithin = (/** @type {Node} */ node) => {
    if (node.nodeType !== 1) return;
    const element = /** @type {HTMLElement} */ (node);
    if (element.classList.contains(name)) take(element);
    for (const place of element.getElementsByClassName(name)) take(/** @type {HTMLElement} */ (place));
  };
  const observer = new MutationObserver((records) => {
    for (const [place, cover] of taken) if (!place.isConnected) leave(place, cover);
    for (const record of records) for (const node of record.addedNodes) if (node.isConnected) takeWithin(node);
  });
  observer.observe(page, { childList: true, subtree: true });
  takeWithin(page.documentElement);
  return () => {
    observer.disconnect();
    for (const cover of [...taken.values(), ...left.splice(0).map((each) => each.cover)]) cover.end();
  };
}

/** What follows this beginning in one of its classes; "" without such a class. @param {HTMLElement} place @param {string} start */
function named(place, start) {
  return [...place.classList].find((name) => name.startsWith(start))?.slice(start.length) ?? "";
}

/** The head whose view belongs there. @param {HTMLElement} place */
export function headOf(place) {
  return named(place, OF_HEAD);
}

/** The state of a view that opens there, of one run or of all. @param {HTMLElement} place */
export function stateOf(place) {
  return { ...newState(place.classList.contains("nbaccel-details")), only: named(place, OF) };
}

/** Put a live view over what the place has; its content comes back when the view ends, or when another one covers it.
 * @param {HTMLElement} place @param {(cover: HTMLElement) => () => void} fill @returns {Cover} */
export function cover(place, fill) {
  const live = place.ownerDocument.createElement("div");
  /** @type {HTMLElement[]} */
  let saved = [];
  let at = place;
  /** @type {Element | null} */
  let focused = null;
  live.addEventListener("focusin", (event) => (focused = /** @type {Element} */ (event.target)));
  live.addEventListener("focusout", () => (focused = null));
  let hasEnded = false;
  const leave = () => {
    if (hasEnded) return;
    hasEnded = true;
    at.removeEventListener(COVERED, leave);
    end();
    live.remove();
    for (const each of saved) each.style.display = "";
  };
  const move = (/** @type {HTMLElement} */ to) => {
    if (hasEnded) return;
    const had = focused;
    at.removeEventListener(COVERED, leave);
    at = to;
    at.dispatchEvent(new CustomEvent(COVERED));
    saved = /** @type {HTMLElement[]} */ ([...at.children]).filter((each) => each !== live);
    for (const each of saved) each.style.display = "none";
    at.append(live);
    at.addEventListener(COVERED, leave);
    /** @type {HTMLElement | null} */ (had)?.focus({ preventScroll: true });
  };
  move(place);
  const end = fill(live);
  return { end: leave, move };
}
