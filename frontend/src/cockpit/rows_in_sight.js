// Tables of many rows name themselves by data-sight: what of them is in sight, and which one the pointer is over.

/** @typedef {import("./state.js").State} State */

const TILES = ".scroll.of-tiles";
const REGIONS = ".scroll[data-sight]";

/** @param {HTMLElement} root @param {State} state @param {() => void} redraw @returns {() => void} what ends it */
export function watchRows(root, state, redraw) {
  const scrolled = (/** @type {Event} */ event) => {
    const region = /** @type {HTMLElement} */ (event.target);
    if (region.matches?.(TILES)) measureTiles(root, state);
    else if (region.matches?.(REGIONS)) note(region, state);
    else return;
    redraw();
  };
  const moved = (/** @type {Event} */ event) => {
    const body = event.type === "pointerover" ? /** @type {Element} */ (event.target).closest?.(`${REGIONS} tbody`) : null;
    const over = /** @type {HTMLElement | null} */ (body?.closest(REGIONS) ?? null)?.dataset.sight ?? "";
    if (over === state.heldSight) return;
    state.heldSight = over;
    redraw();
  };
  return listening(root, scrolled, moved);
}

/** @param {HTMLElement} root @param {(event: Event) => void} scrolled @param {(event: Event) => void} moved
 * @returns {() => void} what ends it */
export function listening(root, scrolled, moved) {
  root.addEventListener("scroll", scrolled, true); // a region's scrolling does not bubble
  root.addEventListener("pointerover", moved);
  root.addEventListener("pointerleave", moved);
  return () => {
    root.removeEventListener("scroll", scrolled, true);
    root.removeEventListener("pointerover", moved);
    root.removeEventListener("pointerleave", moved);
  };
}

/** The height of each table's rows as they were drawn. @param {HTMLElement} root @param {State} state
 * @returns {boolean} whether it has to be drawn again */
export function measureRows(root, state) {
  const regions = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(REGIONS)]);
  return regions.map((region) => note(region, state)).some(Boolean);
}

/** Where the tiles stand and how many are in a line. @param {HTMLElement} root @param {State} state
 * @returns {boolean} whether others have to be drawn */
export function measureTiles(root, state) {
  const region = root.querySelector(TILES);
  const tile = region?.querySelector(".of-node,li:not(.gap)");
  const list = tile?.parentElement;
  if (!region || !tile || !list) return false;
  const style = getComputedStyle(list);
  const now = {
    top: region.scrollTop, height: region.clientHeight, columns: style.gridTemplateColumns.split(" ").length,
    row: tile.getBoundingClientRect().height + parseFloat(style.rowGap),
  };
  const before = state.tiles;
  state.tiles = now;
  return before?.columns !== now.columns || Math.abs(before.top - now.top) > now.row || Math.abs(before.height - now.height) > now.row || Math.abs(before.row - now.row) > 0.1;
}

/** @param {HTMLElement} region @param {State} state */
function note(region, state) {
  const name = region.dataset.sight ?? "";
  const before = state.sights.get(name);
  const rows = region.querySelectorAll("tbody tr:not(.gap)");
  if (!rows.length) return false;
  const height = (rows[rows.length - 1].getBoundingClientRect().bottom - rows[0].getBoundingClientRect().top) / rows.length;
  const same = before && (height < 8 || Math.abs(height - before.row) < 4);
  state.sights.set(name, { top: region.scrollTop, height: Math.max(region.clientHeight, 100), row: same ? before.row : height });
  return !same || Math.abs(before.top - region.scrollTop) > 1;
}
