// A second way for an order that a busy kernel does not take: the page around the cockpit, where JupyterLab has nbaccel's
// extension, gives it to the head through the Jupyter server.

/** @typedef {import("./types.js").Source} Source */

export const OFFERED = "nbaccel-order";

/** Offer an order to the page. `taken` is called with the words that say how it went.
 * @param {HTMLElement} root @param {Source} source @param {any} message @param {(words: string) => void} taken
 * @returns {boolean} whether somebody carries it out */
export function secondWay(root, source, message, taken) {
  const pid = source.snapshot()?.runtime.pid;
  const offered = new CustomEvent(OFFERED, { bubbles: true, cancelable: true, detail: { message, pid, taken } });
  return !root.dispatchEvent(offered);
}
