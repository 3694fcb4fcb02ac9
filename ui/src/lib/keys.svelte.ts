// Keys of the page. Each has a name, so that `?` can list what is there now.

export interface Key {
  keys: string;
  name: string;
  run: () => void;
}

class Keys {
  all = $state.raw<Key[]>([]);
  #prefix = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Adds keys until the answer is called. */
  add(keys: Key[]): () => void {
    this.all = [...this.all, ...keys];
    return () => {
      this.all = this.all.filter((it) => !keys.includes(it));
    };
  }

  press(event: KeyboardEvent): void {
    if (event.isComposing || event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return this.#run('Ctrl K', event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target as HTMLElement | null;
    if (at?.closest('input:not([type=range], [type=checkbox]), textarea, select, [contenteditable=true], dialog')) return;
    // The diagram and the slider have arrows of their own, but no letters.
    const pressed = this.#prefix + event.key;
    const found = this.all.some((it) => it.keys === pressed);
    if (found) {
      this.#prefix = '';
      return this.#run(pressed, event);
    }
    clearTimeout(this.#timer);
    this.#prefix = this.all.some((it) => it.keys.startsWith(`${event.key} `)) ? `${event.key} ` : '';
    this.#timer = setTimeout(() => (this.#prefix = ''), 1500);
  }

  #run(pressed: string, event: KeyboardEvent): void {
    // The newest: what a page says goes before what holds everywhere.
    const key = this.all.findLast((it) => it.keys === pressed);
    if (!key) return;
    event.preventDefault();
    key.run();
  }
}

export const keys = new Keys();

/** The next or previous row gets the focus. */
export function row(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((it) => it.offsetParent !== null);
  const at = rows.findIndex((it) => it.contains(document.activeElement));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  const target = next?.matches('a, button, [tabindex]') ? next : next?.querySelector<HTMLElement>('a, button');
  target?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
