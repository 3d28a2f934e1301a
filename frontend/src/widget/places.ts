// Where the page shows the saved card of this kernel, a live view covers it: outputs are plain HTML that needs no kernel.

import { newState } from "../model/state";

const AT = "nbaccel-at-"; // begins the class that names an output
const OF = "nbaccel-of-"; // begins the class of a place for one run or experiment
const OF_HEAD = "nbaccel-head-"; // begins the class that names the head
const COVERED = "nbaccel-covered"; // the event of a place that another live view covers
const DRAWN_ANEW_MS = 1000; // in which an output that goes may come back with another picture

export interface Cover {
  end: () => void;
  move: (place: HTMLElement) => void;
}

/** Call `show` for every element of this class that the page has or gets. If the element goes and its output is drawn
 * anew, its live view moves there; else it ends.
 * @param show null: not this one
 * @returns what ends it */
export function takePlaces(page: Document, name: string, show: (place: HTMLElement) => Cover | null): () => void {
  const taken: Map<HTMLElement, Cover> = new Map();
  const left: { at: string; cover: Cover }[] = [];
  const take = (place: HTMLElement) => {
    if (taken.has(place)) return;
    const at = named(place, AT);
    const known = left.findIndex((each) => at && each.at === at);
    const [back] = known < 0 ? [] : left.splice(known, 1);
    back?.cover.move(place);
    const cover = back?.cover ?? show(place);
    if (cover) taken.set(place, cover);
  };
  const leave = (place: HTMLElement, cover: Cover) => {
    taken.delete(place);
    const gone = { at: named(place, AT), cover };
    if (!gone.at) return cover.end();
    left.push(gone);
    setTimeout(() => {
      const index = left.indexOf(gone);
      if (index >= 0) left.splice(index, 1)[0].cover.end();
    }, DRAWN_ANEW_MS);
  };
  const takeWithin = (node: Node) => {
    if (node.nodeType !== 1) return;
    const element = node as HTMLElement;
    if (element.classList.contains(name)) take(element);
    for (const place of element.getElementsByClassName(name)) take(place as HTMLElement);
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

/** What follows this beginning in one of its classes; "" without such a class. */
function named(place: HTMLElement, start: string) {
  return [...place.classList].find((name) => name.startsWith(start))?.slice(start.length) ?? "";
}

/** The head whose view belongs there. */
export function headOf(place: HTMLElement) {
  return named(place, OF_HEAD);
}

/** The state of a view that opens there, of one run or of all. */
export function stateOf(place: HTMLElement) {
  return { ...newState(place.classList.contains("nbaccel-details")), only: named(place, OF) };
}

/** Put a live view over what the place has; its content comes back when the view ends, or when another one covers it. */
export function cover(place: HTMLElement, fill: (cover: HTMLElement) => () => void): Cover {
  const live = place.ownerDocument.createElement("div");
  let saved: HTMLElement[] = [];
  let at = place;
  let focused: Element | null = null;
  live.addEventListener("focusin", (event) => (focused = event.target as Element));
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
  const move = (to: HTMLElement) => {
    if (hasEnded) return;
    const had = focused;
    at.removeEventListener(COVERED, leave);
    at = to;
    at.dispatchEvent(new CustomEvent(COVERED));
    saved = ([...at.children] as HTMLElement[]).filter((each) => each !== live);
    for (const each of saved) each.style.display = "none";
    at.append(live);
    at.addEventListener(COVERED, leave);
    (had as HTMLElement | null)?.focus({ preventScroll: true });
  };
  move(place);
  const end = fill(live);
  return { end: leave, move };
}
