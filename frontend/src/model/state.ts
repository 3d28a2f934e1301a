// What a person has chosen in one view of the cockpit; it is kept when the view is drawn again.

import type { TilesInSight } from "./devices";
import type { Past } from "./history";
import type { Sort } from "./tasks";
import type { Filter, Found } from "./types";
import type { Range } from "../past/timeline";

export const LAST_MINUTE = 60; // seconds of the timeline
export const WHOLE_RUN = 0; // as long as what is known of

/** reason: the height of a line that says why */
export interface Scrolled {
  top: number;
  height: number;
  row: number;
  reason: number;
}

/** node: "" where there is only one */
export interface Process {
  pid: number;
  node: string;
}

export interface State {
  id: string; // unique in the page, for the ids of elements
  details: boolean; // whether the tabs are open
  listed: boolean; // whether the devices have their rows also while the tabs are closed
  tab: string;
  filter: Filter;
  sort: Sort; // of the tasks; by no column: as they matter
  held: string[] | null; // ids of tasks in the order that stands still while the pointer is over them
  order: string[]; // ids of tasks as they were drawn last
  open: Set<string>; // functions whose tasks are shown one by one
  asks: Map<string, number>; // of which open functions tasks that are not here are in sight, and after how many
  pages: Map<string, { filter: string; skip: number; found: Found }>; // what was answered of them
  device: string; // the key of the device whose tile was clicked
  aim: string; // of which task, device, node or alert the row gets the focus once it is drawn
  scrolled: Scrolled; // of the tasks, as measured on the page
  endOf: string; // of how many tasks the person has gone to the last; "" elsewhere
  sights: Map<string, { top: number; height: number; row: number }>; // of other tables of many rows, likewise
  tiles: TilesInSight | undefined; // likewise, where there are too many to draw them all
  heldSight: string; // the table under the pointer, whose order stands still
  only: string; // id of the run or experiment of whose card this view is a part; "" for the whole cockpit
  wide: boolean; // more rows have been asked for
  window: number; // of the timeline, in seconds
  range: Range | null; // of the timeline, where the person looks closer
  shown: Range; // of the timeline, as it was drawn last
  lanes: { width: number; left: number; right: number }; // where they were drawn last, in pixels
  room: number; // pixels from side to side
  hover: { bar: string; style: string }; // the bar under the pointer, and where its card is
  rows: Map<string, { content: string; shape: any; of?: any }>; // of tasks and tiles, as they were drawn last
  asked: Set<string>; // ids that have been asked to end
  doubted: string; // id of an actor, or of another notebook's task, that is to be ended, until that is confirmed
  found: Found | null; // what passes the filter, of all tasks
  retries: boolean; // whether failed tasks can be run again from here
  goes: (cell: string) => boolean; // whether a click on a cell's words shows the cell
  said: string; // what the status line says
  log: { id: string; name: string; search: string; follow: boolean; process?: Process } | null; // that is open; it follows what comes
  notices: boolean; // whether the browser tells when a long task ends
  past: Record<string, Past>; // what was answered about the past, by question
}

let views = 0;

export function newState(details: boolean): State {
  views += 1;
  return {
    id: `nbaccel-${views}-${Math.random().toString(36).slice(2, 8)}`,
    details,
    listed: false,
    tab: "devices",
    filter: { state: "", cell: "", text: "" },
    sort: { column: "", down: false },
    held: null,
    order: [],
    open: new Set(),
    asks: new Map(),
    pages: new Map(),
    device: "",
    aim: "",
    scrolled: { top: 0, height: 460, row: 46, reason: 23 },
    endOf: "",
    sights: new Map(),
    tiles: undefined,
    heldSight: "",
    only: "",
    wide: false,
    window: LAST_MINUTE,
    range: null,
    shown: { from: 0, to: 1 },
    lanes: { width: 1000, left: 110, right: 990 },
    room: 1000,
    hover: { bar: "", style: "" },
    rows: new Map(),
    asked: new Set(),
    doubted: "",
    found: null,
    retries: false,
    goes: () => false,
    said: "",
    log: null,
    notices: false,
    past: {},
  };
}
