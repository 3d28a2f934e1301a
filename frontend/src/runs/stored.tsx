// All runs and experiments of a storage folder, as the server reads them from their journals: a list that is filtered, from
// which runs are chosen to be compared, and deleted. It needs no cluster and no snapshot.

import { button, cell, empty, nameOf, stateCell, table } from "../components/parts";
import { STYLE } from "../components/style";
import { draw, type Child, type Shape } from "../components/tree";
import { PALETTE } from "../model/colours";
import type { StoredRun } from "../model/sent";
import { age, clock, count, plain, stateSign } from "../model/words";
import { drawCompared, paramsOf, type Choices } from "./compared";
import { reading } from "./curves";
import { RUNS_STYLE } from "./look";
import { paramWords } from "./trials";

/** What the server does for the view. Each rejects with a sentence. The list is that of all runs, or the trials of an
 * experiment. */
export interface Storage {
  list: (experiment: string) => Promise<{ runs: StoredRun[]; total: number }>;
  curves: (names: string[]) => Promise<StoredRun[]>; // by their folders' names; a trial's begins with its experiment's
  remove?: (name: string) => Promise<unknown>; // this and the next are missing where the person may only look
  note?: (name: string, text: string) => Promise<unknown>;
}

interface StoredState {
  inside: string; // the experiment whose trials are shown
  runs: StoredRun[] | null; // null until they are here
  total: number;
  text: string;
  state: string;
  chosen: string[]; // in the order in which they were
  comparing: boolean;
  curves: Map<string, StoredRun>; // that have been asked for
  doubted: string; // whether it is to be deleted
  opened: string; // whose details are shown
  drafts: Map<string, string>; // of notes that are not saved
  busy: boolean;
  said: string;
  choices: Choices;
  list: Shape | null; // as it was drawn last: it stays while a pointer moves over the comparison
}

interface Deeds {
  change: (given: Partial<StoredState>) => void;
  choose: (key: string) => void;
  enter: (experiment: string) => void;
  reload: () => void;
  compare: () => void;
  remove?: (run: StoredRun) => void;
  note?: (run: StoredRun, text: string) => void;
}

const STATES = ["running", "finished", "done", "stopped", "pruned", "failed", "error", "interrupted", "pending"];
const MOST_CHOSEN = PALETTE.hues.length;
const MOST_METRICS = 4;
const MOST_NOTE_CHARACTERS = 4000; // as the server takes
const NOT_SHOWN = ["training_iteration", "timestamp", "time_this_iter_s", "time_total_s"];
const STORED_STYLE = `
& .stored th label{display:inline-flex;gap:8px;align-items:center;min-width:0}& .stored th input{min-height:0;margin:0;accent-color:var(--focus)}
& .compare .curve.wide{max-width:none}& .compare svg{touch-action:pan-y}
& .compare .curve .curve-line{stroke-width:1.6}& .compare .at{stroke:var(--edge);stroke-width:1}
& .compare .values{display:flex;flex-wrap:wrap;gap:2px 14px;list-style:none;margin:2px 0 0;padding:0}& .compare .values li{margin:0}
& .stored .note{max-width:40ch;font-weight:400}& .lines-kept{white-space:pre-wrap}
& .details label{display:block;font-weight:600}& .details textarea{display:block;box-sizing:border-box;width:100%;max-width:80ch;margin:2px 0 4px;
font:inherit;font-weight:400;color:var(--ink);background:var(--ground);border:1px solid var(--edge);border-radius:4px;padding:4px 8px}
`.replaceAll("&", ".nbaccel-cockpit.nbaccel-cockpit");

/** Show the runs in `place`.
 * @returns what ends it */
