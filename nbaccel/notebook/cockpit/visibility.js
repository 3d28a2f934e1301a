// Whether anybody can see an element: it is on the screen, and its page is not in the background.

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
  const turned = () => look();
  const leaving = () => look(true);
  observer.observe(element);
  page.addEventListener("visibilitychange", turned);
  windows.addEventListener("pagehide", leaving);
  return () => {
    observer.disconnect();
    page.removeEventListener("visibilitychange", turned);
    windows.removeEventListener("pagehide", leaving);
    look(true);
  };
}
