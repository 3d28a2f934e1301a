// What the person does: clicks, keys and filters become choices of the view or messages to the source.

import { copyText } from "./copying.js";
import { takeFound } from "./finding.js";
import { showCell } from "./going.js";
import { watchHover } from "./hovering.js";
import { listenTo } from "./listen_to.js";
import { turnNotices } from "./notices.js";
import { secondWay } from "./second_way.js";
import { watchSight } from "./sight.js";
import { speaker } from "./speaking.js";

/** @typedef {import("./types.js").Source} Source */
/** @typedef {import("./state.js").State} State */
/** @typedef {{redraw: () => void, more: () => void, look: () => void, recall: (message: any) => void, now: () => number}} View */

const TAKEN_WITHIN_MS = 1500; // a kernel that is reached at all answers in a tenth of it

/** @param {HTMLElement} root @param {Source} source @param {State} state @param {View} view @returns {() => void} what ends it */
export function actions(root, source, state, view) {
  const waitingFor = new Map(); // id -> the timer that runs until the kernel has taken the message
  const say = speaker(state, view);
  const wanted = () => state.range ?? state.shown; // of the timeline: what was chosen last may not be drawn yet

  /** Send something that should reach the kernel now, and say so when it does not. @param {any} message @param {string} name */
  const order = (message, name) => {
    state.doubted = "";
    source.send(message);
    state.asked.add(message.id);
    clearTimeout(waitingFor.get(message.id));
    waitingFor.set(message.id, setTimeout(() => {
      if (!["retry", "curl"].includes(message.say) && secondWay(root, source, message, say)) return;
      say(`The kernel is busy and takes messages only between cells: ${name} is told when the running cell ends. To end the cell itself, use Stop.`);
    }, TAKEN_WITHIN_MS));
    view.redraw();
  };
  const orderOf = (/** @type {string} */ say) => (/** @type {DOMStringMap} */ data) => order({ say, id: data.id }, `${data.name}`);
  /** @type {Record<string, (data: DOMStringMap) => void>} */
  const acts = {
    cancel: orderOf("cancel"),
    retry: orderOf("retry"),
    kill: orderOf("kill"),
    "cancel-run": orderOf("stop"),
    curl: orderOf("curl"),
    doubt(data) {
      state.doubted = data.id ?? "";
      say(data.owner ? `${data.name} belongs to ${data.owner}, not to this notebook.` : `${data.name} would lose its state, and its calls would fail.`);
    },
    notices: () => void turnNotices(root.ownerDocument.defaultView, state, say).then(view.more),
    sure: (data) => void (state.doubted = data.id ?? ""),
    "cancel-many": (data) => order({ say: "cancel-many", id: data.id, function: data.function,
      filter: { state: data.state, cell: data.cell, text: data.text } }, `${data.name}`),
    keep() {
      state.doubted = "";
      say("");
    },
    logs(data) {
      delete state.past.task_log;
      state.log = state.log?.id === data.id ? null : { id: data.id ?? "", name: data.name ?? "", search: "", follow: true };
      view.look();
    },
    "close-log": () => void (state.log = null),
    go: ({ cell = "" }) => void (source.go ? source.go(cell) : showCell(root, cell, say)),
    details() {
      state.details = !state.details;
      view.look();
    },
    tab(data) {
      state.details = true;
      state.tab = data.tab ?? "devices";
      view.look();
    },
    window(data) {
      state.window = Number(data.window);
      state.range = null;
      view.look();
    },
    zoom(data) {
      state.range = source.snapshot()?.past?.zoomed(wanted(), Number(data.by)) ?? null;
      view.look();
    },
    follow() {
      state.range = null;
      view.look();
    },
    "ask-more"() {
      state.wide = true;
      view.more();
      view.look();
    },
    lead({ tab = "tasks", state: word = "", text = "", aim = "" }) {
      if (tab === "tasks") state.filter = { state: word === "ended with it" ? "" : word, cell: "", text };
      if (tab === "devices") state.device = aim;
      state.aim = aim;
      acts.tab({ tab });
    },
    sort(data) {
      const column = data.column ?? "";
      state.sort = { column, down: state.sort.column === column && !state.sort.down };
      state.held = null;
    },
    group({ function: subject = "" }) {
      if (!state.open.delete(subject)) state.open.add(subject);
      state.asks.delete(subject);
      state.pages.delete(subject);
      view.look();
    },
    tile: (data) => void (state.device = state.device === data.device ? "" : (data.device ?? "")),
    copy(data) {
      copyText(root.ownerDocument, data.text ?? "");
      say(`Copied ${data.name}.`);
    },
    trace() {
      const snapshot = source.snapshot();
      if (snapshot) snapshot.past?.saveTrace(root.ownerDocument, snapshot, view.now());
    },
  };
  const clicked = (/** @type {Event} */ event) => {
    const target = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.("[data-act]"));
    if (!target || target.hasAttribute("disabled")) return;
    if (target.tagName === "LI" && String(root.ownerDocument.getSelection())) return; // words are selected to be copied
    const act = target.dataset.act ?? "";
    state.aim = "";
    const isSecond = /** @type {MouseEvent} */ (event).detail > 1; // of a double click: it answers no question
    if (!isSecond || !/^(cancel|kill|retry|keep)/.test(act)) acts[act]?.(target.dataset);
    view.redraw();
  };
  const typed = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (field.dataset?.search && state.log) {
      state.log.search = field.value;
      view.redraw();
    }
    const name = /** @type {keyof import("./types.js").Filter | undefined} */ (field.dataset?.filter);
    if (!name) return;
    state.filter = { ...state.filter, [name]: field.value };
    view.look();
    view.redraw();
  };
  const zoom = (/** @type {Event} */ event) => {
    const range = source.snapshot()?.past?.rangeOf(event, root, state, wanted());
    if (range === undefined) return;
    state.range = range;
    view.look();
    view.redraw();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (!root.contains(/** @type {Node} */ (event.target))) return;
    zoom(event);
    pressed(event, root, acts, view);
  };
  const heard = source.listen((message) => {
    if (message.say === "taken") {
      if (message.copy && waitingFor.has(message.id)) copyText(root.ownerDocument, message.copy);
      clearTimeout(waitingFor.get(message.id));
      waitingFor.delete(message.id);
      say(message.words ?? "");
    } else if (message.say === "found" && message.id === state.id) {
      takeFound(message.found, state);
    } else if (message.say === "history" && message.id === state.id) {
      view.recall(message);
    }
    view.redraw();
  });
  const page = /** @type {Window} */ (root.ownerDocument.defaultView);
  const ends = [
    heard, watchSight(root, state, view.redraw), watchHover(root, state, view.redraw), listenTo(root, { click: clicked, input: typed }),
    listenTo(root, { wheel: zoom, pointerdown: zoom, pointerup: zoom }, { passive: false }),
    listenTo(page, { keydown: key }, { capture: true }), // Notebook 7 takes arrow keys on their way down to what has the focus
  ];
  return () => {
    for (const end of ends) end();
    for (const timer of waitingFor.values()) clearTimeout(timer);
  };
}

/** Arrow keys move between tabs, Escape closes the log; no key reaches the notebook around it.
 * @param {KeyboardEvent} event @param {HTMLElement} root @param {Record<string, (data: DOMStringMap) => void>} acts @param {View} view */
function pressed(event, root, acts, view) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && root.querySelector('[data-act="keep"]')) acts.keep({});
  else if (event.key === "Escape" && root.querySelector(".log")) acts["close-log"]({});
  else if (target.getAttribute("role") === "tab") {
    const tabs = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('[role="tab"]')]);
    const at = tabs.indexOf(target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next !== undefined) {
      const tab = tabs[(next + tabs.length) % tabs.length];
      acts.tab(tab.dataset);
      tab.focus();
      event.preventDefault();
    }
  }
  if (event.key !== "Tab") event.stopPropagation();
  view.redraw();
}
