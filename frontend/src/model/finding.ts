// What a view wants to see of all tasks that the engine knows, not only of the rows of a snapshot: the kernel is asked for
// what passes the filter, and for the tasks of an open function that come into view.

import type { State } from "./state";
import { PAGE } from "./tasks";
import type { Found, Source } from "./types";

const FIND_EVERY_MS = 1000;
const FOUND_AT_FIRST = 200; // rows of an answer
const MOST_FOUND = 1000;

/** What a view asks for with its filter; "" while it has none. */
export function findKey({ filter, wide }: State) {
  return filter.state || filter.cell || filter.text.trim() ? JSON.stringify([filter, wide]) : "";
}

/** The answer to what the view asks for now; null where there is none yet. */
export function foundNow(state: State): Found | null {
  const key = findKey(state);
  return key && state.found?.key === key ? state.found : null;
}

/** What the kernel is asked: what passes the filter, and the tasks of open functions that are in sight. */
function questions(state: State) {
  const { filter } = state;
  const key = findKey(state);
  const pages = [...state.asks]
    .filter(([subject]) => state.open.has(subject))
    .map(([subject, skip]) => ({
      key: JSON.stringify([filter, subject, skip]),
      function: subject,
      skip,
      by_state: true,
      filter,
      limit: PAGE,
    }));
  return [...(key ? [{ key, filter, limit: state.wide ? MOST_FOUND : FOUND_AT_FIRST }] : []), ...pages];
}

export function takeFound(found: Found, state: State) {
  const [filter, subject, skip] = JSON.parse(found.key);
  if (skip == null) state.found = found;
  else state.pages.set(subject, { filter: JSON.stringify(filter), skip, found });
}

/** Asks when what the view wants changes, and again while the cluster changes, at most once a second. */
export function finder(source: Source, state: State): { find: () => void; moved: () => void; end: () => void } {
  let last = 0;
  let asked = "";
  let later: any;
  const wanted = () => (state.details && state.tab === "tasks" ? questions(state) : []);
  const keyOf = (all: { key: string }[]) => all.map((each) => each.key).join("\n");
  const ask = () => {
    clearTimeout(later);
    later = undefined;
    const all = wanted();
    asked = keyOf(all);
    if (all.length) last = Date.now();
    for (const each of all) source.send({ say: "find", id: state.id, ...each });
  };
  const moved = () => void (keyOf(wanted()) !== asked && ask());
  const find = () => {
    if (keyOf(wanted()) !== asked) ask();
    else later ??= setTimeout(ask, Math.max(0, last + FIND_EVERY_MS - Date.now()));
  };
  return { find, moved, end: () => clearTimeout(later) };
}
