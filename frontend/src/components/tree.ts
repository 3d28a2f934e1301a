// The page's tree is Preact's. What is common to the texts of all views is done here.

import { Fragment, h, options, render, type ComponentChild, type ComponentChildren, type VNode } from "preact";

export { h };

export type Shape = VNode<any>;

export type Child = ComponentChild;

export type Given = ComponentChildren;

const UNIT = /(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;

/** A number and its unit stay on one line, but for code. */
options.vnode = ({ type, props }) => {
  if (typeof type === "string" && type !== "pre" && type !== "code") props.children = unbroken(props.children);
};

/** Lines that a program has printed end with a line break, and stay as they are. */
function unbroken(given: any): any {
  if (Array.isArray(given)) return given.map(unbroken);
  return typeof given === "string" && !given.endsWith("\n") ? given.replace(UNIT, "$1\u00a0") : given;
}

/** Make the element's children what is described. */
export function draw(parent: Element, children: Child[]) {
  render(h(Fragment, null, children), parent);
}
