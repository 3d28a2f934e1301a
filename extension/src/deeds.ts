// What the person asks for in the panel and in the palette; each returns a sentence that says how it went.

import { Dialog, showDialog } from '@jupyterlab/apputils';
import { NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { whatEnds } from './cockpit';
import type { Notebooks } from './notebooks';
import type { Deeds } from './panel';
import type { Server } from './server';
import type { Watch } from './watch';

const DEFAULT_KERNELSPEC = 'python3';

export function deedsOf(
  server: Server,
  watch: Watch,
  notebooks: Notebooks,
  trans: TranslationBundle,
  pages: Pick<Deeds, 'openTimeline' | 'openRuns'>
): Deeds {
  return {
    ...pages,
    async shutDown(runtime, title) {
      const snapshot = watch.snapshot(runtime);
      const answer = await showDialog({
        title: trans.__('Shut down nbaccel of %1?', title),
        body: snapshot ? whatEnds(snapshot) : trans.__('Its tasks and actors end, and its devices become free.'),
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Shut down') })]
      });
      if (!answer.button.accept) return '';
      return told(server.order('shutdown', { runtime }), trans.__('nbaccel of %1 is shutting down.', title));
    },
    start() {
      const kernelspec = notebooks.kernelspec || DEFAULT_KERNELSPEC;
      const done = trans.__('A shared head runs. A notebook connects to it with nbaccel.init("auto").');
      return told(server.order('start', { kernelspec }), done);
    },
    insertInit() {
      if (notebooks.showInit()) return trans.__('This cell has %accel_init. Run it to start nbaccel.');
      const inserted = notebooks.insertInit(panel => NotebookActions.insertAbove(panel.content));
      return inserted ? trans.__('Inserted %accel_init. Run the cell to start nbaccel.') : trans.__('No notebook is open.');
    }
  };
}

function told(answer: Promise<unknown>, done: string): Promise<string> {
  return answer.then(() => done, (error: Error) => error.message);
}
