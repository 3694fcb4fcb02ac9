// What a page shows: read from the server, and read again when it has changed there.
import { Fault } from './api';
import { live, type Change } from './live.svelte';
import { ready } from './ready';

/** Changes are taken together, so that a busy server is not asked for each of them. */
const PAUSE_MS = 250;

export class Loaded<T> {
  value = $state.raw<T | null>(null);
  fault = $state.raw<Fault | null>(null);
  busy = $state(true);
  /** When it was read. */
  at = $state(0);
  #read: (signal: AbortSignal) => Promise<T>;
  #abort: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #again = false;

  /**
   * To be made where effects may be: it is read anew when what `read` looks at has changed, and when the server says
   * so, unless `concerns` says that this is about something else.
   */
  constructor(read: (signal: AbortSignal) => Promise<T>, concerns: (change: Change) => boolean = () => true) {
    this.#read = read;
    $effect(() => {
      void this.#load(true);
      return () => this.#abort?.abort();
    });
    $effect(() => {
      const stop = live.listen((change) => {
        if (concerns(change)) this.soon();
      });
      return () => {
        stop();
        if (this.#timer) clearTimeout(this.#timer);
      };
    });
  }

  /** Reads it again, soon. */
  soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (this.#abort) this.#again = true;
      else void this.#load(false);
    }, PAUSE_MS);
  }

  /** Reads it again, now. */
  async again(): Promise<void> {
    await this.#load(false);
  }

  async #load(first: boolean): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    if (first) this.busy = true;
    ready.begin();
    try {
      const value = await this.#read(abort.signal);
      if (abort.signal.aborted) return;
      this.value = value;
      this.fault = null;
      this.at = Date.now();
      live.here();
    } catch (error) {
      if (abort.signal.aborted) return;
      const fault = error instanceof Fault ? error : new Fault(-1, 'page', String(error));
      if (fault.away) live.away();
      this.fault = fault;
      // What was there before is shown with its age; what never was cannot be.
      if (!fault.away && first) this.value = null;
    } finally {
      ready.end();
      if (this.#abort === abort) {
        this.#abort = null;
        this.busy = false;
        if (this.#again) {
          this.#again = false;
          this.soon();
        }
      }
    }
  }
}
