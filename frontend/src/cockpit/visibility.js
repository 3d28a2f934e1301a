// Whether anybody can see an element: it is on the screen, and its page is not in the background.

import { listenTo } from "./listen_to.js";

/** Calls back at once and whenever that changes. @param {Element} element @param {(visible: boolean, leaving: boolean) => void} changed
 * @returns {() => void} what ends it */
export function watchVisibility(element, changed) {
  const page = element.ownerDocument;
  const windows = page.defaultView ?? window;
  let onScreen = false;
  /** @type {boolean | null} */
  let last = null;
  const look = (/** @type {boolean} */ leaving = false) => {
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
