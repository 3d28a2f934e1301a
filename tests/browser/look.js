// Shows clusters in the cockpit of a loose page, and finds what is wrong with what is shown.

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
function ground(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor);
    layers.push(colour);
    if (colour[3] === 1) break;
  }
  const page = rgba(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#121212" : "Canvas");
  return layers.reverse().reduce((below, layer) => over(layer, below), page.slice(0, 3));
}
const light = channel => (channel /= 255) <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
function contrast(element) {
  const run = element.matches(".bar-name") && element.parentElement.querySelector(".run");
  const style = getComputedStyle(element), below = run ? rgba(getComputedStyle(run).fill).slice(0, 3) : ground(element);
  const ink = over(rgba(element.namespaceURI.endsWith("svg") ? style.fill : style.color), below);
  const [high, low] = [luminance(ink), luminance(below)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}
const name = element => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${(element.textContent ?? "").slice(0, 40)}"`;
const unseen = element => element.closest(".unseen, [aria-hidden=true].gap, thead") && getComputedStyle(element.closest(".unseen, thead") ?? element).clipPath !== "none";
/** Whether it lies in what its scrolling ancestors show. */
function inSight(element, root) {
  const { left, top, width, height } = element.getBoundingClientRect();
  for (let at = element.parentElement; at && at !== root.parentElement; at = at.parentElement) {
    if (!["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowY)) continue;
    const box = at.getBoundingClientRect();
    if (top < box.top || top + height > box.bottom) return false;
  }
  return width > 0 && height > 0;
}
/** Whether it is a part of one line that is cut where it does not fit, and whose title has the whole. */
function endsInEllipsis(element, root) {
  const line = element.parentElement?.closest(".has");
  const title = line && root.contains(line.closest("[title]"));
  return Boolean(title) && getComputedStyle(line).textOverflow === "ellipsis" && getComputedStyle(line).overflowX === "hidden";
}
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
function covered(root) {
  const found = [];
  for (const each of root.querySelectorAll("button, select, input, summary, a")) {
    if (unseen(each) || !inSight(each, root)) continue;
    const { left, top, width, height } = each.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!there || !(each.contains(there) || there.contains(each))) found.push(`${name(each)} is covered by ${there ? name(there) : "nothing"}`);
  }
  return found;
}
function unreadable(root, least) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.nodeValue.trim() || element.closest("style, [disabled]") || unseen(element)) continue;
    if (!element.getClientRects().length) continue;
    const ratio = contrast(element), needed = element.closest(".sign") ? Math.min(least, 3) : least; // a sign is a drawing
    if (ratio < needed) found.push(`${name(element)} has a contrast of ${ratio.toFixed(2)}`);
  }
  return found;
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
  return found;
}
Date.now = () => 1_700_000_000_000; // the clocks of the page and of the cluster agree, and stand still
window.answers = {};
const told = new Set(); // what the open view has been answered
const plain = model.send;
model.send = message => {
  plain(message);
  const answer = message.say === "history" && window.answers[message.ask];
  if (answer) queueMicrotask(() => {
    tell({ say: "history", id: message.id, ask: message.ask, key: message.key, answer });
    told.add(message.ask);
  });
};
const FRAMES = 10;
const ASKS = { Card: "readings", Devices: "readings", Timeline: "runs", Accounting: "accounting" };
/** Shows a cluster in a view. */
window.show = async (sight, view) => {
  const root = () => document.querySelector(".nbaccel-cockpit");
  const open = () => root().querySelector('[data-act="details"]').getAttribute("aria-expanded") === "true";
  window.answers = sight.answers;
  if (model.get("snapshot") !== sight.snapshot) { // another cluster, and a view that knows nothing of the last one
    window.end();
    told.clear();
    push(sight.snapshot);
    window.end = widget.render({ model, el: document.body });
    await frame();
  }
  if (open() === (view === "Card")) { root().querySelector('[data-act="details"]').click(); await frame(); }
  if (view !== "Card") {
    const tab = [...root().querySelectorAll("[role=tab]")].find(each => each.textContent.replace(/[^a-z]/gi, "") === view);
    if (!tab) return false;
    tab.click();
  }
  for (let left = FRAMES; left && ASKS[view] && !told.has(ASKS[view]); left -= 1) await frame(); // an empty one asks nothing
  await frame();
  return true;
};
/** What is wrong with what is shown. */
window.faults = least => {
  const root = document.querySelector(".nbaccel-cockpit");
  return [...overflows(root), ...covered(root), ...unreadable(root, least), ...unequal(root)];
};
window.lookAt = async (sights, views, least) => {
  const found = [];
  let looks = 0;
  for (const sight of sights) for (const view of views) {
    if (!(await show(sight, view))) continue;
    looks += 1;
    const faults = window.faults(least);
    if (faults.length) found.push(`${view}, ${sight.name}: ${faults.slice(0, 3).join("; ")}${faults.length > 3 ? ` and ${faults.length - 3} more` : ""}`);
  }
  return { looks, found };
};
