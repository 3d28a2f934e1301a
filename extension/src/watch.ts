// The one WebSocket of this tab: runtimes, their snapshots, the machine; and questions to runtimes with their answers.

import type { Answer, Askable, HeadSnapshot, Ignored, Machine, Message, Question, Runtime } from './messages';
import { Refused, type Server } from './server';

export const API = 1; // the version of docs/extension.md that this code speaks

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

type Waiting = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

export class Watch {
  runtimes: Runtime[] = [];
  ignored: Ignored[] = [];
  machine: Machine | null = null;
  mayExecute = true;
  api = API; // of the server
  connected = false;
  wasConnected = false;
  private readonly snapshots = new Map<string, HeadSnapshot>();
  private readonly listeners = new Set<() => void>();
  private readonly farewells = new Set<(runtime: Runtime) => void>();
  private isListed = false; // since it is connected, the server has sent the list
  private readonly waiting = new Map<number, Waiting>();
  private socket: WebSocket | null = null;
  private questions = 0;
  private retryMs = FIRST_RETRY_MS;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private rows = 0;
  private ended = false;

  constructor(
    private readonly server: Server,
    private readonly page: Document
  ) {
    page.addEventListener('visibilitychange', this.turned);
    this.turned();
  }

  /** Of a runtime: the newest one, also the last one of a runtime that has gone. */
  snapshot(runtime: string): HeadSnapshot | null {
    return this.snapshots.get(runtime) ?? null;
  }

  isGone(runtime: string): boolean {
    return this.connected && this.isListed && !this.runtimes.some(each => each.id === runtime);
  }

  /** Call back after each change. Returns what ends it. */
  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => void this.listeners.delete(changed);
  }

  /** Call back with each runtime that has ended. */
  whenEnded(told: (runtime: Runtime) => void): () => void {
    this.farewells.add(told);
    return () => void this.farewells.delete(told);
  }

  /** Ask a runtime. Rejects with a sentence. */
  ask<K extends Askable>(runtime: string, question: Question<K> & { ask: K }): Promise<Answer<K>> {
    const id = ++this.questions;
    return new Promise((resolve, reject) => {
      if (!this.connected) return reject(new Refused('There is no connection to the Jupyter server.'));
      this.waiting.set(id, { resolve: answer => resolve(answer as Answer<K>), reject });
      this.send({ type: 'ask', id, runtime, question });
    });
  }

  /** Snapshots with more rows of tasks from now on. */
  askForRows(rows: number): void {
    if (rows <= this.rows) return;
    this.rows = rows;
    this.sendWatch();
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.retry);
    this.page.removeEventListener('visibilitychange', this.turned);
    this.socket?.close();
  }

  private readonly turned = () => {
    if (this.page.visibilityState === 'hidden') this.send({ type: 'hidden' });
    else if (this.socket) this.send({ type: 'shown' });
    else this.open();
  };

  private open(): void {
    clearTimeout(this.retry);
    if (this.ended || this.socket) return;
    const socket = this.server.openWatch();
    this.socket = socket;
    socket.onmessage = event => {
      if (typeof event.data === 'string') this.heard(JSON.parse(event.data));
    };
    socket.onclose = () => this.closed(socket);
  }

  private closed(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = null;
    this.connected = this.isListed = false;
    for (const { reject } of this.waiting.values()) reject(new Refused('The connection to the Jupyter server was lost.'));
    this.waiting.clear();
    if (!this.ended && this.page.visibilityState !== 'hidden') {
      this.retry = setTimeout(() => this.open(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    }
    this.changed();
  }

  private send(message: Record<string, unknown>): void {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(message));
  }

  private sendWatch(): void {
    this.send({ type: 'watch', runtimes: ['*'], rows: this.rows });
  }

  private heard(message: Message): void {
    if (message.type === 'hello') this.greeted(message);
    else if (message.type === 'runtimes') this.listed(message);
    else if (message.type === 'snapshot') this.snapshots.set(message.runtime, message.snapshot);
    else if (message.type === 'machine') this.machine = message.machine;
    else if (message.type === 'answer') this.answered(message);
    else if (message.type === 'error') console.warn(`nbaccel: ${message.message}`);
    this.changed();
  }

  private greeted(hello: Extract<Message, { type: 'hello' }>): void {
    this.connected = this.wasConnected = true;
    this.retryMs = FIRST_RETRY_MS;
    this.api = hello.api;
    this.mayExecute = hello.may_execute;
    if (this.page.visibilityState === 'hidden') this.send({ type: 'hidden' });
    if (hello.api === API) this.sendWatch();
  }

  private listed(message: Extract<Message, { type: 'runtimes' }>): void {
    const known = new Set(message.runtimes.map(each => each.id));
    const ended = this.runtimes.filter(each => !known.has(each.id));
    this.runtimes = message.runtimes;
    this.ignored = message.ignored;
    this.isListed = true;
    for (const id of this.snapshots.keys()) if (!known.has(id)) this.snapshots.delete(id);
    for (const runtime of ended) for (const told of this.farewells) told(runtime);
  }

  private answered(message: Extract<Message, { type: 'answer' }>): void {
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.answer) waiting?.resolve(message.answer);
    else waiting?.reject(new Refused(message.error ?? 'The runtime does not answer.'));
  }

  private changed(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
