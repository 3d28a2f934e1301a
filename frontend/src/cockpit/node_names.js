// What nodes are called in every view: without their domain, and of a long name the beginning and the end, which tells it
// from others. A title has the whole.

import { plain } from "./words.js";

/** @typedef {{words: string, whole: string}} NodeName */

const HEAD = 13; // letters of a long name, before its last ones
const TAIL = 10;

/** The nodes' names by their ids; two that differ only in their domains keep these. @param {import("./types.js").Snapshot} snapshot
 * @returns {Map<string | null | undefined, NodeName>} */
export function nodeNames({ nodes = [] }) {
  const hosts = nodes.map(({ name }) => hostOf(plain(name)));
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const host of hosts) times.set(host, (times.get(host) ?? 0) + 1);
  return new Map(nodes.map(({ node_id, name }, at) => {
    const whole = plain(name);
    return [node_id, { whole, words: shortened((times.get(hosts[at]) ?? 0) > 1 ? whole : hosts[at]) }];
  }));
}

/** An address has no domain. @param {string} name */
function hostOf(name) {
  return /^[\d.:]+$/.test(name) ? name : name.split(".")[0];
}

/** @param {string} name */
function shortened(name) {
  return name.length > HEAD + 1 + TAIL ? `${name.slice(0, HEAD)}…${name.slice(-TAIL)}` : name;
}
