// Snapshots as they arrive, for the tests: what is at its default is missing.

export const NOW = 1_700_000_100;

/** Two GPUs: one held whole by a task, one shared by two; a task waits, one failed. */
export function busy() {
  return {
    runtime: { engine: "local", version: "0.1.0", pid: 4711 },
    time: NOW,
    nodes: [
      {
        node_id: "n1",
        name: "box",
        is_head: true,
        totals: { CPU: 4, GPU: 2, memory: 5e9, "node:box": 1 },
        available: { CPU: 3, GPU: 0.5 },
      },
    ],
    devices: [
      {
        resource: "GPU",
        index: 0,
        id: "0",
        kind: "logical",
        name: "logical NVIDIA GPU",
        free: 0,
        holders: [{ name: "train", amount: 1, task_id: "a1", pid: 52, cell: "[7] line 3", since: NOW - 192 }],
      },
      {
        resource: "GPU",
        index: 1,
        id: "1",
        kind: "real",
        name: "NVIDIA A100",
        free: 0.5,
        memory_bytes: 80 * 2 ** 30,
        metrics: { utilisation_percent: 83.4, memory_used_bytes: 12 * 2 ** 30 },
        holders: [
          { name: "half", amount: 0.25, task_id: "b1" },
          { name: "Keeper", amount: 0.25, actor_id: "c1" },
        ],
      },
    ],
    tasks: [
      {
        task_id: "a1",
        name: "train",
        state: "RUNNING",
        device_ids: { GPU: ["0"] },
        pid: 52,
        cell: "[7] line 3",
        submitted_at: NOW - 200,
        started_at: NOW - 192,
      },
      {
        task_id: "b1",
        name: "half",
        state: "RUNNING_IN_RAY_GET",
        device_ids: { GPU: ["1"] },
        cell: "[9]",
        submitted_at: NOW - 20,
        started_at: NOW - 20,
      },
      {
        task_id: "d1",
        name: "infer",
        state: "PENDING_NODE_ASSIGNMENT",
        demand: { GPU: 1 },
        submitted_at: NOW - 5,
        why: "waits for 1 GPU; both are held",
      },
      {
        task_id: "e1",
        name: "broken",
        state: "FAILED",
        device_ids: { GPU: ["0"] },
        submitted_at: NOW - 300,
        started_at: NOW - 290,
        finished_at: NOW - 280,
        why: "its worker was killed by SIGKILL",
        peak_memory_bytes: 3 * 2 ** 20,
      },
    ],
    actors: [
      {
        actor_id: "c1",
        class_name: "Keeper",
        name: "main",
        state: "ALIVE",
        device_ids: { GPU: ["1"] },
        since: NOW - 30,
        pending_calls: 2,
      },
    ],
    alerts: [{ kind: "leak", message: "GPU 1 keeps 9 GiB", since: NOW - 10 }],
    counts: { RUNNING: 1, RUNNING_IN_RAY_GET: 1, PENDING_NODE_ASSIGNMENT: 3, FAILED: 1, FINISHED: 40 },
    actor_counts: { ALIVE: 3, DEAD: 2 },
  };
}

/** Many devices and tasks. @param {number} devices @param {number} tasks */
export function many(devices, tasks) {
  const snapshot = busy();
  snapshot.devices = Array.from({ length: devices }, (_, index) => ({
    ...snapshot.devices[index % 2],
    index,
    id: String(index),
  }));
  snapshot.tasks = Array.from({ length: tasks }, (_, index) => ({
    ...snapshot.tasks[index % 4],
    task_id: `t${index}`,
    submitted_at: NOW - index,
    device_ids: { GPU: [String(index % devices)] },
  }));
  snapshot.counts = { RUNNING: tasks };
  return snapshot;
}

export const ASKED = { filter: { state: "", cell: "", text: "" }, window: 60, tab: "tasks", most: 1000 };
