// One view of the cockpit: takes snapshots from a source, draws them, and tells the source what the person wants.

import { STYLE } from "../components/style";
import { draw, type Child } from "../components/tree";
import { finder, foundNow } from "../model/finding";
import { historian, kernelClock } from "../model/history";
import { sceneOf } from "../model/scene";
import { newState, type State } from "../model/state";
import type { Snapshot, Source } from "../model/types";
import { ENDED } from "../model/words";
import { drawEmpty, drawFrame, drawOnly } from "../views/frame";
import { actions, isHere } from "./actions";
import { endings, notify } from "./notices";
import { sendPictures, timelineIn, type Picture } from "./picture";
import { measure, measureRows, measureTiles, stayAtEnd, watchRows, watchVisibility } from "./sight";

const MORE_ROWS = 1000;

/** Show the cockpit in `place`.
 * @returns what ends it */
export function mount(
  place: HTMLElement,
  source: Source,
  options: { details?: boolean; state?: State } = {},
): () => void {
  const page = place.ownerDocument;
  const root = page.createElement("div");
  const style = page.createElement("style");
  style.textContent = STYLE;
  root.className = "nbaccel-cockpit";
  root.dataset.lmSuppressShortcuts = "true"; // in JupyterLab single letters are commands: D D deletes the cell
  place.append(style, root);
  const state = options.state ?? newState(options.details ?? false);
  state.goes = (cell) => Boolean(source.go) || isHere(root, cell);
  state.retries = Boolean(source.retries);
  const clock = kernelClock();
  let visible = false;
  const noticed = { running: new Set() as Set<string>, told: new Set() as Set<string> };
  let waiting = 0; // the frame that is asked for

  let timeline: Picture[] = []; // as it was drawn before the person looked elsewhere
  let hasEnded = false;

  const redraw = () => {
    waiting = 0;
    const snapshot = source.snapshot();
    if (!state.details || state.tab !== "timeline") keepTimeline();
    const focused = root.contains(page.activeElement) ? page.activeElement : null;
    if (root.clientWidth) state.room = root.clientWidth - 30; // its padding, and a pixel on each side
    if (!snapshot) draw(root, drawEmpty("Waiting for the first snapshot of the cluster …"));
    else drawSnapshot(root, snapshot, state, snapshot.ended ? (snapshot.time ?? 0) : clock.now());
    if (visible && !snapshot?.ended) finding.moved();
    if (focused && focused !== page.activeElement) refocus(root, state, focused);
    takeAim(root, state);
  };
  const keepTimeline = () => {
    const drawn = timelineIn(root);
    if (drawn.length) timeline = drawn;
  };
  const soon = () => {
    if (visible && !waiting) waiting = requestAnimationFrame(redraw);
  };
  const arrived = () => {
    const snapshot = source.snapshot();
    if (snapshot?.time) clock.heard(snapshot.time);
    forget(state, snapshot);
    if (visible && !snapshot?.ended) look();
    const told = snapshot ? endings(noticed, snapshot) : [];
    if (state.notices) notify(page.defaultView, told);
    if (snapshot?.ended && !hasEnded) {
      keepTimeline(); // with the last of it that was drawn
      sendPictures(source, timeline);
    }
    hasEnded = Boolean(snapshot?.ended);
    soon();
  };
  const seen = (now: boolean, leaving = false) => {
    visible = now;
    const looks = now || (state.notices && !leaving); // notices are wanted from behind other tabs too
    source.send({ say: looks ? "visible" : "hidden", view: state.id, rows: now && state.wide ? MORE_ROWS : 0 });
    if (now) history.look();
    else history.end();
    soon();
  };
  const finding = finder(source, state);
  const history = historian(source, state, clock.now);
  const look = () => {
    finding.find();
    history.look();
  };
  const ends = [
    finding.end,
    history.end,
    source.subscribe(arrived),
    actions(root, source, state, {
      redraw: soon,
      more: () => seen(visible),
      look,
      recall: history.heard,
      now: clock.now,
    }),
    watchRows(root, state, soon),
    watchVisibility(root, seen),
  ];
  const ticking = setInterval(soon, 1000); // ages grow though nothing is sent
  arrived();
  redraw();
  return () => {
    clearInterval(ticking);
    if (waiting) cancelAnimationFrame(waiting);
    for (const end of ends) end();
    style.remove();
    root.remove();
  };
}

function drawSnapshot(root: HTMLElement, snapshot: Snapshot, state: State, now: number) {
  const asked = {
    filter: state.filter,
    window: state.window,
    range: state.range,
    sort: state.sort,
    held: state.held,
    tab: state.details ? state.tab : "devices",
    found: foundNow(state),
    pages: state.pages,
    past: state.past,
    device: state.device,
    tiles: state.tiles,
  };
  const scene = sceneOf(snapshot, asked, now);
  if (scene.timeline) state.shown = { from: scene.timeline.start, to: scene.timeline.start + scene.timeline.seconds };
  const drawn = () => (state.only ? drawOnly(scene, state) : drawFrame(scene, state)).filter(Boolean) as Child[];
  draw(root, drawn());
  if (measureTiles(root, state)) return drawSnapshot(root, snapshot, state, now);
  if (state.tab === "tasks" && measure(root, state)) draw(root, drawn());
  if ((state.tab === "runs" || state.only) && measureRows(root, state)) draw(root, drawn());
  stayAtEnd(root, state);
}

/** What had been asked to end and is over needs no remembering. */
function forget(state: State, snapshot: Snapshot | null) {
  if (state.rows.size > 4 * MORE_ROWS) state.rows.clear();
  if (!state.asked.size || !snapshot) return;
  const live = new Set((snapshot.actors ?? []).filter((row) => row.state !== "DEAD").map((row) => row.actor_id));
  for (const row of snapshot.tasks ?? []) if (!ENDED.has(row.state)) live.add(row.task_id);
  for (const id of state.asked) if (!live.has(id)) state.asked.delete(id);
}

/** The row to which the person was led has the focus, and is in sight. */
function takeAim(root: HTMLElement, state: State) {
  const row =
    state.aim &&
    ([...root.querySelectorAll("tr,li")] as HTMLElement[]).find((each) =>
      Object.values(each.dataset).includes(state.aim),
    );
  if (!row) return;
  state.aim = "";
  row.tabIndex = -1;
  row.focus();
}

/** What had the focus has gone, or stands in another place: keep it or stay near, at another button about the same, so that
 * the keyboard is not thrown to the page's top. */
function refocus(root: HTMLElement, state: State, focused: Element) {
  const same = `[data-id="${CSS.escape((focused as HTMLElement).dataset?.id ?? "")}"]:not([disabled])`;
  const near = focused.isConnected
    ? focused
    : (root.querySelector('[data-act="keep"]') ??
      root.querySelector(same) ??
      root.querySelector(state.details ? '[role="tab"][aria-selected="true"]' : '[data-act="details"]'));
  (near as HTMLElement | null)?.focus({ preventScroll: true });
}
