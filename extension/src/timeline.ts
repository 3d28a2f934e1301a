// A page of the main area: the cockpit of one runtime, opened at its timeline.

import { Widget } from '@lumino/widgets';
import { mount, newState } from './cockpit';
import type { Server } from './server';
import { type Reader, sourceOf } from './source';
import type { Watch } from './watch';

export class TimelinePage extends Widget {
  private readonly end: () => void;

  constructor(runtime: string, watch: Watch, server: Server, reader: Reader) {
    super();
    this.addClass('nbaccel-page');
    const state = newState(true);
    state.tab = 'timeline';
    this.end = mount(this.node, sourceOf(runtime, watch, server, reader), { state });
  }

  dispose(): void {
    if (!this.isDisposed) this.end();
    super.dispose();
  }
}
