// Draws a tree of plain descriptions into the page and changes only what differs: rows keep their elements, so focus,
// selection and scroll positions stay where the person left them.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = Symbol("drawn");
const UNIT = /(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;

/**
 * @typedef {{tag: string, key: string, props: Record<string, any>, children: Child[]}} Shape
 * @typedef {Shape | string} Child
 * @typedef {Child | null | false | undefined} Maybe
 * @typedef {Maybe | Maybe[]} Given
 */

/** Describe an element. `key` names it among its siblings; `false` and `null` props are left out.
 * @param {string} tag @param {Record<string, any>} [props] @param {...Given} children @returns {Shape} */
export function h(tag, props = {}, ...children) {
  /** @type {Child[]} */
  const given = [];
  for (const child of children) {
    if (!Array.isArray(child)) child || child === "" ? given.push(child) : null;
    else for (const each of child) if (each || each === "") given.push(each);
  }
  return { tag, key: props.key ?? "", props, children: given };
}

/** Make the element's children what is described. @param {Element} parent @param {Child[]} children */
export function draw(parent, children) {
  if (!fits(parent, children)) return arrange(parent, children);
  let node = parent.firstChild;
  for (const child of children) {
    if (node) update(node, child, parent);
    node = node?.nextSibling ?? null;
  }
}

/** Whether the children are the same elements in the same order as before. @param {Element} parent @param {Child[]} children */
function fits(parent, children) {
  let node = parent.firstChild;
  for (const child of children) {
    if (!node || !isOf(node, child) || (typeof child !== "string" && child.key !== keyOf(node))) return false;
    node = node.nextSibling;
  }
  return !node;
}

/** Elements come, go or move. @param {Element} parent @param {Child[]} children */
function arrange(parent, children) {
  const old = /** @type {ChildNode[]} */ ([...parent.childNodes]);
  const keyed = new Map(old.filter((node) => keyOf(node)).map((node) => [keyOf(node), node]));
  const plainOnes = old.filter((node) => !keyOf(node));
  const wanted = children.map((child) => matching(child, keyed, plainOnes) ?? created(child, parent));
  const kept = new Set(wanted);
  for (const node of old) if (!kept.has(node)) node.remove(); // first: then those after it need not move and lose the focus
  let place = parent.firstChild;
  wanted.forEach((node, at) => {
    update(node, children[at], parent);
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  });
}

/** @param {Node} node @returns {string} */
function keyOf(node) {
  return /** @type {any} */ (node)[DRAWN]?.key ?? "";
}

/** @param {Node} node @param {Child} child */
function isOf(node, child) {
  return typeof child === "string" ? node.nodeType === 3 : /** @type {any} */ (node)[DRAWN]?.tag === child.tag;
}

/** The node that was drawn for this child before.
 * @param {Child} child @param {Map<string, ChildNode>} keyed @param {ChildNode[]} others @returns {ChildNode | undefined} */
function matching(child, keyed, others) {
  if (typeof child !== "string" && child.key) {
    const node = keyed.get(child.key);
    keyed.delete(child.key);
    return node && isOf(node, child) ? node : undefined;
  }
  const index = others.findIndex((node) => isOf(node, child));
  return index < 0 ? undefined : others.splice(0, index + 1)[index];
}

/** @param {Child} child @param {Element} parent @returns {ChildNode} */
function created(child, parent) {
  const page = parent.ownerDocument;
  if (typeof child === "string") return page.createTextNode("");
  const inSvg = child.tag === "svg" || parent.namespaceURI === SVG;
  const element = inSvg ? page.createElementNS(SVG, child.tag) : page.createElement(child.tag);
  /** @type {any} */ (element)[DRAWN] = { tag: child.tag, key: child.key, props: {}, children: [] };
  return element;
}

/** @param {Node} node @param {Child} child @param {Element} parent */
function update(node, child, parent) {
  if (typeof child === "string") {
    if (/** @type {any} */ (node)[DRAWN]?.text === child) return;
    /** @type {any} */ (node)[DRAWN] = { text: child };
    node.nodeValue = unbroken(child, parent);
    return;
  }
  const element = /** @type {Element} */ (node);
  const drawn = /** @type {any} */ (element)[DRAWN];
  if (drawn.shape === child) return; // the very description that it was drawn from
  const before = drawn.props;
  for (const name in before) if (!(name in child.props)) set(element, name, null);
  for (const name in child.props) if (before[name] !== child.props[name]) set(element, name, child.props[name]);
  // The person types into it: what was described last may not be what it shows.
  if ("value" in child.props && /** @type {any} */ (element).value !== child.props.value) set(element, "value", child.props.value);
  drawn.props = child.props;
  drawn.shape = child;
  if (child.children.length || element.firstChild) draw(element, child.children);
}

/** A number and its unit stay on one line; code, and lines that a program has printed, stay as they are.
 * @param {string} text @param {Element} parent */
function unbroken(text, parent) {
  return text.endsWith("\n") || ["pre", "code"].includes(/** @type {any} */ (parent)[DRAWN]?.tag) ? text : text.replace(UNIT, "$1\u00a0");
}

/** @param {Element} element @param {string} name @param {any} value */
function set(element, name, value) {
  if (name === "key") return; // names it among its siblings
  if (name === "value") /** @type {any} */ (element).value = value ?? "";
  else if (value == null || value === false) element.removeAttribute(name);
  else if (name === "style") element.setAttribute("style", value);
  else element.setAttribute(name, value === true ? "" : String(value));
}
