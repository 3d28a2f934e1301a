// The colours of every view, in the file that Python reads too.

import palette from "../../../nbaccel/views/palette.json" with { type: "json" };
import type { Snapshot } from "./types";

export const PALETTE = palette;

// ---- A function or class keeps its hue in every view, each of its tasks or actors has a shade of it: the same in Python.

const HUES = PALETTE.hues.length;
const SHADES = PALETTE.hues[0].length;

/** The same number as in Python, for the same text (FNV-1a over its UTF-16 units). */
export function numberOf(text: string) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The hue of a function, class or run. */
export function hueOf(snapshot: Snapshot, name: string) {
  return snapshot.hues?.[name] ?? numberOf(name) % HUES;
}

/** The number of a colour, as its CSS class has it: of an instance of a function or class. */
export function colourOf(snapshot: Snapshot, subject: string, id?: string) {
  return hueOf(snapshot, subject) * SHADES + (id ? numberOf(id) % SHADES : 0);
}

/** Whose hue a task has: its function's, whatever it is called, or its actor's class. */
export function subjectOf(row: { name: string; function?: string; kind?: string }) {
  const whole = row.function || row.name;
  return (row.kind ?? "task") === "task" ? whole : whole.split(".", 1)[0];
}

/** White or black, whichever is read well on a colour, and the same on all shades of a hue.
 * @param colour as "#rrggbb" */
function inkOn(colour: string) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.183 ? "#000" : "#fff";
}

/** A rule for each colour. */
export function colourRules(scope: string) {
  return PALETTE.hues
    .flat()
    .map(
      (colour, number) =>
        `${scope} .c${number}{background:${colour};fill:${colour};--c:${colour};--on:${inkOn(colour)}}`,
    )
    .join("\n");
}
