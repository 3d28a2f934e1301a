// The panel: devices of the machine, then a section for each runtime.

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { button, draw, h, plain, type Shape, showStored, STYLE } from './cockpit';
import { drawMachine } from './machine';
import type { Runtime } from './messages';
import type { Notebooks } from './notebooks';
import { RuntimeSections, titleOf } from './runtimes';
import type { Server } from './server';
import { isSameNotebook, type Reader } from './source';
import { API, type Watch } from './watch';

export const PANEL_ID = 'nbaccel-panel';
const SAID_MS = 8000;

/** What the panel asks the front end to do. */
export interface Deeds {
  shutDown: (runtime: string, title: string) => Promise<string>;
  start: () => Promise<string>;
  insertInit: () => string;
  openTimeline: (runtime: string, title: string) => void;
  openRuns: () => void;
}

export class Panel extends Widget {
  private readonly above: HTMLElement;
  private readonly sections: RuntimeSections;
  private readonly ends: (() => void)[];
  private readonly ended = new Set<string>(); // notebooks whose nbaccel has ended
  private readonly stored: HTMLElement; // the runs of the storage folder
  private endStored: (() => void) | null = null; // while they are shown
  private onlyMine = false;
  private said = '';
  private unsaid: ReturnType<typeof setTimeout> | undefined;
  private drawing = 0;

