// A filter is applied to all tasks that the engine knows, not only to the rows of a snapshot: the kernel is asked.

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./types.js").Found} Found */
/** @typedef {import("./state.js").State} State */

const FIND_EVERY_MS = 1000;
const FOUND_AT_FIRST = 200; // rows of an answer
const MOST_FOUND = 1000;

/** What a view asks for with its filter; "" while it has none. @param {State} state */
export function findKey({ filter, wide }) {
  return filter.state || filter.cell || filter.text.trim() ? JSON.stringify([filter, wide]) : "";
}

/** The answer to what the view asks for now; null where there is none yet. @param {State} state @returns {Found | null} */
export function foundNow(state) {
  const key = findKey(state);
  return key && state.found?.key === key ? state.found : null;
}

/** Asks for what passes the filter when it changes, and again while the cluster changes, at most once a second.
 * @param {Source} source @param {State} state @returns {{find: () => void, end: () => void}} */
export function finder(source, state) {
  let last = 0;
  let asked = "";
  /** @type {any} */
  let later;
  const ask = () => {
    clearTimeout(later);
    later = undefined;
    const key = state.details && state.tab === "tasks" ? findKey(state) : "";
    if (!key) return;
    last = Date.now();
    asked = key;
    source.send({ say: "find", id: state.id, key, filter: state.filter, limit: state.wide ? MOST_FOUND : FOUND_AT_FIRST });
  };
  const find = () => {
    if (findKey(state) !== asked) ask();
    else later ??= setTimeout(ask, Math.max(0, last + FIND_EVERY_MS - Date.now()));
  };
  return { find, end: () => clearTimeout(later) };
}
