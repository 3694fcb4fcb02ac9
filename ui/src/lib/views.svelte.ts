// Searches that somebody has given a name, in this browser.
import { keep, kept } from './prefs.svelte';

export interface View {
  name: string;
  to: string;
}

class Views {
  all = $state.raw<View[]>(read());
  save(view: View): void {
    this.all = [...this.all.filter((it) => it.name !== view.name), view];
    keep('views', JSON.stringify(this.all));
  }
  remove(name: string): void {
    this.all = this.all.filter((it) => it.name !== name);
    keep('views', JSON.stringify(this.all));
  }
}

function read(): View[] {
  try {
    const all = JSON.parse(kept('views') ?? '[]') as unknown;
    return Array.isArray(all) ? all.filter((it): it is View => typeof it?.name === 'string' && typeof it?.to === 'string') : [];
  } catch {
    return [];
  }
}

export const views = new Views();