  constructor(
    private readonly watch: Watch,
    private readonly server: Server,
    private readonly notebooks: Notebooks,
    private readonly deeds: Deeds,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.id = PANEL_ID;
    this.addClass('nbaccel-panel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Accelerators'));
    this.node.dataset.lmSuppressShortcuts = 'true';
    const page = this.node.ownerDocument;
    const style = page.createElement('style');
    style.textContent = STYLE;
    this.above = page.createElement('div');
    this.above.className = 'nbaccel-cockpit nbaccel-above';
    this.stored = page.createElement('div');
    const below = page.createElement('div');
    below.className = 'nbaccel-runtimes';
    this.node.append(style, this.above, this.stored, below);
    this.sections = new RuntimeSections(below, watch, server, this.reader());
    this.ends = [watch.subscribe(this.soon), watch.whenEnded(runtime => this.tellEnd(runtime))];
    notebooks.changed(this.soon);
    this.node.addEventListener('click', this.clicked);
    this.soon();
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.sections.end();
    this.endStored?.();
    super.dispose();
  }

  /** Say something in the status line. */
  say(words: string): void {
    this.said = words;
    clearTimeout(this.unsaid);
    this.unsaid = setTimeout(() => this.say(''), SAID_MS);
    if (!words) clearTimeout(this.unsaid);
    this.soon();
  }

  /** Shut down a runtime, after a question. */
  async shutDown(runtime: string, title: string): Promise<void> {
    const words = await this.deeds.shutDown(runtime, title);
    if (!this.watch.isGone(runtime)) this.say(words); // else its end has been told already
  }

  private tellEnd(runtime: Runtime): void {
    this.ended.add(runtime.notebook);
    this.say(this.trans.__('nbaccel of %1 has ended.', titleOf(runtime)));
  }

  protected onActivateRequest(): void {
    this.node.tabIndex = -1;
    this.node.focus();
  }

  private reader(): Reader {
    return {
      notebook: () => this.notebooks.path,
      onlyMine: () => this.onlyMine,
      go: (runtime, words) => void this.go(runtime, words)
    };
  }

  private readonly soon = () => {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      if (!this.isDisposed) this.redraw();
    });
  };

  private redraw(): void {
    const { watch } = this;
    const mine = (runtime: Runtime) => this.isMine(runtime);
    const shown = watch.runtimes.filter(each => !this.onlyMine || mine(each));
    const ordered = [...shown].sort((a, b) => Number(mine(b)) - Number(mine(a)) || a.started_at - b.started_at);
    draw(this.above, [
      ...this.banners(),
      this.tools(),
      drawMachine(watch.machine, this.trans),
      this.hint(shown),
      h('p', { class: 'said', key: 'said', role: 'status', 'aria-live': 'polite' }, this.said)
    ].filter(each => each !== null));
    this.sections.show(ordered, { trans: this.trans, mayExecute: watch.mayExecute, isMine: mine });
  }

  /** What is wrong, at the top. */
  private banners(): Shape[] {
    const { trans, watch } = this;
    const banners: string[] = [];
    if (!watch.connected) {
      banners.push(watch.wasConnected ? trans.__('The connection to the Jupyter server is lost. It is being tried again; what stands here is the last that was known.') : trans.__('Connecting to the Jupyter server …'));
    } else if (watch.api !== API) {
      banners.push(trans.__('The server has another version of nbaccel-lab than this page. Reload the page; if that does not help, restart the server.'));
    }
    const told = watch.ignored.map(({ file, reason }) => trans.__('The file %1 is ignored: %2', plain(file), plain(reason)));
    return [...banners, ...told].map(words => h('p', { key: words, class: 'attention', role: 'status' }, h('strong', {}, '⚠ '), words));
  }

  private tools(): Shape {
    const { trans, watch } = this;
    const mayStart = watch.connected && watch.mayExecute;
    return h(
      'div',
      { key: 'tools', class: 'line tools' },
      button(trans.__('Only my notebook'), { 'data-do': 'mine', 'aria-pressed': String(this.onlyMine), title: trans.__('Show only runtimes and tasks of the notebook that is open') }),
      button(trans.__('All runs'), { 'data-do': 'runs', 'aria-expanded': String(this.endStored !== null), title: trans.__('All training runs and experiments of the storage folder, also those of earlier days') }),
      this.endStored !== null && button(trans.__('Open as a page'), { 'data-do': 'page' }),
      mayStart && button(trans.__('Start a shared head'), { 'data-do': 'start', title: trans.__('A head that several notebooks share: nbaccel.init("auto") connects to it') })
    );
  }

  /** What a notebook without nbaccel can do. */
  private hint(shown: Runtime[]): Shape | null {
    const { trans, notebooks, watch } = this;
    if (!watch.connected) return null;
    if (notebooks.path && !watch.runtimes.some(each => this.isMine(each))) {
      const name = plain(notebooks.path.split('/').at(-1));
      const words = this.ended.has(notebooks.path) ? trans.__('%1 does not use nbaccel any more.', name) : trans.__('%1 does not use nbaccel yet.', name);
      const deed = notebooks.initCell ? trans.__('Go to %accel_init') : trans.__('Insert %accel_init');
      return h('p', { key: 'hint', class: 'hint' }, h('span', { class: 'quiet' }, words), ' ', button(deed, { 'data-do': 'insert' }));
    }
    if (shown.length) return null;
    return h('p', { key: 'hint', class: 'quiet empty' }, trans.__('No runtime. A notebook that runs this has one:'), ' ', h('code', {}, '%accel_init'));
  }

  /** Whether the notebook that the person looks at is this runtime's, or one of a shared one's. */
  isMine(runtime: Runtime): boolean {
    const { path, kernel } = this.notebooks;
    if (kernel && runtime.kernel_id === kernel) return true;
    if (path && runtime.notebook === path) return true;
    return Boolean(this.watch.snapshot(runtime.id)?.jobs?.some(({ name, left }) => runtime.shared && !left && isSameNotebook(name, path)));
  }

  private async go(runtime: string, words: string): Promise<void> {
    const known = this.watch.runtimes.find(({ id }) => id === runtime);
    const path = known?.shared ? this.pathOfJob(runtime, words) : (known?.notebook ?? '');
    const found = path !== '' && (await this.notebooks.showCell(path, words));
    if (!found) this.say(this.trans.__('The cell %1 is in no notebook that this page can open.', plain(words)));
  }

  /** On a shared head the words begin with the notebook, or it is the one that is open. */
  private pathOfJob(runtime: string, words: string): string {
    const { path } = this.notebooks;
    const name = words.split(' [')[0];
    if (words.startsWith('[') || isSameNotebook(name, path)) return path;
    const other = this.watch.runtimes.find(each => each.id !== runtime && isSameNotebook(name, each.notebook));
    return other?.notebook ?? name;
  }

  private turnStored(): void {
    const { server, notebooks, watch, endStored } = this;
    endStored?.();
    this.endStored = endStored ? null : showStored(this.stored, server.storageOf(() => notebooks.kernelspec, watch.mayExecute));
  }

  private readonly clicked = (event: MouseEvent) => {
    const target = (event.target as Element).closest<HTMLElement>('[data-do]');
    if (!target) return;
    const { runtime = '', title = '', path = '' } = target.dataset;
    const deeds: Record<string, () => unknown> = {
      mine: () => void (this.onlyMine = !this.onlyMine),
      runs: () => this.turnStored(),
      page: () => {
        this.turnStored();
        this.deeds.openRuns();
      },
      start: async () => this.say(await this.deeds.start()),
      insert: () => this.say(this.deeds.insertInit()),
      open: () => this.notebooks.open(path),
      timeline: () => this.deeds.openTimeline(runtime, title),
      shutdown: () => this.shutDown(runtime, title)
    };
    deeds[target.dataset.do ?? '']?.();
    this.soon();
  };
}
