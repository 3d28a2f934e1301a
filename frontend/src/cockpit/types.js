/**
 * What a snapshot looks like when it arrives, and what a view gets to draw. Fields at their default may be missing:
 * they are not sent.
 *
 * @typedef {object} Holder
 * @property {string} name
 * @property {number} [amount] missing for a whole device
 * @property {string | null} [task_id]
 * @property {string | null} [actor_id]
 * @property {number | null} [pid]
 * @property {string} [cell]
 * @property {number | null} [since]
 * @property {number} [job] missing for the reader's own
 * @property {string} [function] or class, where it is not the name
 *
 * @typedef {object} Metrics
 * @property {number | null} [utilisation_percent]
 * @property {number | null} [memory_used_bytes]
 * @property {number | null} [memory_total_bytes]
 * @property {number | null} [temperature_celsius]
 * @property {number | null} [power_watts]
 * @property {Record<string, string>} [reasons]
 *
 * @typedef {object} DeviceRow
 * @property {string} resource
 * @property {string} id
 * @property {string} [kind] missing for real ones
 * @property {string} [node_id] missing where there is one node
 * @property {string} [family]
 * @property {string | null} [type]
 * @property {string} [name]
 * @property {string | null} [parent]
 * @property {string | null} [profile]
 * @property {boolean} [offered]
 * @property {number | null} [memory_bytes]
 * @property {number} [free]
 * @property {string} [free_reason]
 * @property {Holder[]} [holders]
 * @property {Metrics | null} [metrics]
 * @property {boolean} [over] its cluster has ended
 * @property {boolean} [gone] its node has; only the page says it
 *
 * Of all devices of a resource, whatever part of them has rows.
 * @typedef {{resource: string, total?: number, held?: number, taken?: number, shared?: number, most_free?: number, least_free?: number, logical?: number, simulated?: number}} DeviceCount
 *
 * @typedef {object} NodeRow
 * @property {string} node_id
 * @property {string} name
 * @property {boolean} [alive]
 * @property {boolean} [is_head]
 * @property {Record<string, number>} [totals]
 * @property {Record<string, number>} [available]
 * @property {string} [why]
 * @property {number | null} [idle_since] of a node that was asked for
 * @property {number | null} [leaves_at]
 * @property {string} [kept_by]
 *
 * @typedef {{id: string, node_type: string, state?: string, since?: number, usually_s?: number | null}} ArrivalRow a node that was asked for
 *
 * @typedef {object} TaskRow
 * @property {string} task_id
 * @property {string} name
 * @property {string} state
 * @property {number} [job] missing for the reader's own
 * @property {string} [kind]
 * @property {string} [function] where it is not the name
 * @property {Record<string, number>} [demand]
 * @property {Record<string, string[]>} [device_ids]
 * @property {string | null} [node_id]
 * @property {number | null} [pid]
 * @property {string | null} [actor_id]
 * @property {string} [cell]
 * @property {number | null} [submitted_at]
 * @property {number | null} [started_at]
 * @property {number | null} [finished_at]
 * @property {string} [why]
 * @property {string} [choice]
 * @property {number} [attempt]
 * @property {number | null} [peak_memory_bytes]
 * @property {[number, number] | null} [progress]
 * @property {boolean} [retryable]
 * @property {string} [retry_of] id of the failed task whose call it runs again
 *
 * How many tasks a function has had, or how many constructors and calls a class.
 * @typedef {{name: string, running?: number, waiting?: number, failed?: number, cancelled?: number, finished?: number}} FunctionRow
 *
 * @typedef {object} ActorRow
 * @property {string} actor_id
 * @property {string} class_name
 * @property {string} state
 * @property {number} [job] missing for the reader's own
 * @property {string} [name]
 * @property {Record<string, string[]>} [device_ids]
 * @property {number | null} [pid]
 * @property {string} [cell]
 * @property {number | null} [since]
 * @property {number} [restarts]
 * @property {number} [pending_calls]
 * @property {string} [why]
 *
 * @typedef {object} Alert
 * @property {string} kind
 * @property {string} message
 * @property {number} since
 * @property {string | null} [task_id]
 * @property {string | null} [device] its id
 * @property {string | null} [node_id]
 *
 * @typedef {object} Runtime
 * @property {string} engine
 * @property {string} version
 * @property {string} [python]
 * @property {number | null} [pid]
 * @property {boolean} [shared]
 * @property {number} [job] of the reader
 *
 * @typedef {{number: number, name: string}} JobRow
 *
 * @typedef {object} Snapshot
 * @property {Runtime} runtime
 * @property {number} [seq]
 * @property {number} [time]
 * @property {NodeRow[]} [nodes]
 * @property {ArrivalRow[]} [arrivals]
 * @property {DeviceRow[]} [devices]
 * @property {TaskRow[]} [tasks]
 * @property {{name: string, resources?: Record<string, number>, given_up?: boolean}[]} [node_types]
 * @property {FunctionRow[]} [functions] at least those with many tasks
 * @property {{kind: string, id: string, record: Record<string, any>, job?: number}[]} [published] runs, experiments, applications
 * @property {Record<string, number>} [hues] of functions and classes whose hue is not the usual one
 * @property {ActorRow[]} [actors]
 * @property {Alert[]} [alerts]
 * @property {Record<string, number>} [counts]
 * @property {Record<string, number>} [actor_counts]
 * @property {JobRow[]} [jobs] of a shared head
 * @property {string[]} [found]
 * @property {Record<string, number>} [node_counts] of all nodes; this and the next two where some have no row, or always
 * @property {DeviceCount[]} [device_counts]
 * @property {Record<string, [number, number]>} [resources] what is free on all living nodes, and all of it
 * @property {DrawRuns | null} [runs] what draws the training runs, once there is one
 * @property {PastViews | null} [past] what draws the past, once a view of it has been opened
 * @property {boolean} [ended] the cluster has shut down; this is the last that was known of it
 * @property {boolean} [died] it ended by itself or was killed
 * @property {boolean} [lost] it ended with the kernel
 *
 * The training runs as the second module draws them at a moment: all of them, or those under way in a line each.
 * @typedef {object} RunsView
 * @property {import("./scene.js").TabView[]} tabs
 * @property {Record<string, (state: import("./state.js").State) => import("./dom.js").Given[]>} views by their tabs
 * @property {(state: import("./state.js").State) => import("./dom.js").Given[]} brief
 * @property {(state: import("./state.js").State) => import("./dom.js").Given[]} only the one of whose card the view is a part
 *
 * `open` names the experiments whose trials a view shows.
 * @typedef {{(now: number, ended: boolean, snapshot?: Snapshot): RunsView, open: (state: import("./state.js").State) => string[]}} DrawRuns
 *
 * The views of the past, as the third module has them; `told` adds an answer to what was known.
 * @typedef {object} PastViews
 * @property {typeof import("../past/timeline.js").timelineOf} timelineOf
 * @property {typeof import("../past/accounts.js").accountsView} accountsView
 * @property {typeof import("../past/draw_timeline.js").drawTimeline} drawTimeline
 * @property {typeof import("../past/draw_accounts.js").drawAccounts} drawAccounts
 * @property {typeof import("../past/log.js").drawLog} drawLog
 * @property {typeof import("../past/trace.js").saveTrace} saveTrace
 * @property {typeof import("../past/zooming.js").zoomed} zoomed
 * @property {typeof import("../past/zooming.js").rangeOf} rangeOf
 * @property {Record<string, (before: any, answer: any) => any>} told
 *
 * Where snapshots come from and messages go to: a widget's model, or the server's stream.
 * @typedef {object} Source
 * @property {() => Snapshot | null} snapshot
 * @property {(changed: () => void) => () => void} subscribe returns what ends it
 * @property {(heard: (message: any) => void) => () => void} listen answers to what was sent; returns what ends it
 * @property {(message: any) => void} send
 * @property {boolean} [retries] whether it takes the order to run a failed task again
 * @property {(words: string) => void} [go] shows the cell that these words name; missing where the page cannot
 *
 * @typedef {{state: string, cell: string, text: string}} Filter
 *
 * What passes a filter, of all tasks that the engine knows: some rows, and how many there are, in all and by function.
 * @typedef {{key: string, tasks: TaskRow[], total: number, functions?: FunctionRow[]}} Found
 */
export {};
