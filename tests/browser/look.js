// Finds what is wrong with what a page shows: what overflows, is covered, is cut short, cannot be read, or is unequal.

const text = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();
function rgba(colour) {
  if (!known.has(colour)) {
    text.clearRect(0, 0, 1, 1);
    text.fillStyle = colour;
    text.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = text.getImageData(0, 0, 1, 1).data;
    known.set(colour, [r, g, b, a / 255]);
  }
  return known.get(colour);
}
const over = ([r, g, b, a], ground) => [r, g, b].map((each, at) => each * a + ground[at] * (1 - a));
const paper = document.documentElement.appendChild(document.createElement("i")); // whose colour is that of the page
paper.style.background = "Canvas";
function ground(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor);
    layers.push(colour);
    if (colour[3] === 1) break;
  }
  const page = rgba(getComputedStyle(paper).backgroundColor);
  return layers.reverse().reduce((below, layer) => over(layer, below), page.slice(0, 3));
}
const light = channel => (channel /= 255) <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
/** The drawn bar that words stand on. */
function barBelow(element) {
  if (element.matches(".bar-name")) return element.parentElement.querySelector(".run");
  const before = element.closest("foreignObject")?.previousElementSibling;
  return before?.matches("rect") ? before : null;
}
function contrast(element) {
  const bar = barBelow(element), style = getComputedStyle(element);
  const below = bar ? rgba(getComputedStyle(bar).fill).slice(0, 3) : ground(element);
  const [r, g, b, a] = rgba(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const ink = over([r, g, b, a * style.opacity], below);
  return ratioOf(ink, below);
}
function ratioOf(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}
const name = element => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${(element.textContent ?? "").slice(0, 40)}"`;
const unseen = element => {
  const hidden = element.closest("[class*=unseen], .gap, thead");
  return Boolean(hidden) && getComputedStyle(hidden).clipPath !== "none";
};
/** Whether it lies in what its scrolling ancestors show. */
function inSight(element, root) {
  const { top, width, height } = element.getBoundingClientRect();
  if (top + height > innerHeight) return false;
  for (let at = element.parentElement; at && at !== root.parentElement; at = at.parentElement) {
    if (!["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowY)) continue;
    const box = at.getBoundingClientRect();
    if (top < box.top || top + height > box.bottom) return false;
  }
  return width > 0 && height > 0;
}
/** Whether it is a part of one line that is cut where it does not fit, and whose title has the whole. */
function endsInEllipsis(element, root) {
  for (let line = element; line && line !== root; line = line.parentElement) {
    const { textOverflow, overflowX } = getComputedStyle(line);
    if (textOverflow === "ellipsis" && overflowX === "hidden") return isTold(line, root);
  }
  return false;
}
/** Whether a title has the whole of it. */
const isTold = (element, root) => root.contains(element.closest("[title]")) || Boolean(barBelow(element)?.querySelector("title"));
/** Whether it is a shape that says a state beside its word. */
const isSign = element => Boolean(element.closest(".sign, [aria-hidden=true]")) && !/\w/.test(element.textContent);
function overflows(root) {
  const right = root.getBoundingClientRect().right - 1, found = [];
  if (document.scrollingElement.scrollWidth > innerWidth) found.push(`the page is ${document.scrollingElement.scrollWidth} wide`);
  for (const each of root.querySelectorAll("*")) {
    const style = getComputedStyle(each);
    if (["auto", "scroll"].includes(style.overflowX) && each.scrollWidth > each.clientWidth + 1) found.push(`${name(each)} scrolls sideways`);
    if (each.closest("svg, .unseen") || unseen(each) || endsInEllipsis(each, root)) continue;
    const box = each.getBoundingClientRect();
    if (box.width && box.right > right + 1) found.push(`${name(each)} ends ${Math.round(box.right - right)} pixels too far right`);
  }
  return found;
}
/** Buttons and words that something else lies over. */
function covered(root) {
  const found = [];
  const hidden = (each, { left, top, width, height }) => {
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!there || !(each.contains(there) || there.contains(each))) found.push(`${name(each)} is covered by ${there ? name(there) : "nothing"}`);
  };
  for (const each of root.querySelectorAll("button, select, input, summary, a")) {
    if (!unseen(each) && inSight(each, root)) hidden(each, each.getBoundingClientRect());
  }
  const reach = document.createRange();
  for (const [node, element] of words(root)) {
    if (element.closest("button, select, svg, .cut") || !inSight(element, root) || endsInEllipsis(element, root)) continue;
    reach.selectNodeContents(node);
    hidden(element, reach.getClientRects()[0]);
  }
  return found;
}
/** The texts that can be seen, with their elements. */
function words(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.nodeValue.trim() && !element.closest("style, title, option, [disabled]") && !unseen(element) && element.getClientRects().length) found.push([node, element]);
  }
  return found;
}
/** Words that are cut, and whose whole no title has. */
function cutShort(root) {
  const isCut = each => getComputedStyle(each).overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1;
  return [...root.querySelectorAll("*")].filter(each => !each.matches("svg") && !unseen(each) && isCut(each) && !isTold(each, root))
    .map(each => `${name(each)} is cut, and no title has the whole`);
}
/** Words of one drawing that lie over each other. */
function overlapping(root) {
  const found = [];
  for (const drawing of root.querySelectorAll("svg")) {
    const boxes = [...drawing.querySelectorAll("text")].filter(each => each.textContent).map(each => [each, each.getBoundingClientRect()]);
    boxes.sort(([, a], [, b]) => a.top - b.top);
    boxes.forEach(([one, a], at) => {
      for (const [other, b] of boxes.slice(at + 1)) {
        if (b.top + 3 >= a.bottom) break;
        if (a.left + 1 < b.right && b.left + 1 < a.right) found.push(`${name(one)} lies over ${name(other)}`);
      }
    });
  }
  return found;
}
/** A question that nobody has answered: then the view itself has not been looked at. */
function unanswered(root) {
  return root.textContent.includes("Asking the kernel") ? ["it still asks the kernel"] : [];
}
window.unreadable = function (root, least) {
  const found = [];
  for (const [, element] of words(root)) {
    const ratio = contrast(element), needed = isSign(element) ? Math.min(least, 3) : least; // a sign is a drawing
    if (ratio < needed) found.push(`${name(element)} has a contrast of ${ratio.toFixed(2)}`);
  }
  for (const tab of root.querySelectorAll("[role=tab][aria-selected=true]")) {
    const ratio = ratioOf(rgba(getComputedStyle(tab).borderBottomColor).slice(0, 3), ground(tab));
    if (ratio < Math.min(least, 3)) found.push(`the line below ${name(tab)} has a contrast of ${ratio.toFixed(2)}`);
  }
  return found;
};
/** Words of a table that stand out of their cells, into the next ones. */
function spilling(root) {
  return [...root.querySelectorAll("th, td")].filter(each => !unseen(each) && each.scrollWidth > each.clientWidth + 1)
    .map(each => `${name(each)} is wider than its cell`);
}
function unequal(root) {
  const found = [];
  const groups = { tile: root.querySelectorAll(".tiles li"), tab: root.querySelectorAll("[role=tab]") };
  if (innerWidth >= 900) groups.task = root.querySelectorAll("[aria-label=Tasks] tr[data-task]"); // waiting ones have whole reasons
  for (const [what, all] of Object.entries(groups)) {
    const heights = [...all].map(each => each.getBoundingClientRect().height);
    const most = Math.max(...heights), least = Math.min(...heights);
    if (heights.length > 1 && most - least > 2.5) found.push(`${what}s are ${least.toFixed(1)} to ${most.toFixed(1)} pixels high`);
  }
  const bars = [...root.querySelectorAll("td.use .bar")].map(each => each.getBoundingClientRect().left);
  if (Math.max(...bars) - Math.min(...bars) > 2.5) found.push(`bars begin at ${Math.min(...bars)} to ${Math.max(...bars)}`);
  const last = root.querySelectorAll("[aria-label=Tasks] .acts button:last-child, [aria-label=Tasks] .group button:last-child");
  const ends = [...last].map(each => each.getBoundingClientRect().right);
  if (innerWidth >= 900 && Math.max(...ends) - Math.min(...ends) > 2.5) found.push(`buttons end at ${Math.min(...ends)} to ${Math.max(...ends)}`);
  return found;
}
/** What is wrong with what a part of the page shows. @param {Element} root @param {number} least contrast of words */
window.faults = (root, least) =>
  [overflows, covered, cutShort, overlapping, spilling, unequal, unanswered].flatMap(look => look(root)).concat(window.unreadable(root, least));
/** The first of them, in one line. */
window.told = faults => `${faults.slice(0, 3).join("; ")}${faults.length > 3 ? ` and ${faults.length - 3} more` : ""}`;
