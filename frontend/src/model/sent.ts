// What observers ask and heads answer, in version 1; records of runs. tools/panel_types.py writes this file.

/**
 * Ask for the current snapshot, once the devices have been looked at.
 *
 * `whole` asks for a row of every node, device and worker; a snapshot of a large cluster has some.
 */
export interface TakeSnapshot {
  ask: "snapshot";
  whole?: boolean;
}

/**
 * Ask for the current snapshot and for each later one (`on`), or for no more of them.
 *
 * `rows` asks for more tasks than a snapshot usually has.
 */
export interface WatchSnapshots {
  ask: "watch";
  on?: boolean;
  rows?: number;
}

/** Ask why a task, an actor or a placement group (its hex id) waits; without an id, why anything does. */
export interface Explain {
  ask: "explain";
  task_id?: string | null;
}

/** Ask for the tasks that pass a filter, of all that the head knows. */
export interface FindTasks {
  ask: "tasks";
  filter?: TaskFilter;
}

/**
 * What a task must be to be found; an empty field asks for nothing.
 *
 * states   words as views say them ("failed") or Ray's names ("PENDING_ARGS_AVAIL")
 * cell     the cell's number, "7" or "[7]"
 * job      the number of the job that submitted it
 * text     somewhere in its name, id, cell, devices or reason, in any case
 * function its function's own name, or the class of an actor's constructors and calls
 * limit    how many rows at most, the first ones; 0 for all
 * skip     so many of the first ones are left out
 * by_state those that run come first, then failed, waiting, cancelled and finished ones, each the newest first;
 *          without it, the newest come first
 */
export interface TaskFilter {
  states?: string[];
  cell?: string;
  job?: number;
  text?: string;
  limit?: number;
  function?: string;
  skip?: number;
  by_state?: boolean;
}

/** Ask for the last lines (`tail`; 0 for all) that a task's worker has printed, or that any worker has. */
export interface ReadLogs {
  ask: "logs";
  task_id?: string | null;
  tail?: number;
}

/** Ask for the last lines of the head's own log. */
export interface ReadNotes {
  ask: "notes";
}

/** Cancel a task by its hex id; `force` ends its process. */
export interface CancelTask {
  ask: "cancel";
  task_id: string;
  force?: boolean;
}

/** End an actor by its hex id. */
export interface EndActor {
  ask: "kill";
  actor_id: string;
}

/** Ask the program that publishes a record (`published` in a snapshot) to do something, such as "stop" of a run. */
export interface QueryPublisher {
  ask: "ask_publisher";
  id: string;
  what: string;
}

/** Add a virtual node with the options of cluster_utils.Cluster.add_node(); the answer is its hex id. */
export interface AddNode {
  ask: "add_node";
  options: Record<string, any>;
}

/** Remove a virtual node by its hex id. */
export interface RemoveNode {
  ask: "remove_node";
  node_id: string;
}

/** End the idle workers that have run user code; the answer is their number. */
export interface Recycle {
  ask: "recycle";
}

/** End the head, with its workers. */
export interface StopHead {
  ask: "stop";
}

/**
 * Ask what ran from `start` to `end` (Unix seconds; none: from the beginning, until now).
 *
 * `since` is the `seq` of the last whole answer for the same window: only what ended after it is told.
 */
export interface ReadRuns {
  ask: "runs";
  start?: number | null;
  end?: number | null;
  since?: number;
}

/** Ask who used the devices, by function and by cell; `since`, the `seq` of an answer, for what has changed. */
export interface ReadAccounting {
  ask: "accounting";
  since?: number;
}

/**
 * Ask for load, memory and power of the last two minutes; `since`, the `seq` of an answer, for what came then.
 *
 * They are measured while somebody watches.
 */
export interface ReadReadings {
  ask: "readings";
  since?: number;
}

/**
 * Ask for the rows of a published record, such as the trials of an experiment, that have changed since an answer's
 * `seq` (`since`; 0: all). An answer has at most 31,000 bytes; the next one has the rest.
 */
export interface ReadRows {
  ask: "rows";
  id: string;
  since?: number;
}

