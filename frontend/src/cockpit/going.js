// Shows the cell that a task comes from, in the notebook that this view stands in: JupyterLab's or Notebook 7's page.

const STEP = 0.8; // of what is in sight: how far the search scrolls at once

/** Whether the page is a notebook's and has this cell: "[7] line 3", but not "b.ipynb [7]". @param {Element} root @param {string} words */
export function isHere(root, words) {
  return words.startsWith("[") && Boolean(root.closest(".jp-Notebook"));
}

/** Show the cell of these words. Cells that are far away may not be on the page: then the notebook is scrolled through.
 * @param {Element} root @param {string} words @param {(words: string) => void} say */
export async function showCell(root, words, say) {
  const notebook = root.closest(".jp-Notebook");
  const page = root.ownerDocument.defaultView;
  if (!notebook || !page) return;
  const prompt = words.split(" ")[0];
  const found = (/** @type {string} */ text) =>
    [...notebook.querySelectorAll(".jp-InputPrompt")].find((each) => each.textContent === `${text}:`)?.closest(".jp-Cell");
  const scroller = notebook.querySelector(".jp-WindowedPanel-outer") ?? notebook;
  const before = scroller.scrollTop;
  let cell = found(prompt);
  for (let top = 0; !cell && top < scroller.scrollHeight; top += STEP * scroller.clientHeight) {
    scroller.scrollTop = top;
    await new Promise((done) => page.requestAnimationFrame(() => page.requestAnimationFrame(done)));
    cell = found(prompt);
  }
  if (!cell) scroller.scrollTop = before;
  cell ??= found("[*]"); // a cell gets its number when it has ended
  if (!cell) return say(`No cell of this notebook is ${prompt} any more.`);
  cell.scrollIntoView({ block: "center" });
  /** @type {HTMLElement} */ (cell).focus({ preventScroll: true });
}