export function showStored(place: HTMLElement, storage: Storage): () => void {
  const root = place.ownerDocument.createElement("div");
  root.className = "nbaccel-cockpit";
  root.dataset.lmSuppressShortcuts = "true"; // single letters are commands of JupyterLab
  place.append(root);
  const state = newStored();
  let ended = false;
  const change = (given: Partial<StoredState>) => {
    Object.assign(state, "choices" in given ? given : { list: null, ...given });
    if (!ended) draw(root, drawStored(state, deeds, root.clientWidth, Date.now() / 1000));
  };
  const doing = (promise: Promise<Partial<StoredState>>) => {
    change({ busy: true });
    void promise.catch((error: Error) => ({ said: error.message })).then((given) => change({ busy: false, ...given }));
  };
  const listed = async (said: string = "") => {
    const { runs, total } = await storage.list(state.inside);
    const there = new Set(runs.map(keyOf));
    return { runs, total, said, chosen: state.chosen.filter((key) => there.has(key)) };
  };
  const compared = async () => {
    const lacking = state.chosen.filter((key) => !state.curves.has(key));
    for (const run of lacking.length ? await storage.curves(lacking) : []) state.curves.set(keyOf(run), run);
    return { comparing: true };
  };
  const deeds: Deeds = {
    change,
    reload() {
      state.curves.clear(); // of runs that go on
      doing(listed().then(async (given) => ({ ...given, ...(state.comparing && (await compared())) })));
    },
    choose(key) {
      const { chosen } = state;
      change({ chosen: chosen.includes(key) ? chosen.filter((each) => each !== key) : [...chosen, key] });
      if (state.comparing && state.chosen.length > 1) doing(compared());
    },
    enter(inside) {
      change({ ...newStored(), inside, curves: state.curves, drafts: state.drafts });
      doing(listed());
    },
    compare: () => (state.comparing ? change({ comparing: false }) : doing(compared())),
    note:
      storage.note &&
      ((run, text) =>
        doing(
          storage.note!(keyOf(run), text)
            .then(() => listed(`Saved the note of ${plain(run.name)}.`))
            .then((given) => (state.drafts.delete(keyOf(run)), given)),
        )),
    remove:
      storage.remove && ((run) => doing(storage.remove!(keyOf(run)).then(() => listed(`Deleted ${plain(run.name)}.`)))),
  };
  deeds.reload();
  return () => {
    ended = true;
    draw(root, []);
    root.remove();
  };
}

function newStored(): StoredState {
  return {
    inside: "",
    runs: null,
    total: 0,
    text: "",
    state: "",
    chosen: [],
    comparing: false,
    curves: new Map(),
    doubted: "",
    opened: "",
    drafts: new Map(),
    busy: false,
    said: "",
    choices: { by: "report", log: undefined, smooth: false, at: null },
    list: null,
  };
}

/** The name of its folder, by which the server knows it. */
export function keyOf({ kind, path }: StoredRun) {
  return path
    .split("/")
    .slice(kind === "trial" ? -2 : -1)
    .join("/");
}

/** Everything inside the root.
 * @param wide in pixels */
function drawStored(state: StoredState, deeds: Deeds, wide: number, now: number): Child[] {
  const found = (state.runs ?? []).filter((run) => passes(run, state));
  const compared = state.chosen.map((key) => state.curves.get(key)).filter((run) => run !== undefined);
  const isCompared = state.comparing && state.chosen.length > 1;
  return [
    <style key="look">{STYLE + RUNS_STYLE + STORED_STYLE}</style>,
    tools(state, found.length, deeds),
    isCompared &&
      compared.length > 1 &&
      drawCompared(compared, state.choices, wide, (choices) =>
        deeds.change({ choices: { ...state.choices, ...choices } }),
      ),
    (state.list ??= (
      <div key="list" class="stored">
        {found.length > 0 ? tableOf(found, state, deeds, now) : nothing(state)}
      </div>
    )),
    <p class="said" key="said" role="status" aria-live="polite">
      {state.said}
    </p>,
  ];
}

function passes(run: StoredRun, { text, state }: StoredState) {
  const words = `${run.name} ${run.kind} ${metricWords(run)} ${configWords(run, Infinity)} ${run.error ?? ""} ${run.note ?? ""}`;
  return (!state || run.state === state) && words.toLowerCase().includes(text.trim().toLowerCase());
}

