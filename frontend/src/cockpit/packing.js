// The rows of a large snapshot, which come by columns; see nbaccel/notebook/drawn.py.

/**
 * @typedef {object} Packed
 * @property {number} rows
 * @property {Record<string, any>} [same]
 * @property {Record<string, any[]>} [each]
 * @property {Record<string, [any[], number[]]>} [of]
 * @property {Record<string, [string, (string | null)[], string]>} [cut]
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
  const rows = Array.from({ length: table.rows }, () => /** @type {Record<string, any>} */ ({}));
  const fill = (/** @type {any} */ columns, /** @type {(column: any) => (index: number) => any} */ reader) => {
    for (const name in columns) {
      const valueOf = reader(columns[name]);
      rows.forEach((row, index) => {
        const value = valueOf(index);
        if (value != null) row[name] = value;
      });
    }
  };
  fill(table.same, (value) => () => value);
  fill({ ...table.each, ...table.within }, (column) => {
    const values = rowsOf(column);
    return (index) => values[index];
  });
  fill(table.of, ([distinct, places]) => (index) => distinct[places[index]]);
  fill(table.cut, ([start, middles, end]) => (index) => middles[index] == null ? null : start + middles[index] + end);
  fill(table.lists, ({ sizes, rows: inner }) => {
    const values = rowsOf(inner);
    return (index) => values.splice(0, sizes[index]);
  });
  return rows;
}
