// Live views in the places of notebooks whose kernel is busy: a page that is loaded again, or a second one, has no widget
// until the kernel answers, and the Jupyter server can ask the head meanwhile. A widget that comes covers the place anew.

import { cover, type Cover, headOf, mount, stateOf, takePlaces } from './cockpit';
import type { Notebooks } from './notebooks';
import type { Server } from './server';
import { sourceOf } from './source';
import type { Watch } from './watch';

/** Draw in all places of this page, as long as the front end lives. */
export function drawInPlaces(page: Document, watch: Watch, server: Server, notebooks: Notebooks): void {
  takePlaces(page, 'nbaccel-place', place => new Stand(place, watch, server, notebooks));
}

/** A view in one place, once its head is known and if no widget is there. */
class Stand implements Cover {
  private shown: Cover | null = null;
  private drawing = 0;
  private readonly unsubscribe: () => void;

  constructor(
    private place: HTMLElement,
    private readonly watch: Watch,
    private readonly server: Server,
    private readonly notebooks: Notebooks
  ) {
    this.unsubscribe = watch.subscribe(this.soon);
    this.soon();
  }

  /** After a frame: a widget of this page covers its places before. */
  private readonly soon = () => {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      this.show();
    });
  };

  private show(): void {
    const { place, watch, server } = this;
    const runtime = headOf(place);
    if (!runtime || !watch.snapshot(runtime) || watch.isGone(runtime) || place.querySelector('.nbaccel-cockpit')) return;
    const path = this.pathOfPlace();
    const go = (_: string, words: string) => void (words.startsWith('[') && this.notebooks.showCell(path, words));
    const source = sourceOf(runtime, watch, server, { notebook: () => path, onlyMine: () => false, go });
    this.shown = cover(place, live => mount(live, source, { state: stateOf(place) }));
  }

  /** The notebook that has the place: on a shared head its tasks are the reader's own. */
  private pathOfPlace(): string {
    let path = '';
    this.notebooks.forEach(panel => {
      if (panel.node.contains(this.place)) path = panel.context.path;
    });
    return path;
  }

  move(place: HTMLElement): void {
    this.place = place;
    this.shown?.move(place);
    this.soon();
  }

  end(): void {
    this.unsubscribe();
    cancelAnimationFrame(this.drawing);
    this.shown?.end();
  }
}