/**
 * Ask what the process of a task (its hex id) has printed since the offsets `to` of the last answer.
 *
 * At first the answer has the newest 31 KB. Ask again after `pause_s`, until the task is `over`.
 */
export interface ReadTaskLog {
  ask: "task_log";
  task_id: string;
  out_since?: number;
  err_since?: number;
}

/**
 * Run the call of a failed task (its hex id) once more, as a new task; the answer is the new task's hex id.
 *
 * This is possible while the failed task's row says that it is `retryable`.
 */
export interface RetryTask {
  ask: "retry";
  task_id: string;
}

/**
 * Ask where the code of a worker stands, by its `pid` and the `node_id` of its row.
 *
 * The first question has no `since`. Ask again with that of the answer after `pause_s`, while that is not 0.
 */
export interface ReadStack {
  ask: "stack";
  pid: number;
  node_id?: string;
  since?: number;
}

/** The token is right: the observer may ask. */
export interface WelcomeLine {
  kind: "welcome";
  protocol: number;
  session: string;
}

/** The question has no answer, for this reason. The observer may ask something else, unless the connection ends. */
export interface ErrorLine {
  kind: "error";
  message: string;
}

/** The question was an order, and the head has taken it. */
export interface DoneLine {
  kind: "done";
  ask: string;
  node_id?: string;
  workers?: number;
  task_id?: string;
}

/** The snapshot of the cluster. */
export interface SnapshotLine {
  kind: "snapshot";
  snapshot: Snapshot;
}

/**
 * A consistent snapshot at one moment. Rows are capped, counts are of all: `counts` and `functions` of tasks,
 * `node_counts`, `device_counts` and `worker_counts` of the others.
 *
 * Of a large cluster it has rows of 256 nodes with up to 1,024 devices, and of 256 workers: of the head's node, of
 * nodes that have gone or whose devices are taken by others, and of those that somebody holds.
 */
export interface Snapshot {
  runtime: Runtime;
  seq?: number;
  time?: number;
  nodes?: NodeRow[];
  devices?: DeviceRow[];
  tasks?: TaskRow[];
  actors?: ActorRow[];
  workers?: WorkerRow[];
  groups?: GroupRow[];
  alerts?: Alert[];
  counts?: Record<string, number>;
  actor_counts?: Record<string, number>;
  jobs?: JobRow[];
  published?: PublishedRow[];
  found?: string[];
  protocol?: number;
  node_types?: NodeTypeRow[];
  arrivals?: ArrivalRow[];
  requests?: RequestRow[];
  infeasible_requests?: Record<string, number>[];
  functions?: FunctionRow[];
  node_counts?: Record<string, number>;
  device_counts?: DeviceCount[];
  worker_counts?: Record<string, number>;
  resources?: Record<string, [number, number]>;
}

export interface Runtime {
  engine: string;
  version: string;
  python: string;
  pid?: number | null;
  session?: string;
  address?: string;
  shared?: boolean;
  started_at?: number | null;
  log_dir?: string;
  job?: number;
}

export interface NodeRow {
  node_id: string;
  name: string;
  alive?: boolean;
  is_head?: boolean;
  totals?: Record<string, number>;
  available?: Record<string, number>;
  labels?: Record<string, string>;
  address?: string;
  why?: string;
  node_type?: string;
  idle_since?: number | null;
  leaves_at?: number | null;
  kept_by?: string;
  kept_objects?: string[];
}

/** One device of one node, with its holders. */
export interface DeviceRow {
  node_id: string;
  resource: string;
  index: number;
  id: string;
  vendor: string;
  family: string;
  kind: string;
  type?: string | null;
  name?: string;
  uuid?: string | null;
  parent?: string | null;
  profile?: string | null;
  offered?: boolean;
  memory_bytes?: number | null;
  free?: number;
  free_reason?: string;
  holders?: Holder[];
  metrics?: DeviceMetrics | null;
}

/** Who holds a device, or a part of it, and for which cell. */
export interface Holder {
  name: string;
  amount: number;
  task_id?: string | null;
  actor_id?: string | null;
  pid?: number | null;
  cell?: string;
  since?: number | null;
  job?: number;
}

