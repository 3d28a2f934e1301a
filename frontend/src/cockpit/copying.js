// Puts a text on the clipboard, also where the page may not use the clipboard's own interface (without https).

/** @param {Document} page @param {string} text */
export function copyText(page, text) {
  const clipboard = page.defaultView?.navigator.clipboard;
  if (clipboard) clipboard.writeText(text).catch(() => copySelected(page, text));
  else copySelected(page, text);
}

/** @param {Document} page @param {string} text */
function copySelected(page, text) {
  const field = page.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  page.body.append(field);
  field.select();
  page.execCommand("copy");
  field.remove();
}
