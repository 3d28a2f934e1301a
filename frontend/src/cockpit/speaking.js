// What the status line says: no more often than a screen reader can follow.

const SAY_EVERY_MS = 5000;

/** Says something in the status line, for ears at most once in five seconds. @param {import("./state.js").State} state @param {{redraw: () => void}} view */
export function speaker(state, view) {
  let last = 0;
  /** @type {any} */
  let later;
  return (/** @type {string} */ words) => {
    clearTimeout(later);
    const wait = Math.max(0, last + SAY_EVERY_MS - Date.now());
    later = setTimeout(() => {
      last = Date.now();
      state.said = words;
      view.redraw();
    }, state.said ? wait : 0);
  };
}
