// Actions: what somebody can do, as data. One dialog asks for what an action needs, keeps drafts, says what became of
// it, and gives the same as a command.
import { Fault, newKey } from './api';
import { live } from './live.svelte';
import { keep, kept } from './prefs.svelte';

export interface Field {
  name: string;
  label: string;
  kind: 'text' | 'json' | 'area' | 'select' | 'check' | 'number' | 'password';
  value?: string;
  options?: { value: string; label: string }[];
  required?: boolean;
  hint?: string;
}

export type Values = Record<string, string>;

export interface Action {
  /** The verb, as the command line has it. */
  name: string;
  /** What the button of its dialog says, where that is another verb. */
  verb?: string;
  title?: string;
  /** What to know before it is done: asked for where it cannot be undone. */
  warning?: string;
  fields?: Field[];
  /** The same as a command. */
  command: string | ((values: Values) => string);
  /** Does it, and says what became of it. */
  run: (values: Values, key: string) => Promise<string | void>;
  /** What it changes, as texts before and after; null where it cannot be told yet. */
  change?: (values: Values) => [string, string] | null;
  /** What drafts are kept under. */
  draft?: string;
  /** One of these permissions is needed. */
  needs?: string[];
  primary?: boolean;
  danger?: boolean;
  disabled?: boolean;
}

export interface Said {
  id: number;
  text: string;
  fault: boolean;
}

class Acts {
  open = $state.raw<Action | null>(null);
  busy = $state(false);
  /** What was done, and what went wrong. */
  said = $state.raw<Said[]>([]);
  #next = 1;
  #key = newKey();

  say(text: string, fault = false): void {
    const said = { id: this.#next++, text, fault };
    this.said = [...this.said.slice(-3), said];
    if (!fault) setTimeout(() => this.forget(said.id), 12_000);
  }
  forget(id: number): void {
    this.said = this.said.filter((it) => it.id !== id);
  }

  /** Asks for what the action needs, or does it at once. */
  begin(action: Action): void {
    this.#key = newKey();
    if (action.fields?.length || action.warning) this.open = action;
    else void this.run(action, {});
  }

  /** Does it. Answers with what went wrong. */
  async run(action: Action, values: Values): Promise<Fault | null> {
    if (this.busy) return null;
    this.busy = true;
    try {
      const outcome = await action.run(values, this.#key);
      if (action.draft) keep(`draft.${action.draft}`, null);
      this.open = null;
      if (outcome) this.say(outcome);
      live.changed();
      return null;
    } catch (error) {
      const fault = error instanceof Fault ? error : new Fault(-1, 'page', error instanceof Error ? error.message : String(error));
      // What was refused may be asked for anew; what got no answer must be the same wish.
      if (!fault.away) this.#key = newKey();
      if (!this.open) this.say(fault.detail, true);
      return fault;
    } finally {
      this.busy = false;
    }
  }

  draft(action: Action): Values {
    if (!action.draft) return {};
    try {
      return JSON.parse(kept(`draft.${action.draft}`) ?? '{}') as Values;
    } catch {
      return {};
    }
  }
}

export const acts = new Acts();

export function commandOf(action: Action, values: Values = {}): string {
  if (typeof action.command === 'string') return action.command;
  const all: Values = Object.fromEntries((action.fields ?? []).map((it) => [it.name, it.value ?? '']));
  return action.command({ ...all, ...values });
}

/** A word of a command, as a shell takes it. */
export function quote(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a secure context there is no clipboard; the old way works there.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
