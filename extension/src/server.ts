// Requests to the Jupyter server: the addresses of docs/extension.md, with the token and XSRF of Jupyter's own requests.

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { Storage } from './cockpit';

const API = 'nbaccel/api/v1';

/** A sentence of the server's, for a person. */
export class Refused extends Error {}

export class Server {
  constructor(readonly settings: ServerConnection.ISettings) {}

  /** The address of the WebSocket. */
  watchUrl(): string {
    const { wsUrl, token, appendToken } = this.settings;
    const url = URLExt.join(wsUrl, API, 'watch');
    return appendToken && token ? `${url}?token=${encodeURIComponent(token)}` : url;
  }

  openWatch(): WebSocket {
    return new this.settings.WebSocket(this.watchUrl());
  }

  /** Ask for something to be done. Throws Refused with a sentence. */
  order(name: string, given: Record<string, unknown>): Promise<any> {
    return this.request(name, { method: 'POST', body: JSON.stringify(given), headers: { 'Content-Type': 'application/json' } });
  }

  /** The runs of the storage folder, as the Python of a kernelspec finds them. */
  storageOf(kernelspec: () => string, mayExecute: boolean): Storage {
    const named = () => (kernelspec() ? [['kernelspec', kernelspec()]] : []);
    const read = (asked: string[][]) => this.request(`stored?${new URLSearchParams([...named(), ...asked])}`, {});
    return {
      list: experiment => read(experiment ? [['trials', experiment]] : []),
      curves: names => read(names.map(name => ['run', name])).then(({ runs }) => runs),
      ...(mayExecute && {
        remove: (run: string) => this.order('delete_run', { run, kernelspec: kernelspec() }),
        note: (run: string, text: string) => this.order('note_run', { run, text, kernelspec: kernelspec() })
      })
    };
  }

  private async request(address: string, given: RequestInit): Promise<any> {
    const url = URLExt.join(this.settings.baseUrl, API, address);
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url, given, this.settings);
    } catch {
      throw new Refused('The Jupyter server does not answer.');
    }
    const text = await response.text();
    let answer: Record<string, unknown> = {};
    try {
      answer = JSON.parse(text);
    } catch {
      // a proxy's page, perhaps; the status says what there is to say
    }
    if (!response.ok) {
      throw new Refused(String(answer.message || `The Jupyter server refuses (${response.status}).`));
    }
    return answer;
  }
}