/** What the vendor's interface said of a device, last time somebody watched. */
export interface DeviceMetrics {
  utilisation_percent?: number | null;
  memory_used_bytes?: number | null;
  memory_total_bytes?: number | null;
  temperature_celsius?: number | null;
  power_watts?: number | null;
  processes?: [number, number | null][];
  reasons?: Record<string, string>;
  sampled_at?: number | null;
}

/**
 * A task, an actor's constructor or a call: Ray's state names, and why it waits.
 *
 * A task that was cancelled is CANCELLED here, and FAILED with this `error_type` to Ray's own questions.
 */
export interface TaskRow {
  task_id: string;
  name: string;
  kind: string;
  state: string;
  job?: number;
  demand?: Record<string, number>;
  device_ids?: Record<string, string[]>;
  node_id?: string | null;
  worker_id?: string | null;
  pid?: number | null;
  actor_id?: string | null;
  parent_task_id?: string | null;
  cell?: string;
  submitted_at?: number | null;
  started_at?: number | null;
  finished_at?: number | null;
  why?: string;
  choice?: string;
  choice_why?: string;
  attempt?: number;
  peak_memory_bytes?: number | null;
  hint?: string;
  progress?: [number, number] | null;
  function?: string;
  error_type?: string;
  retryable?: boolean;
  retry_of?: string;
}

export interface ActorRow {
  actor_id: string;
  class_name: string;
  state: string;
  job?: number;
  name?: string;
  namespace?: string;
  demand?: Record<string, number>;
  device_ids?: Record<string, string[]>;
  node_id?: string | null;
  worker_id?: string | null;
  pid?: number | null;
  cell?: string;
  since?: number | null;
  restarts?: number;
  pending_calls?: number;
  why?: string;
  detached?: boolean;
  choice?: string;
  choice_why?: string;
}

export interface WorkerRow {
  worker_id: string;
  pid: number | null;
  node_id: string;
  state: string;
  running?: string;
  used?: boolean;
  cpu_percent?: number | null;
  memory_bytes?: number | null;
}

export interface GroupRow {
  group_id: string;
  name: string;
  state: string;
  strategy: string;
  bundles?: Record<string, number>[];
  bundle_nodes?: (string | null)[];
  why?: string;
}

/** Something a person should look at: failed tasks, a leak, a lost device, a deadlock, a demand never to be met. */
export interface Alert {
  kind: string;
  message: string;
  since: number;
  task_id?: string | null;
  device?: string | null;
  node_id?: string | null;
}

/** A driver of a shared head: whose cells and tasks those of its number are. */
export interface JobRow {
  number: number;
  name: string;
  pid?: number | null;
  left?: boolean;
}

/** A record that a driver or a worker lets everyone see: the last one of its id. */
export interface PublishedRow {
  kind: string;
  id: string;
  record: Record<string, any>;
  published_at: number;
  job?: number;
  changes?: number;
}

/** A type of nodes that the cluster can get: what each has, how many there may be, and how many there are. */
export interface NodeTypeRow {
  name: string;
  source?: string;
  resources?: Record<string, number>;
  labels?: Record<string, string>;
  min?: number;
  max?: number;
  here?: number;
  arriving?: number;
  idle_s?: number | null;
  failures?: number;
  why?: string;
  next_try_at?: number | null;
  given_up?: boolean;
  used_s?: number;
  failed_at?: number | null;
}

/** A node that was asked for and is not here yet. */
export interface ArrivalRow {
  id: string;
  node_type: string;
  source?: string;
  state?: string;
  since?: number;
  usually_s?: number | null;
}

/** Room that somebody asks the cluster to have: the request of request_resources(), or what a notebook holds. */
export interface RequestRow {
  kind: string;
  resources: Record<string, number>;
  bundles?: number;
  by?: string;
  job?: number;
  since?: number;
}

/**
 * How many tasks a function has had, or how many constructors and calls a class: all of them, not only those with
 * rows.
 */
export interface FunctionRow {
  name: string;
  running?: number;
  waiting?: number;
  failed?: number;
  cancelled?: number;
  finished?: number;
}

/** How many devices of a resource the living nodes offer: all of them, not only those with rows. */
export interface DeviceCount {
  resource: string;
  total?: number;
  held?: number;
  taken?: number;
  shared?: number;
  most_free?: number;
  least_free?: number;
  logical?: number;
  simulated?: number;
}

