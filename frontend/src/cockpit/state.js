// What a person has chosen in one view of the cockpit; it is kept when the view is drawn again.

export const LAST_MINUTE = 60; // seconds of the timeline
export const WHOLE_RUN = 0; // as long as what is known of

/** @typedef {import("./types.js").Filter} Filter */
/** @typedef {{top: number, height: number, row: number, reason: number}} Scrolled reason: the height of a line that says why */

/**
 * @typedef {object} State
 * @property {string} id unique in the page, for the ids of elements
 * @property {boolean} details whether the tabs are open
 * @property {boolean} listed whether the devices have their rows also while the tabs are closed
 * @property {string} tab
 * @property {Filter} filter
 * @property {import("./task_rows.js").Sort} sort of the tasks; by no column: as they matter
 * @property {string[] | null} held ids of tasks in the order that stands still while the pointer is over them
 * @property {string[]} order ids of tasks as they were drawn last
 * @property {Set<string>} open functions whose tasks are shown one by one
 * @property {Map<string, number>} asks of which open functions tasks that are not here are in sight, and after how many
 * @property {Map<string, {filter: string, skip: number, found: import("./types.js").Found}>} pages what was answered of them
 * @property {string} device the key of the device whose tile was clicked
 * @property {string} aim of which task, device, node or alert the row gets the focus once it is drawn
 * @property {Scrolled} scrolled of the tasks, as measured on the page
 * @property {string} endOf of how many tasks the person has gone to the last; "" elsewhere
 * @property {Map<string, {top: number, height: number, row: number}>} sights of other tables of many rows, likewise
 * @property {import("./devices.js").TilesInSight | undefined} tiles likewise, where there are too many to draw them all
 * @property {string} heldSight the table under the pointer, whose order stands still
 * @property {string} only id of the run or experiment of whose card this view is a part; "" for the whole cockpit
 * @property {boolean} wide more rows have been asked for
 * @property {number} window of the timeline, in seconds
 * @property {import("../past/timeline.js").Range | null} range of the timeline, where the person looks closer
 * @property {import("../past/timeline.js").Range} shown of the timeline, as it was drawn last
 * @property {{width: number, left: number, right: number}} lanes where they were drawn last, in pixels
 * @property {number} room pixels from side to side
 * @property {{bar: string, style: string}} hover the bar under the pointer, and where its card is
 * @property {Map<string, {content: string, shape: any, of?: any}>} rows of tasks and tiles, as they were drawn last
 * @property {Set<string>} asked ids that have been asked to end
 * @property {string} doubted id of an actor, or of another notebook's task, that is to be ended, until that is confirmed
 * @property {import("./types.js").Found | null} found what passes the filter, of all tasks
 * @property {boolean} retries whether failed tasks can be run again from here
 * @property {(cell: string) => boolean} goes whether a click on a cell's words shows the cell
 * @property {string} said what the status line says
 * @property {{id: string, name: string, search: string, follow: boolean} | null} log that is open; it follows what comes
 * @property {boolean} notices whether the browser tells when a long task ends
 * @property {Record<string, import("./history.js").Past>} past what was answered about the past, by question
 */

let views = 0;

/** @param {boolean} details @returns {State} */
export function newState(details) {
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
