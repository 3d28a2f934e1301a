// The frame around the views: title, counts, tabs; and the compact form, which is the cluster's card.

import { h } from "./dom.js";
import { drawCard } from "./draw_card.js";
import { drawListed } from "./draw_listed.js";
import { drawDevices } from "./draw_devices.js";
import { WARNING, empty } from "./draw_parts.js";
import { drawActors, drawAlerts, drawNodes, drawWaiting } from "./draw_tables.js";
import { drawTasks } from "./draw_tasks.js";
import { count, stateSign } from "./words.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./state.js").State} State */
/** @typedef {import("./dom.js").Given} Given */

const NARROW = 700; // pixels, as in the style: the counts have a line of their own
const LETTER = 7.1; // pixels of a letter of the first line in a wide font
const BUTTONS = 28; // letters have the width of those that stand to the right
const MOST_IN_BADGE = 999; // the first line has the number

/** @type {Record<string, (scene: Scene, state: State) => Given[]>} */
const VIEWS = {
  devices: drawDevices,
  waiting: drawWaiting,
  tasks: drawTasks,
  actors: drawActors,
  timeline: (scene, state) => scene.pastViews?.drawTimeline(scene, state) ?? loading(scene),
  accounting: (scene) => (scene.accounts ? scene.pastViews?.drawAccounts(scene) : null) ?? loading(scene),
  alerts: drawAlerts,
  nodes: drawNodes,
};

/** Everything inside the root. @param {Scene} scene @param {State} state */
export function drawFrame(scene, state) {
  const body = state.details ? [tabs(scene, state), panel(scene, state)] : state.listed ? drawListed(scene, state) : drawCard(scene, state);
  return [header(scene, state), ...body, statusLine(state)];
}

/** The card of one run or experiment. @param {Scene} scene @param {State} state */
export function drawOnly(scene, state) {
  const shown = scene.runs?.only(state).flat() ?? [];
  return [...(shown.length ? shown : drawEmpty("Waiting for news of it …")), statusLine(state)];
}

/** What was done. @param {State} state */
function statusLine(state) {
  return h("p", { class: "said", key: "said", role: "status", "aria-live": "polite" }, state.said);
}

/** What is shown before the first snapshot. @param {string} words */
export function drawEmpty(words) {
  return [h("p", { class: "quiet", key: "none" }, words)];
}

/** While the module that draws the past is on its way. @param {Scene} scene */
function loading(scene) {
  return [empty(scene.ended ? "This view was not opened before the end." : "Asking the kernel …")];
}

/** @param {Scene} scene @param {State} state */
function header(scene, state) {
  return h("header", { key: "header" },
    h("div", { class: "line top" },
      firstLine(scene, state),
      scene.ended && h("span", { class: "chip" }, scene.ended),
      scene.alerts.length > 0 && h("button", { type: "button", key: "alerts", class: "chip urgent", "data-act": "tab", "data-tab": "alerts" }, WARNING, count(scene.alerts.length, "alert")),
      h("button", { type: "button", key: "details", "data-act": "details", "aria-expanded": String(state.details), class: "aside" }, "Details", h("span", { "aria-hidden": "true" }, state.details ? " ▴" : " ▾"))),
    h("div", { class: "one-line quiet", title: scene.title.join(" · ") }, h("span", { class: "has" }, secondLine(scene, state).join(" · "))));
}

/** What else is busy; the card, which names no models, also says where there is no such hardware. @param {Scene} scene @param {State} state */
function secondLine(scene, state) {
  if (!scene.resources.length) return scene.title;
  return state.details || state.listed ? scene.resources : [...scene.resources, ...scene.unrealDevices];
}

/** "2 of 2 GPUs busy · 3 running · 1 failed": what one wants to know. A count shows its tasks. @param {Scene} scene @param {State} state */
function firstLine({ busy, counts, title }, state) {
  const there = Object.entries(counts).filter(([, number]) => number);
  const said = there.map(([word, number]) => `${number} ${word}`);
  const beside = state.room > NARROW ? busy.join(" · ").length + BUTTONS : 0;
  const fits = (said.join(" · ").length + beside) * LETTER < state.room; // else signs stand for the words, so that one line has them all
  const between = (/** @type {number} */ at, dot = " · ") => h("span", { key: `dot${at}`, class: "quiet dot" }, dot);
  const shown = there.flatMap(([word, number], at) => [at > 0 && between(at, fits ? " · " : "\u2002"),
    h("button", { type: "button", key: word, class: `count ${word}`, "data-act": "lead", "data-state": word, title: `Show the ${word} tasks`, "aria-label": said[at] }, fits ? said[at] : `${stateSign(word)} ${number}`)]);
  return h("span", { class: "first", title: title.join(" · ") },
    busy.length > 0 && [h("strong", { key: "busy" }, busy.join(" · ")), between(-1)],
    h("span", { class: "counts", key: "counts" }, shown.length ? shown : h("span", { class: "quiet" }, "no task yet")));
}

/** @param {Scene} scene @param {State} state */
function tabs(scene, state) {
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Views", key: "tabs" }, scene.tabs.map(({ id, label, badge, urgent, failed }) => {
    const chosen = id === scene.tab;
    const bad = failed && badge > 0;
    return h("button", { type: "button", key: id, role: "tab", id: `${state.id}-${id}`, "aria-selected": String(chosen), "aria-label": bad && `${label}, ${badge} failed`,
      "aria-controls": `${state.id}-panel`, tabindex: chosen ? "0" : "-1", "data-act": "tab", "data-tab": id },
      urgent && WARNING, label, badge > 0 && [" ", h("span", { class: bad ? "badge failed" : "badge" }, bad && "✕ ", badge > MOST_IN_BADGE ? `${MOST_IN_BADGE}+` : String(badge))]);
  }));
}

/** @param {Scene} scene @param {State} state */
function panel(scene, state) {
  const view = VIEWS[scene.tab];
  return h("div", { role: "tabpanel", id: `${state.id}-panel`, "aria-labelledby": `${state.id}-${scene.tab}`, tabindex: "-1", key: `panel-${scene.tab}`, class: "panel" },
    ...(view?.(scene, state) ?? scene.runs?.views[scene.tab]?.(state) ?? drawDevices(scene, state)).flat());
}