function tools(state: StoredState, found: number, deeds: Deeds) {
  const { runs, total, chosen, comparing } = state;
  const states = STATES.filter((word) => word === state.state || runs?.some((run) => run.state === word));
  const option = (value: string, label: string) => (
    <option key={value} value={value} selected={value === state.state}>
      {label}
    </option>
  );
  const [noun, first] = state.inside ? ["trial", "best"] : ["run", "newest"];
  const more = runs && total > runs.length ? `, of ${total} the ${first}` : "";
  return (
    <div class="filters" role="group" aria-label={`Filter ${noun}s`} key="tools">
      {state.inside && button("Back to all runs", { onClick: () => deeds.enter("") })}
      {state.inside && <strong>{plain(state.inside)}</strong>}
      <label>
        {"State "}
        <select onChange={({ currentTarget }) => deeds.change({ state: currentTarget.value })}>
          {option("", "all")}
          {states.map((word) => option(word, word))}
        </select>
      </label>
      <label>
        {"Text "}
        <input
          type="search"
          value={state.text}
          placeholder="name or parameter"
          onInput={({ currentTarget }) => deeds.change({ text: currentTarget.value })}
        />
      </label>
      {button("Reload", { onClick: deeds.reload, disabled: state.busy })}
      {chosen.length > 1 &&
        button(comparing ? "End comparing" : `Compare ${chosen.length} ${noun}s`, {
          onClick: deeds.compare,
          "aria-pressed": comparing,
        })}
      {chosen.length > 0 && button("Choose none", { onClick: () => deeds.change({ chosen: [], comparing: false }) })}
      <span class="quiet aside">{runs && `${found} of ${count(runs.length, noun)}${more}`}</span>
    </div>
  );
}

function nothing({ runs, busy, inside }: StoredState) {
  if (!runs) return <p class="quiet">{busy ? "Reading the journals of the runs …" : ""}</p>;
  if (runs.length) return empty(`No ${inside ? "trial" : "run"} passes the filter.`);
  if (inside) return empty("This experiment has no trial yet.");
  return empty(
    "No run is stored yet. Training and tuning keep theirs in ~/nbaccel_results, or $NBACCEL_STORAGE:",
    "trainer.fit()",
  );
}

function tableOf(found: StoredRun[], state: StoredState, deeds: Deeds, now: number) {
  const failed = found.some((run) => run.error);
  const columns = [
    state.inside ? "Trial" : "Run",
    "State",
    "Started",
    "Took",
    "Progress",
    "Metrics",
    ...(failed ? ["Why"] : []),
    "",
  ];
  const rows = found.flatMap((run) => [
    rowOf(run, failed, state, deeds, now),
    ...(state.opened === keyOf(run) ? [detailsOf(run, columns.length, state, deeds)] : []),
  ]);
  return table(state.inside ? "Trials" : "Stored runs", columns, rows);
}

function rowOf(run: StoredRun, failed: boolean, state: StoredState, deeds: Deeds, now: number) {
  const key = keyOf(run);
  const name = plain(run.name);
  const { started_at: started = 0, ended_at: ended = 0, trials_ended = 0, trials = 0, reports = 0 } = run;
  const isChosen = state.chosen.includes(key);
  const progress =
    run.kind === "experiment" ? `${trials_ended} of ${count(trials, "trial")} ended` : count(reports, "report");
  const config = configWords(run);
  return (
    <tr key={key} data-run={key} title={plain(run.path)}>
      <th scope="row">
        <label>
          <input
            type="checkbox"
            checked={isChosen}
            disabled={!isChosen && state.chosen.length >= MOST_CHOSEN}
            aria-label={`Choose ${name} to compare`}
            onChange={() => deeds.choose(key)}
          />
          {nameOf(name)}
        </label>
        {run.kind === "experiment" && <span class="quiet small below">experiment</span>}
        {run.note && <span class="small below note cut">{firstLine(run.note)}</span>}
      </th>
      {stateCell(
        stateSign(run.state === "pruned" ? "stopped" : (run.state ?? "")),
        run.state ?? "",
        colourOf(state, key),
      )}
      {cell(started > 0 && whenWords(started, now), "nowrap")}
      {cell(started > 0 && age((run.state === "running" ? now : ended) - started), "nowrap")}
      {cell(progress, "nowrap")}
      <td title={[metricWords(run), configWords(run, Infinity)].filter(Boolean).join(" with ")}>
        {metricWords(run)}
        {config && <span class="quiet">{` with ${config}`}</span>}
      </td>
      {failed && cell(firstLine(run.error), "why quiet")}
      {cell(
        [
          run.kind === "experiment" &&
            button("Trials", { "aria-label": `Trials of ${name}`, onClick: () => deeds.enter(key) }),
          detailsButton(run, state, deeds),
          deeds.remove && run.kind !== "trial" && run.state !== "running" && deleteButton(run, state, deeds),
        ],
        "acts",
      )}
    </tr>
  );
}

function firstLine(text: string = "") {
  return plain(text.trim().split("\n")[0]);
}

