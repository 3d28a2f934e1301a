// The sections of runtimes: a head line with what can be done, and the cockpit below it.

import type { TranslationBundle } from '@jupyterlab/translation';
import { age, button, draw, h, mount, newState, plain, type Shape, type State } from './cockpit';
import type { Runtime } from './messages';
import type { Server } from './server';
import { type Reader, sourceOf } from './source';
import type { Watch } from './watch';

/** What the head line needs to know besides the runtime. */
export interface Shown {
  trans: TranslationBundle;
  mayExecute: boolean;
  isMine: (runtime: Runtime) => boolean;
}

interface Section {
  root: HTMLElement;
  head: HTMLElement;
  body: HTMLElement;
  end: () => void;
}

/** Keeps one section for each runtime in `place`, in the order of `show`. */
export class RuntimeSections {
  private readonly sections = new Map<string, Section>();
  private readonly states = new Map<string, State>();

  constructor(
    private readonly place: HTMLElement,
    private readonly watch: Watch,
    private readonly server: Server,
    private readonly reader: Reader
  ) {}

  show(runtimes: Runtime[], shown: Shown): void {
    const wanted = new Set(runtimes.map(({ id }) => id));
    for (const [id, section] of this.sections) if (!wanted.has(id)) this.drop(id, section);
    let before: Element | null = this.place.firstElementChild;
    for (const runtime of runtimes) {
      const section = this.sections.get(runtime.id) ?? this.made(runtime, shown);
      if (section.root === before) before = before.nextElementSibling;
      else this.place.insertBefore(section.root, before);
      draw(section.head, headOf(runtime, shown));
      section.body.hidden = runtime.state === 'other_version'; // its head says why it shows nothing
    }
  }

  end(): void {
    for (const [id, section] of this.sections) this.drop(id, section);
  }

  private made(runtime: Runtime, { trans }: Shown): Section {
    const page = this.place.ownerDocument;
    const root = page.createElement('section');
    const head = page.createElement('div');
    const body = page.createElement('div');
    root.className = 'nbaccel-section nbaccel-runtime';
    root.dataset.runtime = runtime.id;
    root.setAttribute('aria-label', trans.__('Runtime %1', titleOf(runtime)));
    head.className = 'nbaccel-cockpit nbaccel-head';
    root.append(head, body);
    const state = this.states.get(runtime.id) ?? newState(false);
    state.listed = true; // what holds a device is ended from here
    this.states.set(runtime.id, state);
    const source = sourceOf(runtime.id, this.watch, this.server, this.reader);
    const section = { root, head, body, end: mount(body, source, { state }) };
    this.sections.set(runtime.id, section);
    return section;
  }

  private drop(id: string, section: Section): void {
    this.sections.delete(id);
    section.end();
    section.root.remove();
  }
}

/** The notebook, where one has it; else what the head says of itself. */
export function titleOf(runtime: Runtime): string {
  return plain(runtime.notebook.split('/').at(-1) || runtime.title);
}

function headOf(runtime: Runtime, { trans, mayExecute, isMine }: Shown): Shape[] {
  const title = titleOf(runtime);
  const facts = [
    trans.__('%1 engine', plain(runtime.engine)),
    runtime.started_at ? trans.__('for %1', age(Date.now() / 1000 - runtime.started_at)) : ''
  ];
  const about = { 'data-runtime': runtime.id, 'data-title': title };
  const path = plain(runtime.notebook || runtime.title);
  const goes = runtime.notebook !== '' && !isMine(runtime);
  const shape = h(
    'div',
    { key: 'head' },
    h(
      'div',
      { class: 'line title' },
      h('h3', { title: path }, goes ? button(title, { ...about, class: 'goes', 'data-do': 'open', 'data-path': runtime.notebook, 'aria-label': trans.__('Go to %1', title) }) : title),
      isMine(runtime) && h('span', { class: 'chip' }, trans.__('this notebook')),
      runtime.shared && h('span', { class: 'chip' }, trans.__('shared'))
    ),
    h(
      'div',
      { class: 'line controls' },
      h('span', { class: 'quiet small' }, facts.filter(Boolean).join(' · ')),
      h(
        'span',
        { class: 'buttons' },
        button(trans.__('Timeline'), { ...about, 'data-do': 'timeline', 'aria-label': trans.__('Timeline of %1', title) }),
        mayExecute && runtime.engine === 'local' && button(trans.__('Shut down…'), { ...about, 'data-do': 'shutdown', 'aria-label': trans.__('Shut down %1', title) })
      )
    ),
    runtime.reason && h('p', { class: 'attention', role: 'status' }, h('strong', {}, '⚠ '), plain(runtime.reason))
  );
  return [shape];
}
