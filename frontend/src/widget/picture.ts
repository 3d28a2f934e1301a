// What the page drew last of a timeline or of trials, as SVG that needs no style sheet. It is sent to the kernel once,
// when a cluster or an experiment ends: a saved notebook keeps it (nbaccel/notebook/page_pictures.py).

import type { Source } from "../model/types";

export interface Picture {
  words: string;
  svg: string;
}

const MOST_LETTERS = 200 * 1024;
const LEAST_COLOUR = 24; // by which a colour's parts differ; what is greyer has the colour of the text around it
/** The elements that a picture has, with their attributes; looks are computed. */
const ELEMENTS: Record<string, string[]> = {
  svg: ["viewBox", "role", "aria-label"],
  g: [],
  title: [],
  path: ["d"],
  line: ["x1", "x2", "y1", "y2"],
  rect: ["x", "y", "width", "height", "rx"],
  circle: ["cx", "cy", "r"],
  text: ["x", "y"],
};

/** The timeline that is drawn there: its axis and its lanes. */
export function timelineIn(root: Element): Picture[] {
  return [...root.querySelectorAll("svg.timeline")].map((svg, at) => ({
    words: at ? "" : "Timeline",
    svg: written(svg, inkOf(root)),
  }));
}

/** The drawings of trials there. */
export function trialsIn(root: Element): Picture[] {
  return [...root.querySelectorAll("figure.curve")].flatMap((figure) => {
    const words = [...(figure.querySelector("figcaption")?.children ?? [])].map((each) => each.textContent);
    return [...figure.querySelectorAll("svg")].map((svg) => ({
      words: words.join(" "),
      svg: written(svg, inkOf(root)),
    }));
  });
}

/** Send the pictures of an experiment, or without an id of the cluster. */
export function sendPictures(source: Source, pictures: Picture[], id = "") {
  const letters = pictures.reduce((sum, each) => sum + each.words.length + each.svg.length, 0);
  if (letters && letters < MOST_LETTERS) source.send({ say: "pictures", id, pictures });
}

function written(element: Element, ink: number): string {
  const names = ELEMENTS[element.tagName];
  if (!names) return "";
  const given = names.filter((name) => element.hasAttribute(name)).map((name) => [name, element.getAttribute(name)]);
  const look = names.length && element.tagName !== "svg" ? Object.entries(lookOf(element, ink)) : [];
  const attributes = [...given, ...look].map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  const inner = [...element.childNodes].map((node) =>
    node.nodeType === 3 ? escaped(node.nodeValue ?? "") : node.nodeType === 1 ? written(node as Element, ink) : "",
  );
  return `<${element.tagName}${attributes.join("")}>${inner.join("")}</${element.tagName}>`;
}

/** How it looks, by attributes. */
function lookOf(element: Element, ink: number): Record<string, string | number> {
  const style = getComputedStyle(element);
  const isText = element.tagName === "text";
  const [fill, shown] = element.classList.contains("bar-name") ? [style.fill, 1] : colourOf(style.fill, ink);
  const [stroke, drawn] = isText ? ["none", 1] : colourOf(style.stroke, ink);
  const opacity = Number(style.opacity) * (fill === "none" ? drawn : shown * Number(style.fillOpacity));
  const look: Record<string, string | number> = { fill };
  if (opacity < 0.99) look.opacity = Math.round(100 * opacity) / 100;
  if (stroke !== "none") Object.assign(look, { stroke, "stroke-width": parseFloat(style.strokeWidth) });
  if (stroke !== "none" && style.strokeDasharray !== "none")
    look["stroke-dasharray"] = style.strokeDasharray.replaceAll("px", "");
  if (stroke !== "none" && style.strokeLinecap !== "butt") look["stroke-linecap"] = style.strokeLinecap;
  if (!isText) return look;
  look["font-size"] = style.fontSize;
  if (Number(style.fontWeight) > 400) look["font-weight"] = style.fontWeight;
  if (style.textAnchor !== "start") look["text-anchor"] = style.textAnchor;
  if (style.dominantBaseline !== "auto") look["dominant-baseline"] = style.dominantBaseline;
  return look;
}

/** A colour and how much of it is seen: a grey is a part of the ink, so that the picture can be read on any ground. */
function colourOf(value: string, ink: number): [string, number] {
  const found = (value.match(/[\d.]+/g) ?? []).map(Number);
  if (value === "none" || found.length < 3) return ["none", 1];
  const parts = found.slice(0, 3).map((part) => Math.round(value.startsWith("color") ? 255 * part : part));
  const seen = found[3] ?? 1;
  if (Math.max(...parts) - Math.min(...parts) > LEAST_COLOUR) return [`rgb(${parts.join(", ")})`, seen];
  return ["currentColor", seen * (1 - Math.abs(parts[0] - ink) / 255)];
}

/** How light the text there is. */
function inkOf(root: Element): number {
  return Number(/[\d.]+/.exec(getComputedStyle(root).color)?.[0] ?? 0);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
