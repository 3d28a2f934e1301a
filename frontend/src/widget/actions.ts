// What the person does: clicks, keys and filters become choices of the view or messages to the source.

import { takeFound } from "../model/finding";
import type { Process, State } from "../model/state";
import type { Filter, Source } from "../model/types";
import { turnNotices } from "./notices";
import { watchSight } from "./sight";

export interface View {
  redraw: () => void;
  more: () => void;
  look: () => void;
  recall: (message: any) => void;
  now: () => number;
}

const TAKEN_WITHIN_MS = 1500; // a kernel that is reached at all answers in a tenth of it

/** @returns what ends it */
export function actions(root: HTMLElement, source: Source, state: State, view: View): () => void {
  const waitingFor = new Map(); // id -> the timer that runs until the kernel has taken the message
  const tooLate = new Set<string>(); // ids of which the second way has told the outcome: the kernel's is another
  const say = speaker(state, view);
  const wanted = () => state.range ?? state.shown; // of the timeline: what was chosen last may not be drawn yet

  /** Send something that should reach the kernel now, and say so when it does not. */
  const order = (message: any, name: string) => {
    state.doubted = "";
    tooLate.delete(message.id);
    source.send(message);
    state.asked.add(message.id);
    clearTimeout(waitingFor.get(message.id));
    waitingFor.set(
      message.id,
      setTimeout(() => {
        const first = (words: string) => {
          if (!waitingFor.delete(message.id)) return; // the kernel has told it
          tooLate.add(message.id);
          say(words);
        };
        if (!["retry", "curl"].includes(message.say) && secondWay(root, source, message, first)) return;
        say(
          `The kernel is busy and takes messages only between cells: ${name} is told when the running cell ends. To end the cell itself, use Stop.`,
        );
      }, TAKEN_WITHIN_MS),
    );
    view.redraw();
  };
  const orderOf = (say: string) => (data: DOMStringMap) => order({ say, id: data.id }, `${data.name}`);
  const acts: Record<string, (data: DOMStringMap) => void> = {
    cancel: orderOf("cancel"),
    retry: orderOf("retry"),
    kill: orderOf("kill"),
    "cancel-run": orderOf("stop"),
    curl: orderOf("curl"),
    doubt(data) {
      state.doubted = data.id ?? "";
      say(
        data.owner
          ? `${data.name} belongs to ${data.owner}, not to this notebook.`
          : `${data.name} would lose its state, and its calls would fail.`,
      );
    },
    notices: () => void turnNotices(root.ownerDocument.defaultView, state, say).then(view.more),
    sure: (data) => void (state.doubted = data.id ?? ""),
    "cancel-many": (data) =>
      order(
        {
          say: "cancel-many",
          id: data.id,
          function: data.function,
          filter: { state: data.state, cell: data.cell, text: data.text },
        },
        `${data.name}`,
      ),
    keep() {
      state.doubted = "";
      say("");
    },
    logs(data) {
      delete state.past.task_log;
      state.log = openLog(state, data);
      view.look();
    },
    stack(data) {
      delete state.past.stack;
      state.log = openLog(state, data, { pid: Number(data.pid), node: data.node ?? "" });
      view.look();
    },
    "stack-again"() {
      delete state.past.stack;
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
  const clicked = (event: Event) => {
    const target = (event.target as Element).closest?.("[data-act]") as HTMLElement | null;
    if (!target || target.hasAttribute("disabled")) return;
    if (target.tagName === "LI" && String(root.ownerDocument.getSelection())) return; // words are selected to be copied
    const act = target.dataset.act ?? "";
    state.aim = "";
    const isSecond = (event as MouseEvent).detail > 1; // of a double click: it answers no question
    if (!isSecond || !/^(cancel|kill|retry|keep)/.test(act)) acts[act]?.(target.dataset);
    view.redraw();
  };
  const typed = (event: Event) => {
    const field = event.target as HTMLInputElement;
    if (field.dataset?.search && state.log) {
      state.log.search = field.value;
      view.redraw();
    }
    const name = field.dataset?.filter as keyof Filter | undefined;
    if (!name) return;
    state.filter = { ...state.filter, [name]: field.value };
    view.look();
    view.redraw();
  };
  const zoom = (event: Event) => {
    const range = source.snapshot()?.past?.rangeOf(event, root, state, wanted());
    if (range === undefined) return;
    state.range = range;
    view.look();
    view.redraw();
  };
  const key = (event: KeyboardEvent) => {
    if (!root.contains(event.target as Node)) return;
    zoom(event);
    pressed(event, root, acts, view);
  };
  const heard = source.listen((message) => {
    if (message.say === "taken" && !tooLate.delete(message.id)) {
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
  const page = root.ownerDocument.defaultView as Window;
  const ends = [
    heard,
    watchSight(root, state, view.redraw),
    watchHover(root, state, view.redraw),
    listenTo(root, { click: clicked, input: typed }),
    listenTo(root, { wheel: zoom, pointerdown: zoom, pointerup: zoom }, { passive: false }),
    listenTo(page, { keydown: key }, { capture: true }), // Notebook 7 takes arrow keys on their way down to what has the focus
  ];
  return () => {
    for (const end of ends) end();
    for (const timer of waitingFor.values()) clearTimeout(timer);
  };
}

/** What is open below a row after a press of its button: the log or, of a process, its stack; the same again closes it. */
function openLog({ log }: State, { id = "", name = "" }: DOMStringMap, process?: Process): State["log"] {
  const isOpen = log?.id === id && Boolean(log.process) === Boolean(process);
  return isOpen ? null : { id, name, search: "", follow: true, process };
}

/** Arrow keys move between tabs, Escape closes the log; no key reaches the notebook around it. */
function pressed(
  event: KeyboardEvent,
  root: HTMLElement,
  acts: Record<string, (data: DOMStringMap) => void>,
  view: View,
) {
  const target = event.target as HTMLElement;
  if (event.key === "Escape" && root.querySelector('[data-act="keep"]')) acts.keep({});
  else if (event.key === "Escape" && root.querySelector(".log")) acts["close-log"]({});
  else if (target.getAttribute("role") === "tab") {
    const tabs = [...root.querySelectorAll('[role="tab"]')] as HTMLElement[];
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

// ---- Puts a text on the clipboard, also where the page may not use the clipboard's own interface (without https).

function copyText(page: Document, text: string) {
  const clipboard = page.defaultView?.navigator.clipboard;
  if (clipboard) clipboard.writeText(text).catch(() => copySelected(page, text));
  else copySelected(page, text);
}

function copySelected(page: Document, text: string) {
  const field = page.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  page.body.append(field);
  field.select();
  page.execCommand("copy");
  field.remove();
}

// ---- Shows the cell that a task comes from, in the notebook that this view stands in: JupyterLab's or Notebook 7's page.

const STEP = 0.8; // of what is in sight: how far the search scrolls at once

/** Whether the page is a notebook's and has this cell: "[7] line 3", but not "b.ipynb [7]". */
export function isHere(root: Element, words: string) {
  return words.startsWith("[") && Boolean(root.closest(".jp-Notebook"));
}

/** Show the cell of these words. Cells that are far away may not be on the page: then the notebook is scrolled through. */
export async function showCell(root: Element, words: string, say: (words: string) => void) {
  const notebook = root.closest(".jp-Notebook");
  const page = root.ownerDocument.defaultView;
  if (!notebook || !page) return;
  const prompt = words.split(" ")[0];
  const found = (text: string) =>
    [...notebook.querySelectorAll(".jp-InputPrompt")]
      .find((each) => each.textContent === `${text}:`)
      ?.closest(".jp-Cell");
  const scroller = notebook.querySelector(".jp-WindowedPanel-outer") ?? notebook;
  const before = scroller.scrollTop;
  let cell = found(prompt);
  for (let top = 0; !cell && top < scroller.scrollHeight; top += STEP * scroller.clientHeight) {
    scroller.scrollTop = top;
    await new Promise((done) => page.requestAnimationFrame(() => page.requestAnimationFrame(done)));
    cell = found(prompt);
  }
  if (!cell) scroller.scrollTop = before;
  cell ??= found("[*]"); // a cell gets its number when it has ended
  if (!cell) return say(`No cell of this notebook is ${prompt} any more.`);
  cell.scrollIntoView({ block: "center" });
  (cell as HTMLElement).focus({ preventScroll: true });
}

// ---- The card of the bar or tile under the pointer, or with the focus.

const CARD_PX = 246; // the widest hover card and its margins

/** Where the hover card of a bar is: below it, or above where there is more room. */
function placeOfCard(root: HTMLElement, bar: Element) {
  const [around, box] = [root.getBoundingClientRect(), bar.getBoundingClientRect()];
  const left = Math.max(8, Math.min(box.left, around.right - CARD_PX) - around.left);
  const below =
    box.top - around.top < around.height / 2
      ? `top:${box.bottom - around.top + 4}px`
      : `bottom:${around.bottom - box.top + 4}px`;
  return `left:${Math.round(left)}px;max-width:${CARD_PX - 16}px;${below}`;
}

/** @returns what ends it */
function watchHover(root: HTMLElement, state: State, redraw: () => void): () => void {
  const hovered = (event: Event) => {
    const over = (
      /pointerover|focusin/.test(event.type) ? (event.target as Element).closest?.("[data-bar]") : null
    ) as SVGElement | null;
    const bar = over?.dataset.bar ?? "";
    if (bar === state.hover.bar) return;
    state.hover = { bar, style: over ? placeOfCard(root, over) : "" };
    redraw();
  };
  return listenTo(root, { pointerover: hovered, pointerleave: hovered, focusin: hovered, focusout: hovered });
}

// ---- Listening to several kinds of events at once, until it is ended.

/** @param calls by the events' names
 * @returns what ends it */
export function listenTo(
  target: EventTarget,
  calls: Record<string, (event: any) => void>,
  options?: AddEventListenerOptions,
): () => void {
  const all = Object.entries(calls);
  for (const [type, call] of all) target.addEventListener(type, call, options);
  return () => {
    for (const [type, call] of all) target.removeEventListener(type, call, options);
  };
}

// ---- A second way for an order that a busy kernel does not take: the page around the cockpit, where JupyterLab has nbaccel's
// extension, gives it to the head through the Jupyter server.

export const OFFERED = "nbaccel-order";

/** Offer an order to the page. `taken` is called with the words that say how it went.
 * @returns whether somebody carries it out */
export function secondWay(root: HTMLElement, source: Source, message: any, taken: (words: string) => void): boolean {
  const pid = source.snapshot()?.runtime.pid;
  const offered = new CustomEvent(OFFERED, { bubbles: true, cancelable: true, detail: { message, pid, taken } });
  return !root.dispatchEvent(offered);
}

// ---- What the status line says: no more often than a screen reader can follow.

const SAY_EVERY_MS = 5000;

/** Says something in the status line, for ears at most once in five seconds. */
function speaker(state: State, view: { redraw: () => void }) {
  let last = 0;
  let later: any;
  return (words: string) => {
    clearTimeout(later);
    const wait = Math.max(0, last + SAY_EVERY_MS - Date.now());
    later = setTimeout(
      () => {
        last = Date.now();
        state.said = words;
        view.redraw();
      },
      state.said ? wait : 0,
    );
  };
}
