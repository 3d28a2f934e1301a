// The views of the past. The kernel sends this module when the first of them is opened; its parts are the cockpit's.

import { accountsView, withAccounts } from "./accounts.js";
import { drawAccounts } from "./draw_accounts.js";
import { drawTimeline } from "./draw_timeline.js";
import { drawLog, withLog } from "./log.js";
import { withRuns } from "./past_runs.js";
import { timelineOf } from "./timeline.js";
import { saveTrace } from "./trace.js";
import { rangeOf, zoomed } from "./zooming.js";

/** @type {import("../cockpit/types.js").PastViews} */
export const viewOfPast = { accountsView, drawAccounts, drawLog, drawTimeline, rangeOf, saveTrace, timelineOf, zoomed, told: { accounting: withAccounts, runs: withRuns, task_log: withLog } };
