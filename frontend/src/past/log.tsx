// A task's log below its row: what its process prints while one looks, and why the task failed.

import { button } from "../components/parts";
import type { StackAnswer } from "../model/sent";
import type { State } from "../model/state";
import { count, plain } from "../model/words";
import { PAST_STYLE } from "./look";

interface Printed {
  text: string;
  err: boolean;
}

interface LogText {
  pieces: Printed[];
  out: number;
  err: number;
  over: boolean;
  done: boolean;
  pid: string;
  failure: string;
  yours: string;
  note: string;
  left: boolean;
}

const MOST_CHARACTERS = 200_000;
const MOST_LINES = 2_000; // that are drawn; a search finds all that are here

/** What is known of a log with one more answer. */
export function withLog(before: LogText | null, answer: any): LogText {
  const said = [
    { text: answer.out.text, err: false },
    { text: answer.err.text, err: true },
  ].filter((piece) => piece.text);
  const gap =
    before && (answer.out.left_out || answer.err.left_out)
      ? [{ text: "… too much was printed to show all of it …\n", err: true }]
      : [];
  let pieces = [...(before?.pieces ?? []), ...gap, ...said];
  let size = pieces.reduce((sum, { text }) => sum + text.length, 0);
  while (size > MOST_CHARACTERS && pieces.length > 1) {
    size -= pieces[0].text.length;
    pieces = pieces.slice(1);
  }
  return {
    pieces,
    out: answer.out.to,
    err: answer.err.to,
    over: answer.over,
    pid: answer.pid ? String(answer.pid) : "",
    done: answer.over && Boolean(before?.over) && !said.length, // what it printed last may arrive after its end
    failure: answer.failure,
    yours: answer.yours ?? "",
    note: answer.note,
    left: before?.left || Boolean(answer.out.left_out || answer.err.left_out),
  };
}

/** The lines as a terminal would show them: of a bar that redraws itself, the last. */
export function logLines(pieces: Printed[]): Printed[] {
  const lines: Printed[] = [];
  const open: Record<string, Printed | null> = { false: null, true: null }; // the unfinished line of each stream
  for (const { text, err } of pieces) {
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      const line = open[String(err)] ?? { text: "", err };
      if (open[String(err)] === null && (part || index < parts.length - 1)) lines.push(line);
      line.text += part;
      open[String(err)] = index < parts.length - 1 ? null : lines.includes(line) ? line : null;
    });
  }
  return lines.map(({ text, err }) => ({
    text: plain(text.replace(/\r+$/, "").split("\r").at(-1)?.replaceAll("\t", "    ")),
    err,
  }));
}

/** Where a process is. */
export function withStack(_: unknown, { text = "", since = 0, pause_s = 0 }: StackAnswer) {
  return { text, since, done: !pause_s };
}

/** What is below a task's or an actor's row. */
export function drawLog(state: State): any {
  const log = state.log;
  if (!log) return null;
  if (log.process) return drawStack(log.name, log.process.pid, state.past.stack?.data);
  const known = (state.past.task_log?.data ?? null) as LogText | null;
  return (
    <section class="log" aria-label={`Log of ${log.name}`}>
      <style key="look">{PAST_STYLE}</style>
      {logHead(log, known)}
      {failureOf(known)}
      {printed(log, known)}
    </section>
  );
}

/** The lines at which the code of a process is, outermost first. */
function drawStack(name: string, pid: number, known: ReturnType<typeof withStack> | undefined) {
  return (
    <section class="log" aria-label={`Stack of ${name}`}>
      <style key="look">{PAST_STYLE}</style>
      <div class="line" key="head">
        <strong>{`Stack of ${name}`}</strong>
        <span class="quiet">{`where its code was when you asked, pid ${pid}`}</span>
        <span class="aside" />
        {button("Again", { "data-act": "stack-again", disabled: !known?.done })}
        {button("Close", { "data-act": "close-log", "aria-label": "Close the stack" })}
      </div>
      {known?.text ? (
        <pre tabindex={0} aria-label="Stack">
          {`${known.text}\n`}
        </pre>
      ) : (
        <p class="quiet">{known?.done ? "No code of yours runs in its process now." : "Asking its process …"}</p>
      )}
    </section>
  );
}

function logHead(log: NonNullable<State["log"]>, known: LogText | null) {
  return (
    <div class="line" key="head">
      <strong>{`Log of ${log.name}`}</strong>
      {known?.pid && <span class="quiet">{`all that its process has printed, pid ${known.pid}`}</span>}
      {known && !known.over && <span class="chip">live</span>}
      <label class="aside quiet">
        {"Search "}
        <input type="search" data-search="log" value={log.search} aria-label={`Search the log of ${log.name}`} />
      </label>
      {button("Close", { "data-act": "close-log", "aria-label": "Close the log" })}
    </div>
  );
}

/** The error with the user's frames, then all of it. */
function failureOf(known: LogText | null) {
  if (!known?.failure) return [];
  const whole = (
    <pre tabindex={0} aria-label="The whole traceback">
      {known.failure}
    </pre>
  );
  if (!known.yours || known.yours === known.failure)
    return [
      <div key="failure" class="failure">
        {whole}
      </div>,
    ];
  return [
    <div key="failure" class="failure">
      <pre tabindex={0} aria-label="Your code in the traceback">
        {known.yours}
      </pre>
      <details open>
        <summary>The whole traceback</summary>
        {whole}
      </details>
    </div>,
  ];
}

function printed(log: NonNullable<State["log"]>, known: LogText | null) {
  if (!known)
    return (
      <p class="quiet" key="none">
        Asking the kernel …
      </p>
    );
  const all = logLines(known.pieces);
  const search = log.search.trim().toLowerCase();
  const found = search ? all.filter(({ text }) => text.toLowerCase().includes(search)) : all;
  const nothing =
    known.note ||
    (search && all.length
      ? "No line has this text."
      : known.over
        ? "It has printed nothing."
        : "It has printed nothing yet.");
  const notes = [
    search && all.length && `${found.length} of ${count(all.length, "line")}`,
    known.left && "the beginning is only in %accel_logs",
    found.length > MOST_LINES && `the last ${MOST_LINES} lines`,
  ].filter(Boolean);
  return (
    <div key="printed">
      {notes.length > 0 && (
        <p class="quiet" role="status">
          {notes.join(" · ")}
        </p>
      )}
      {found.length ? (
        <pre class="printed" tabindex={0} aria-label="What it has printed">
          {found.slice(-MOST_LINES).map(({ text, err }, index) => (
            <span key={`l${index}`} class={err ? "err" : undefined}>{`${text}\n`}</span>
          ))}
        </pre>
      ) : (
        <p class="quiet">{nothing}</p>
      )}
    </div>
  );
}
