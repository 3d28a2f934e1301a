// Orders of a notebook's widget that its busy kernel does not take: the server gives them to the head.

import { OFFERED } from './cockpit';
import type { Server } from './server';
import { type Reader, sourceOf } from './source';
import type { Watch } from './watch';

interface Offered {
  message: { say: string; id: string };
  pid?: number | null; // of the head
  taken: (words: string) => void;
}

/** Take the orders that cockpits of this page offer. */
export function takeOrders(page: Document, watch: Watch, server: Server, reader: Reader): void {
  page.addEventListener(OFFERED, event => {
    const { message, pid, taken } = (event as CustomEvent<Offered>).detail;
    const runtime = watch.runtimes.find(each => pid && each.pid === pid);
    if (!runtime || !watch.connected || !watch.mayExecute) return;
    event.preventDefault();
    const source = sourceOf(runtime.id, watch, server, reader);
    source.listen(answer => {
      if (answer.say === 'taken') taken(answer.words);
    });
    source.send(message);
  });
}
