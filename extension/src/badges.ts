// A small badge at the prompt of each cell whose tasks or actors hold devices now: their numbers, or how many they are.

import type { TranslationBundle } from '@jupyterlab/translation';
import { plain } from './cockpit';
import type { HeadSnapshot, Runtime } from './messages';
import { cellOf, type Notebooks } from './notebooks';
import { isSameNotebook } from './source';
import type { Watch } from './watch';

const CELL = /^\[(\d+)\]/;
const MOST_NUMBERS = 2; // a prompt has room for two
const BADGE = 'nbaccel-badge';
const HOLDS = 'nbaccel-holds';

/** The devices that a cell holds, each with its label ("GPU 0", "node-b GPU 0") and the names of what holds it. */
type Held = Map<string, { label: string; number: string; node: string; names: Set<string> }>;

/** Badges at the cells of all open notebooks, as long as the front end lives. */
export class Badges {
  private drawing = 0;

  constructor(
    private readonly watch: Watch,
    private readonly notebooks: Notebooks,
    private readonly trans: TranslationBundle
  ) {
    watch.subscribe(this.soon);
    notebooks.changed(this.soon);
  }

  private readonly soon = () => {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      this.redraw();
    });
  };

  private redraw(): void {
    this.notebooks.forEach(panel => {
      const wanted = new Map<HTMLElement, Held>();
      for (const [number, held] of this.heldBy(panel.context.path, panel.sessionContext.session?.kernel?.id ?? '')) {
        const cell = cellOf(panel, number);
        if (cell) wanted.set(cell.node, held);
      }
      for (const node of panel.node.querySelectorAll<HTMLElement>(`.${HOLDS}`)) if (!wanted.has(node)) unmark(node);
      for (const [node, held] of wanted) this.mark(node, held);
    });
  }

  /** What each cell of a notebook holds, by the cell's number. */
  private heldBy(path: string, kernel: string): Map<number, Held> {
    const cells = new Map<number, Held>();
    for (const runtime of this.watch.runtimes) {
      const snapshot = this.watch.snapshot(runtime.id);
      const job = snapshot && jobOf(runtime, snapshot, path, kernel);
      if (snapshot && job !== null) collect(cells, snapshot, job);
    }
    return cells;
  }

  private mark(node: HTMLElement, held: Held): void {
    const known = node.querySelector<HTMLElement>(`:scope > .${BADGE}`);
    const badge = known ?? node.ownerDocument.createElement('span');
    const devices = [...held.values()].sort((a, b) => a.label.localeCompare(b.label, undefined, { numeric: true }));
    const said = devices.map(({ label, names }) => `${label} (${[...names].join(', ')})`).join(', ');
    const areFew = devices.length <= MOST_NUMBERS && new Set(devices.map(({ node }) => node)).size === 1;
    const words = areFew ? devices.map(({ number }) => number).join(' ') : `×${devices.length}`;
    const title = this.trans.__('This cell holds %1', said);
    if (!known) {
      badge.className = BADGE;
      badge.setAttribute('role', 'img');
      node.classList.add(HOLDS);
      node.append(badge);
    }
    if (badge.textContent === words && badge.title === title) return;
    badge.textContent = words;
    badge.title = title;
    badge.setAttribute('aria-label', title);
  }
}

/** The job of a notebook: 0 for every job of its own runtime; null where it has none there. */
function jobOf(runtime: Runtime, snapshot: HeadSnapshot, path: string, kernel: string): number | null {
  if (!runtime.shared) return kernel !== '' && runtime.kernel_id === kernel ? 0 : null;
  return snapshot.jobs?.findLast(({ name }) => isSameNotebook(name, path))?.number ?? null;
}

function collect(cells: Map<number, Held>, snapshot: HeadSnapshot, job: number): void {
  const names = new Map((snapshot.nodes ?? []).map(({ node_id, name }) => [node_id, plain(name)]));
  for (const device of snapshot.devices ?? []) {
    for (const holder of device.holders ?? []) {
      const number = Number(CELL.exec(holder.cell ?? '')?.[1]);
      if (!number || (job && holder.job && holder.job !== job)) continue;
      const held: Held = cells.get(number) ?? new Map();
      const node = device.node_id ?? '';
      const key = `${node}/${device.resource}/${device.id}`;
      const label = [names.size > 1 ? names.get(node) : '', plain(device.resource), plain(device.id)].filter(Boolean).join(' ');
      const known = held.get(key) ?? { label, number: plain(device.id), node, names: new Set() };
      known.names.add(plain(holder.name));
      cells.set(number, held.set(key, known));
    }
  }
}

function unmark(node: HTMLElement): void {
  node.classList.remove(HOLDS);
  node.querySelector(`:scope > .${BADGE}`)?.remove();
}
