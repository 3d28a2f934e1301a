// The views of the past. The kernel sends this module when the first of them is opened; its parts are the cockpit's.

import type { PastViews } from "../model/types";
import { accountsView, drawAccounts, withAccounts } from "./accounts";
import { drawLog, withLog, withStack } from "./log";
import { rangeOf, saveTrace, timelineOf, withRuns, zoomed } from "./timeline";
import { drawTimeline } from "./timeline_view";

export const viewOfPast: PastViews = {
  accountsView,
  drawAccounts,
  drawLog,
  drawTimeline,
  rangeOf,
  saveTrace,
  timelineOf,
  zoomed,
  told: { accounting: withAccounts, runs: withRuns, stack: withStack, task_log: withLog },
};
