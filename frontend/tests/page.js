// A page for drawing without a browser, and what was drawn on it.

import { Window } from "happy-dom";

import { draw } from "../src/components/tree.ts";

const { document, MutationObserver } = new Window();

/** An element on the page with these children. */
export function page(children = [], tag = "div") {
  const root = document.createElement(tag);
  draw(root, children);
  return root;
}

/** What is drawn, as the page has it. */
export function html(root) {
  return root.innerHTML.replaceAll("&nbsp;", "\u00a0").replaceAll("&quot;", '"');
}

/** How often the page is changed by `act`. */
export function changes(root, act) {
  const observer = new MutationObserver(() => {});
  observer.observe(root, { childList: true, subtree: true, attributes: true, characterData: true });
  act();
  return observer
    .takeRecords()
    .flatMap((record) => (record.type === "childList" ? [...record.addedNodes, ...record.removedNodes] : [record]))
    .length;
}

const childrenOf = (shape) =>
  [shape.props?.children ?? []].flat(Infinity).filter((child) => child !== false && child != null);

/** The elements of a description, with those within them. */
export function shapes(given) {
  if (Array.isArray(given)) return given.flatMap(shapes);
  return given && typeof given === "object" ? [given, ...childrenOf(given).flatMap(shapes)] : [];
}

/** The text of a description, as it was given. */
export function words(shape) {
  return typeof shape === "object"
    ? childrenOf(shape).map(words).join("")
    : String(shape).replace(/(\d)\u00a0/g, "$1 ");
}
