// Times as people read them: how long ago, or when exactly, in the zone that is chosen for the whole page.
import { prefs } from './prefs.svelte';
import { t } from './text.svelte';

/** Moves on slowly, so that ages grow old. */
class Now {
  ms = $state(Date.now());
  constructor() {
    setInterval(() => {
      if (!document.hidden) this.ms = Date.now();
    }, 10_000);
  }
}
export const now = new Now();

export function exact(time: string | null | undefined): string {
  if (!time) return '–';
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  if (prefs.zone === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const two = (it: number) => String(it).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function span(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < 1000) return `${Math.round(abs)} ms`;
  const steps: [number, number, string][] = [[60_000, 1000, 's'], [3_600_000, 60_000, 'min'], [86_400_000, 3_600_000, 'h'], [Infinity, 86_400_000, 'd']];
  const [, unit, name] = steps.find(([below]) => abs < below) as [number, number, string];
  const value = abs / unit;
  return `${value < 10 && unit === 1000 ? value.toFixed(1) : Math.floor(value)} ${name}`;
}

/** Like "2 min ago", or "in 43 min". */
export function relative(time: string | null | undefined): string {
  if (!time) return '–';
  const at = new Date(time).getTime();
  if (Number.isNaN(at)) return time;
  const away = at - now.ms;
  if (Math.abs(away) < 10_000) return t('time.now');
  return away < 0 ? t('time.ago', { span: span(away) }) : t('time.in', { span: span(away) });
}
