// The rows of a large snapshot, which come by columns; see nbaccel/notebook/packing.py.

/**
 * @typedef {object} Packed
 * @property {number} rows
 * @property {Record<string, any>} [same]
 * @property {Record<string, any[]>} [each]
 * @property {Record<string, [any[], number[]]>} [of]
 * @property {Record<string, Packed>} [within]
 * @property {Record<string, {sizes: number[], rows: Packed}>} [lists]
 */

/** @param {any} given the snapshot as it was sent @returns {import("./types.js").Snapshot} */
export function unpacked(given) {
  return { ...given, devices: rowsOf(given.devices), tasks: rowsOf(given.tasks) };
}

/** @param {any[] | Packed | undefined} table @returns {any[]} */
export function rowsOf(table) {
  if (!table || Array.isArray(table)) return table ?? [];
  const rows = Array.from({ length: table.rows }, () => ({ .../** @type {Record<string, any>} */ (table.same) }));
  const fill = (/** @type {string} */ name, /** @type {(index: number) => any} */ valueOf) =>
    rows.forEach((row, index) => {
      const value = valueOf(index);
      if (value != null) row[name] = value;
    });
  for (const [name, values] of Object.entries(table.each ?? {})) fill(name, (index) => values[index]);
  for (const [name, [distinct, places]] of Object.entries(table.of ?? {})) fill(name, (index) => distinct[places[index]]);
  for (const [name, inner] of Object.entries(table.within ?? {})) {
    const values = rowsOf(inner);
    fill(name, (index) => values[index]);
  }
  for (const [name, { sizes, rows: inner }] of Object.entries(table.lists ?? {})) {
    const values = rowsOf(inner);
    fill(name, (index) => values.splice(0, sizes[index]));
  }
  return rows;
}