/** Why things are where they are; empty when the id is not known. */
export interface ExplanationsLine {
  kind: "explanations";
  explanations: Explanation[];
}

/**
 * Why something is where it is; as text it is its sentence.
 *
 * fits_now    what it asks is free now
 * ever        it can run with the nodes there are; None: unknown
 * resources   those that there is too little of
 * fragmented  enough is free in sum, but not on one device
 * deadlock    all of it is held by work that waits for others, while nobody runs for whom it could wait
 * kept        all of it is held by work that does not give it back by itself, but ends when a person says so: an actor
 *             whose last handle is dropped, a placement group that is removed
 * elsewhere   what others than this cluster do to the devices: leases of other heads, memory of foreign processes
 * missing     ids of arguments that are not there yet
 * coming      "coming": a node that would meet it was asked for; "addable": one can be asked for
 */
export interface Explanation {
  id: string;
  name: string;
  state: string;
  sentence: string;
  asks?: string;
  fits_now?: boolean;
  ever?: boolean | null;
  resources?: string[];
  fragmented?: boolean;
  deadlock?: boolean;
  kept?: boolean;
  reason?: string;
  holders?: Blocker[];
  elsewhere?: string[];
  missing?: string[];
  coming?: string;
}

/** Who holds some of what another waits for. */
export interface Blocker {
  name: string;
  resource: string;
  amount: number;
  device_id?: string | null;
  cell?: string;
  pid?: number | null;
  since?: number | null;
  task_id?: string | null;
  actor_id?: string | null;
  group_id?: string | null;
  for_life?: boolean;
  blocked?: boolean;
  ending?: boolean;
  node_id?: string;
}

/** What workers have printed. */
export interface LogsLine {
  kind: "logs";
  text: string;
}

/** The tasks that were asked for of those that pass the filter, and how many pass, in all and of each function. */
export interface TasksLine {
  kind: "tasks";
  rows: TaskRow[];
  total: number;
  functions?: FunctionRow[];
}

/** The last lines of the head's own log. */
export interface NotesLine {
  kind: "notes";
  notes: string[];
}

/** What ran when. */
export interface RunsLine {
  kind: "runs";
  runs: RunsAnswer;
}

/**
 * The runs in a window of time: alike ones that are short are one bar, and none is left out.
 *
 * A `whole` answer has all bars. Another has those of the runs that ended after the whole answer whose `seq` was asked
 * with: they take the place of those that came in between.
 */
export interface RunsAnswer {
  seq: number;
  pause_s: number;
  time: number;
  origin: number;
  whole: boolean;
  grain_s: number;
  kinds: RunKind[];
  lanes: Record<string, string>;
  ended: LaneRuns[];
  running: LaneRuns[];
  waiting: number[];
  waiting_from: number;
  waiting_step_s: number;
}

/** What runs have in common that may be one bar. A bar refers to it by `index`. */
export interface RunKind {
  index: number;
  function: string;
  cell: string;
  job: number;
  state: string;
}

/**
 * The bars of one lane, by their beginnings.
 *
 * A bar is `[kind, from, took, number, shade, waited]`, with times in milliseconds: `from` since the answer's
 * `origin`, `waited` the longest wait before it. `number` is how many runs it stands for; below 0, -12 say, it stands
 * for 12 of several kinds, the longest of them of this one. What is left out at the end of a bar is 1 for the number
 * and 0 for the others.
 */
export interface LaneRuns {
  lane: number;
  bars: number[][];
}

/** Who used the devices. */
export interface AccountingLine {
  kind: "accounting";
  accounting: AccountingAnswer;
}

/** Who used the devices: the rows that have changed since the asked `since`, those that used most first. */
export interface AccountingAnswer {
  seq: number;
  pause_s: number;
  time: number;
  functions: AccountRow[];
  cells: AccountRow[];
  devices: DeviceAccount[];
  known_seconds: number;
  held_seconds: number;
  left_out: number;
}

/** What a function, or a cell, has used until the answer's time; it goes on using `devices` of them. */
export interface AccountRow {
  name: string;
  job: number;
  runs: number;
  failed: number;
  running: number;
  seconds: number;
  device_seconds: number;
  devices: number;
}

