// What has changed, as the server tells it: one stream for all tabs of a browser, led by one of them, because a browser
// opens only six connections to a host. Where there is no stream, pages ask now and then.
import { root } from './api';
import { parse } from './json';
import { session } from './session.svelte';

export type StreamState = 'live' | 'polling' | 'lost';

/** What a message says: which instances and definitions; nothing named stands for anything. */
export interface Change {
  instances: string[];
  definitions: string[];
}

const EVERYTHING: Change = { instances: [], definitions: [] };
const POLL_MS = 5000;
/** For so long after its beginning a page has just read what it shows. */
const FRESH_MS = 5000;
/** So many tries are made before the page asks by itself. */
const TRIES = 3;

class Live {
  state = $state<StreamState>('lost');
  /** When the server was last heard. */
  heard = $state(Date.now());
  #listeners = new Set<(change: Change) => void>();
  #channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('travertine.live') : null;
  #stream: AbortController | null = null;
  /** Where the stream has come to. */
  #last = '';
  #tries = 0;
  #poll: ReturnType<typeof setInterval> | null = null;

  start(): void {
    this.#show('lost');
    if (this.#channel) this.#channel.onmessage = (event) => this.#told(event.data as { state?: StreamState; change?: Change });
    if (navigator.locks && this.#channel) {
      // Whoever holds the lock leads. It is given on when that tab is closed.
      void navigator.locks.request('travertine.live', () => new Promise<never>(() => this.#lead()));
      this.#channel.postMessage({ hello: true });
    } else {
      this.#lead();
    }
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.#spread(EVERYTHING);
    });
    addEventListener('online', () => this.#stream || void this.#open());
  }

  /** Tells of changes until the answer is called. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What this page has just changed is known before the stream says it. */
  changed(change: Change = EVERYTHING): void {
    this.#spread(change);
    this.#channel?.postMessage({ change });
  }

  #show(state: StreamState): void {
    this.state = state;
    document.documentElement.dataset.stream = state;
  }

  #told(said: { state?: StreamState; change?: Change; hello?: boolean }): void {
    if (said.hello && this.#leads) this.#channel?.postMessage({ state: this.state });
    if (said.state && !this.#leads) this.#show(said.state);
    if (said.change) this.#spread(said.change);
  }

  #leads = false;
  #lead(): void {
    this.#leads = true;
    void this.#open();
  }

  /** Reads the stream until it ends. Read by hand, because an `EventSource` cannot say who asks. */
  async #open(): Promise<void> {
    if (!this.#leads || this.#stream || session.wanted) return;
    const abort = new AbortController();
    this.#stream = abort;
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (session.authorization) headers.authorization = session.authorization;
    if (this.#last) headers['last-event-id'] = this.#last;
    try {
      const response = await fetch(`${root}live`, { headers, credentials: 'omit', signal: abort.signal, cache: 'no-store' });
      const kind = response.headers.get('content-type') ?? '';
      if (response.ok && response.body && kind.startsWith('text/event-stream')) {
        const anew = this.state !== 'live';
        this.#alive();
        // What the page has just read need not be read again at once; what was missed meanwhile is soon.
        if (anew && performance.now() < FRESH_MS) setTimeout(() => this.changed(), FRESH_MS);
        else if (anew) this.changed();
        await this.#read(response.body);
      } else {
        // There is no stream to be had.
        this.#tries = TRIES;
      }
    } catch {
      // The connection is gone; it is tried again below.
    }
    this.#stream = null;
    if (++this.#tries < TRIES) {
      this.#say('lost');
      setTimeout(() => void this.#open(), 500 * this.#tries);
    } else {
      this.#ask();
    }
  }

  #alive(): void {
    this.#tries = 0;
    this.heard = Date.now();
    if (this.#poll) clearInterval(this.#poll);
    this.#poll = null;
    this.#say('live');
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.#alive();
      text += decoder.decode(value, { stream: true }).replaceAll('\r', '');
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.#event(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  #event(text: string): void {
    const of = (name: string) => text.split('\n').filter((it) => it.startsWith(`${name}:`)).map((it) => it.slice(name.length + 1).trimStart()).join('\n');
    this.#last = of('id') || this.#last;
    const data = of('data');
    if (of('event') === 'reset') this.changed();
    else if (data && of('event') !== 'hello') this.changed(read(data));
  }

  /** Asks now and then, and tries the stream again now and then. */
  #ask(): void {
    this.#say('polling');
    let rounds = 0;
    this.#poll ??= setInterval(() => {
      if (!document.hidden) this.changed();
      if (++rounds % 6 === 0) void this.#open();
    }, POLL_MS);
  }

  /** An answer that did not come makes the stream suspect. */
  away(): void {
    if (this.state === 'polling') this.#say('lost');
  }

  here(): void {
    this.heard = Date.now();
    if (this.state === 'lost' && this.#poll) this.#say('polling');
  }

  #say(state: StreamState): void {
    this.#show(state);
    this.#channel?.postMessage({ state });
  }

  #spread(change: Change): void {
    if (document.hidden) return;
    for (const listener of this.#listeners) listener(change);
  }
}

function read(text: string): Change {
  try {
    const said = parse(text) as Record<string, unknown> | null;
    const list = (it: unknown): string[] => (Array.isArray(it) ? it.map((one) => (one && typeof one === 'object' ? String((one as Record<string, unknown>).instance ?? '') : String(one))) : []);
    const one = said?.instance === undefined || said?.instance === null ? [] : [String(said.instance)];
    return { instances: [...one, ...list(said?.instances)], definitions: list(said?.definitions) };
  } catch {
    return EVERYTHING;
  }
}

export const live = new Live();
