// The words of the page, in the language that is chosen.
import { de } from '../messages/de';
import { en } from '../messages/en';
import { prefs } from './prefs.svelte';

export type Message = keyof typeof en;

const catalogues: Record<string, Partial<Record<Message, string>>> = { en, de };
export const languages = { en: 'English', de: 'Deutsch' };

/** The message, with its values. One that is not translated is said in English. */
export function t(name: Message, values: Record<string, string | number> = {}): string {
  const text = catalogues[prefs.language]?.[name] ?? en[name];
  return text.replace(/\{(\w+)\}/g, (whole, key: string) => String(values[key] ?? whole));
}

/** The message about a number: `name.one` where there is one, else `name`. */
export function count(name: Message, number: number): string {
  const one = `${name}.one` as Message;
  return t(number === 1 && one in en ? one : name, { count: number.toLocaleString(prefs.language) });
}
