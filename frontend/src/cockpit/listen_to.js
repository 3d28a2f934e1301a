// Listening to several kinds of events at once, until it is ended.

/** @param {EventTarget} target @param {Record<string, (event: any) => void>} calls by the events' names
 * @param {AddEventListenerOptions} [options] @returns {() => void} what ends it */
export function listenTo(target, calls, options) {
  const all = Object.entries(calls);
  for (const [type, call] of all) target.addEventListener(type, call, options);
  return () => {
    for (const [type, call] of all) target.removeEventListener(type, call, options);
  };
}