/** How long a device was held since it was known; half of it for 10 s is 5. */
export interface DeviceAccount {
  device: string;
  since: number;
  held_seconds: number;
  devices: number;
}

/** How the devices were. */
export interface ReadingsLine {
  kind: "readings";
  readings: ReadingsAnswer;
}

/**
 * Load, memory and power of the devices: a letter for each step, one device after the other in each text.
 *
 * The letters `A-Za-z0-9+/` are 0 to 63 of 63 parts of 100 %, of all memory, of `power_watts`; `.` is unknown. Step n
 * begins n × `step_s` after `origin`.
 */
export interface ReadingsAnswer {
  seq: number;
  pause_s: number;
  time: number;
  origin: number;
  step_s: number;
  first: number;
  steps: number;
  power_watts: number;
  prefix: string;
  devices: string[];
  utilisation: string;
  memory: string;
  power: string;
}

/** Rows of a published record. */
export interface RowsLine {
  kind: "rows";
  rows: RowsAnswer;
}

/**
 * Rows of a record that have changed, by their keys, in the order in which they changed.
 *
 * `seq` is the number of the last change, to be asked with as `since` the next time, and `pause_s` how long to wait
 * before that; it is 0 if there was no room for all of them. `total` is how many rows the record has.
 */
export interface RowsAnswer {
  seq: number;
  pause_s: number;
  total: number;
  rows: Record<string, Record<string, any>>;
}

/** What a task's process has printed. */
export interface TaskLogLine {
  kind: "task_log";
  task_log: TaskLogAnswer;
}

/** What a task's process has printed since the asked offsets, and why the task failed. */
export interface TaskLogAnswer {
  pause_s: number;
  over: boolean;
  out?: PrintedText;
  err?: PrintedText;
  pid?: number | null;
  failure?: string;
  note?: string;
}

/** What one stream of a process has said up to the offset `to`, with which the next question goes on. */
export interface PrintedText {
  text?: string;
  to?: number;
  left_out?: number;
}

/** Where the code of a process stands. */
export interface StackLine {
  kind: "stack";
  stack: StackAnswer;
}

/**
 * The frames of each thread or coroutine of a process that runs code of users, as in a traceback.
 *
 * Ask again with `since` after `pause_s` while that is not 0.
 */
export interface StackAnswer {
  text?: string;
  since?: number;
  pause_s?: number;
}

/** One run at one moment. */
export interface RunSnapshot {
  id: string;
  name: string;
  path: string;
  state?: string;
  why?: string;
  phase?: string;
  started_at?: number;
  ended_at?: number | null;
  backend?: string;
  each?: Record<string, number>;
  ranks?: RankDot[];
  reports?: number;
  metrics?: Record<string, number | number | string | boolean>;
  curves?: Curve[];
  checkpoints?: CheckpointTick[];
  load?: string;
  epoch?: number | null;
  epochs?: number | null;
  epochs_done?: number | null;
  left_s?: number | null;
  failures?: number;
  stops?: number;
  workers?: number;
  kept?: number;
}

/** One rank: waiting, running, returned, stopped or failed. */
export interface RankDot {
  rank: number;
  state?: string;
  pid?: number | null;
  devices?: Record<string, string[]>;
  node?: string;
  report?: number | null;
}

/** A metric over the numbers of reports. */
export interface Curve {
  name: string;
  points: [number, number][];
}

export interface CheckpointTick {
  name: string;
  report: number;
  best?: boolean;
}

/** One experiment at one moment. */
export interface ExperimentSnapshot {
  id: string;
  name: string;
  path: string;
  state?: string;
  why?: string;
  started_at?: number;
  ended_at?: number | null;
  counts?: Record<string, number>;
  total?: number | null;
  metric?: string;
  best?: BestTrial | null;
  stops?: number;
  shown?: string;
  mode?: string;
}

/** The trial with the best last value; `config` has the parameters as text. */
export interface BestTrial {
  id: string;
  value: number;
  config: Record<string, string>;
}

