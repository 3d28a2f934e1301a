// Where the page shows the saved card of this kernel, a live view covers it: outputs are plain HTML that needs no kernel.

/** Call `show` for every element of this class that the page has or gets; what it returns is called when the element
 * has gone. @param {Document} page @param {string} name @param {(place: HTMLElement) => () => void} show
 * @returns {() => void} what ends it */
export function takePlaces(page, name, show) {
  /** @type {Map<HTMLElement, () => void>} */
  const taken = new Map();
  const take = (/** @type {Element} */ place) => {
    if (!taken.has(/** @type {HTMLElement} */ (place))) taken.set(/** @type {HTMLElement} */ (place), show(/** @type {HTMLElement} */ (place)));
  };
  const takeWithin = (/** @type {Node} */ node) => {
    if (node.nodeType !== 1) return;
    const element = /** @type {Element} */ (node);
    if (element.classList.contains(name)) take(element);
    for (const place of element.getElementsByClassName(name)) take(place);
  };
  const observer = new MutationObserver((records) => {
    for (const [place, leave] of taken) {
      if (place.isConnected) continue;
      taken.delete(place);
      leave();
    }
    for (const record of records) for (const node of record.addedNodes) if (node.isConnected) takeWithin(node);
  });
  observer.observe(page, { childList: true, subtree: true });
  takeWithin(page.documentElement);
  return () => {
    observer.disconnect();
    for (const leave of taken.values()) leave();
  };
}

/** Put a live view over what the place has; its content comes back when the view ends.
 * @param {HTMLElement} place @param {(cover: HTMLElement) => () => void} fill @returns {() => void} */
export function cover(place, fill) {
  const saved = /** @type {HTMLElement[]} */ ([...place.children]);
  const live = place.ownerDocument.createElement("div");
  for (const each of saved) each.style.display = "none";
  place.append(live);
  const end = fill(live);
  return () => {
    end();
    live.remove();
    for (const each of saved) each.style.display = "";
  };
}