/** Lines as they were written. */
function linesOf(text: string = "") {
  return text.split("\n").map(plain).join("\n");
}

function detailsButton(run: StoredRun, state: StoredState, deeds: Deeds) {
  const isOpen = state.opened === keyOf(run);
  return button("Details", {
    key: "details",
    "aria-expanded": isOpen,
    "aria-label": `Details of ${plain(run.name)}`,
    onClick: () => deeds.change({ opened: isOpen ? "" : keyOf(run) }),
  });
}

/** Below the row: what has no room in it, and the note. */
function detailsOf(run: StoredRun, columns: number, state: StoredState, deeds: Deeds) {
  const [metrics, config] = [metricWords(run, Infinity), configWords(run, Infinity)];
  return (
    <tr key={`details of ${keyOf(run)}`} class="logrow details">
      <td colspan={columns}>
        {run.error && <p class="lines-kept state failed">{linesOf(run.error)}</p>}
        {metrics && <p>{`Metrics: ${metrics}`}</p>}
        {config && <p>{`Config: ${config}`}</p>}
        <p class="quiet path">{plain(run.path)}</p>
        {deeds.note && run.kind !== "trial"
          ? noteField(run, state, deeds)
          : run.note && <p class="lines-kept">{linesOf(run.note)}</p>}
      </td>
    </tr>
  );
}

function noteField(run: StoredRun, state: StoredState, deeds: Deeds) {
  const { note: saved = "" } = run;
  const text = state.drafts.get(keyOf(run)) ?? saved;
  return [
    <label key="note">
      Note
      <textarea
        rows={3}
        maxlength={MOST_NOTE_CHARACTERS}
        value={text}
        onInput={({ currentTarget }) => deeds.change({ drafts: state.drafts.set(keyOf(run), currentTarget.value) })}
      />
    </label>,
    <div key="save" class="line">
      {button("Save the note", {
        disabled: state.busy || text === saved,
        onClick: () => deeds.note?.(run, text),
      })}
      {text !== saved && (
        <span class="quiet small">{`${text.length} of ${MOST_NOTE_CHARACTERS} characters, not saved`}</span>
      )}
    </div>,
  ];
}

/** With the year, of a run of another one. */
function whenWords(time: number, now: number) {
  const year = new Date(time * 1000).getFullYear();
  return `${year === new Date(now * 1000).getFullYear() ? "" : `${year}-`}${clock(time, now)}`;
}

/** The hue that a chosen run has in the comparison. */
function colourOf({ chosen }: StoredState, key: string) {
  return Math.max(0, chosen.indexOf(key)) * PALETTE.hues[0].length;
}

/** A run is deleted after a question. */
function deleteButton(run: StoredRun, state: StoredState, deeds: Deeds) {
  const [key, name] = [keyOf(run), plain(run.name)];
  if (state.doubted !== key)
    return button("Delete…", {
      key: "delete",
      "aria-label": `Delete ${name}`,
      onClick: () => deeds.change({ doubted: key }),
    });
  return (
    <span key="delete" class="ask nowrap">
      {button("Keep", { "aria-label": `Keep ${name}`, onClick: () => deeds.change({ doubted: "" }) })}{" "}
      {button("Delete it", {
        class: "urgent",
        "aria-label": `Delete it: ${name} with its checkpoints`,
        disabled: state.busy,
        onClick: () => deeds.remove?.(run),
      })}
    </span>
  );
}

/** "loss 0.0312, accuracy 0.94", as in nbaccel/views/stored_runs.py. */
function metricWords({ metric = "", metrics = {} }: StoredRun, most: number = MOST_METRICS) {
  const names =
    metric in metrics && most === MOST_METRICS
      ? [metric]
      : Object.keys(metrics).filter((name) => !NOT_SHOWN.includes(name));
  return names
    .filter((name) => typeof metrics[name] === "number")
    .slice(0, most)
    .map((name) => `${plain(name)} ${reading(metrics[name])}`)
    .join(", ");
}

/** "lr 0.01, layers 2". */
function configWords(run: StoredRun, most: number = MOST_METRICS) {
  const said = Object.entries(paramsOf(run)).map(([name, value]) => `${plain(name)} ${paramWords(value)}`);
  return said.slice(0, most).join(", ") + (said.length > most ? ", …" : "");
}
