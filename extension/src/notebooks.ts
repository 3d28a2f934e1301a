// The notebooks that are open: which one the person looks at, and the cell that some words name.

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { Cell, INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

const CELL = /\[(\d+)\]/;
const INIT = /^%accel_init\b/m;
export const INIT_CELL = '%load_ext nbaccel\n%accel_init';

export class Notebooks {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly tracker: INotebookTracker | null
  ) {}

  get current(): NotebookPanel | null {
    return this.tracker?.currentWidget ?? null;
  }

  /** The path of the notebook that the person looks at; "" for none. */
  get path(): string {
    return this.current?.context.path ?? '';
  }

  get kernel(): string {
    return this.current?.sessionContext.session?.kernel?.id ?? '';
  }

  get kernelspec(): string {
    return this.current?.sessionContext.kernelPreference.name ?? '';
  }

  changed(slot: () => void): void {
    this.tracker?.currentChanged.connect(slot);
  }

  forEach(act: (panel: NotebookPanel) => void): void {
    this.tracker?.forEach(act);
  }

  /** Open a notebook, or turn to it. Null where this front end cannot. */
  async open(path: string): Promise<NotebookPanel | null> {
    const known = this.tracker?.find(panel => panel.context.path === path);
    if (known) {
      this.app.shell.activateById(known.id);
      return known;
    }
    if (!this.app.commands.hasCommand('docmanager:open')) return null;
    await this.app.commands.execute('docmanager:open', { path });
    return this.tracker?.find(panel => panel.context.path === path) ?? null;
  }

  /** Show the cell that "[7] line 3" names. Returns whether it was found. */
  async showCell(path: string, words: string): Promise<boolean> {
    const number = Number(CELL.exec(words)?.[1]);
    const panel = number ? await this.open(path) : null;
    const cell = panel && cellOf(panel, number);
    if (!panel || !cell) return false;
    await show(panel, cell);
    return true;
  }

  /** The cell of the current notebook that starts nbaccel. */
  get initCell(): Cell | null {
    const cells = this.current?.content.widgets ?? [];
    return cells.find(({ model }) => model.type === 'code' && INIT.test(model.sharedModel.getSource())) ?? null;
  }

  /** Show the cell that starts nbaccel. Returns whether there is one. */
  showInit(): boolean {
    const panel = this.current;
    const cell = this.initCell;
    if (!panel || !cell) return false;
    void show(panel, cell);
    return true;
  }

  /** A first cell that starts nbaccel, unless the active cell is empty: then that one. */
  insertInit(insertAbove: (panel: NotebookPanel) => void): boolean {
    const panel = this.current;
    if (!panel) return false;
    const active = panel.content.activeCell;
    if (active?.model.type !== 'code' || active.model.sharedModel.getSource().trim()) insertAbove(panel);
    panel.content.activeCell?.model.sharedModel.setSource(INIT_CELL);
    panel.content.activate();
    return true;
  }
}

async function show({ content }: NotebookPanel, cell: Cell): Promise<void> {
  content.activeCellIndex = content.widgets.indexOf(cell);
  await content.scrollToCell(cell);
  content.activate();
}

/** A cell gets its number when it has ended. One that runs has none yet: it is the one that runs. */
export function cellOf(panel: NotebookPanel, number: number): Cell | null {
  const cells = panel.content.widgets;
  const numbered = cells.find(cell => cell.model.executionCount === number);
  return numbered ?? cells.find(cell => cell.model.executionState === 'running') ?? null;
}
