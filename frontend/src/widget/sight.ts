// What of the tasks is in sight, and whether the pointer is over them: where their order stands still.

import type { State } from "../model/state";
import { listenTo } from "./actions";

const TASKS = '.scroll[aria-label="Tasks"]';

/** @returns what ends it */
export function watchSight(root: HTMLElement, state: State, redraw: () => void): () => void {
  const scrolled = (event: Event) => {
    const region = event.target as HTMLElement;
    if (state.log && region.matches?.(".printed")) state.log.follow = isAtEnd(region);
    if (!region.matches?.(TASKS)) return;
    state.endOf = region.scrollTop > 0 && isAtEnd(region) ? rowCount(region) : "";
    state.scrolled = { ...state.scrolled, top: region.scrollTop, height: region.clientHeight };
    redraw();
  };
  const moved = (event: Event) => {
    const over = event.type === "pointerover" && Boolean((event.target as Element).closest?.(`${TASKS} tbody`));
    if (over === Boolean(state.held)) return;
    state.held = over ? state.order : null;
    redraw();
  };
  return listening(root, scrolled, moved);
}

const isAtEnd = (region: Element) => region.scrollTop + region.clientHeight > region.scrollHeight - 4;

const rowCount = (region: Element) => region.querySelector("table")?.getAttribute("aria-rowcount") ?? "";

/** Show the newest line of a log, unless the person has scrolled up, and the last row to a person who has gone to the end:
 * the rows that come may be taller than was thought. Where tasks come or go, the table is left where it stands. */
export function stayAtEnd(root: HTMLElement, state: State) {
  const log = state.log?.follow && root.querySelector(".printed");
  if (log) log.scrollTop = log.scrollHeight;
  const region = state.endOf && root.querySelector(TASKS);
  if (region && rowCount(region) === state.endOf) region.scrollTop = region.scrollHeight;
}

/** The heights of rows and of reasons as they were drawn, for the room that rows out of sight take, and where the region stands.
 * @returns whether it has to be drawn again */
export function measure(root: HTMLElement, state: State): boolean {
  const region = root.querySelector(TASKS);
  if (!region?.querySelector("tr[data-task]")) return false;
  const before = state.scrolled;
  const heights = (which: string) =>
    [...region.querySelectorAll(which)].map((each) => each.getBoundingClientRect().height);
  const mean = (all: number[], known: number) => {
    const now = all.reduce((sum, each) => sum + each, 0) / all.length;
    return now > 8 && Math.abs(now - known) >= 4 ? now : known; // none, and a pixel or two, change nothing
  };
  const [row, reason] = [mean(heights("tr[data-task]"), before.row), mean(heights("tr.reason"), before.reason)];
  const same = row === before.row && reason === before.reason;
  state.scrolled = { top: region.scrollTop, height: Math.max(region.clientHeight, 100), row, reason };
  return !same || Math.abs(state.scrolled.top - before.top) > 1;
}

// ---- Tables of many rows name themselves by data-sight: what of them is in sight, and which one the pointer is over.

const TILES = ".scroll.of-tiles";
const REGIONS = ".scroll[data-sight]";

/** @returns what ends it */
export function watchRows(root: HTMLElement, state: State, redraw: () => void): () => void {
  const scrolled = (event: Event) => {
    const region = event.target as HTMLElement;
    if (region.matches?.(TILES)) measureTiles(root, state);
    else if (region.matches?.(REGIONS)) note(region, state);
    else return;
    redraw();
  };
  const moved = (event: Event) => {
    const body = event.type === "pointerover" ? (event.target as Element).closest?.(`${REGIONS} tbody`) : null;
    const over = ((body?.closest(REGIONS) ?? null) as HTMLElement | null)?.dataset.sight ?? "";
    if (over === state.heldSight) return;
    state.heldSight = over;
    redraw();
  };
  return listening(root, scrolled, moved);
}

/** @returns what ends it */
function listening(root: HTMLElement, scrolled: (event: Event) => void, moved: (event: Event) => void): () => void {
  root.addEventListener("scroll", scrolled, true); // a region's scrolling does not bubble
  root.addEventListener("pointerover", moved);
  root.addEventListener("pointerleave", moved);
  return () => {
    root.removeEventListener("scroll", scrolled, true);
    root.removeEventListener("pointerover", moved);
    root.removeEventListener("pointerleave", moved);
  };
}

/** The height of each table's rows as they were drawn.
 * @returns whether it has to be drawn again */
export function measureRows(root: HTMLElement, state: State): boolean {
  const regions = [...root.querySelectorAll(REGIONS)] as HTMLElement[];
  return regions.map((region) => note(region, state)).some(Boolean);
}

/** Where the tiles stand and how many are in a line.
 * @returns whether others have to be drawn */
export function measureTiles(root: HTMLElement, state: State): boolean {
  const region = root.querySelector(TILES);
  const tile = region?.querySelector(".of-node,li:not(.gap)");
  const list = tile?.parentElement;
  if (!region || !tile || !list) return false;
  const style = getComputedStyle(list);
  const now = {
    top: region.scrollTop,
    height: region.clientHeight,
    columns: style.gridTemplateColumns.split(" ").length,
    row: tile.getBoundingClientRect().height + parseFloat(style.rowGap),
  };
  const before = state.tiles;
  state.tiles = now;
  return (
    before?.columns !== now.columns ||
    Math.abs(before.top - now.top) > now.row ||
    Math.abs(before.height - now.height) > now.row ||
    Math.abs(before.row - now.row) > 0.1
  );
}

function note(region: HTMLElement, state: State) {
  const name = region.dataset.sight ?? "";
  const before = state.sights.get(name);
  const rows = region.querySelectorAll("tbody tr:not(.gap)");
  if (!rows.length) return false;
  const height =
    (rows[rows.length - 1].getBoundingClientRect().bottom - rows[0].getBoundingClientRect().top) / rows.length;
  const same = before && (height < 8 || Math.abs(height - before.row) < 4);
  state.sights.set(name, {
    top: region.scrollTop,
    height: Math.max(region.clientHeight, 100),
    row: same ? before.row : height,
  });
  return !same || Math.abs(before.top - region.scrollTop) > 1;
}

// ---- Whether anybody can see an element: it is on the screen, and its page is not in the background.

/** Calls back at once and whenever that changes.
 * @returns what ends it */
export function watchVisibility(element: Element, changed: (visible: boolean, leaving: boolean) => void): () => void {
  const page = element.ownerDocument;
  const windows = page.defaultView ?? window;
  let onScreen = false;
  let last: boolean | null = null;
  const look = (leaving: boolean = false) => {
    const visible = onScreen && !leaving && page.visibilityState !== "hidden";
    if (visible !== last) {
      last = visible;
      changed(visible, leaving);
    } else if (leaving) changed(false, true);
  };
  const observer = new IntersectionObserver((entries) => {
    onScreen = entries[entries.length - 1].isIntersecting;
    look();
  });
  observer.observe(element);
  const ends = [listenTo(page, { visibilitychange: () => look() }), listenTo(windows, { pagehide: () => look(true) })];
  return () => {
    observer.disconnect();
    for (const end of ends) end();
    look(true);
  };
}
