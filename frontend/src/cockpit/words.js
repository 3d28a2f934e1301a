// How values are said: the same words as in the terminal and in the static card.

const SIZES = /** @type {[number, string][]} */ ([
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
]);
export const ENDED = new Set(["FINISHED", "FAILED", "CANCELLED"]);
const RUNNING = new Set(["RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT", "SUBMITTED_TO_WORKER"]);

/** 1.0 is "1", 0.25 is "0.25". @param {number} quantity */
export function amount(quantity) {
  return String(Math.round(quantity * 10000) / 10000);
}

/** 42949672960 is "40 GiB". @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes == null) return "unknown";
  for (const [unit, word] of SIZES) {
    if (bytes >= unit) {
      const value = bytes / unit;
      return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${word}`;
    }
  }
  return `${bytes} B`;
}

/** "8 s", "2 min", "3 min 12 s", "2 h 05 min". @param {number} seconds */
export function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const [unit, length, rest, less] = whole < 3600 ? ["min", 60, whole % 60, "s"] : ["h", 3600, Math.floor((whole % 3600) / 60), "min"];
  return `${Math.floor(whole / Number(length))} ${unit}${rest ? ` ${String(rest).padStart(2, "0")} ${less}` : ""}`;
}

/** How long something ran: tenths of a second where that says more. @param {number} seconds */
export function duration(seconds) {
  return seconds < 9.95 ? `${Math.max(0, seconds).toFixed(1)} s` : age(seconds);
}

/** A moment of today as "14:03:22", of another day as "11-22 14:03". @param {number} time @param {number} now */
export function clock(time, now) {
  const at = new Date(time * 1000);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const [day, clockTime] = [`${two(at.getMonth() + 1)}-${two(at.getDate())}`, `${two(at.getHours())}:${two(at.getMinutes())}`];
  return at.toDateString() === new Date(now * 1000).toDateString() ? `${clockTime}:${two(at.getSeconds())}` : `${day} ${clockTime}`;
}

/** A user's text on one line: control characters and those that turn the direction of text are spelled out.
 * @param {string | null | undefined} text */
export function plain(text) {
  return (text ?? "").replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `count(2, "node")` is "2 nodes"; a noun that ends in s stays as it is. @param {number} number @param {string} noun */
export function count(number, noun) {
  return number === 1 || noun.endsWith("s") ? `${number} ${noun}` : `${number} ${noun}s`;
}

/** "1 CPU, 0.5 GPU". @param {Record<string, number> | undefined} demand */
export function demandWords(demand) {
  const parts = Object.entries(demand ?? {}).filter(([, quantity]) => quantity);
  return parts.map(([name, quantity]) => `${amount(quantity)} ${plain(name)}`).join(", ") || "nothing";
}

/** "GPU 0, 1". @param {Record<string, string[]> | undefined} ids */
export function deviceWords(ids) {
  return Object.entries(ids ?? {})
    .filter(([, names]) => names.length)
    .map(([name, names]) => `${plain(name)} ${names.map(plain).join(", ")}`)
    .join("; ");
}

/** A task's id as people read and type it: the tasks of one driver share the start, so their number is named.
 * @param {string} id */
export function shortId(id) {
  const numbered = id.length === 48 && id.startsWith("000000", 24);
  if (numbered) return `${id.slice(0, 4)}-${parseInt(id.slice(30, 40), 16)}`;
  return id.startsWith("f".repeat(16)) ? id.slice(16, 28) : id.slice(0, 12); // what makes an actor on Ray is named by the actor
}

/** An actor's constructor is the actor that starts: "Model (starting)". @param {string} name */
export function taskName(name) {
  return plain(name).replace(/\.__init__$/, " (starting)");
}

/** A state as a person says it. @param {string} state */
export function stateWord(state) {
  if (RUNNING.has(state)) return "running";
  if (state.startsWith("PENDING")) return "waiting";
  return state.toLowerCase().replaceAll("_", " ");
}

/** A shape for a state's word, since colour alone does not reach everyone. @param {string} word */
export function stateSign(word) {
  return { running: "●", waiting: "◌", finished: "✓", failed: "✕", cancelled: "⊘", "ended with it": "–", alive: "●", dead: "✕" }[word] ?? "◌";
}
