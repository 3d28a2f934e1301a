// The item of the status bar: "GPU 2/8 · 34 % · 3 running". A click opens the panel.

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { Runtime } from './messages';
import { summaryOf } from './summary';
import type { Watch } from './watch';

export class StatusItem extends Widget {
  private readonly button: HTMLButtonElement;
  private readonly end: () => void;

  constructor(
    private readonly watch: Watch,
    private readonly trans: TranslationBundle,
    private readonly isOpen: (runtime: Runtime) => boolean,
    open: () => void
  ) {
    super();
    this.addClass('nbaccel-status');
    this.button = this.node.ownerDocument.createElement('button');
    this.button.type = 'button';
    this.button.onclick = open;
    this.node.append(this.button);
    this.end = watch.subscribe(() => this.redraw());
    this.redraw();
  }

  dispose(): void {
    if (!this.isDisposed) this.end();
    super.dispose();
  }

  private redraw(): void {
    const { words, alerts } = summaryOf(this.watch, this.isOpen);
    const shown = [words, alerts ? `⚠ ${alerts}` : ''].filter(Boolean).join('  ');
    if (shown === this.button.textContent) return;
    this.button.textContent = shown;
    this.node.classList.toggle('nbaccel-nothing', !shown);
    const alerted = alerts ? ` ${this.trans._n('%1 alert.', '%1 alerts.', alerts)}` : '';
    this.button.title = `${this.trans.__('Devices in use of all, their mean load, and how many tasks run.')}${alerted} ${this.trans.__('Open the panel')}`;
  }
}
