// The page's tree is Preact's. What all views have in common is done to each element here.

import { Fragment, h, options, render } from "preact";

export { h };

/**
 * @typedef {import("preact").VNode<any>} Shape
 * @typedef {import("preact").ComponentChild} Child
 * @typedef {import("preact").ComponentChildren} Given
 */

const UNIT = /(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;

/** `false` removes any attribute, `data-` and `aria-` too; a number and its unit stay on one line, but for code. */
options.vnode = ({ type, props }) => {
  if (typeof type !== "string") return;
  const given = /** @type {Record<string, any>} */ (props);
  for (const name in given) {
    if (name !== "children" && (given[name] === false || given[name] === null)) given[name] = undefined;
  }
  if (type !== "pre" && type !== "code") given.children = unbroken(given.children);
};

/** Lines that a program has printed end with a line break, and stay as they are. @param {any} given @returns {any} */
function unbroken(given) {
  if (Array.isArray(given)) return given.map(unbroken);
  return typeof given === "string" && !given.endsWith("\n") ? given.replace(UNIT, "$1\u00a0") : given;
}

/** Make the element's children what is described. @param {Element} parent @param {Child[]} children */
export function draw(parent, children) {
  render(h(Fragment, null, children), parent);
}
