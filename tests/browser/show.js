// Shows clusters in the cockpit of a loose page, view by view, and answers what it asks about the past; look.js looks.

const NOW_MS = 1_700_000_000_000, PAUSE_MS = 300; // more than a view waits between two questions about the past
let at = NOW_MS; // the clocks of the page and of the cluster agree; this one goes on only from one view to the next
Date.now = () => at;
const nextFrame = () => new Promise(requestAnimationFrame); // what has been asked for before is drawn by then
window.answers = {};
const answered = new Set(); // what the open view has been answered
const plain = model.send;
model.send = message => {
  plain(message);
  const answer = message.say === "history" && window.answers[message.ask];
  if (answer) queueMicrotask(() => {
    tell({ say: "history", id: message.id, ask: message.ask, key: message.key, answer });
    answered.add(message.ask);
  });
};
window.patienceMs = 60_000; // a module that comes with the first question is loaded within a part of it
/** Looks in each frame whether something is so. Date.now stands still here. */
const until = async (isSo, words) => {
  for (const end = performance.now() + window.patienceMs; !isSo(); await nextFrame()) {
    if (performance.now() > end) throw new Error(words);
  }
};
const ASKS = { Timeline: "runs", Accounting: "accounting" };
/** What a view asks about the past; devices that nothing is measured of have no lines. */
const askOf = (sight, view) => ASKS[view] ?? (["Card", "Devices"].includes(view) && sight.measured ? "readings" : "");
/** Shows a cluster in a view. */
window.show = async (sight, view) => {
  const root = () => document.querySelector(".nbaccel-cockpit");
  const open = () => root().querySelector('[data-act="details"]').getAttribute("aria-expanded") === "true";
  window.answers = sight.answers;
  at += PAUSE_MS;
  if (model.get("snapshot") !== sight.snapshot) { // another cluster, and a view that knows nothing of the last one
    window.end();
    answered.clear();
    at = NOW_MS;
    push(sight.snapshot);
    window.end = widget.render({ model, el: document.body });
    await nextFrame();
  }
  if (open() === (view === "Card")) { root().querySelector('[data-act="details"]').click(); await nextFrame(); }
  if (view !== "Card") {
    const tab = [...root().querySelectorAll("[role=tab]")].find(each => each.textContent.replace(/[^a-z]/gi, "") === view);
    if (!tab) return false;
    tab.click();
    await until(() => tab.getAttribute("aria-selected") === "true", `${view}, ${sight.name}: its tab does not open`);
  }
  const ask = askOf(sight, view);
  await until(() => !ask || answered.has(ask), `${view}, ${sight.name}: nobody has answered about ${ask}`);
  await nextFrame();
  return true;
};
window.lookAt = async (sights, views, least) => {
  const found = [];
  let looks = 0;
  for (const sight of sights) for (const view of views) {
    if (!(await show(sight, view))) continue;
    looks += 1;
    const faults = window.faults(document.querySelector(".nbaccel-cockpit"), least);
    if (faults.length) found.push(`${view}, ${sight.name}: ${window.told(faults)}`);
  }
  return { looks, found };
};
