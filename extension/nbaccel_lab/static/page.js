// The page without JupyterLab: a cockpit for each runtime, over the server's WebSocket. Each cockpit gets a model like the
// one that a kernel's widget has, so that the same modules draw it.

import cockpit, { PARTS } from "./cockpit.js";

const { base, xsrf } = document.body.dataset;
const API = 1;
const MOST_FOUND = 1000;
const RETRY_MS = [500, 1000, 2000, 5000];
const ENDED = ["FINISHED", "FAILED", "CANCELLED"];
const models = new Map(); // id of a runtime -> its model, section, and what ends its view
const waiting = new Map(); // number of a question -> what takes its answer
let questions = 0;
let tries = 0;
let mayExecute = false;
let socket;

const place = (id) => document.getElementById(id);
const here = (path) => new URL(`${base}nbaccel/${path}`, location.href);

/** An element with text in it: whatever comes from a runtime is text. */
function element(tag, words = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = words;
  if (className) made.className = className;
  return made;
}

// ---- the server

function connect() {
  const address = here("api/v1/watch");
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(address);
  socket.onmessage = ({ data }) => heard(JSON.parse(data));
  socket.onclose = () => {
    place("state").textContent = "The connection to the Jupyter server was lost; it is tried again.";
    for (const answer of waiting.values()) answer({ error: "The connection to the Jupyter server was lost." });
    waiting.clear();
    setTimeout(connect, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
  };
}

function say(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function ask(runtime, question) {
  return new Promise((resolve, reject) => {
    const id = ++questions;
    waiting.set(id, ({ answer, error }) => (answer ? resolve(answer) : reject(new Error(error))));
    say({ type: "ask", id, runtime, question });
  });
}

async function order(name, body) {
  const headers = { "Content-Type": "application/json", "X-XSRFToken": xsrf };
  const answer = await fetch(here(`api/v1/${name}`), { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).message);
}

async function read(name, params) {
  const answer = await fetch(here(`api/v1/${name}?${new URLSearchParams(params)}`));
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.message);
  return said;
}

function heard(message) {
  if (message.type === "hello") greeted(message);
  else if (message.type === "runtimes") listed(message);
  else if (message.type === "snapshot") models.get(message.runtime)?.model.take(message.snapshot);
  else if (message.type === "machine") drawMachine(message.machine);
  else if (message.type === "gone") models.get(message.runtime)?.model.end();
  else if (message.type === "answer") {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  }
}

function greeted({ api, may_execute }) {
  tries = 0;
  mayExecute = may_execute;
  const newer = "This page is older than the server's extension. Load it again.";
  place("state").textContent = api !== API ? newer : may_execute ? "Connected." : "Connected. You may look, and not cancel.";
  if (document.visibilityState === "hidden") say({ type: "hidden" });
  say({ type: "watch", runtimes: ["*"] });
}

document.addEventListener("visibilitychange", () => say({ type: document.visibilityState === "hidden" ? "hidden" : "shown" }));

// ---- runtimes

function listed({ runtimes, ignored }) {
  for (const runtime of runtimes) if (!runtime.reason && !models.has(runtime.id)) open(runtime);
  for (const [id, { section, close }] of models) {
    if (runtimes.some((each) => each.id === id)) continue;
    close?.();
    section.remove();
    models.delete(id);
  }
  const banners = runtimes.filter((each) => each.reason).map(({ reason }) => reason);
  for (const { file, reason } of ignored) banners.push(`The file ${file} in Jupyter's runtime directory is ignored. ${reason}`);
  if (!runtimes.length) banners.push("No nbaccel runs on this machine. It begins with nbaccel.init() or %accel_init in a notebook.");
  place("banners").replaceChildren(...banners.map((words) => element("p", words, "banner")));
}

function open({ id, title, notebook }) {
  const section = element("section");
  const view = element("div");
  section.append(element("h2", notebook || title || `Runtime ${id}`), view);
  place("runtimes").append(section);
  const model = modelOf(id);
  models.set(id, { model, section, close: cockpit.render({ model, el: view }) });
}

/** What anywidget would give the cockpit: traits, and messages in both directions. */
function modelOf(runtime) {
  const traits = { snapshot: "", published: "[]", runs_code: "", past_code: "", details: true };
  const listeners = new Map();
  const emit = (name, given) => [...(listeners.get(name) ?? [])].forEach((listener) => listener(given));
  const set = (name, value) => {
    if (traits[name] === value) return;
    traits[name] = value;
    emit(`change:${name}`);
  };
  const load = async (trait, file) => traits[trait] || set(trait, await (await fetch(here(`static/${file}`))).text());
  let newest = null;
  const answers = answering(runtime, () => newest, (message) => emit("msg:custom", message));
  return {
    get: (name) => traits[name],
    on: (name, listener) => listeners.set(name, (listeners.get(name) ?? new Set()).add(listener)),
    off: (name, listener) => listeners.get(name)?.delete(listener),
    send: (message) => (message.say === "past" ? load("past_code", "past.js") : answers(message)),
    take(snapshot) {
      newest = snapshot;
      if (snapshot.published?.length) load("runs_code", "runs.js");
      set("published", JSON.stringify(snapshot.published ?? []));
      set("snapshot", JSON.stringify({ ...snapshot, runtime: { ...snapshot.runtime, job: ownJob(snapshot) } }));
    },
    end: () => newest && set("snapshot", JSON.stringify({ ...newest, ended: true })),
  };
}

/** With one driver its rows need no name; with several, each has one. */
const ownJob = ({ jobs = [] }) => (jobs.length === 1 ? jobs[0].number : 0);

// ---- what a view asks for

function answering(runtime, snapshot, tell) {
  const taken = (id, done, body) =>
    order("cancel", { runtime, ...body }).then(() => done, (error) => error.message).then((words) => tell({ say: "taken", id, words }));
  const filterOf = ({ state, cell, text }, limit) => {
    const [, owner, number] = /^(?:(.*) )?(\[.*\])$/.exec(cell) ?? [];
    const job = snapshot()?.jobs?.find(({ name }) => name === owner)?.number ?? 0;
    return { states: state ? [state] : [], cell: number ?? cell, job, text, limit };
  };
  const says = {
    visible: ({ rows }) => rows && say({ type: "watch", runtimes: ["*"], rows }),
    cancel: ({ id }) => taken(id, "Cancelled.", { task_id: id }),
    kill: ({ id }) => taken(id, "Killed.", { actor_id: id }),
    stop({ id }) {
      const [run_id, before, trial] = id.split("/");
      return taken(id, "Asked it to stop.", { run_id, ...(before && { before: Number(before) }), ...(trial && { trial }) });
    },
    async "cancel-many"({ id, filter, function: only }) {
      const { rows } = await ask(runtime, { ask: "tasks", filter: filterOf(filter, MOST_FOUND) });
      const live = rows.filter((row) => !ENDED.includes(row.state) && (!only || (row.function || row.name) === only));
      try {
        for (const row of live) await order("cancel", { runtime, task_id: row.task_id });
        tell({ say: "taken", id, words: `Cancelled ${live.length} tasks.` });
      } catch (error) {
        tell({ say: "taken", id, words: error.message });
      }
    },
    async find({ id, key, filter, limit }) {
      const { rows, total } = await ask(runtime, { ask: "tasks", filter: filterOf(filter, limit) });
      tell({ say: "found", id, found: { key, tasks: rows, reasons: [], total } });
    },
    async history({ id, key, ask: what, since, start, end, task_id, out_since, err_since, record, pid, node_id }) {
      const fields = { runs: { since, start, end }, task_log: { task_id, out_since, err_since }, rows: { id: record, since }, stack: { pid, node_id, since } };
      const answer = await ask(runtime, { ask: what, ...(fields[what] ?? { since }) });
      tell({ say: "history", id, key, ask: what, answer: JSON.stringify(answer[what]) });
    },
  };
  // A question without an answer leaves the view as it is: it asks again after the next change.
  return (message) => Promise.resolve(says[message.say]?.(message)).catch((error) => console.debug(`nbaccel: ${error.message}`));
}

// ---- runs of the storage folder

place("stored").addEventListener("toggle", async () => {
  const view = place("stored").lastElementChild;
  if (view.childElementCount) return;
  const show = (await import("./stored.js")).default(PARTS);
  show(view, {
    list: (experiment) => read("stored", experiment ? [["trials", experiment]] : []),
    curves: async (names) => (await read("stored", names.map((name) => ["run", name]))).runs,
    ...(mayExecute && {
      remove: (run) => order("delete_run", { run }),
      note: (run, text) => order("note_run", { run, text }),
    }),
  });
});

// ---- the machine

const gib = (bytes) => (bytes == null ? "unknown" : `${(bytes / 2 ** 30).toFixed(1)} GiB`);

function drawMachine({ devices, reason, others, host }) {
  const parts = [];
  if (host) parts.push(element("p", `${host.cpus} CPUs at ${host.cpu_percent} %, ${gib(host.memory_used_bytes)} of ${gib(host.memory_total_bytes)} memory in use.`));
  if (devices.length) parts.push(tableOf(devices));
  else parts.push(element("p", [reason, others].filter(Boolean).join(" ")));
  place("machine").replaceChildren(...parts);
}

function tableOf(devices) {
  const table = element("table");
  const row = (tag, words) => {
    const made = element("tr");
    made.append(...words.map((each) => element(tag, each)));
    return made;
  };
  table.append(element("caption", "Devices of this machine"), row("th", ["Device", "Load", "Memory", "Processes"]));
  for (const each of devices) {
    if (each.reasons.device) {
      table.append(row("td", [each.id, `not to be reached: ${each.reasons.device}`, "unknown", "unknown"]));
      continue;
    }
    const load = each.utilisation_percent == null ? "unknown" : `${each.utilisation_percent} %`;
    const memory = `${gib(each.memory_used_bytes)} of ${gib(each.memory_total_bytes)}`;
    const processes = each.processes.map((one) => `${one.name || "a process outside this container"} (${one.own ? "yours" : one.user || "unknown user"}, pid ${one.pid})`);
    table.append(row("td", [`${each.id} ${each.name}`, load, memory, processes.join(", ") || "none"]));
  }
  const wide = element("div", "", "wide");
  wide.append(table);
  return wide;
}

connect();