/** One trial. `config` has plain values as they are, and others as text. */
export interface TrialRow {
  number: number;
  state?: string;
  config?: Record<string, any>;
  value?: number | string | null;
  reports?: number;
  curve?: TrialCurve | null;
  devices?: Record<string, string[]>;
  pid?: number | null;
  started_at?: number | null;
  ended_at?: number | null;
  idle_s?: number;
  error?: string;
  attempts?: number;
  stops?: number;
  waits?: boolean;
}

/** The metric over the numbers of reports; `.` among the letters is no finite value. */
export interface TrialCurve {
  first: number;
  last: number;
  low: number;
  high: number;
  letters: string;
  log?: boolean;
}

/** One application at one moment. */
export interface ServedSnapshot {
  id: string;
  name: string;
  state?: string;
  url?: string;
  route?: string;
  socket?: string;
  prefix?: string;
  asks_token?: boolean;
  why?: string;
  started_at?: number;
  ended_at?: number | null;
  deployments?: DeploymentRow[];
  requests?: number;
  statuses?: Record<string, number>;
  per_s?: number;
  p50_s?: number | null;
  p95_s?: number | null;
  under_way?: number;
  queued?: number;
  failed?: number;
  stops?: number;
}

/** A deployment with its replicas. */
export interface DeploymentRow {
  name: string;
  wanted: number;
  replicas?: ReplicaRow[];
  more?: number;
  most_each?: number;
  share?: string;
  batch?: number;
  batch_limit?: number;
  message?: string;
  error?: LastError | null;
}

/** A replica. `blocked` is the stack of a loop that does not turn. */
export interface ReplicaRow {
  id: string;
  state: string;
  pid?: number | null;
  devices?: Record<string, string[]>;
  since?: number;
  under_way?: number;
  fallback?: string;
  blocked?: string;
}

/** What user code raised last. */
export interface LastError {
  time: number;
  type: string;
  message: string;
  traceback?: string;
}

/**
 * A training run, an experiment or a trial of one as its folder has it.
 *
 * state    "running", "finished", "stopped", "failed", or "interrupted" if its program ended without a word;
 *          of a trial also "pending", and "done", "pruned" and "error" for its ends
 * metrics  of the last report; of an experiment, those of its best trial, whose parameters are `config`
 * config   of a run, its train_loop_config; what is no number or text is short text
 * curves   of the metrics, if they were asked for
 * note     what somebody has written about it
 */
export interface StoredRun {
  name: string;
  kind: string;
  path: string;
  state?: string;
  started_at?: number;
  ended_at?: number;
  reports?: number;
  trials?: number;
  trials_ended?: number;
  metric?: string;
  metrics?: Record<string, any>;
  config?: Record<string, any>;
  error?: string;
  curves?: StoredCurve[];
  note?: string;
}

/** A metric over reports: the number of each report, the seconds that the run had taken until then, the value. */
export interface StoredCurve {
  name: string;
  points: [number, number, number][];
}

/** The questions by their names, each with its answer. */
export interface Asked {
  snapshot: { question: TakeSnapshot; answer: SnapshotLine };
  watch: { question: WatchSnapshots; answer: SnapshotLine };
  explain: { question: Explain; answer: ExplanationsLine };
  tasks: { question: FindTasks; answer: TasksLine };
  logs: { question: ReadLogs; answer: LogsLine };
  notes: { question: ReadNotes; answer: NotesLine };
  cancel: { question: CancelTask; answer: DoneLine };
  kill: { question: EndActor; answer: DoneLine };
  ask_publisher: { question: QueryPublisher; answer: DoneLine };
  add_node: { question: AddNode; answer: DoneLine };
  remove_node: { question: RemoveNode; answer: DoneLine };
  recycle: { question: Recycle; answer: DoneLine };
  stop: { question: StopHead; answer: DoneLine };
  runs: { question: ReadRuns; answer: RunsLine };
  accounting: { question: ReadAccounting; answer: AccountingLine };
  readings: { question: ReadReadings; answer: ReadingsLine };
  rows: { question: ReadRows; answer: RowsLine };
  task_log: { question: ReadTaskLog; answer: TaskLogLine };
  retry: { question: RetryTask; answer: DoneLine };
  stack: { question: ReadStack; answer: StackLine };
}
