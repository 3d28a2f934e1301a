// Pages of the main area: one for each runtime that is asked for, its cockpit opened at the timeline; and one of all runs of
// the storage folder.

import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { mount, newState, showStored } from './cockpit';
import { icon } from './icon';
import type { Server } from './server';
import { type Reader, sourceOf } from './source';
import type { Watch } from './watch';

export const TIMELINE = 'nbaccel:timeline'; // the command that opens a page, and opens it again after a reload
export const RUNS = 'nbaccel:runs';

class TimelinePage extends Widget {
  private readonly ends: (() => void)[];

  constructor(
    readonly runtime: string,
    readonly of: string,
    watch: Watch,
    server: Server,
    reader: Reader,
    ended: string
  ) {
    super();
    this.addClass('nbaccel-page');
    const view = this.node.ownerDocument.createElement('div');
    const note = this.node.ownerDocument.createElement('p');
    this.node.append(note, view);
    const state = newState(true);
    state.tab = 'timeline';
    const source = sourceOf(runtime, watch, server, reader);
    /** A page that is opened again after a reload may find that its runtime has ended meanwhile. */
    const look = () => {
      view.hidden = watch.isGone(runtime) && !source.snapshot();
      note.textContent = view.hidden ? ended : '';
    };
    this.ends = [mount(view, source, { state }), watch.subscribe(look)];
    look();
  }

  dispose(): void {
    if (!this.isDisposed) for (const end of this.ends) end();
    super.dispose();
  }
}

class RunsPage extends Widget {
  private readonly end: () => void;

  constructor(server: Server, kernelspec: () => string, mayDelete: boolean) {
    super();
    this.addClass('nbaccel-page');
    this.end = showStored(this.node, server.storageOf(kernelspec, mayDelete));
  }

  dispose(): void {
    if (!this.isDisposed) this.end();
    super.dispose();
  }
}

type Page = MainAreaWidget<TimelinePage>;

export class Timelines {
  private readonly pages = new WidgetTracker<Page>({ namespace: 'nbaccel-timeline' });
  private readonly runs = new WidgetTracker<MainAreaWidget<RunsPage>>({ namespace: 'nbaccel-runs' });

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly watch: Watch,
    private readonly server: Server,
    private readonly trans: TranslationBundle
  ) {}

  /** Open the pages again that were open before the front end was loaded anew. */
  restoreBy(restorer: ILayoutRestorer): void {
    void restorer.restore(this.pages, {
      command: TIMELINE,
      args: ({ content }) => ({ runtime: content.runtime, title: content.of }),
      name: ({ content }) => content.runtime
    });
    void restorer.restore(this.runs, { command: RUNS, args: () => ({}), name: () => 'runs' });
  }

  /** Show the page of a runtime. */
  open(runtime: string, title: string): void {
    this.show(this.pages.find(({ content }) => content.runtime === runtime) ?? this.made(runtime, title));
  }

  /** Show the page of all runs. */
  openRuns(kernelspec: () => string): void {
    this.show(this.runs.find(() => true) ?? this.madeRuns(kernelspec));
  }

  private madeRuns(kernelspec: () => string): Widget {
    const page = new MainAreaWidget({ content: new RunsPage(this.server, kernelspec, this.watch.mayExecute) });
    page.id = 'nbaccel-runs';
    page.title.label = this.trans.__('All runs');
    page.title.icon = icon;
    page.title.closable = true;
    void this.runs.add(page);
    return page;
  }

  private show(page: Widget): void {
    const { shell } = this.app;
    if (!page.isAttached) shell.add(page, 'main');
    if (!page.isAttached) shell.add(page, 'down'); // Notebook 7 has room for one page only: the notebook
    shell.activateById(page.id);
  }

  private made(runtime: string, title: string): Page {
    const { app, watch, server, trans } = this;
    const reader = { notebook: () => '', onlyMine: () => false, go: () => void app.commands.execute('nbaccel:open') };
    const ended = trans.__('nbaccel of %1 has ended.', title);
    const page = new MainAreaWidget({ content: new TimelinePage(runtime, title, watch, server, reader, ended) });
    page.id = `nbaccel-timeline-${runtime}`;
    page.title.label = trans.__('Devices of %1', title);
    page.title.icon = icon;
    page.title.closable = true;
    void this.pages.add(page);
    return page;
  }
}
