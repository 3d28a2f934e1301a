// A holder keeps its colour everywhere and for all its life: it is made of its id, not of its place.

export const COLOURS = 8;

/** A number from 0 to COLOURS - 1. @param {string} id */
export function colourOf(id) {
  let hash = 2166136261;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 16777619);
  return ((hash ^ (hash >>> 15)) >>> 0) % COLOURS;
}

/** Colours for holders side by side: two of one device never share one while there are enough.
 * @param {string[]} ids @returns {number[]} */
export function coloursFor(ids) {
  const taken = new Set();
  return ids.map((id) => {
    let colour = colourOf(id);
    while (taken.size < COLOURS && taken.has(colour)) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    return colour;
  });
}
